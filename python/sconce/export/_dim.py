"""Dim: a size that an exported program leaves free, and which dimensions of which tensors have it."""

import sconce


class _Hint:
    """Dim.STATIC and its like: what to do with a dimension, without a name."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"Dim.{self.name}"


class Dim:
    """Dim(name, min=2, max=None): a free size between min and max. Dimensions with one Dim have one size.

    Dim.DYNAMIC is a free size of its own, Dim.STATIC a fixed one. Sizes 0 and 1 are never covered, since operators treat them
    otherwise: a graph captured for larger sizes would be wrong there."""

    DYNAMIC, STATIC = _Hint("DYNAMIC"), _Hint("STATIC")

    def __init__(self, name, *, min=None, max=None):
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"Dim: the name must be an identifier, got {name!r}")
        for bound in (min, max):
            if bound is not None and (type(bound) is not int or bound < 0):
                raise ValueError(f"Dim {name}: min and max must be sizes, got min={min!r}, max={max!r}")
        if max is not None and max < (2 if min is None else min):
            raise ValueError(f"Dim {name}: max={max} is less than min={2 if min is None else min}")
        self.name, self.min, self.max = name, 2 if min is None or min < 2 else min, max

    def __repr__(self):
        return f"Dim({self.name!r}, min={self.min}, max={self.max})"


def free_dims(tree, shapes, path="arguments"):
    """[(tensor, dimension, Dim)] of a nest of arguments and the same nest of shapes: {dimension: Dim}, a sequence of Dims, or None."""
    found = []
    if shapes is None:
        return found
    if isinstance(tree, sconce.Tensor):
        pairs = shapes.items() if isinstance(shapes, dict) else enumerate(shapes)
        if not isinstance(shapes, dict) and len(shapes) != tree.dim():
            raise ValueError(f"dynamic_shapes: {path} has {tree.dim()} dimensions, got {len(shapes)} entries")
        for i, dim in pairs:
            if type(i) is not int or not 0 <= i < tree.dim():
                raise ValueError(f"dynamic_shapes: {path} has {tree.dim()} dimensions, got an entry for {i!r}")
            if isinstance(dim, int) and not isinstance(dim, bool):
                if dim != tree.shape[i]:
                    raise ValueError(f"dynamic_shapes: {path} has size {tree.shape[i]} in dimension {i}, got {dim}")
            elif dim is Dim.DYNAMIC:
                found.append((tree, i, Dim(f"dim{id(tree)}_{i}")))
            elif isinstance(dim, Dim):
                found.append((tree, i, dim))
            elif dim is not None and dim is not Dim.STATIC:
                raise ValueError(f"dynamic_shapes: dimension {i} of {path} must be a Dim, a size or None, got {dim!r}")
        return found
    if isinstance(tree, dict):
        if not isinstance(shapes, dict) or shapes.keys() - tree.keys():
            raise ValueError(f"dynamic_shapes: {path} has the keys {list(tree)}, got {shapes!r}")
        return [row for key, one in shapes.items() for row in free_dims(tree[key], one, f"{path}[{key!r}]")]
    if isinstance(tree, (tuple, list)):
        if not isinstance(shapes, (tuple, list)) or len(shapes) != len(tree):
            raise ValueError(f"dynamic_shapes: {path} has {len(tree)} parts, got {shapes!r}")
        return [row for i, (part, one) in enumerate(zip(tree, shapes)) for row in free_dims(part, one, f"{path}[{i}]")]
    raise ValueError(f"dynamic_shapes: {path} is a {type(tree).__name__}, which has no sizes")
