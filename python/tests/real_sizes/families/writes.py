"""Writes into tensors and parts of them, conversions of dtypes, integers, numbers that are not finite."""

import math

import numpy as np

from real_sizes.calls import FLOATS, Call, Given
from real_sizes.families import budget, family

INTEGERS = ("int64", "int32", "int16", "int8", "uint8")


def part_of(d, shape):
    """A basic index: slices with steps."""
    index = []
    for n in shape:
        start = d.below(n) if d.chance(3) else 0
        step = d.pick((1, 1, 2, 3))
        index.append(slice(start, None, step))
    return tuple(index)


@family("shape", 3)
def in_place(d):
    """A part of a tensor is written: copied into, added to, multiplied, filled."""
    dtype = d.float_dtype()
    shape = d.shape(d.pick((1, 2, 3, 4)), budget(d))
    index = part_of(d, shape)
    inner = np.broadcast_to(0, shape)[index].shape
    kind = d.pick(("copy_", "add_", "mul_", "addcmul_", "fill_", "sub_", "clamp_", "setitem", "out", "lerp_"))
    a, b = d.tensor(shape, dtype), d.tensor(inner, dtype)
    if d.chance(3):
        b = d.tensor(tuple(1 if d.chance(2) else n for n in inner), dtype)
    other = d.pick(FLOATS) if kind in ("copy_", "setitem") and d.chance(3) else None
    if other:
        b = d.tensor(inner, other, grad=False)
        a.grad = False
    turned = d.chance(3) and len(inner) > 1

    def run(T, a, b):
        if hasattr(T, "by_places"):
            old = a[index]
            new = {"copy_": lambda: old * 0.0 + b, "setitem": lambda: old * 0.0 + b, "add_": lambda: old + b * 2.0, "mul_": lambda: old * b,
                   "addcmul_": lambda: old + old * b * 0.5, "fill_": lambda: old * 0.0 + 1.5, "sub_": lambda: old - b,
                   "clamp_": lambda: T.clamp(old, -0.5, 0.5), "out": lambda: old * b, "lerp_": lambda: old + (b - old) * 0.25}[kind]()
            places = T.R.places_of(a.shape)[index]
            return T.keep_without(a, places) + T.R.spread(new, places, a.shape)
        z = a.clone()
        view = z[index]
        if kind == "setitem":
            z[index] = b
            return z
        if kind == "out":
            copy = z.clone()
            T.mul(view, b, out=copy[index])
            return copy
        if turned:
            view, b = view.transpose(0, -1), b.transpose(0, -1)
        if kind == "addcmul_":
            view.addcmul_(view.detach() if not view.requires_grad else view.clone(), b, value=0.5)
        elif kind == "fill_":
            view.fill_(1.5)
        elif kind == "clamp_":
            view.clamp_(-0.5, 0.5)
        elif kind == "add_":
            view.add_(b, alpha=2)
        elif kind == "lerp_":
            view.lerp_(b.expand_as(view), 0.25)
        else:
            getattr(view, kind)(b)
        return z
    text = ", ".join(f"{s.start}::{s.step}" for s in index)
    if kind == "out":
        a.grad = b.grad = False
    return Call(f"x[{text}].{kind}{' turned' if turned else ''}", [a, b], run, math.prod(shape))


@family("shape", 2)
def convert(d):
    """To another dtype, layout, or both."""
    dtype, to = d.pick(FLOATS), d.pick(FLOATS)
    shape = d.shape(d.pick((1, 2, 3, 4, 4)), budget(d))
    x = d.tensor(shape, dtype)
    kind = d.pick(("to", "contiguous", "channels_last", "clone", "copy_"))
    if kind == "channels_last" and len(shape) != 4:
        kind = "contiguous"

    def run(T, x):
        if hasattr(T, "by_places"):
            return T.clone(x)
        if x.dtype == T.float64 and T.__name__ == "torch":  # the reference
            return x * 1.0
        if kind == "to":
            return x.to(getattr(T, to))
        if kind == "copy_":
            return T.empty(shape[::-1], dtype=getattr(T, to), device=x.device).permute(*reversed(range(len(shape)))).copy_(x)
        if kind == "channels_last":
            return x.contiguous(memory_format=T.channels_last)
        return x.contiguous() if kind == "contiguous" else x.clone(memory_format=T.contiguous_format)
    return Call(f"{kind}[{to}]", [x], run)


def wrapped(value, dtype):
    return np.asarray(value).astype(dtype)


