"""Nested tuples, lists and dicts as flat lists and back: what concrete_args takes apart."""

from collections import namedtuple

__all__ = ["TreeSpec", "tree_flatten", "tree_unflatten", "tree_map", "tree_flatten_spec", "tree_leaves"]


class TreeSpec(namedtuple("TreeSpec", ["type", "context", "children_specs"])):
    """The nesting: a container's class, its keys or class, and what is inside; type None is a leaf."""

    @property
    def num_leaves(self):
        return 1 if self.type is None else sum(child.num_leaves for child in self.children_specs)

    @property
    def num_children(self):
        return len(self.children_specs)


_LEAF = TreeSpec(None, None, ())


def _children(tree):
    """The parts of a container, with its class and what else makes it up; None for a leaf."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return list(tree), "namedtuple", type(tree)
    if isinstance(tree, tuple):
        return list(tree), tuple, None
    if isinstance(tree, list):
        return list(tree), list, None
    if isinstance(tree, dict):
        return list(tree.values()), dict, tuple(tree)
    return None


def tree_flatten(tree):
    """All leaves in order, and the nesting."""
    parts = _children(tree)
    if parts is None:
        return [tree], _LEAF
    leaves, specs = [], []
    for child in parts[0]:
        inside, spec = tree_flatten(child)
        leaves += inside
        specs.append(spec)
    return leaves, TreeSpec(parts[1], parts[2], tuple(specs))


def tree_leaves(tree):
    """All leaves in order."""
    return tree_flatten(tree)[0]


def tree_unflatten(leaves, treespec):
    """The nesting again, with these leaves."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree "
                         f"that holds {treespec.num_leaves} items ({treespec}).")
    return _build(iter(leaves), treespec)


def _build(leaves, spec):
    if spec.type is None:
        return next(leaves)
    parts = [_build(leaves, child) for child in spec.children_specs]
    if spec.type == "namedtuple":
        return spec.context(*parts)
    if spec.type is dict:
        return dict(zip(spec.context, parts))
    return spec.type(parts)


def tree_map(fn, tree):
    """The same nesting of fn(leaf)."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([fn(leaf) for leaf in leaves], spec)


def tree_flatten_spec(pytree, spec):
    """The leaves of arguments that are nested as the spec says; a container where it has a leaf stays whole."""
    if spec.type is None:
        return [pytree]
    parts = [pytree[key] for key in spec.context] if spec.type is dict else list(pytree)
    if len(parts) != spec.num_children:
        raise ValueError(f"a {spec.type} of {spec.num_children} was expected, got {len(parts)}")
    return [leaf for part, child in zip(parts, spec.children_specs) for leaf in tree_flatten_spec(part, child)]
