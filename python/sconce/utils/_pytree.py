"""Trees of tuples, lists and dicts: their leaves in a list, and back."""


class TreeSpec:
    """The shape of a tree: its kind, what it needs beside the children, and their shapes."""

    def __init__(self, kind, context, children):
        self.kind, self.context, self.children = kind, context, children
        self.num_leaves = 1 if kind is None else sum(child.num_leaves for child in children)

    def __eq__(self, other):
        return isinstance(other, TreeSpec) and (self.kind, self.context, self.children) == (other.kind, other.context, other.children)

    def __repr__(self):
        return "*" if self.kind is None else f"TreeSpec({self.kind.__name__}, {self.context}, {self.children})"


_LEAF = TreeSpec(None, None, [])


def tree_flatten(tree, is_leaf=None):
    """(leaves, spec); None is a leaf, too."""
    if is_leaf is not None and is_leaf(tree):
        return [tree], _LEAF
    if isinstance(tree, dict) and type(tree).__module__ in ("builtins", "collections"):
        parts, context = list(tree.values()), list(tree)
    elif isinstance(tree, (list, tuple)):
        parts, context = list(tree), None
    else:
        return [tree], _LEAF
    leaves, specs = [], []
    for part in parts:
        found, spec = tree_flatten(part, is_leaf)
        leaves += found
        specs.append(spec)
    return leaves, TreeSpec(type(tree), context, specs)


def tree_unflatten(leaves, treespec):
    """The tree of this shape with these leaves."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"treespec has {treespec.num_leaves} leaves, got {len(leaves)}")
    return _build(iter(leaves), treespec)


def _build(leaves, spec):
    if spec.kind is None:
        return next(leaves)
    parts = [_build(leaves, child) for child in spec.children]
    if spec.context is not None:
        return spec.kind(zip(spec.context, parts))
    return spec.kind(*parts) if hasattr(spec.kind, "_fields") else spec.kind(parts)


def tree_leaves(tree, is_leaf=None):
    """The leaves alone."""
    return tree_flatten(tree, is_leaf)[0]


def tree_map(function, tree, *rests, is_leaf=None):
    """The same tree with function(leaf, ...) for each leaf."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([function(*row) for row in zip(leaves, *others)], spec)


def tree_map_only(kind, function, tree, is_leaf=None):
    """The same for leaves of a class."""
    return tree_map(lambda leaf: function(leaf) if isinstance(leaf, kind) else leaf, tree, is_leaf=is_leaf)


def _broadcast_to_and_flatten(tree, treespec):
    """Leaves for the whole shape, from a tree that may end earlier; None where it does not fit."""
    if treespec.kind is None:
        return [tree] if not isinstance(tree, (list, tuple, dict)) or tree is None else None
    if not isinstance(tree, (list, tuple, dict)):
        return [tree] * treespec.num_leaves
    if not (isinstance(tree, treespec.kind) or issubclass(treespec.kind, type(tree))) or len(tree) != len(treespec.children):
        return None
    parts = tree.values() if isinstance(tree, dict) else tree
    leaves = []
    for part, child in zip(parts, treespec.children):
        found = _broadcast_to_and_flatten(part, child)
        if found is None:
            return None
        leaves += found
    return leaves
