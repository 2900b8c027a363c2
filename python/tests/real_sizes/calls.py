"""Random calls: a Call is a program over tensors, drawn by a seed, with its arguments, their dtypes and memory layouts.

A program is a function of a module that has PyTorch's names (sconce, torch, or real_sizes.plain) and of tensors. All
numbers of a draw are choices of a list, the simplest first: they are recorded, and shrinking replaces them by smaller ones.
"""

import math
import random
import zlib

import numpy as np

FLOATS = ("float32", "float64", "bfloat16", "float16")
COMPLEX = ("complex64", "complex128")
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7,
       "complex64": 2.0**-23, "complex128": 2.0**-52}
LARGEST = {"float64": 1.797e308, "float32": 3.4028e38, "float16": 65504.0, "bfloat16": 3.3895e38,
           "complex64": 3.4028e38, "complex128": 1.797e308}
TINY = {"float64": 2.3e-308, "float32": 1.2e-38, "float16": 6.2e-5, "bfloat16": 1.2e-38,
        "complex64": 1.2e-38, "complex128": 2.3e-308}
ITEM_SIZE = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "complex64": 8, "complex128": 16,
             "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1}

_pool = np.random.RandomState(40).standard_normal(1 << 21)  # drawing numbers costs more than most calls


def round_to(array, dtype):
    """The nearest numbers of a dtype, in float64 or complex128."""
    if dtype in ("float64", "complex128"):
        return array
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(array, np.float32).reshape(-1).view(np.uint32)
        nan = np.isnan(bits.view(np.float32))
        bits = np.where(nan, bits, (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000))
        return bits.view(np.float32).astype(np.float64).reshape(np.shape(array))
    return array.astype(dtype).astype(np.complex128 if dtype == "complex64" else np.float64)


def numpy_bits(array, dtype):
    """The array as NumPy holds the dtype: bfloat16 as int16."""
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(array, np.float32).reshape(-1).view(np.uint32) >> 16
        return bits.astype(np.uint16).view(np.int16).reshape(np.shape(array))
    return np.asarray(array).astype(dtype)


def overlapping(shape, detail):
    """Strides of windows that share elements, as unfold gives them."""
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    strides[detail % len(shape)] = 1 + detail // 8 % 3
    return strides


class Given:
    """An argument: values (rounded to the dtype, held wide), dtype, layout, whether gradients are taken for it."""

    def __init__(self, values, dtype, grad=False, layout="contiguous", detail=0, strides=None):
        self.values = values
        self.dtype = dtype
        self.grad = grad
        self.layout = layout
        self.detail = detail
        self.strides = strides  # of a result
        self.floats = dtype in FLOATS or dtype in COMPLEX

    def place(self):
        """Strides and offset in elements, and the length of the storage."""
        shape = self.values.shape
        order = list(range(len(shape)))
        offset, steps, gaps = 0, [1] * len(shape), [0] * len(shape)
        if self.layout == "channels_last" and len(shape) >= 3:
            order = [0, *range(2, len(shape)), 1]
        elif self.layout == "transposed":
            random.Random(self.detail).shuffle(order)
        elif self.layout == "offset":
            offset = 1 + self.detail % 7
        elif self.layout == "sliced" and shape:
            axis = self.detail % len(shape)
            steps[axis], gaps[axis], offset = 1 + self.detail // 8 % 2, 1 + self.detail // 16 % 3, self.detail // 64 % 5
        strides, next_ = [0] * len(shape), 1
        if self.layout == "overlapping":
            strides = overlapping(shape, self.detail)
            return strides, offset, sum((n - 1) * s for n, s in zip(shape, strides)) + 4
        for i in reversed(order):
            if self.layout == "expanded" and i == self.detail % len(shape):
                continue
            strides[i] = next_ * steps[i]
            next_ *= max(1, shape[i]) * steps[i] + gaps[i]
        return strides, offset, offset + next_ + 3

    def storage(self):
        """Bits for NumPy: gaps hold NaN, the largest integer or True. Second: strides, offset."""
        strides, offset, length = self.place()
        bits = numpy_bits(self.values, self.dtype)
        if self.layout == "contiguous":
            return np.ascontiguousarray(bits), None, 0
        if self.dtype == "bfloat16":
            base = np.full(length, 0x7FC0, np.int16)
        elif self.floats:
            base = np.full(length, math.nan, bits.dtype)
        else:
            base = np.full(length, True if bits.dtype == bool else np.iinfo(bits.dtype).max, bits.dtype)
        if bits.size:
            view = np.lib.stride_tricks.as_strided(base[offset:], bits.shape, [s * base.itemsize for s in strides])
            view[...] = bits
        return base, strides, offset

    def __repr__(self):
        return (f"{self.dtype}{list(self.values.shape)}" + ("" if self.layout == "contiguous" else f" {self.layout}")
                + ("" if not self.floats or self.grad else " constant"))


class Call:
    """A program with its arguments.

    text: a description. run(T, *tensors): the program; gives a tensor or a tuple of them. terms: the number of summands
    of an element, at most. once: not differentiated twice. modes: how it may run. floor: the scale of the numbers whose
    differences are results. rewrites: arguments may have other values before the call that counts.
    """

    def __init__(self, text, inputs, run, terms=1, once=False, modes=("eager", "planned", "captured"), tolerance=None,
                 grads=True, exact=False, floor=0.0):
        self.text = text
        self.inputs = inputs
        self.run = run
        self.terms = max(1, terms)
        self.once = once
        self.modes = modes
        self.tolerance = tolerance
        self.grads = grads
        self.exact = exact
        self.floor = floor
        self.rewrites = False
        self.seed = 0

    def __repr__(self):
        return f"{self.text}({', '.join(map(repr, self.inputs))})"


