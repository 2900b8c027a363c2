"""Families: sorting, selecting, counting, searching; indexing, padding, joining; random draws."""

import math

import numpy as np
import sconce as S

from real_sizes import reference as R
from variants.elements import layout_of
from variants.samples import FLOATS, Draw, Given, Sample


def fresh(t):
    """A copy that lies as the tensor does."""
    return S.empty_strided(tuple(t.shape), t.stride(), dtype=t.dtype).copy_(t)


def value_of(x):
    return x.value if isinstance(x, R.Node) else x


def distinct(d: Draw, shape, dtype):
    """Numbers that no two of a line share, in every dtype of 16 bits or more where they fit."""
    n = math.prod(shape)
    x = np.asarray(d.permutation(n), np.float64).reshape(shape)
    return x - n // 2 if dtype not in ("uint8", "bool") else x % 200


def line_shape(d: Draw, *thresholds, most=3000):
    n = d.one(d.near(*thresholds), d.between(1, most))
    return d.one((n,), (d.between(1, 20), n), (d.between(1, 6), n, d.between(1, 20)) if n < 800 else (n,))


def dtype_of(d: Draw, n):
    return d.one("float32", "float64", "int64", "int32", *(("bfloat16", "float16") if n < 256 else ()),
                 *(("int16",) if n < 30000 else ()))


def dim_of(shape):
    return 1 if len(shape) == 3 else len(shape) - 1


