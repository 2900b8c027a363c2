"""Families: pointwise operators, copies, fills, reductions, operators along a dim."""

import numpy as np
import sconce as S

from real_sizes import reference as R
from variants.samples import FLOATS, Draw, Given, Sample

THREAD_SHARE = 32768  # elements: base/parallel.h
LARGE = 4 << 20  # elements of float32 whose results bypass the caches


def shape_of(d: Draw, most=200_000):
    """Of one to four dims; sizes about whole vectors, tiles and shares of threads."""
    kind = d.one("line", "line", "matrix", "matrix", "box", "image")
    if kind == "line":
        return (d.one(d.between(1, 200), d.near(512), d.near(THREAD_SHARE), d.between(1, most)),)
    if kind == "matrix":
        rows = d.between(1, 300)
        return (rows, d.one(d.between(1, 64), d.near(512), max(1, min(4096, most // rows))))
    if kind == "box":
        return (d.between(1, 20), d.between(1, 40), d.between(1, 60))
    return (d.between(1, 4), d.between(2, 40), d.between(2, 20), d.between(2, 24))


def layout_of(d: Draw, shape):
    if len(shape) == 1:
        return d.one("dense", "dense", "gaps", "offset")
    if len(shape) == 4:
        return d.one("dense", "channels", "channels", "reversed", "padded")
    return d.one("dense", "dense", "reversed", d.permutation(len(shape)), "gaps", "padded")


UNARY = [
    ("exp", S.exp, R.exp, (-3, 3)), ("tanh", S.tanh, R.tanh, (-3, 3)), ("sqrt", S.sqrt, R.sqrt, (0.3, 9)),
    ("neg", S.neg, R.neg, (-3, 3)), ("relu", S.relu, R.relu, (-3, 3)), ("abs", S.abs, R.absolute, (0.5, 3)),
    ("sigmoid", S.sigmoid, R.sigmoid, (-4, 4)), ("log", S.log, R.log, (0.5, 9)),
    ("scaled", lambda x: x * 3, lambda x: x * 3.0, (-3, 3)),
]
BINARY = [
    ("add", S.add, R.add), ("sub", S.sub, lambda a,
                            b: R.add(a, R.neg(b))), ("mul", S.mul, R.mul), ("div", S.div, R.div),
    ("maximum", S.maximum, R.maximum),
    ("addcmul", lambda a, b: S.addcmul(a, a, b, value=2), lambda a, b: a + a * b * 2.0),
]


def unary(d: Draw):
    name, run, plain, (low, high) = d.one(*UNARY)
    shape, dtype = shape_of(d), d.one(*FLOATS)
    return Sample([Given(d.uniform(low, high, shape), dtype, layout_of(d, shape))], run, plain, text=name)


def broadcast_of(d: Draw, shape):
    """A shape that broadcasts to another one."""
    small = [1 if d.flag(0.4) else n for n in shape]
    return tuple(small[d.state.randint(len(small)):]) if d.flag(0.3) else tuple(small)


def binary(d: Draw):
    name, run, plain = d.one(*BINARY)
    shape = shape_of(d)
    other = shape if d.flag() else broadcast_of(d, shape)
    dtype = d.one(*FLOATS)
    second = dtype if d.flag(0.7) else d.one("float32", "float64", "bfloat16")
    layout = layout_of(d, shape)
    values = d.uniform(0.5, 3, shape), d.uniform(0.5, 3, other)
    # Rounded operands may be equal, where a maximum has two gradients.
    return Sample([Given(values[0], dtype, layout), Given(values[1], second, layout if other == shape and d.flag() else
                                                          layout_of(d, other) if other else "dense")],
                  run, plain, text=name, gradients=name != "maximum", tolerance=64)


def integers(d: Draw):
    shape = shape_of(d)
    kind = d.one("int64", "int32", "uint8", "int16", "bool")
    if kind == "bool":
        name, run, plain = d.one(("and", S.logical_and, lambda a, b: a & b), ("add", S.add, lambda a, b: a | b),
                                 ("mul", S.mul, lambda a, b: a & b), ("maximum", S.maximum, lambda a, b: a | b),
                                 ("eq", S.eq, lambda a, b: a == b), ("clamp_max", S.clamp_max, lambda a, b: a & b),
                                 ("xor", S.bitwise_xor, lambda a, b: a ^ b))
        values = d.bools(*shape), d.bools(*shape)
    else:
        name, run, plain = d.one(("add", S.add, lambda a, b: a + b), ("mul", S.mul, lambda a, b: a * b),
                                 ("and", S.bitwise_and, lambda a, b: a & b), ("lt", S.lt, lambda a, b: a < b))
        values = d.integers(0, 11, shape), d.integers(0, 11, shape)
    return Sample([Given(v, kind, layout_of(d, shape)) for v in values], run, plain, text=name)


def compared(d: Draw):
    shape, dtype = shape_of(d), d.one("float32", "float64")
    name, run, plain = d.one(
        ("where", lambda a, b: S.where(a < b, a, b * 2), lambda a, b: R.where(a.value < b.value, a, b * 2.0)),
        ("lt", S.lt, lambda a, b: a.value < b.value))
    return Sample([Given(d.normal(*shape), dtype, layout_of(d, shape)),
                   Given(d.normal(*shape), dtype, layout_of(d, shape))],
                  run, plain, text=name)


def in_place(d: Draw):
    shape, dtype = shape_of(d), d.one(*FLOATS)
    to, of = layout_of(d, shape), layout_of(d, shape)

    def run(a, b):
        x = a.clone(memory_format=S.preserve_format)
        x.mul_(2)
        x.add_(b)
        return x
    return Sample([Given(d.normal(*shape), dtype, to), Given(d.normal(*shape), dtype, of)], run, lambda a,
                  b: a * 2.0 + b,
                  text="mul_, add_")


def large_elements(d: Draw):
    """Results of 8 and of 16 MB: with and without streaming stores, dense and strided."""
    n = d.one(LARGE, LARGE + 4097, LARGE - 70000, LARGE // 2 + 3000, LARGE // 2 - 5000)
    rows = d.one(1, 4, 1024, 2048)
    shape = (n,) if rows == 1 else (rows, n // rows)
    x = d.normal(*shape).astype(np.float32)
    kind = d.one("add", "exp", "convert", "strided", "copy", "in place", "narrow")
    if kind == "add":
        return Sample([Given(x, "float32", grad=False)], lambda a: a + 1.5, lambda a: a + 1.5, text="large add")
    if kind == "exp":
        return Sample([Given(x, "float32", grad=False)], S.exp, R.exp, text="large exp")
    if kind == "convert":
        other = d.one("bfloat16", "float16", "float64")
        return Sample([Given(x, "float32", grad=False), Given(x[..., :1] if d.flag() else x * 2, other, grad=False)],
                      S.add,
                      R.add, text="large add")
    if kind == "narrow":
        return Sample([Given(x, "bfloat16", grad=False)], lambda a: a * 2, lambda a: a * 2.0, text="large mul")
    if kind == "strided":
        return Sample([Given(x, "float32", d.one("gaps", "padded"), grad=False)], lambda a: a + 1.5, lambda a: a + 1.5,
                      text="large strided add")
    if kind == "copy":
        return Sample([Given(x, "float32", d.one("reversed", "gaps", "padded"), grad=False)], lambda a: a.contiguous(),
                      lambda a: a, tolerance=0, text="large contiguous")
    return Sample([Given(x, "float32", grad=False)], lambda a: a.clone().add_(1.5), lambda a: a + 1.5,
                  text="large add_")


def copied(d: Draw):
    shape = shape_of(d)
    if d.flag(0.2):
        shape = (d.near(64, 512), d.near(64, 512))
    source, layout = d.one("float32", "float64", "bfloat16", "float16", "int64", "int32", "uint8",
                           "bool"), layout_of(d, shape)
    target = source if d.flag(0.4) else d.one("float32", "float64", "int64", "int32", "bfloat16", "bool")
    to = layout_of(d, shape)
    value = d.integers(0, 2 if source == "bool" else 9, shape)
    given = Given(value.astype(bool) if source == "bool" else value if "int" in source else value.astype(np.float64),
                  source,
                  layout, grad=False)
    expand = d.flag(0.2) and len(shape) > 1
    if expand:
        given = Given(given.value[..., :1], source, "dense", grad=False)
    place = Given(np.zeros(shape), target, to, grad=False)

    def run(x, y):
        return y.copy_(x)

    def plain(x, y):
        x = x.value if isinstance(x, R.Node) else x
        x = np.broadcast_to(x, shape)
        return x != 0 if target == "bool" else x.astype(np.float64 if target in FLOATS else np.int64)
    return Sample([given, place], run, plain, tolerance=0, text="copy_")


def filled(d: Draw):
    shape, dtype = shape_of(d), d.one("float32", "uint8", "int64", "bfloat16", "float64")
    value = d.one(0, 0, 1, 3)
    return Sample([Given(d.integers(0, 5, shape), dtype, layout_of(d, shape), grad=False)], lambda x: x.fill_(value),
                  lambda x: np.full(shape, value), tolerance=0, text=f"fill_ {value} ")


REDUCTIONS = [
    ("sum", lambda x, a, k: S.sum(x, a, keepdim=k), R.sum), ("mean", lambda x, a, k: S.mean(x, a, keepdim=k), R.mean),
    ("amax", lambda x, a, k: S.amax(x, a, keepdim=k), R.amax),
    ("logsumexp", lambda x, a, k: S.logsumexp(x, a, keepdim=k), lambda x, a, k: R.logsumexp(x, a, k)),
    ("var", lambda x, a, k: S.var(x, a, correction=0, keepdim=k), lambda x, a, k: R.var(x, a, 0, k)),
    ("norm", lambda x, a, k: S.linalg.vector_norm(x, 2, a, k), lambda x, a, k: R.sqrt(R.sum(x * x, a, k))),
]


def reduced_shape(d: Draw):
    kind = d.state.randint(7)
    if kind == 0:
        return (d.one(d.near(4096), d.between(1, 300_000)),)
    if kind == 1:
        return (d.one(d.near(33, 64, 4096), d.between(1, 9000)), d.one(d.near(16), d.between(1, 70)))
    if kind == 2:
        return (d.between(1, 200), d.one(d.near(32, 4096), d.between(1, 6000)))
    if kind == 3:
        return (d.between(1, 12), d.one(d.near(64), d.between(1, 200)), d.between(1, 80))
    if kind == 4:
        return (d.between(1, 6), d.between(1, 40), d.between(1, 24), d.between(1, 48))
    if kind == 5:
        return (d.between(16, 3000), d.between(1, 33))
    return (d.between(2, 8), d.between(2, 9), d.between(2, 8), d.between(2, 9), d.between(2, 40))


def narrowed_sum(d: Draw):
    """A sum in another dtype than that of its elements."""
    shape = reduced_shape(d)
    dim = d.state.randint(len(shape))
    source, to = d.one(("float32", "float16"), ("float64", "bfloat16"), ("bfloat16", "float16"), ("int32", "bfloat16"))
    x = d.integers(-3, 4, shape) if source == "int32" else d.normal(*shape)
    return Sample([Given(x, source, layout_of(d, shape), grad=False)], lambda t: S.sum(t, dim, dtype=getattr(S, to)),
                  lambda t: R.sum(R.Node(np.asarray(t.value if isinstance(t, R.Node) else t, np.float64)),
                                  dim), text=f"sum to {to} over {dim} of ",
                  tolerance=8 + 2 * shape[dim] ** 0.5)


def reduced(d: Draw):
    name, run, plain = d.one(*REDUCTIONS)
    shape = reduced_shape(d)
    dims = [i for i in range(len(shape)) if d.flag()] or [d.state.randint(len(shape))]
    if len(shape) > 3 and d.flag():
        dims = [0, 2]
    dtype, keep = d.one(*FLOATS), d.flag()
    layout = layout_of(d, shape)
    x = d.permutation(int(np.prod(shape))) if name == "amax" and dtype in ("float32", "float64") else d.normal(*shape)
    x = np.asarray(x, np.float64).reshape(shape) + (1 if name in ("norm",) else 0)
    return Sample([Given(x, dtype, layout)], lambda t: run(t, dims, keep), lambda t: plain(t, tuple(dims), keep),
                  text=f"{name} over {dims} of ", tolerance=64, gradients=not (name == "amax" and "16" in dtype) and
                  not (name == "var" and min(shape) == 0))


def counted(d: Draw):
    """Reductions of integers and bools, and places of the largest."""
    shape = reduced_shape(d)
    dim = d.state.randint(len(shape))
    kind = d.one("sum", "any", "argmax", "argmin", "prod", "max", "count")
    if d.flag(0.2):
        shape, dim, kind = (d.near(32, 64, 4096), d.between(1, 15)), 0, "max"
    layout = layout_of(d, shape)
    if kind == "any":
        return Sample([Given(d.state.random_sample(shape) < 0.02, "bool", layout)], lambda x: S.any(x, dim),
                      lambda x: x.any(dim),
                      text=f"any over {dim} of ")
    if kind in ("sum", "prod"):
        dtype = d.one("int64", "int32", "uint8", "bool")
        x = d.integers(0, 2, shape) if dtype == "bool" or kind == "prod" else d.integers(0, 50, shape)
        f = getattr(S, kind)
        return Sample([Given(x.astype(bool) if dtype == "bool" else x, dtype, layout)], lambda t: f(t, dim),
                      lambda t: getattr(t.astype(np.int64), kind)(dim), text=f"{kind} over {dim} of ")
    x = np.asarray(d.permutation(int(np.prod(shape)))).reshape(shape)
    dtype = d.one("float32", "float64", "int64")
    if kind == "count":
        return Sample([Given(x % 3, dtype, layout, grad=False)], lambda t: S.count_nonzero(t, dim),
                      lambda t: ((t.value if isinstance(t,
                                                        R.Node) else t) != 0).sum(dim), text=f"count_nonzero over {dim} of ")
    if kind == "max":
        return Sample([Given(x, dtype, layout, grad=False)], lambda t: tuple(S.max(t, dim)),
                      lambda t: (x.max(dim), x.argmax(dim)),
                      text=f"max over {dim} of ")
    return Sample([Given(x, dtype, layout, grad=False)], lambda t: getattr(S, kind)(t, dim),
                  lambda t: getattr(x, kind)(dim),
                  text=f"{kind} over {dim} of ")


def large_sum(d: Draw):
    """8 MB and more, converted."""
    n = d.one(LARGE + 1000, LARGE - 1000, 2 * LARGE // 3)
    rows = d.one(1, 8, 2048)
    shape = (n,) if rows == 1 else (rows, n // rows)
    dtype = d.one("bfloat16", "float16", "float32")
    dims = [len(shape) - 1] if d.flag(0.7) else list(range(len(shape)))
    x = d.normal(*shape).astype(np.float32)
    return Sample([Given(x, dtype, grad=False)], lambda t: S.sum(t, dims), lambda t: R.sum(t, tuple(dims)),
                  text=f"large sum over {dims} of ", tolerance=16)


ALONG = [
    ("softmax", S.softmax, R.softmax), ("log_softmax", S.log_softmax, R.log_softmax), ("cumsum", S.cumsum, R.cumsum),
    ("cumprod", S.cumprod, R.cumprod),
]


def along(d: Draw):
    name, run, plain = d.one(*ALONG)
    kind = d.state.randint(4)
    if kind == 0:
        shape = (d.between(1, 60), d.one(d.near(16, 64), d.between(1, 3000)))
    elif kind == 1:
        shape = (d.between(1, 8), d.between(1, 60), d.one(d.near(16, 64, 256), d.between(1, 300)))
    elif kind == 2:
        shape = (d.between(1, 5000),)
    else:
        shape = (d.between(2, 300), d.one(16, 32, 64, 128, 192))
    dim = d.state.randint(len(shape))
    if name == "cumprod":
        shape = tuple(min(n, 40) for n in shape)
    x = d.uniform(0.7, 1.4, shape) if name == "cumprod" else d.normal(*shape)
    return Sample([Given(x, d.one(*FLOATS), layout_of(d, shape))], lambda t: run(t, dim), lambda t: plain(t, dim),
                  text=f"{name} over {dim} of ", tolerance=128)


def large_along(d: Draw):
    columns = d.one(512, 1024, 1000, 4096)
    rows = LARGE // columns + d.one(-300, 0, 3, 500)
    x = d.normal(rows, columns).astype(np.float32)
    return Sample([Given(x, "float32", grad=False)], lambda t: S.softmax(t, 1), lambda t: R.softmax(t, 1),
                  text="large softmax", tolerance=64)


FAMILIES = [unary, binary, integers, compared, in_place, large_elements, copied, filled, reduced, narrowed_sum, counted,
            large_sum, along,
            large_along]
