#!/usr/bin/env python3
"""Records what PyTorch makes of calls of its prims. Usage: record_prims.py OUT

    record_prims.py tests/conformance/prims
    sconce-conformance --failures tests/conformance/prims

Written are OUT/<group>.safetensors. A call that PyTorch refuses is a case with `raises`: {"type": ..., "message": ...}. Left out
are refusals that say nothing of the call, those by which PyTorch's own checks fall over (an optional argument that must be
given, a Python list that is too short), and those of the ATen operator under the prim, which is recorded elsewhere. Needs
PyTorch 2.13, nothing else.
"""

import pathlib
import sys
import warnings

import torch

from case_writer import Writer

P = torch.ops.prims
F32, F64, BF16, F16, I64, I32, U8, BOOL, C64 = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32,
                                                torch.uint8, torch.bool, torch.complex64)
CPU = torch.device("cpu")

UNARY = """abs acos acosh asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bitwise_not cbrt ceil
conj_physical cos cosh digamma erf erf_inv erfc erfcx exp exp2 expm1 floor isfinite lgamma log log10 log1p log2 ndtri neg reciprocal
round rsqrt sign signbit sin sinh spherical_bessel_j0 sqrt tan tanh trunc real imag conj clone view_of frexp""".split()
BINARY = """add atan2 bitwise_and bitwise_or bitwise_xor div eq fmax fmin fmod gcd ge gt hypot igamma igammac le lt maximum minimum mul
ne nextafter pow remainder shift_left shift_right_arithmetic sub zeta""".split()
INTEGRAL = "bitwise_and bitwise_or bitwise_xor gcd shift_left shift_right_arithmetic".split()
POSITIVE = "acosh digamma lgamma log log10 log1p log2 rsqrt sqrt igamma igammac zeta pow".split()
BOUNDED = "acos asin atanh erf_inv ndtri".split()

# What tells nothing of the call.
UNSPOKEN = ("Expected cond to be True", "out of range", "missing", "not iterable", "unexpected keyword", "reduce() of empty",
            "Storage size calculation overflowed")


class Group:
    """The cases of one file."""

    def __init__(self, seed):
        self.writer, self.cases, self.refused = Writer(), [], 0
        self.random = torch.Generator().manual_seed(seed)

    def tensor(self, *shape, dtype=F32, low=-2.0, high=2.0):
        values = torch.rand(shape, generator=self.random, dtype=F64) * (high - low) + low
        if dtype == C64:
            imaginary = torch.rand(shape, generator=self.random, dtype=F64) * (high - low) + low
            return torch.complex(values, imaginary).to(C64)
        if dtype == BOOL:
            return values > (low + high) / 2
        if not dtype.is_floating_point:
            return (values * 3).round().abs().to(dtype) if dtype == U8 else (values * 3).round().to(dtype)
        return values.to(dtype)

    def call(self, name, *args, seed=None, **kwargs):
        case = {"op": f"prims::{name}", "args": self.writer.value(list(args)),
                "kwargs": {k: self.writer.value(v) for k, v in kwargs.items()}}
        if seed is not None:
            torch.manual_seed(seed)
            case["seed"] = seed
        try:
            out = getattr(P, name)(*args, **kwargs)
        except (RuntimeError, ValueError, IndexError, AssertionError, TypeError, NotImplementedError, ZeroDivisionError) as e:
            own = refuses(getattr(P, name).default.prim_meta_impl, *args, **kwargs) == str(e)
            if own and not any(word in str(e) for word in UNSPOKEN):
                case["raises"] = {"type": type(e).__name__, "message": str(e)}
                self.cases.append(case)
                self.refused += 1
            return
        case["out"] = self.writer.value(plain(out))
        if name in ("copy_to", "resize"):
            case["mutated"] = {"a": self.writer.value(args[0])}
        self.cases.append(case)


def refuses(function, *args, **kwargs):
    """Its message, or None where it returns."""
    try:
        function(*args, **kwargs)
    except Exception as e:
        return str(e)
    return None


def plain(value):
    """Without conjugation and negation that are still to come."""
    if isinstance(value, torch.Tensor):
        return value.resolve_conj().resolve_neg()
    return tuple(plain(v) for v in value) if isinstance(value, tuple) else value


