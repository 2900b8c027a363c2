"""Copies: between layouts and dtypes, joins, repeats, turns."""

import math

from real_sizes.calls import COMPLEX, Call
from real_sizes.families import budget, family


def dtype_of(d):
    return d.pick(COMPLEX) if d.chance(12) else d.float_dtype()


@family("shape", 2)
def join(d):
    dtype = dtype_of(d)
    count = d.between(1, 8)
    shape = d.shape(d.pick((1, 2, 3, 4)), budget(d) // count)
    dim = d.below(len(shape))
    if d.chance(3):
        return Call(f"stack[{dim}]", [d.tensor(shape, dtype) for _ in range(count)], lambda T, *xs: T.stack(xs, dim))
    given = [d.tensor(tuple(d.between(1, n) if i == dim else n for i, n in enumerate(shape)), dtype) for _ in range(count)]
    return Call(f"cat[{dim}]", given, lambda T, *xs: T.cat(xs, dim))


@family("shape", 3)
def turn(d):
    dtype = dtype_of(d)
    shape = d.shape(d.pick((2, 3, 4, 5)), budget(d))
    nd = len(shape)
    kind = d.pick(("flip", "roll", "tile", "repeat_interleave", "rot90", "diagonal", "tril", "triu", "permute", "movedim"))
    i, j = d.below(nd), d.below(nd)
    j = (i + 1) % nd if i == j else j
    if kind == "flip":
        dims = tuple(k for k in range(nd) if d.chance(2)) or (0,)
        return Call(f"flip[{dims}]", [d.tensor(shape, dtype)], lambda T, x: T.flip(x, dims))
    if kind == "roll":
        n = d.between(-10, 300)
        return Call(f"roll[{n} {i}]", [d.tensor(shape, dtype)], lambda T, x: T.roll(x, n, i))
    if kind in ("tile", "repeat_interleave"):
        n = d.pick((2, 3, 4))
        dims = tuple(d.pick((1, 1, 2, 3)) for _ in range(nd))
        x = d.tensor(d.shape(nd, budget(d) // 16), dtype)
        if kind == "tile":
            return Call(f"tile[{dims}]", [x], lambda T, x: T.tile(x, dims), math.prod(dims))
        return Call(f"repeat_interleave[{n} {i}]", [x], lambda T, x: T.repeat_interleave(x, n, dim=i), n)
    x = d.tensor(shape, dtype)
    if kind == "rot90":
        n = d.pick((1, 2, 3))
        return Call(f"rot90[{n} {i} {j}]", [x], lambda T, x: T.rot90(x, n, (i, j)))
    if kind == "diagonal":
        offset = d.between(1 - shape[i], shape[j] - 1)
        return Call(f"diagonal[{offset} {i} {j}]", [x], lambda T, x: T.diagonal(x, offset, i, j))
    if kind in ("tril", "triu"):
        k = d.between(-5, 5)
        return Call(f"{kind}[{k}]", [x], lambda T, x: getattr(T, kind)(x, k))
    if kind == "movedim":
        return Call(f"movedim[{i} {j}]", [x], lambda T, x: T.clone(T.movedim(x, i, j)))
    order = list(range(nd))
    for k in range(nd - 1, 0, -1):
        m = d.below(k + 1)
        order[k], order[m] = order[m], order[k]
    whole = d.chance(2)

    def run(T, x):
        y = T.permute(x, order)
        return T.reshape(y, (-1,)) if whole else T.reshape(T.clone(y), (y.shape[0], -1)) * 2.0
    return Call(f"permute[{order}]", [x], run)


@family("shape")
def parts(d):
    """Sums of overlapping views."""
    dtype = dtype_of(d)
    shape = d.shape(d.pick((1, 2, 3, 4)), budget(d))
    dim = d.below(len(shape))
    n = shape[dim]
    length = d.between(1, n)
    starts = [d.below(n - length + 1) for _ in range(d.between(1, 4))]
    x = d.tensor(shape, dtype)

    def run(T, x):
        y = T.narrow(x, dim, starts[0], length)
        for s in starts[1:]:
            y = y + T.narrow(x, dim, s, length)
        return T.clone(y)
    return Call(f"narrow[{dim} {starts} {length}]", [x], run, len(starts))
