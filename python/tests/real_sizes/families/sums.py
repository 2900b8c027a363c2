"""Reductions, scans, pointwise functions."""

import math

import numpy as np

from real_sizes.calls import COMPLEX, EPS, Call
from real_sizes.families import budget, family


def some_dims(d, ndim):
    """None, one, or several."""
    if d.chance(4):
        return None
    if d.chance(2):
        return d.below(ndim) - (ndim if d.chance(2) else 0)
    dims = tuple(i for i in range(ndim) if d.chance(2))
    return dims or (ndim - 1,)


def count_of(shape, dim):
    dims = range(len(shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    return math.prod(shape[i] for i in dims)


@family("reduction", 3)
def reduction(d):
    kind = d.pick(("sum", "sum", "mean", "var", "std", "var_mean", "amax", "amin", "prod", "vector_norm", "logsumexp", "nansum"))
    dtype = d.pick(COMPLEX) if kind in ("sum", "mean") and d.chance(8) else d.float_dtype()
    shape = d.shape(d.pick((1, 2, 2, 3, 4, 5)), budget(d))
    dim, keep = some_dims(d, len(shape)), d.chance(2)
    if kind == "prod" and not isinstance(dim, int):
        dim = None
    n = count_of(shape, dim)
    x = d.tensor(shape, dtype, transform={
        "prod": lambda v: np.exp(v * (0.5 / math.sqrt(n))) * np.where(v > 0, 1, -1),
        "nansum": lambda v: np.where(np.abs(v) > 2, math.nan, v)}.get(kind))
    if kind in ("var", "std", "var_mean"):
        correction = d.pick((1, 1, 0, 2))
        if n <= correction + 1:
            correction = 0
        if kind == "std" and n < 16:  # a deviation of almost nothing has no gradient to speak of
            kind = "var"
        floor = EPS[dtype] * float(np.max(np.abs(x.values))) ** 2  # of equal numbers
        if kind == "var_mean":
            return Call(f"var_mean[{dim} {correction}]", [x], lambda T, x: T.var_mean(x, dim=dim, correction=correction), n, floor=floor)
        return Call(f"{kind}[{dim} {correction} {keep}]", [x],
                    lambda T, x: getattr(T, kind)(x, dim=dim, correction=correction, keepdim=keep), n, floor=floor)
    if kind in ("amax", "amin"):
        dims = () if dim is None else dim
        return Call(f"{kind}[{dims} {keep}]", [x], lambda T, x: getattr(T, kind)(x, dim=dims, keepdim=keep), n)
    if kind == "prod":
        if dim is None:
            return Call("prod", [x], lambda T, x: T.prod(x), n, once=True)
        return Call(f"prod[{dim} {keep}]", [x], lambda T, x: T.prod(x, dim=dim, keepdim=keep), n, once=True)
    if kind == "vector_norm":
        p = d.pick((2, 2, 1, math.inf, 3))
        return Call(f"vector_norm[{p} {dim} {keep}]", [x], lambda T, x: T.linalg.vector_norm(x, p, dim, keep), n, once=p == 3 or n < 4)
    if kind == "logsumexp":
        dims = tuple(range(len(shape))) if dim is None else dim
        return Call(f"logsumexp[{dims} {keep}]", [x], lambda T, x: T.logsumexp(x, dims, keep), n)
    if kind == "nansum":
        return Call(f"nansum[{dim}]", [x], lambda T, x: T.nansum(x, dim), n, once=True)
    if dim is None:
        return Call(kind, [x], lambda T, x: getattr(T, kind)(x), n)
    return Call(f"{kind}[{dim} {keep}]", [x], lambda T, x: getattr(T, kind)(x, dim=dim, keepdim=keep), n)


@family("reduction")
def places_of_extremes(d):
    dtype = d.float_dtype()
    shape = d.shape(d.pick((1, 2, 3, 4)), budget(d))
    dim = d.below(len(shape))
    kind = d.pick(("max", "min", "argmax", "argmin"))
    # No two equal elements: which of them counts is not defined for all.
    n = math.prod(shape)
    values = d.values.permutation(n).reshape(shape).astype(np.float64)
    most = {"bfloat16": 256, "float16": 2048}.get(dtype, n)
    if shape[dim] > most:
        dtype = "float32"
    if dtype in ("bfloat16", "float16"):
        values = np.argsort(np.argsort(values, dim), dim).astype(np.float64)
    x = d.tensor(shape, dtype, values=values)
    if kind.startswith("arg"):
        whole = d.chance(3) and dtype in ("float32", "float64") and n < 1 << 24
        return Call(f"{kind}[{None if whole else dim}]", [x], lambda T, x: getattr(T, kind)(x) if whole else getattr(T, kind)(x, dim=dim))
    return Call(f"{kind}[{dim}]", [x], lambda T, x: tuple(getattr(T, kind)(x, dim)))


@family("reduction")
def of_integers(d):
    shape = d.shape(d.pick((1, 2, 3, 4)), budget(d))
    kind = d.pick(("count_nonzero", "any", "all"))
    dim = d.below(len(shape)) if d.chance(2) else None
    x = d.mask(shape, d.pick((0.5, 0.01, 0.999)))
    if d.chance(2):
        x = d.integers(0, d.pick((2, 3, 100)), shape, d.pick(("int64", "int32", "uint8", "int8", "int16")), layouts=True)
    return Call(f"{kind}[{dim}]", [x], lambda T, x: getattr(T, kind)(x) if dim is None else getattr(T, kind)(x, dim=dim), exact=True)


@family("scan")
def scan(d):
    kind = d.pick(("cumsum", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "diff"))
    dtype = d.pick(COMPLEX) if kind == "cumsum" and d.chance(8) else d.float_dtype()
    shape = d.shape(d.pick((1, 2, 3, 4)), budget(d))
    dim = d.pick((-1, *range(len(shape))))
    n = shape[dim]
    if kind == "diff" and n < 2:
        kind = "cumsum"
    if kind in ("cummax", "cummin"):
        x = d.tensor(shape, dtype)
        return Call(f"{kind}[{dim}]", [x], lambda T, x: tuple(getattr(T, kind)(x, dim)), n)
    transform = None
    if kind == "cumprod":
        def transform(v):
            return np.exp(v * (0.5 / math.sqrt(n))) * np.where(v > 0, 1, -1)
    x = d.tensor(shape, dtype, transform=transform)
    return Call(f"{kind}[{dim}]", [x], lambda T, x: getattr(T, kind)(x, dim=dim), n, once=kind in ("cumprod", "logcumsumexp"))


ONE = ("exp", "expm1", "sin", "cos", "tanh", "sigmoid", "erf", "relu", "silu", "gelu", "gelu_tanh", "mish", "softplus", "softsign",
       "logsigmoid", "hardtanh", "relu6", "hardswish", "hardsigmoid", "tanhshrink", "leaky_relu", "elu", "selu", "hardshrink", "softshrink",
       "neg", "square", "abs", "atan", "sinh", "cosh", "exp2", "threshold", "clamp", "floor", "round", "sign", "ndtr", "erfc")
POSITIVE = ("log", "log1p", "sqrt", "rsqrt", "reciprocal", "log2", "log10", "pow", "lgamma")
FUNCTIONAL = {"silu", "gelu", "mish", "softplus", "softsign", "logsigmoid", "hardtanh", "relu6", "hardswish", "hardsigmoid", "tanhshrink",
              "leaky_relu", "elu", "selu", "hardshrink", "softshrink", "threshold"}


def function(kind, number=0.5):
    def run(T, x):
        if kind == "gelu_tanh":
            return T.nn.functional.gelu(x, approximate="tanh")
        if kind == "clamp":
            return T.clamp(x, -number, 1.0)
        if kind == "threshold":
            return T.nn.functional.threshold(x, number, -2.0)
        if kind == "ndtr":
            return T.special.ndtr(x)
        if kind == "pow":
            return T.pow(x, number)
        return getattr(T.nn.functional if kind in FUNCTIONAL else T, kind)(x)
    return run


@family("pointwise", 3)
def one(d):
    dtype = d.float_dtype()
    shape = d.shape(d.pick((1, 2, 3, 4)), budget(d) // (16 if d.chance(2) else 4))
    kind = d.pick(ONE + POSITIVE)
    number = d.pick((0.5, 2.0, 3.0, -1.0, 1.5, -0.5, 4.0))
    transform = (lambda v: np.abs(v) + 2.0**-4) if kind in POSITIVE else None
    x = d.tensor(shape, dtype, transform=transform, scale=d.pick((1.0, 1.0, 3.0)), grad=kind not in ("floor", "round", "sign"))
    # Derivatives of lgamma beyond the first are not in the reference.
    return Call(f"{kind}[{number}]" if kind in ("pow", "clamp", "threshold") else kind, [x], function(kind, number), once=kind == "lgamma")


def broadcast_shapes(d, count, elements):
    shape = d.shape(d.pick((1, 2, 3, 4)), elements)
    shapes = [shape]
    for _ in range(count - 1):
        other = [1 if d.chance(4) else n for n in shape]
        shapes.append(tuple(other[d.below(len(other)):]) if d.chance(4) else tuple(other))
    return shapes


@family("pointwise", 3)
def several(d):
    dtype = d.pick(COMPLEX) if d.chance(10) else d.float_dtype()
    kind = d.pick(("add", "sub", "mul", "div", "add_alpha", "addcmul", "addcdiv", "lerp", "where", "maximum", "minimum", "hypot",
                   "logaddexp", "glu", "prelu"))
    if dtype in COMPLEX and kind not in ("add", "sub", "mul", "div"):
        dtype = "float32"
    elements = budget(d) // 4
    if kind == "glu":
        shape = d.shape(d.pick((1, 2, 3, 4)), elements)
        dim = d.below(len(shape))
        shape = tuple(2 * n if i == dim else n for i, n in enumerate(shape))
        return Call(f"glu[{dim}]", [d.tensor(shape, dtype)], lambda T, x: T.nn.functional.glu(x, dim))
    if kind == "prelu":
        shape = d.shape(d.pick((2, 3, 4)), elements)
        return Call("prelu", [d.tensor(shape, dtype), d.tensor((shape[1],), dtype)],
                    lambda T, x, w: T.nn.functional.prelu(x, w), math.prod(shape) // shape[1])
    shapes = broadcast_shapes(d, 3 if kind in ("addcmul", "addcdiv", "lerp") else 2, elements)
    away = (lambda v: np.where(np.real(v) < 0, v - 0.5, v + 0.5)) if kind in ("div", "addcdiv") else None
    given = [d.tensor(s, dtype, transform=away if i == len(shapes) - 1 else None) for i, s in enumerate(shapes)]
    terms = max(math.prod(s) for s in shapes)
    if kind == "where":
        given.insert(0, d.mask(d.pick((shapes[0], shapes[0][-1:], shapes[1]))))
        return Call("where", given, lambda T, m, a, b: T.where(m, a, b), terms)
    if kind == "add_alpha":
        return Call("add[2.5]", given, lambda T, a, b: T.add(a, b, alpha=2.5), terms)
    if kind in ("addcmul", "addcdiv"):
        return Call(f"{kind}[0.5]", given, lambda T, a, b, c: getattr(T, kind)(a, b, c, value=0.5), terms)
    return Call(kind, given, lambda T, *xs: getattr(T, kind)(*xs), terms)


CHAIN = ("sigmoid", "tanh", "silu", "gelu", "sin", "cos", "neg", "square", "softplus", "elu", "mish", "atan")


@family("pointwise", 2)
def chain(d):
    """Several functions one after the other, which plans fuse."""
    dtype = d.float_dtype()
    shapes = broadcast_shapes(d, 3, budget(d) // 8)
    given = [d.tensor(s, dtype) for s in shapes]
    steps = [(d.pick(CHAIN + ("add", "mul", "sub", "lerp")), d.below(3)) for _ in range(d.between(2, 6))]

    def run(T, *xs):
        y = xs[0]
        for name, i in steps:
            if name in ("add", "mul", "sub"):
                y = getattr(T, name)(y, xs[i])
            elif name == "lerp":
                y = T.lerp(y, xs[i], 0.25)
            else:
                y = function(name)(T, y)
        return y
    call = Call("chain[" + " ".join(n if n not in ("add", "mul", "sub", "lerp") else f"{n}{i}" for n, i in steps) + "]", given, run,
                max(math.prod(s) for s in shapes))
    call.chained = len(steps)
    return call