def layouts(t):
    """The tensor, and the same numbers laid out otherwise."""
    yield t
    if t.dim() == 2:
        yield t.t().contiguous().t()


def unary(g):
    for name in UNARY:
        low, high = (0.6, 2.5) if name in POSITIVE else (-0.9, 0.9) if name in BOUNDED else (-2.0, 2.0)
        low = 0.1 if name == "ndtri" else low
        for dtype in (F32, F64, BF16, I64, BOOL, C64):
            g.call(name, g.tensor(3, 4, dtype=dtype, low=low, high=high))
        g.call(name, g.tensor(4, 3, low=low, high=high).t())
        g.call(name, g.tensor(5, low=low, high=high)[::2])
        g.call(name, g.tensor(low=low, high=high))
        g.call(name, g.tensor(0, 2))
    for name in ("isfinite", "signbit", "sign", "abs", "floor", "exp"):
        g.call(name, torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.5]))
    for value in (1, -2.5, True, float("inf")):
        for dtype in (F32, I64, BOOL):
            g.call("fill", g.tensor(2, 3, dtype=dtype), value)
    g.call("fill", g.tensor(3, 2).t(), 7)
    for memory_format in (torch.contiguous_format, torch.preserve_format):
        g.call("clone", g.tensor(3, 2).t(), memory_format=memory_format)
    g.call("clone", g.tensor(1, 2, 3, 2), memory_format=torch.channels_last)


def binary(g):
    for name in BINARY:
        dtype = I64 if name in INTEGRAL else F32
        low, high = (0.6, 2.5) if name in POSITIVE or name.startswith("shift") else (-2.0, 2.0)
        new = lambda *shape, dtype=dtype: g.tensor(*shape, dtype=dtype, low=low, high=high)
        for other in (F32, F64, BF16, I32, U8, BOOL, C64):
            g.call(name, new(3, 4, dtype=other), new(3, 4, dtype=other) if other.is_floating_point or other == C64 else
                   torch.ones(3, 4, dtype=other))
        a = new(3, 4)
        g.call(name, a, new(3, 4))
        g.call(name, new(4, 3).t(), new(4, 3).t())
        g.call(name, a, new())
        g.call(name, new(), a)
        g.call(name, a, 2 if dtype == I64 else 1.5)
        # Refused: nothing is promoted, nothing broadcast.
        g.call(name, a, new(3, 4, dtype=I32 if dtype == I64 else F64))
        g.call(name, new(3, 4, dtype=BF16), a)
        g.call(name, a, new(dtype=U8))
        g.call(name, a, new(4))
        g.call(name, new(3, 1), a)
        g.call(name, a, new(4, 3))
        g.call(name, a, new(1))
    for dtype in (F32, I64, BOOL, C64):
        g.call("where", g.tensor(3, 4, dtype=BOOL), g.tensor(3, 4, dtype=dtype), g.tensor(3, 4, dtype=dtype))
    pred, a = g.tensor(3, 4, dtype=BOOL), g.tensor(3, 4)
    for b in (g.tensor(), g.tensor(3, 4, dtype=F64), g.tensor(4), 0.5, g.tensor(dtype=I64)):
        g.call("where", pred, a, b)
    for condition in (g.tensor(dtype=BOOL), g.tensor(4, dtype=BOOL), a, g.tensor(4, 3, dtype=BOOL)):
        g.call("where", condition, a, a)