def sorted_(d: Draw):
    shape = line_shape(d, 16, 224)
    if d.flag(0.1):
        shape = d.one((d.one(70000, 65536, 65535, 131072),), (d.one(33000, 40000, 70000), d.between(2, 4)))
    dim = 0 if shape[0] > 30000 else dim_of(shape)
    n = shape[dim]
    dtype = dtype_of(d, math.prod(shape))
    x = distinct(d, shape, dtype)
    if d.flag(0.3):
        x = np.floor(x / max(1, n // d.one(2, 5, 300)))  # ties: a stable sort shows
    elif dtype == "int64" and d.flag():  # few values of the high bits
        x = x.astype(np.int64) % 3 * 2 ** 45 + x.astype(np.int64)
    if dtype == "int64" and d.flag(0.4):
        x = x.astype(np.int64) * d.one(2 ** 33, 2 ** 31 + 1, 2 ** 45)
    if dtype == "float64" and d.flag(0.4):
        x = x * d.one(1e-300, 1e9) + d.one(0.0, 1e12)
    descending = d.flag()
    given = Given(x if dtype in FLOATS else x.astype(np.int64), dtype, layout_of(d, shape))

    def plain(t):
        v = value_of(t)
        order = np.argsort(-v if descending else v, dim, kind="stable")
        return R.take_along(t, order, dim) if isinstance(t, R.Node) else np.take_along_axis(v, order, dim), order
    return Sample([given], lambda t: tuple(S.sort(t, dim=dim, descending=descending, stable=True)), plain, tolerance=0,
                  text="sort")


def top(d: Draw):
    shape = line_shape(d, 16384, 64, most=40000)
    dim, n = dim_of(shape), shape[dim_of(shape)]
    dtype = d.one("float32", "float64", "int64", "int32")
    k = max(1, min(n, d.one(1, 3, 10, n // 64 + 1, n // 64 - 1, n // 2, n)))
    largest = d.flag()
    x = distinct(d, shape, dtype)

    def plain(t):
        v = value_of(t)
        order = np.take(np.argsort(-v if largest else v, dim, kind="stable"), np.arange(k), dim)
        return R.take_along(t, order, dim) if isinstance(t, R.Node) else np.take_along_axis(v, order, dim), order
    return Sample([Given(x if dtype in FLOATS else x.astype(np.int64), dtype, layout_of(d, shape))],
                  lambda t: tuple(S.topk(t, k, dim, largest)), plain, tolerance=0, text=f"topk {k} of ")


def selected(d: Draw):
    """median, kthvalue, mode, quantile."""
    kind = d.one("median", "kthvalue", "kthvalue", "mode", "nanmedian")
    shape = line_shape(d, 400, most=20000) if kind != "mode" else line_shape(d, 16, 256, most=900)
    if kind == "kthvalue" and d.flag(0.5):
        shape = (d.near(16384),)
    dim, n = dim_of(shape), shape[dim_of(shape)]
    dtype = d.one("float32", "float64", "int64", "int32")
    x = distinct(d, shape, dtype)
    if kind == "mode":
        x = x % max(2, n // 3)
    given = Given(x if dtype in FLOATS else x.astype(np.int64), dtype, layout_of(d, shape), grad=False)
    k = d.one(1, n, (n + 1) // 2)

    def place(v):
        if kind == "mode":
            def last_of_most(line):
                values, counts = np.unique(line, return_counts=True)
                return values[np.argmax(counts)]
            return np.apply_along_axis(last_of_most, dim, v)
        at = {"median": (n - 1) // 2, "nanmedian": (n - 1) // 2, "kthvalue": k - 1}[kind]
        return np.take(np.sort(v, dim), at, dim)

    def run(t):
        result = S.kthvalue(t, k, dim) if kind == "kthvalue" else getattr(S, kind)(t, dim)
        assert bool((t.gather(dim, result[1].unsqueeze(dim)).squeeze(dim) == result[0]).all())
        return result[0]
    return Sample([given], run, lambda t: place(value_of(t)), tolerance=0, text=f"{kind} over {dim} of ")


def uniques(d: Draw):
    n = d.one(d.between(1, 5000), d.between(5000, 100000))
    kind, dtype = d.one("values", "inverse", "counts"), d.one("int64", "int32", "float32", "int64", "uint8")
    span = d.one(5, 8 * n, 8 * n + 300, 2 * 10 ** 6, 3 * 10 ** 9)
    x = d.integers(0, min(span, {"uint8": 200, "int32": 2 ** 31 - 1, "float32": 2 ** 24}.get(dtype, span)), (n,))

    def run(t):
        return S.unique(t, return_inverse=kind == "inverse", return_counts=kind == "counts")

    def plain(t):
        v = value_of(t)
        values, inverse, counts = np.unique(v, return_inverse=True, return_counts=True)
        return {"values": (values,), "inverse": (values, inverse.reshape(v.shape)), "counts": (values, counts)}[kind]
    return Sample([Given(x, dtype, d.one("dense", "gaps"), grad=False)], run, plain, tolerance=0,
                  text=f"unique {kind} of ")


def counting(d: Draw):
    n = d.one(d.near(65536), d.between(1, 3000), d.between(3000, 150000))
    kind = d.one("bincount", "bincount", "bincount", "histc", "histogramdd", "isin", "isin")
    if kind == "bincount":
        bins = d.one(10, 1000, 32768, 32769, 40000)
        x, weighted = d.integers(0, bins, (n,)), d.flag()
        w = Given(d.uniform(0, 1, (n,)), "float64", grad=False)
        given = [Given(x, d.one("int64", "int32"), grad=False)] + ([w] if weighted else [])
        return Sample(given, S.bincount, lambda t, v=None: np.bincount(t, None if v is None else value_of(v)),
                      text="bincount", tolerance=1024)
    if kind == "histc":
        x = d.integers(0, 50, (n,)) + 0.25
        return Sample([Given(x, d.one("float32", "float64"), grad=False)], lambda t: S.histc(t, 25, 0, 50),
                      lambda t: np.histogram(value_of(t), 25, (0, 50))[0], tolerance=0, text="histc")
    if kind == "histogramdd":
        axes, weighted = d.one(1, 1, 2), d.flag(0.4)
        x = d.integers(0, 40, (n, axes)) / 4 + 0.1
        w = Given(d.integers(0, 5, (n,)), "float64", grad=False)
        bounds = [0.0, 10.0] * axes

        def run(t, v=None):
            return S.histogramdd(t, [8] * axes, range=bounds, weight=v)[0]

        def plain(t, v=None):
            return np.histogramdd(value_of(t), 8, [(0, 10)] * axes, weights=None if v is None else value_of(v))[0]
        return Sample([Given(x, "float64", grad=False)] + ([w] if weighted else []), run, plain, tolerance=0,
                      text="histogramdd")
    many, span = d.one(3, 16, 17, 100, 3000), d.one(50, 10 ** 6, 2 ** 24 + 5, 2 ** 40)
    dtype = d.one("int64", "float64", "int64")
    tests = d.integers(0, span, (many,))
    x = np.where(d.bools(n), tests[d.integers(0, many, (n,))], d.integers(0, span, (n,)))
    return Sample([Given(x, dtype, grad=False), Given(tests, dtype, grad=False)], S.isin,
                  lambda a, b: np.isin(value_of(a), value_of(b)), text="isin")


def searched(d: Draw):
    n, count = d.one(d.between(1, 60), d.between(1, 4000)), d.one(d.between(1, 7), 8, 16, d.between(1, 3000))
    dtype, right = d.one("float32", "float64", "int64", "int32"), d.flag()
    rows = d.one(0, 0, d.between(1, 5))
    sequence = np.sort(d.integers(-500, 500, (rows, n) if rows else (n,)), -1)
    values = d.integers(-520, 520, (rows, count) if rows else (count,))

    def plain(a, v):
        a, v = value_of(a), value_of(v)
        side = "right" if right else "left"
        return np.stack([np.searchsorted(r, q, side) for r, q in zip(a, v)]) if rows else np.searchsorted(a, v, side)
    return Sample([Given(sequence, dtype, grad=False), Given(values, dtype, d.one("dense", "gaps"), grad=False)],
                  lambda a, v: S.searchsorted(a, v, right=right), plain, text="searchsorted")


# Indexing.

def indexed(d: Draw):
    """index, index_put with accumulation."""
    rank = d.one(1, 2, 3)
    shape = tuple(d.between(2, 40) for _ in range(rank))
    count = d.one(d.near(512), d.between(1, 2000)) if rank < 3 else d.between(1, 200)
    lead = d.one(1, rank)
    indices = [d.integers(0, shape[i], (count,)) for i in range(lead)]
    dtype, put = d.one(*FLOATS, "complex64"), d.flag(0.4)
    x = d.complex(*shape) if dtype == "complex64" else d.normal(*shape)
    if d.flag(0.3):
        indices = [np.asarray(i)[:count // 2 * 2].reshape(2, -1) for i in indices] if count > 1 else indices
    after = shape[lead:]
    skip = d.flag(0.3) and rank == 3 and lead == 1
    result = (shape[0],) + indices[0].shape + shape[2:] if skip else indices[0].shape + after
    index = [Given(i % (shape[1] if skip else 10 ** 9), "int64", grad=False) for i in indices]
    key = (lambda i: (slice(None), i[0])) if skip else (lambda i: tuple(i))

    def places(i):
        return R.places_of(shape)[key(i)]
    if not put:
        return Sample([Given(x, dtype, layout_of(d, shape)), *index], lambda t, *i: t[key(i)], lambda t,
                      *i: R.take(t, places(i)),
                      text="index", tolerance=128)
    values = d.complex(*result) if dtype == "complex64" else d.normal(*result)

    def run(t, v, *i):
        y = t.clone(memory_format=S.preserve_format)
        return y.index_put_((slice(None), i[0]) if False else tuple(i), v, accumulate=True) if not skip else \
            y.index_put_((S.arange(shape[0]).view(-1, *[1] * i[0].dim()), i[0]), v, accumulate=True)
    return Sample([Given(x, dtype, layout_of(d, shape)), Given(values, dtype, layout_of(d, result)), *index], run,
                  lambda t, v, *i: t + R.spread(v, places(i), shape), text="index_put_", tolerance=256,
                  rounds=4 + count)  # each sum is rounded, as PyTorch does


def gathered(d: Draw):
    kind = d.one("gather", "gather", "index_select", "scatter_add", "scatter_add", "index_add", "scatter")
    long = d.flag(0.15)
    shape = d.one((d.between(1, 40), d.between(1, 90)), (d.between(1, 300),),
                  (d.between(1, 9), d.between(1, 12), d.between(1, 30)))
    if long:
        shape = d.one((d.between(2, 20), d.near(65536)), (d.near(65536),))
    dim = d.state.randint(len(shape))
    dtype = d.one(*FLOATS, "int64")
    count = d.one(d.near(32, 64), d.between(1, 150)) if not long or dim == 0 else d.near(65536)
    x = d.integers(0, 9, shape) if dtype == "int64" else d.normal(*shape)
    if kind in ("index_select", "index_add"):
        index = d.integers(0, shape[dim], (count,))
        other = shape[:dim] + (count,) + shape[dim + 1:]
    else:
        other = shape[:dim] + (count if kind != "scatter" else shape[dim],) + shape[dim + 1:]
        index = d.integers(0, shape[dim], other)
        if kind == "scatter":  # each place once
            index = np.argsort(d.uniform(0, 1, other), dim)
        elif d.flag(0.3) and len(shape) > 1 and not long:  # one index a row, expanded
            index = np.broadcast_to(d.integers(0, shape[dim],
                                               (count,)).reshape([-1 if i == dim else 1 for i in range(len(shape))]),
                                    other)
    if np.size(index) > 400_000:
        return gathered(d)
    grad = dtype in FLOATS
    values = d.integers(0, 9, other) if dtype == "int64" else d.normal(*other)
    places = np.take(R.places_of(shape), index, dim) if np.ndim(index) == 1 and np.shape(index) != other or kind in (
        "index_select", "index_add") else np.take_along_axis(R.places_of(shape), index, dim)
    given_index = Given(index, "int64", layout_of(d, other) if np.shape(index) == other and not long else "dense",
                        grad=False)
    first = Given(x, dtype, "dense" if long else layout_of(d, shape), grad=grad)
    second = Given(values, dtype, "dense" if long else layout_of(d, other), grad=grad)
    if kind in ("gather", "index_select"):
        f = S.gather if kind == "gather" else S.index_select
        expand = kind == "gather" and len(shape) > 1 and d.flag(0.25) and not long
        if expand:
            line = d.integers(0, shape[dim], (count,))
            view = [-1 if i == dim else 1 for i in range(len(shape))]
            places = np.take(R.places_of(shape), line, dim)
            return Sample([first, Given(line, "int64", grad=False)], lambda t, i: f(t, dim, i.view(view).expand(other)),
                          lambda t, i: R.take(t,
                                              places) if grad else t.reshape(-1)[places], tolerance=64, text="gather expanded ")
        return Sample([first, given_index], lambda t, i: f(t, dim, i), lambda t,
                      i: R.take(t, places) if grad else t.reshape(-1)[places],
                      tolerance=64, text=f"{kind} over {dim} of ")

    def plain(t, i, v):
        if grad:
            kept = t if kind != "scatter" else t * (1.0 - np.bincount(places.reshape(-1), minlength=t.size).reshape(shape))
            return kept + R.spread(v, places, shape)
        out = (t if kind != "scatter" else np.zeros_like(t)).copy().reshape(-1)
        np.add.at(out, places.reshape(-1), v.reshape(-1))
        return out.reshape(shape)
    if d.flag(0.4):  # in place, where the tensor lies
        run = {"scatter_add": lambda t, i, v: fresh(t).scatter_add_(dim, i, v), "index_add": lambda t, i,
               v: fresh(t).index_add_(dim, i, v),
               "scatter": lambda t, i, v: fresh(t).scatter_(dim, i, v)}[kind]
    else:
        run = {"scatter_add": lambda t, i, v: t.scatter_add(dim, i, v), "index_add": lambda t, i,
               v: t.index_add(dim, i, v),
               "scatter": lambda t, i, v: t.scatter(dim, i, v)}[kind]
    return Sample([first, given_index, second], run, plain, tolerance=256, text=f"{kind} over {dim} of ")


def rearranged(d: Draw):
    """flip, roll, tril, pad, cat, stack, nonzero, masked."""
    kind = d.one("flip", "flip", "tril", "tril", "pad", "pad", "cat", "cat", "stack", "stack", "nonzero", "nonzero",
                 "embedding_bag", "embedding_bag")
    dtype = d.one(*FLOATS, "uint8", "complex128")
    grad = dtype in FLOATS or dtype == "complex128"

    def numbers(shape):
        if dtype == "complex128":
            return d.complex(*shape)
        return d.integers(0, 99, shape) if dtype == "uint8" else d.normal(*shape)

    def plain_take(places):
        return lambda t: R.take(t, places) if grad else t.reshape(-1)[places]
    shape = d.one((d.between(1, 60), d.between(1, 90)), (d.between(1, 4), d.between(1, 9), d.between(2, 20),
                                                         d.between(2, 30)),
                  (d.between(1, 300),))
    layout = layout_of(d, shape)
    if kind == "flip":
        dims = [len(shape) - 1] if d.flag(0.6) else [i for i in range(len(shape)) if d.flag()] or [0]
        return Sample([Given(numbers(shape), dtype, layout)], lambda t: S.flip(t, dims),
                      plain_take(np.flip(R.places_of(shape), dims)),
                      text=f"flip {dims} of ")
    if kind == "tril":
        if len(shape) < 2:
            shape, layout = (d.between(2, 80), d.between(2, 80)), d.one("dense", "reversed")
        k, place = d.one(-2, 0, 1), d.flag()
        mask = np.tril(np.ones(shape[-2:], bool), k)
        return Sample([Given(numbers(shape), dtype, layout)], lambda t: fresh(t).tril_(k) if place else S.tril(t, k),
                      lambda t: R.where(mask, t, 0.0) if grad else np.where(mask, t, 0), text="tril")
    if kind == "pad":
        if len(shape) < 4:
            shape, layout = (d.between(1, 3), d.between(1, 8), d.between(4, 20),
                             d.between(4, 30)), d.one("dense", "channels", "padded")
        mode = d.one("constant", "reflect", "replicate")
        b, e, t0, t1 = (d.state.randint(0, 4) for _ in range(4))
        widths = [(0, 0), (0, 0), (t0, t1), (b, e)]
        if min(shape[2:]) < 4:
            mode = "constant"
        places = np.pad(R.places_of(shape), widths,
                        mode={"reflect": "reflect", "replicate": "edge"}.get(mode, "constant"))
        if dtype == "uint8":
            dtype, grad = "float32", True
        given = Given(d.complex(*shape) if dtype == "complex128" else d.normal(*shape), dtype, layout)
        if mode == "constant":
            return Sample([given], lambda t: S.nn.functional.pad(t, (b, e, t0, t1), value=1.5),
                          lambda t: R.pad(t, widths, 1.5),
                          text="pad constant ")
        return Sample([given], lambda t: S.nn.functional.pad(t, (b, e, t0, t1), mode=mode), lambda t: R.take(t, places),
                      text=f"pad {mode} ")
    if kind in ("cat", "stack"):
        count, dim = d.one(2, 3), d.state.randint(len(shape))
        shapes = [shape] * count
        if kind == "cat":
            shapes = [tuple(d.between(1, 9) if i == dim else n for i, n in enumerate(shape)) for _ in range(count)]
            if d.flag(0.3):
                shapes = [tuple(d.one(1, 2, 4) if i == len(shape) - 1 else n for i,
                                n in enumerate(shape)) for _ in range(count)]
                dim = len(shape) - 1
            if d.flag(0.15):
                shapes = [(1,) * dim + s[dim:] for s in shapes]
        else:
            dim = d.state.randint(len(shape) + 1)
        other = "float64" if dtype == "float32" and d.flag(0.2) else dtype
        given = [Given(numbers(s), dtype if i == 0 else other, d.one("dense", "dense", layout_of(d, s))) for i,
                 s in enumerate(shapes)]
        f, plain = (S.cat, R.concatenate) if kind == "cat" else (S.stack, R.stack)
        return Sample(given, lambda *t: f(t, dim),
                      lambda *t: plain(t, dim) if grad else (np.concatenate if kind == "cat" else np.stack)(t, dim),
                      text=f"{kind} over {dim} of ")
    if kind == "nonzero":
        shape = d.one((d.one(d.near(65536, 131072), d.between(1, 3000)),), (d.between(1, 400), d.between(1, 400)))
        source = d.one("bool", "uint8", "float32", "int64")
        x = d.state.random_sample(shape) < d.one(0.02, 0.5)
        return Sample([Given(x if source == "bool" else x.astype(np.int64), source, d.one("dense", "gaps"),
                             grad=False)], S.nonzero,
                      lambda t: np.argwhere(value_of(t)), tolerance=0, text="nonzero")
    rows, width, bags = d.between(3, 60), d.one(1, d.between(1, 40)), d.between(1, 30)
    n = d.between(bags, 200)
    offsets = np.sort(np.concatenate([[0], d.integers(0, n, (bags - 1,))]))
    mode, dtype = d.one("sum", "sum", "mean"), d.one(*FLOATS)
    padding = d.one(None, None, 1)
    index = d.integers(0, rows, (n,))
    of = np.searchsorted(offsets, np.arange(n), "right") - 1
    counts = np.array([max(1, int(((of == b) & (index != padding)).sum())) for b in range(bags)])

    def plain(w, i, o):
        live = np.flatnonzero(index != padding) if padding is not None else np.arange(n)
        matrix = np.zeros((bags, len(live)))
        matrix[of[live], np.arange(len(live))] = 1
        if mode == "mean":
            matrix /= counts[:, None]
        return R.apply_matrix(matrix, R.take_rows(w, index[live]), 0)
    return Sample([Given(d.normal(rows, width), dtype, d.one("dense", "reversed")), Given(index, "int64", grad=False),
                   Given(offsets, "int64", grad=False)],
                  lambda w, i, o: S.nn.functional.embedding_bag(i, w, o, mode=mode, padding_idx=padding), plain, tolerance=64,
                  text=f"embedding_bag {mode} ")


# Random draws: the words of the Mersenne twister, as the definitions take them.

class Words:
    def __init__(self, seed):
        self.state = np.random.RandomState(seed)

    def take(self, n):
        return self.state.randint(0, 2 ** 32, size=n, dtype=np.uint32).astype(np.uint64)

    def uniform24(self, n):
        return (self.take(n) & np.uint64(2 ** 24 - 1)).astype(np.float64) / 2 ** 24

    def uniform53(self, n):
        words = self.take(2 * n)
        both = words[1::2] | words[0::2] << np.uint64(32)
        return (both & np.uint64(2 ** 53 - 1)).astype(np.float64) / 2 ** 53


def normal_blocks(u, n):
    """Box-Muller in blocks of 16 of n uniform numbers, and 16 more for a tail."""
    def block(b):
        radius, angle = np.sqrt(-2 * np.log(1 - b[:8])), 2 * math.pi * b[8:]
        return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    out = u[:n].copy()
    for i in range(0, n - 15, 16):
        out[i:i + 16] = block(out[i:i + 16])
    if n % 16:
        out[n - 16:] = block(u[n:n + 16])
    return out


def drawn(d: Draw):
    kind = d.one("uniform", "uniform", "bernoulli", "bernoulli", "normal", "normal")
    shape = d.one((d.one(d.near(16, 256, 2048), d.between(1, 5000), d.between(1, 15)),),
                  (d.between(1, 60), d.between(1, 90)))
    n, seed = math.prod(shape), d.state.randint(10 ** 6)
    layout = d.one("dense", "dense", "gaps")
    if kind == "bernoulli":
        dtype, p = d.one("float32", "uint8", "bool", "float64", "int64"), 0.3
        if d.flag(0.4):
            shape = (d.near(2048, 3000),)
            n = shape[0]
        return Sample([Given(np.zeros(shape), dtype, layout, grad=False)], lambda t: t.bernoulli_(p),
                      lambda t: (Words(seed).uniform53(n) < p).reshape(shape), tolerance=0, seed=seed, text="bernoulli_")
    dtype = d.one("float32", "float32", "float64")
    if kind == "uniform":
        low, high = d.one((0, 1), (0, 1), (-2, 3))
        words = Words(seed)
        u = words.uniform53(n) if dtype == "float64" else words.uniform24(n)
        return Sample([Given(np.zeros(shape), dtype, layout, grad=False)], lambda t: t.uniform_(low, high),
                      lambda t: (u * (high - low) + low).reshape(shape), tolerance=4, seed=seed, text="uniform_")
    words = Words(seed)
    if n < 16 or layout != "dense":  # one pair after the other, in double precision
        u = words.uniform53(n + n % 2)
        radius, angle = np.sqrt(-2 * np.log1p(-u[1::2])), 2 * math.pi * u[0::2]
        pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)[:n]
        return Sample([Given(np.zeros(shape), dtype, layout, grad=False)], lambda t: t.normal_(),
                      lambda t: pairs.reshape(shape), tolerance=64,
                      seed=seed, text="normal_")
    u = (words.uniform53 if dtype == "float64" else words.uniform24)(n + (16 if n % 16 else 0))
    return Sample([Given(np.zeros(shape), dtype, layout, grad=False)], lambda t: t.normal_(),
                  lambda t: normal_blocks(u, n).reshape(shape),
                  tolerance=64, seed=seed, text="normal_")


FAMILIES = [sorted_, top, selected, uniques, counting, searched, indexed, gathered, rearranged, drawn]