class Draws:
    """Choices by a key, or those given (beyond them the simplest)."""

    def __init__(self, key, choices=None):
        self.seed = zlib.crc32(key.encode())
        self.random = random.Random(key)
        self.values = np.random.RandomState(self.seed)
        self.given = choices
        self.taken = []

    def below(self, n):
        if self.given is None:
            k = self.random.randrange(n)
        else:
            k = self.given[len(self.taken)] if len(self.taken) < len(self.given) else 0
            k = min(k, n - 1)
        self.taken.append(k)
        return k

    def pick(self, options):
        return options[self.below(len(options))]

    def chance(self, one_in):
        """True once in so many times; False is simpler."""
        return self.below(one_in) == one_in - 1

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def size(self, most):
        """Up to `most`: small ones, sizes of networks, and any."""
        kind = self.below(4)
        if kind == 0:
            return 1 + self.below(min(most, 9))
        if kind == 3:
            return 1 + self.below(most)
        known = [n for n in SIZES if n <= most]
        return self.pick(known)

    def shape(self, ndim, elements):
        """Sizes whose product is at most `elements`."""
        shape = []
        for i in range(ndim):
            shape.append(self.size(max(1, min(4096 if ndim > 1 else elements, int(elements ** (1.0 if ndim == 1 else 0.8))))))
            elements = max(1, elements // shape[-1])
        order = list(range(ndim))
        if self.chance(2):
            shape = [shape[i] for i in sorted(order, key=lambda _: self.below(7))]
        return tuple(shape)

    def float_dtype(self, options=FLOATS):
        """float32 half of the time."""
        return options[0] if self.chance(2) else self.pick(options)

    def normal(self, shape, complex_=False):
        n = math.prod(shape)
        if complex_:
            return self.normal(shape) + 1j * self.normal(shape)
        if n > _pool.size // 2:
            return self.values.standard_normal(shape)
        at = self.values.randint(_pool.size - n)
        return _pool[at:at + n].reshape(shape).copy()

    def tensor(self, shape, dtype, grad=True, layouts=True, values=None, scale=1.0, transform=None):
        """A float argument. values: normal draws by default; transform: applied to them before they are rounded."""
        layout, detail = "contiguous", 0
        if layouts and len(shape) and self.chance(2):
            options = ["offset", "sliced", "transposed", "expanded", "overlapping"] + (["channels_last"] * 3 if len(shape) in (4, 5) else [])
            layout, detail = self.pick(options), self.below(1 << 10)
            if layout == "transposed" and len(shape) == 1:
                layout = "offset"
        if values is None:
            draw = list(shape)
            if layout == "expanded":
                draw[detail % len(shape)] = 1
            if layout == "overlapping" and math.prod(shape):
                strides = overlapping(shape, detail)
                base = self.normal((sum((n - 1) * s for n, s in zip(shape, strides)) + 1,), dtype in COMPLEX)
                values = np.lib.stride_tricks.as_strided(base, shape, [s * base.itemsize for s in strides])
            else:
                values = self.normal(tuple(draw), dtype in COMPLEX)
            if scale != 1.0:
                values = values * scale
            if transform:
                values = transform(values)
            values = round_to(values, dtype)
            if layout == "expanded":
                values = np.broadcast_to(values, shape)
        else:
            values = round_to(np.asarray(values, np.complex128 if dtype in COMPLEX else np.float64), dtype)
            if layout in ("expanded", "overlapping"):
                layout = "contiguous"
        return Given(values, dtype, grad, layout, detail)

    def integers(self, low, high, shape, dtype="int64", layouts=False):
        values = self.values.randint(low, high, shape)
        layout, detail = "contiguous", 0
        if layouts and len(shape) and self.chance(3):
            layout, detail = self.pick(["offset", "sliced"]), self.below(1 << 10)
        return Given(np.asarray(values), dtype, False, layout, detail)

    def mask(self, shape, share=0.5):
        layout, detail = "contiguous", 0
        if len(shape) and self.chance(4):
            layout, detail = self.pick(["offset", "sliced"]), self.below(1 << 10)
        return Given(self.values.rand(*shape) < share, "bool", False, layout, detail)


# Sizes of networks: channels, widths, lengths, and their neighbours where blocks and vectors end.
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 17, 20, 24, 28, 30, 31, 32, 33, 36, 40, 48, 49, 50, 56, 60, 63, 64, 65, 72, 77,
         80, 96, 100, 112, 120, 127, 128, 129, 144, 160, 192, 196, 197, 224, 240, 255, 256, 257, 288, 300, 320, 384, 400, 480, 500, 512,
         513, 576, 640, 672, 768, 784, 800, 896, 960, 1000, 1023, 1024, 1025, 1152, 1280, 1500, 1536, 1600, 1792, 2000, 2048, 2304,
         2560, 3000, 3072, 4000, 4096, 5000, 6144, 7999, 8000, 8192, 10000, 11008, 16000, 16384, 20000, 30522, 32000, 32768, 32769,
         40000, 44100, 48000, 50257, 65536, 65537, 80000, 100000, 131072, 131073, 160000, 200000, 262144)
