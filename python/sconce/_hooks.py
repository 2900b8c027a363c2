"""Tables of hooks, and the handles that take hooks away again."""


class RemovableHandle:
    """What register_*_hook returns: remove() takes the hook away, and so does the end of a with statement."""

    def __init__(self, *tables):
        self.tables, self.id = tables, object()  # a key of its own

    def remove(self):
        for table in self.tables:
            table.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def add_hook(table, hook, prepend=False, *marks):
    """Adds a hook to its table, at the front if asked; `marks` are tables that say more of some hooks, and hold True for it."""
    handle = RemovableHandle(table, *marks)
    if prepend:
        others = dict(table)
        table.clear()
        table[handle.id] = hook
        table.update(others)
    else:
        table[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    return handle