@family("pointwise", 2)
def of_integers(d):
    dtype = d.pick(INTEGERS)
    shape = d.shape(d.pick((1, 2, 3)), budget(d))
    low = 0 if dtype == "uint8" else -100
    kind = d.pick(("add", "sub", "mul", "floor_divide", "remainder", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum",
                   "eq", "lt", "gt", "neg", "abs"))
    a, b = d.integers(low, 100, shape, dtype, layouts=True), d.integers(low, 100, shape, dtype, layouts=True)
    a.values, b.values = a.values.astype(dtype), b.values.astype(dtype)
    if kind in ("floor_divide", "remainder"):
        b.values = np.where(b.values == 0, 7, b.values).astype(dtype)
    if kind in ("neg", "abs"):
        function = {"neg": np.negative, "abs": np.abs}[kind]
        return Call(kind, [a], lambda T, a: function(a) if hasattr(T, "by_places") else getattr(T, kind)(a), exact=True)
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "floor_divide": np.floor_divide, "remainder": np.remainder,
                 "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "maximum": np.maximum,
                 "minimum": np.minimum, "eq": np.equal, "lt": np.less, "gt": np.greater}
    return Call(kind, [a, b], lambda T, a, b: functions[kind](a, b) if hasattr(T, "by_places") else getattr(T, kind)(a, b), exact=True)


@family("reduction")
def sums_of_integers(d):
    dtype = d.pick(INTEGERS)
    shape = d.shape(d.pick((1, 2, 3)), budget(d))
    dim = d.below(len(shape))
    a = d.integers(0, 100, shape, dtype, layouts=True)
    a.values = a.values.astype(dtype)
    kind = d.pick(("sum", "cumsum", "amax", "amin", "mm", "sort", "argmax"))
    if kind == "mm":
        m, k, n = (d.size(200) for _ in range(3))
        while m * k * n > 1 << 20:
            m, k, n = max(1, m // 2), max(1, k // 2), max(1, n // 2)
        x, y = d.integers(0, 20, (m, k), dtype), d.integers(0, 20, (k, n), dtype)
        return Call("mm", [x, y], lambda T, x, y: wrapped(np.asarray(x, np.int64) @ np.asarray(y, np.int64), dtype)
                    if hasattr(T, "by_places") else T.mm(x, y), exact=True)

    def plain(x):
        if kind in ("sum", "cumsum"):
            return getattr(np, kind)(x.astype(np.int64), axis=dim)
        if kind == "sort":
            return np.sort(x, dim, kind="stable"), np.argsort(x, dim, kind="stable")
        return np.argmax(x, dim) if kind == "argmax" else getattr(np, kind)(x, dim)

    def run(T, x):
        if hasattr(T, "by_places"):
            return plain(x)
        if kind == "sort":
            return tuple(T.sort(x, dim=dim, stable=True))
        return getattr(T, kind)(x, dim)
    return Call(f"{kind}[{dim}]", [a], run, exact=True)


@family("order", 2)
def not_finite(d):
    """NaN is the largest, and the largest of all if it is there; infinities are numbers."""
    dtype = d.float_dtype()
    shape = d.shape(d.pick((1, 2, 3)), budget(d))
    dim = d.below(len(shape))
    x = d.tensor(shape, dtype, grad=False)
    draws = d.values.rand(*shape)
    share = d.pick((0.01, 0.2))
    values = np.array(x.values)
    for i, special in enumerate((math.nan, math.inf, -math.inf, 0.0)):
        values[(draws >= i * share / 4) & (draws < (i + 1) * share / 4)] = special
    if x.layout in ("expanded", "overlapping"):
        x.layout = "contiguous"
    x.values = values
    kind = d.pick(("sort", "amax", "amin", "maximum", "minimum", "relu", "clamp", "cummax", "max_pool", "isnan", "sum", "where"))
    if kind == "sort":
        return Call(f"sort[{dim}]", [x], lambda T, x: T.sort(x, dim=dim, stable=True)[0])
    if kind in ("amax", "amin"):
        return Call(f"{kind}[{dim}]", [x], lambda T, x: getattr(T, kind)(x, dim) if not hasattr(T, "by_places") else
                    T.Node(getattr(np, kind)(x.value, dim)))
    if kind in ("maximum", "minimum"):
        y = d.tensor(shape, dtype, grad=False)
        return Call(kind, [x, y], lambda T, x, y: getattr(T, kind)(x, y) if not hasattr(T, "by_places") else
                    T.Node(getattr(np, kind)(x.value, y.value)))
    if kind == "relu":
        return Call(kind, [x], lambda T, x: T.relu(x))
    if kind == "clamp":
        return Call(kind, [x], lambda T, x: T.clamp(x, -0.5, 0.5))
    if kind == "cummax":
        return Call(f"cummax[{dim}]", [x], lambda T, x: T.cummax(x, dim)[0] if not hasattr(T, "by_places") else
                    T.Node(np.maximum.accumulate(x.value, dim)))
    if kind == "max_pool" and len(shape) > 1:
        flat = Given(values.reshape(1, 1, -1), dtype)
        k = min(3, values.size)
        return Call("max_pool1d", [flat], lambda T, x: T.nn.functional.max_pool1d(x, k, 2))
    if kind == "isnan":
        return Call(kind, [x], lambda T, x: T.isnan(x), exact=True)
    if kind == "where":
        return Call(kind, [x], lambda T, x: T.where(T.isnan(x), 0.0, x))
    return Call(f"sum[{dim}]", [x], lambda T, x: T.sum(x, dim), shape[dim])