def views(g):
    x = g.tensor(2, 3, 4)
    for a, shape, dims in [(x, [2, 3, 4], [0, 1, 2]), (x, [5, 2, 3, 4], [1, 2, 3]), (x, [2, 5, 3, 4], [0, 2, 3]),
                           (g.tensor(2, 1), [2, 5], [0, 1]), (g.tensor(2, 1), [2, 5, 3], [0, 2]), (g.tensor(), [2, 3], []),
                           (g.tensor(3), [1, 3, 1], [1]), (g.tensor(1), [4], [0]), (g.tensor(3, 2).t(), [4, 2, 3], [1, 2]),
                           (g.tensor(0), [2, 0], [1]), (g.tensor(1), [0], [0]),
                           (x, [2, 3, 4], [0, 1]), (x, [3, 4], [0, 1, 2]), (x, [2, 3, 4], [0, 2, 1]), (x, [2, 3, 4], [0, 0, 1]),
                           (x, [2, 3, 4], [0, 1, 3]), (x, [2, 3, 5], [0, 1, 2]), (x, [4, 2, 3], [0, 1, 2]), (x, [2, 3, 4], [-1, 0, 1]),
                           (g.tensor(3), [2], [0]), (g.tensor(), [2], [0]), (g.tensor(3), [1], [0])]:
        g.call("broadcast_in_dim", a, shape, dims)
    for a in (x, x.permute(2, 0, 1), g.tensor(), g.tensor(6), g.tensor(2, 0, 3), g.tensor(2, 1, 3), x[:, :2], x[:, :, ::2]):
        for start, end in [(0, 0), (0, 1), (1, 2), (0, 2), (2, 1), (0, 3), (-1, 1), (1, 1), (1, 0), (4, 5)]:
            g.call("collapse_view", a, start, end)
            g.call("collapse", a, start, end)
    for a, dim, outer in [(x, 0, 1), (x, 0, 2), (x, 2, 2), (x, 2, 4), (x, 1, 3), (x.permute(2, 0, 1), 0, 2), (g.tensor(0), 0, 2),
                          (x, 2, 3), (x, 1, 2), (x, 3, 1), (x, -1, 2), (x, 1, 0), (x, 0, 5), (g.tensor(12), 0, 3), (g.tensor(12), 0, 5)]:
        g.call("split_dim", a, dim, outer)
    for a, dims in [(g.tensor(1, 2, 1), [0]), (g.tensor(1, 2, 1), [0, 2]), (g.tensor(1, 2, 1), []), (g.tensor(1), [0]),
                    (g.tensor(2, 1, 3).permute(2, 1, 0), [1]), (g.tensor(1, 2, 1), [1]), (g.tensor(1, 2, 1), [3]), (g.tensor(1, 2, 1), [-1]),
                    (x, [0]), (x, [0, 1]), (g.tensor(1, 1), [0, 1]), (g.tensor(2), [5]), (g.tensor(1, 2), [0, 1])]:
        g.call("squeeze", a, dims)
    for a, order in [(x, [0, 1, 2]), (x, [2, 0, 1]), (x, [1, 0, 2]), (g.tensor(), []), (g.tensor(3), [0]), (x[:, ::2], [2, 1, 0]),
                     (x, [0, 1]), (x, [0, 1, 1]), (x, [0, 1, 3]), (x, [-1, 0, 1]), (g.tensor(), [0]), (g.tensor(3), []), (g.tensor(2, 3), [1, 2])]:
        g.call("transpose", a, order)
    for size, stride, offset in [([2], [1], 0), ([2, 3], [3, 1], 0), ([2, 3], [1, 2], 4), ([3, 3], [1, 1], 0), ([0], [1], 0), ([2], [0], 23),
                                 ([4], [6], 5), ([25], [1], 0), ([2, 2], [1], 0), ([2], [-1], 3), ([2], [1], -1), ([2], [1], 23), ([3], [12], 0),
                                 ([2, 3, 4], [12, 4], 0), ([5], [7], 0), ([24], [1], 1)]:
        g.call("as_strided", x, size, stride, offset)
        if len(size) == len(stride):
            g.call("as_strided_scatter", x, g.tensor(*size), size, stride, offset)
    for src in (g.tensor(3), g.tensor(), g.tensor(2, 1)):
        g.call("as_strided_scatter", x, src, [2], [1], 0)
    for a, dtype in [(x, I32), (x, F32), (x, F64), (x, torch.uint8), (x, C64), (x.permute(2, 1, 0), F64), (g.tensor(dtype=C64), F32), (g.tensor(3), F64)]:
        g.call("view_of_dtype", a, dtype)


