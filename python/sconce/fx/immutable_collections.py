"""Lists and dicts that refuse changes: what the arguments of nodes are made of, since a graph keeps track of who uses whom."""

__all__ = ["immutable_list", "immutable_dict"]


def _refuse(self, *args, **kwargs):
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args of a "
        "torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
        "    new_args = ...  # copy and mutate args\n"
        "    node.args = new_args")


class immutable_list(list):
    """A list that cannot be changed, and so can be hashed."""

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that cannot be changed, and so can be hashed."""

    clear = pop = popitem = setdefault = update = _refuse
    __delitem__ = __ior__ = __setitem__ = _refuse

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (list(self.items()),)
