"""Elements by index, and orders."""

import math

import numpy as np

from real_sizes import tolerances
from real_sizes.calls import COMPLEX, Call, Given
from real_sizes.families import budget, family


def dtype_of(d):
    return d.pick(COMPLEX) if d.chance(12) else d.float_dtype()


def some(d, n, count):
    """Places of an axis, which may repeat; a few of them often."""
    values = d.values.randint(0, n, count)
    if d.chance(4):
        values = values % max(1, n // 8 + 1)
    return values


@family("index", 3)
def along(d):
    dtype = dtype_of(d)
    shape = d.shape(d.pick((1, 2, 2, 3, 4)), budget(d))
    dim = d.below(len(shape))
    n = shape[dim]
    kind = d.pick(("index_select", "gather", "take_along_dim", "scatter_add", "index_add", "index_copy", "index_fill", "scatter",
                   "scatter_reduce"))
    count = min(d.size(4096), max(1, (1 << 20) // (math.prod(shape) // n)))
    a = d.tensor(shape, dtype)
    width = d.pick(("int64", "int64", "int32"))
    if kind in ("index_select", "index_add", "index_copy", "index_fill"):
        if kind == "index_copy":
            index = d.values.permutation(n)[:min(count, n)]
        else:
            index = some(d, n, count)
        index = Given(index, width if kind in ("index_select", "index_add") else "int64")
        other = shape[:dim] + (index.values.size,) + shape[dim + 1:]
        if kind == "index_select":
            return Call(f"index_select[{dim}]", [a, index], lambda T, a, i: T.index_select(a, dim, i), count)
        if kind == "index_fill":
            return Call(f"index_fill[{dim}]", [a, index], lambda T, a, i: T.index_fill(a, dim, i, 1.5))
        b = d.tensor(other, dtype)
        return Call(f"{kind}[{dim}]", [a, index, b], lambda T, a, i, b: getattr(T, kind)(a, dim, i, b), count + 1)
    # An index may be shorter than the tensor in other axes, too.
    limits = [m if d.chance(2) else d.between(1, m) for m in shape]
    limits[dim] = count if kind != "scatter" else min(count, n)
    if kind == "take_along_dim":
        limits = [m if i != dim else limits[dim] for i, m in enumerate(shape)]
    while math.prod(limits) > 1 << 20:
        limits = [max(1, m // 2) for m in limits]
    if kind == "scatter":
        index = np.argsort(d.values.rand(*[n if i == dim else m for i, m in enumerate(limits)]), dim)
        index = np.take(index, np.arange(limits[dim]), dim)
    else:
        index = some(d, n, tuple(limits))
    index = Given(index, "int64", layout="contiguous" if not d.chance(4) else "sliced", detail=d.below(1 << 10))
    if kind == "gather":
        return Call(f"gather[{dim}]", [a, index], lambda T, a, i: T.gather(a, dim, i), limits[dim])
    if kind == "take_along_dim":
        return Call(f"take_along_dim[{dim}]", [a, index], lambda T, a, i: T.take_along_dim(a, i, dim), limits[dim])
    longer = kind == "scatter_add" and d.chance(2)
    b = d.tensor(tuple(m + (d.below(3) if longer else 0) for m in limits), dtype, grad=not longer)
    if kind == "scatter_reduce":
        reduce = d.pick(("sum", "mean", "amax", "amin"))
        itself = not d.chance(3)
        if dtype in COMPLEX:
            reduce = "sum"
        if dtype in ("float16", "bfloat16") or dtype in COMPLEX:  # mean divides a rounded sum
            a, b = d.tensor(shape, "float32"), d.tensor(b.values.shape, "float32")
        return Call(f"scatter_reduce[{dim} {reduce} {itself}]", [a, index, b],
                    lambda T, a, i, b: T.scatter_reduce(a, dim, i, b, reduce, include_self=itself), limits[dim] + 1, once=True)
    return Call(f"{kind}[{dim}]", [a, index, b], lambda T, a, i, b: getattr(T, kind)(a, dim, i, b), limits[dim] + 1)


def advanced(d, shape):
    """A tuple of indices as x[...] takes them: slices, numbers, arrays that broadcast; and the arrays alone."""
    positions, arrays = [], []
    common = d.shape(d.pick((1, 1, 2)), 300)
    named = [i for i in range(len(shape)) if d.chance(2)] or [0]
    for i, n in enumerate(shape):
        if i in named:
            own = tuple(1 if d.chance(4) else m for m in common)
            values = d.values.randint(0, n, own)
            if d.chance(4):
                values = values - n * (d.values.rand(*own) < 0.5)
            positions.append(len(arrays))
            arrays.append(Given(values, "int64"))
        elif d.chance(3):
            positions.append(slice(d.below(n), None, d.pick((1, 2, 3))))
        else:
            positions.append(slice(None))
    return positions, arrays


def index_of(positions, arrays):
    return tuple(p if isinstance(p, slice) else arrays[p] for p in positions)


@family("index", 2)
def by_arrays(d):
    dtype = dtype_of(d)
    shape = d.shape(d.pick((1, 2, 3, 4)), budget(d) // 4)
    positions, arrays = advanced(d, shape)
    result = np.broadcast_to(0, shape)[index_of(positions, [a.values for a in arrays])].shape
    if math.prod(result) > 1 << 19:
        positions, arrays = [0] + [slice(None)] * (len(shape) - 1), [Given(d.values.randint(0, shape[0], 3), "int64")]
        result = (3, *shape[1:])
    a = d.tensor(shape, dtype)
    text = "[" + ", ".join(":" if p == slice(None) else f"{p.start}::{p.step}" if isinstance(p, slice) else "i" for p in positions) + "]"
    if d.chance(3):
        add = d.chance(2)
        k = d.between(1, len(shape)) if add else 1
        n = min(d.size(2000), max(1, (1 << 19) // math.prod(shape[k:])))
        arrays = [Given(some(d, m, n), "int64") for m in shape[:k]]
        if not add:  # no place twice
            arrays = [Given(d.values.permutation(shape[0])[:n], "int64")]
        b = d.tensor((arrays[0].values.size, *(1 if d.chance(4) else m for m in shape[k:])), dtype)
        return Call(f"index_put[{add}]", [a, b, *arrays], lambda T, a, b, *index: T.index_put(a, index, b, add),
                    arrays[0].values.size * math.prod(shape[k:]), once=True)

    def run(T, a, *index):
        if hasattr(T, "by_places"):
            return T.at_index(a, *index_of(positions, index))
        return a[index_of(positions, index)]
    return Call(f"x{text}", [a, *arrays], run, max(a.values.size for a in arrays))


@family("index", 2)
def by_masks(d):
    dtype = dtype_of(d)
    shape = d.shape(d.pick((1, 2, 3, 4)), budget(d))
    kind = d.pick(("masked_select", "masked_fill", "masked_scatter", "nonzero", "take"))
    a = d.tensor(shape, dtype)
    mask = d.mask(shape, d.pick((0.5, 0.01, 0.99)))
    if kind == "masked_select":
        return Call(kind, [a, mask], lambda T, a, m: T.masked_select(a, m))
    if kind == "masked_fill":
        if d.chance(3):
            mask = d.mask(tuple(1 if d.chance(2) else n for n in shape))
        return Call(kind, [a, mask], lambda T, a, m: T.masked_fill(a, m, -1.5))
    if kind == "masked_scatter":
        return Call(kind, [a, mask, d.tensor(shape, dtype)], lambda T, a, m, b: T.masked_scatter(a, m, b))
    if kind == "take":
        index = Given(some(d, a.values.size, d.shape(d.pick((1, 2)), 4096)), "int64")
        return Call(kind, [a, index], lambda T, a, i: T.take(a, i), index.values.size)
    return Call(kind, [mask], lambda T, m: T.nonzero(m), exact=True)


@family("index", 2)
def embedding(d):
    dtype = d.float_dtype()
    width = d.size(1024)
    rows = min(d.size(50257), max(1, (1 << 19) // width))
    if d.chance(2):
        shape = d.shape(d.pick((1, 2)), min(4096, max(1, (1 << 19) // width)))
        index = Given(some(d, rows, shape), d.pick(("int64", "int64", "int32")))
        padding = d.below(rows) if d.chance(3) else None
        return Call(f"embedding[{padding}]", [index, d.tensor((rows, width), dtype)],
                    lambda T, i, w: T.nn.functional.embedding(i, w, padding_idx=padding), index.values.size,
                    tolerance=tolerances.embedding(index.values))
    mode = d.pick(("sum", "mean", "max"))
    count = min(d.size(4096), max(1, (1 << 18) // width))
    if d.chance(2):
        columns = d.pick((1, 2, 3, 4, 8, 10, 20))
        shape, offsets = (max(1, count // columns), columns), None
    else:
        shape = (count,)
        bags = d.between(1, min(count, 300))
        offsets = Given(np.sort(np.concatenate([[0], d.values.randint(0, count, bags - 1)])), "int64")
    index = Given(some(d, rows, shape), "int64")
    if mode == "max" and (shape[0] if offsets is None else offsets.values.size) > 100:
        mode = "sum"
    inputs = [index, d.tensor((rows, width), dtype)] + ([offsets] if offsets else [])
    weighted = mode == "sum" and d.chance(3)
    if weighted:
        inputs.append(d.tensor(shape, dtype))

    def run(T, i, w, *rest):
        return T.nn.functional.embedding_bag(i, w, rest[0] if offsets else None, mode=mode,
                                             per_sample_weights=rest[-1] if weighted else None)
    return Call(f"embedding_bag[{mode}]", inputs, run, max(index.values.size, width), once=True,
                tolerance=tolerances.embedding(index.values))


# Orders.

def distinct(d, shape, dtype, dim):
    """Values of which no two are equal along an axis."""
    n = math.prod(shape)
    values = d.values.permutation(n).reshape(shape).astype(np.float64)
    if dtype in ("float16", "bfloat16"):
        if shape[dim] > (256 if dtype == "bfloat16" else 2048):
            dtype = "float32"
        else:
            values = np.argsort(np.argsort(values, dim), dim).astype(np.float64)
    if dtype == "float32" and n > 1 << 23:
        dtype = "float64"
    return d.tensor(shape, dtype, values=values - n // 2 if dtype in ("float32", "float64") else values)


@family("order", 3)
def order(d):
    dtype = d.float_dtype()
    shape = d.shape(d.pick((1, 2, 2, 3, 4)), budget(d))
    dim = d.pick((-1, *range(len(shape))))
    kind = d.pick(("sort", "sort", "argsort", "topk", "topk", "kthvalue", "median", "quantile"))
    down = d.chance(2)
    n = shape[dim]
    if kind in ("sort", "argsort") and d.chance(2):
        # Equal elements keep their order.
        x = d.tensor(shape, dtype, transform=(lambda v: np.round(v * 4)) if d.chance(2) else None)
        if kind == "argsort":
            return Call(f"argsort[{dim} {down} stable]", [x], lambda T, x: T.argsort(x, dim=dim, descending=down, stable=True))
        return Call(f"sort[{dim} {down} stable]", [x], lambda T, x: tuple(T.sort(x, dim=dim, descending=down, stable=True)))
    x = distinct(d, shape, dtype, dim)
    if kind == "sort":
        return Call(f"sort[{dim} {down}]", [x], lambda T, x: tuple(T.sort(x, dim=dim, descending=down)))
    if kind == "argsort":
        return Call(f"argsort[{dim} {down}]", [x], lambda T, x: T.argsort(x, dim=dim, descending=down))
    k = d.between(1, n) if d.chance(2) else min(n, d.pick((1, 2, 5, 10, 50, 100)))
    if kind == "topk":
        return Call(f"topk[{k} {dim} {down}]", [x], lambda T, x: tuple(T.topk(x, k, dim, down)))
    if kind == "kthvalue":
        return Call(f"kthvalue[{k} {dim}]", [x], lambda T, x: tuple(T.kthvalue(x, k, dim)))
    if kind == "median":
        return Call(f"median[{dim}]", [x], lambda T, x: tuple(T.median(x, dim)))
    if x.dtype in ("float16", "bfloat16"):
        x = distinct(d, shape, "float32", dim)
    q = d.pick((0.5, 0.25, 0.75, 0.0, 1.0, 0.125))
    return Call(f"quantile[{q} {dim}]", [x], lambda T, x: T.quantile(x, q, dim=dim), once=True)


@family("order")
def of_sets(d):
    kind = d.pick(("searchsorted", "bucketize", "bincount", "isin", "unique", "histc"))
    n = d.size(1 << 16)
    dtype = d.pick(("float32", "float64", "int64", "int32"))
    if kind in ("searchsorted", "bucketize"):
        edges = np.sort(d.values.randint(0, 1000, d.size(1024)))
        right = d.chance(2)
        values = d.values.randint(-10, 1010, d.shape(d.pick((1, 2, 3)), min(n, 1 << 14)))
        def given(v):
            return Given(v.astype(np.float64), dtype) if dtype.startswith("f") else Given(v, dtype)
        if kind == "searchsorted":
            return Call(f"searchsorted[{right}]", [given(edges), given(values)], lambda T, e, v: T.searchsorted(e, v, right=right), exact=True)
        return Call(f"bucketize[{right}]", [given(edges), given(values)], lambda T, e, v: T.bucketize(v, e, right=right), exact=True)
    if kind == "bincount":
        least = d.pick((0, 10, 1000))
        return Call(f"bincount[{least}]", [d.integers(0, d.pick((2, 100, 5000)), (n,))], lambda T, i: T.bincount(i, minlength=least), exact=True)
    whole = dtype if dtype.startswith("i") else "int64"
    if kind == "isin":
        a, b = d.integers(0, 5000, (n,), whole), d.integers(0, 5000, (d.size(2000),), whole)
        return Call("isin", [a, b], lambda T, a, b: T.isin(a, b), exact=True)
    if kind == "unique":
        a = d.integers(0, d.pick((3, 100, 100000)), d.shape(d.pick((1, 2)), n), whole)
        return Call("unique", [a], lambda T, a: T.unique(a), exact=True)
    bins = d.pick((10, 16, 64, 100, 256))
    # Edges of bins are whole numbers, values lie between them.
    x = d.tensor((n,), "float32", grad=False, values=d.values.randint(0, bins, n) + 0.5)
    return Call(f"histc[{bins}]", [x], lambda T, x: T.histc(x, bins=bins, min=0, max=bins))