def shapes(g):
    x = g.tensor(2, 3)
    for a, b, dim in [(x, x, 0), (x, x, 1), (x, g.tensor(1, 3), 0), (g.tensor(0, 3), x, 0), (x.t(), g.tensor(3, 2), 1), (x, x.double(), 0),
                      (x, g.tensor(2, 3, dtype=I64), 1), (x, x, -1), (x, g.tensor(3), 0), (x, g.tensor(2, 2), 0), (x, g.tensor(1, 3), 1),
                      (x, g.tensor(1, 2, 3), 0), (g.tensor(3), x, 0), (x, g.tensor(0), 0), (x, x, -2), (g.tensor(2, 3, 4), g.tensor(2, 4, 4), 2)]:
        g.call("cat", [a, b], dim)
    g.call("cat", [x], 0)
    g.call("cat", [x, x, g.tensor(4, 3)], 0)
    for a, shape in [(x, [3, 2]), (x, [6]), (x, [1, 6, 1]), (x.t(), [6]), (x.t(), [3, 2]), (g.tensor(), [1]), (g.tensor(0, 3), [3, 0]),
                     (x, [7]), (x, [2, 2]), (x, [0]), (g.tensor(0), [1]), (x, [6, 2]), (g.tensor(), [2]), (g.tensor(5), [2, 3]), (x, [1])]:
        g.call("reshape", a, shape)
    y = g.tensor(2, 3, 4)
    for dims in ([0], [1], [0, 2], [], [2, 1, 0], [3], [-1], [0, 0], [0, 5], [1, 1]):
        g.call("rev", y, dims)
        g.call("rev", y.permute(2, 0, 1), dims)
    for source in (F32, F64, BF16, I64, U8, BOOL, C64):
        for target in (F32, F16, I32, BOOL, torch.complex128):
            g.call("convert_element_type", g.tensor(3, 2, dtype=source), target)
    for a in (x.t(), y.permute(2, 0, 1), y[:, ::2], g.tensor(2).expand(3, 2), g.tensor()):
        g.call("convert_element_type", a, F64)
        g.call("convert_element_type", a, F32)
    g.call("device_put", x, CPU)
    g.call("device_put", x.t(), CPU, True)
    for stride in ([3, 1], [1, 2], [6, 2], [1], [1, 2, 3], [-1, 1]):
        g.call("copy_strided", x, stride)
    for a, b in [(g.tensor(2, 3), x), (g.tensor(2, 3), x.double()), (g.tensor(2, 3, dtype=I64), x), (g.tensor(3, 2).t(), x), (g.tensor(), g.tensor()),
                 (g.tensor(2, 3), g.tensor(3)), (g.tensor(2, 3), g.tensor()), (g.tensor(2), x), (g.tensor(2, 3), x.t()), (g.tensor(6), x),
                 (g.tensor(0), x), (g.tensor(1), g.tensor(2)), (g.tensor(2, 3), g.tensor(2, 2))]:
        g.call("copy_to", a, b)
    for shape in ([6], [3, 2], [2], [2, 2, 2]):
        g.call("resize", g.tensor(2, 3), shape)
    for a in (g.tensor(), g.tensor(1, 1), g.tensor(1, dtype=I64), g.tensor(dtype=BOOL), g.tensor(dtype=C64), x, g.tensor(0), g.tensor(2)):
        g.call("item", a)
    for dtype in (F32, F64, BF16, F16, I64, I32, U8, torch.int8, torch.int16, BOOL, C64, torch.complex128):
        g.call("maximum_value", dtype)
        g.call("minimum_value", dtype)


def reductions(g):
    for name in ("sum", "prod", "amax", "amin"):
        for dtype in (F32, F64, BF16, I32, U8, BOOL, C64):
            g.call(name, g.tensor(2, 3, 4, dtype=dtype), [1])
            g.call(name, g.tensor(2, 3, 4, dtype=dtype), [0, 2])
        x = g.tensor(2, 3, 4)
        for dims in ([0], [2], [0, 1, 2], [2, 0], [3], [-1], [0, 0], [0, 3], [1, -2], [5], [2, 2]):
            g.call(name, x, dims)
        g.call(name, x.permute(2, 0, 1), [1])
        g.call(name, g.tensor(), [0])
        g.call(name, g.tensor(2, 0), [0])
        g.call(name, g.tensor(2, 0), [1])
        g.call(name, g.tensor(3), [1])
        g.call(name, g.tensor(3), [-1])
        g.call(name, g.tensor(), [1])
    for dtype in (F32, F64, BF16, I64, C64):
        for correction in (0, 0.0, 1.5, 2, None):
            g.call("var", g.tensor(3, 4, dtype=dtype), [1], correction)
    x = g.tensor(2, 3, 4)
    for dims in ([0], [0, 1, 2], [2, 0], [3], [-1], [0, 0], [0, 4]):
        g.call("var", x, dims, 0)


