"""Trees of tuples, lists and dicts, and of classes that programs register: their leaves in a list, and back."""

import collections
import functools

_REGISTERED = {}  # class: (flatten, unflatten)


class MappingKey(collections.namedtuple("MappingKey", ["key"])):
    """On the way to a leaf: a key of a dict."""

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, parent):
        return parent[self.key]


class SequenceKey(collections.namedtuple("SequenceKey", ["idx"])):
    """On the way to a leaf: a place in a list or tuple, or among the children of a registered class."""

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, parent):
        return parent[self.idx]


class GetAttrKey(collections.namedtuple("GetAttrKey", ["name"])):
    """On the way to a leaf: a field of a named tuple."""

    def __str__(self):
        return f".{self.name}"

    def get(self, parent):
        return getattr(parent, self.name)


def register_pytree_node(cls, flatten_fn, unflatten_fn, **others):
    """Objects of the class are trees: flatten_fn(object) gives (children, context), unflatten_fn(children, context) the object."""
    if cls in _REGISTERED:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _REGISTERED[cls] = (flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


def register_dataclass(cls, *, field_names=None, drop_field_names=None):
    """The same for a dataclass, with its fields as children."""
    import dataclasses

    names = list(field_names) if field_names is not None else [f.name for f in dataclasses.fields(cls) if f.init]
    names = [name for name in names if name not in (drop_field_names or ())]
    register_pytree_node(cls, lambda o: ([getattr(o, name) for name in names], names), lambda parts, context: cls(**dict(zip(context, parts))))


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
    if type(tree) in _REGISTERED:
        parts, context = _REGISTERED[type(tree)][0](tree)
    elif isinstance(tree, dict) and type(tree).__module__ in ("builtins", "collections"):
        parts, context = list(tree.values()), list(tree)
        if type(tree) is collections.defaultdict:
            context = (tree.default_factory, context)
    elif isinstance(tree, (list, tuple)):
        parts, context = list(tree), None
    elif type(tree) is collections.deque:
        parts, context = list(tree), tree.maxlen
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
    if spec.kind in _REGISTERED:
        return _REGISTERED[spec.kind][1](parts, spec.context)
    if spec.kind is collections.defaultdict:
        return collections.defaultdict(spec.context[0], zip(spec.context[1], parts))
    if spec.kind is collections.deque:
        return collections.deque(parts, spec.context)
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


def tree_map_(function, tree, *rests, is_leaf=None):
    """Calls function(leaf, ...) for each leaf; returns the tree that was given."""
    leaves = tree_leaves(tree, is_leaf)
    for row in zip(leaves, *[tree_leaves(rest, is_leaf) for rest in rests]):
        function(*row)
    return tree


def tree_map_only(kind, function, *tree, is_leaf=None):
    """tree_map for leaves of a class, of several, or for which a function says so. Without a tree and a function: a decorator."""
    fits = kind if callable(kind) and not isinstance(kind, type) else lambda leaf: isinstance(leaf, kind)
    return tree_map(lambda leaf: function(leaf) if fits(leaf) else leaf, *tree, is_leaf=is_leaf)


def tree_map_only_(kind, function, tree, is_leaf=None):
    """tree_map_ for such leaves."""
    fits = kind if callable(kind) and not isinstance(kind, type) else lambda leaf: isinstance(leaf, kind)
    return tree_map_(lambda leaf: function(leaf) if fits(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_structure(tree, is_leaf=None):
    """The shape alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_iter(tree, is_leaf=None):
    """An iterator over the leaves."""
    return iter(tree_leaves(tree, is_leaf))


def tree_is_leaf(tree, is_leaf=None):
    """Is it a leaf, and no tree of others?"""
    return tree_flatten(tree, is_leaf)[1].kind is None


def tree_all(predicate, tree, is_leaf=None):
    """Does it hold of all leaves?"""
    return all([predicate(leaf) for leaf in tree_leaves(tree, is_leaf)])


def tree_any(predicate, tree, is_leaf=None):
    """Does it hold of a leaf?"""
    return any([predicate(leaf) for leaf in tree_leaves(tree, is_leaf)])


def tree_all_only(kind, predicate, tree, is_leaf=None):
    """The same for leaves of a class."""
    return all([predicate(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kind)])


def tree_any_only(kind, predicate, tree, is_leaf=None):
    """The same for leaves of a class."""
    return any([predicate(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kind)])


def tree_leaves_with_path(tree, is_leaf=None):
    """(path, leaf) for each leaf; a path is a tuple of keys."""
    if (is_leaf is not None and is_leaf(tree)) or tree_is_leaf(tree):
        return [((), tree)]
    if isinstance(tree, dict):
        parts = [(MappingKey(key), part) for key, part in tree.items()]
    elif hasattr(type(tree), "_fields"):
        parts = [(GetAttrKey(name), part) for name, part in zip(type(tree)._fields, tree)]
    else:
        children = _REGISTERED[type(tree)][0](tree)[0] if type(tree) in _REGISTERED else tree
        parts = [(SequenceKey(i), part) for i, part in enumerate(children)]
    return [((key, *path), leaf) for key, part in parts for path, leaf in tree_leaves_with_path(part, is_leaf)]


def tree_flatten_with_path(tree, is_leaf=None):
    """The same, and the shape."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(function, tree, *rests, is_leaf=None):
    """tree_map of function(path, leaf, ...)."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([function(path, leaf, *rest) for (path, leaf), *rest in zip(found, *others)], spec)


def keystr(path):
    """A path as text: ['a'][0].name"""
    return "".join([str(key) for key in path])


def key_get(tree, path):
    """What lies at the end of a path."""
    return functools.reduce(lambda at, key: key.get(at), path, tree)


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