def creation(g):
    for dtype in (F32, F64, BF16, I64, U8, BOOL, C64):
        for requires_grad in (False, True):
            options = {"dtype": dtype, "device": CPU, "requires_grad": requires_grad}
            g.call("empty", [2, 3], **options)
            g.call("empty_strided", [2, 3], [1, 2], **options)
            g.call("empty_permuted", [2, 3, 4], [1, 2, 0], **options)
            g.call("full", [2, 3], 1, **options)
            g.call("full_like", g.tensor(3, 2).t(), 2, **options)
        g.call("scalar_tensor", 2, dtype=dtype, device=CPU)
        g.call("scalar_tensor", 1j, dtype=dtype, device=CPU)
        g.call("normal", [3], mean=1.0, std=2.0, dtype=dtype, device=CPU, requires_grad=False, seed=3)
        if dtype != BF16:  # 2.13 draws 16-bit floats otherwise than 2.11, which the other recordings are of
            g.call("uniform", [2, 3], low=0.5, high=2.0, dtype=dtype, device=CPU, stride=[3, 1], seed=3)
        g.call("iota", 4, start=1, step=2, dtype=dtype, device=CPU, requires_grad=False)
        g.call("full", [2], 1.5, dtype=dtype, device=CPU, requires_grad=False)
    options = {"dtype": F32, "device": CPU, "requires_grad": False}
    g.call("full", [], 1.5, **options)
    g.call("full", [0, 2], 1.5, **options)
    g.call("full_like", g.tensor(2, 3, 4).permute(2, 0, 1), 2.5, **options)
    for layout in ([0, 1, 2], [2, 1, 0], [0, 1], [0, 1, 1], [0, 0, 0], [0, 1, 2, 0], []):
        g.call("empty_permuted", [2, 3, 4], layout, **options)
    g.call("empty_strided", [2, 3], [1], **options)
    g.call("empty", [], **options)
    for std in (-1.0, -0.5, 0.0):
        g.call("normal", [3], mean=1.0, std=std, seed=3, **options)
    g.call("normal", [40], mean=0.0, std=1.0, seed=3, **options)
    g.call("uniform", [2, 3], low=-1.0, high=1.0, dtype=F32, device=CPU, stride=[1, 2], seed=3)
    for length, start, step in [(5, 0, 1), (3, -2, 3), (4, 10, -2), (0, 1, 1), (1, 7, 9), (3, 0, 0), (-1, 0, 1), (-5, 0, 2)]:
        for dtype in (I64, I32):
            g.call("iota", length, start=start, step=step, dtype=dtype, device=CPU, requires_grad=False)


def transforms(g):
    x, z = g.tensor(3, 4), g.tensor(3, 4, dtype=C64)
    for dim in ([1], [0], [0, 1], [-1], [1, 0], [2], [-3], [0, 0], [1, -1], [0, 1, 1]):
        for flag in (False, True):
            g.call("fft_r2c", x, dim=dim, onesided=flag)
            g.call("fft_c2c", z, dim=dim, forward=flag)
        g.call("fft_c2r", z, dim=dim, last_dim_size=6)
        g.call("fft_c2r", z, dim=dim, last_dim_size=5)
    for dtype in (F32, F64, C64, F16, BF16, I64, BOOL):
        for full in (False, True):
            g.call("svd", g.tensor(3, 2, dtype=dtype), full_matrices=full)
            g.call("svd", g.tensor(2, 2, 4, dtype=dtype), full_matrices=full)
    g.call("svd", g.tensor(3), full_matrices=True)
    g.call("svd", g.tensor(), full_matrices=False)


def main():
    warnings.simplefilter("ignore")
    out = pathlib.Path(sys.argv[1])
    total = refused = 0
    for seed, record in enumerate([unary, binary, views, shapes, reductions, creation, transforms]):
        group = Group(seed)
        record(group)
        group.writer.save(out / f"{record.__name__}.safetensors", group.cases)
        print(f"{record.__name__}: {len(group.cases)} calls, {group.refused} of them refused")
        total, refused = total + len(group.cases), refused + group.refused
    print(f"{total} calls, {refused} of them refused")


if __name__ == "__main__":
    main()
