"""What dtypes can hold: finfo and iinfo."""

from . import _sconce

# Digits of the significand in base 2, the exponents of the smallest normal and of the largest number.
_FLOATS = {"float16": (11, -14, 15), "bfloat16": (8, -126, 127), "float32": (24, -126, 127), "float64": (53, -1022, 1023),
           "float8_e4m3fn": (4, -6, 8), "float8_e5m2": (3, -14, 15)}
_REAL_OF = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


def _name(dtype):
    return str(dtype).removeprefix("torch.")


class finfo:
    """Limits of a floating dtype: bits, eps, max, min, tiny, smallest_normal, resolution."""

    def __init__(self, dtype=None):
        dtype = _sconce.get_default_dtype() if dtype is None else dtype
        if not isinstance(dtype, _sconce.dtype):
            raise TypeError(f"finfo(): argument 'type' (position 1) must be torch.dtype, not {type(dtype).__name__}")
        name = _REAL_OF.get(_name(dtype), _name(dtype))
        if name not in _FLOATS:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        digits, least, most = _FLOATS[name]
        real = getattr(_sconce, name)
        self.dtype, self.bits = name, real.itemsize * 8
        self.eps = 2.0 ** (1 - digits)
        # e4m3fn has no infinity: only the significand of all ones is taken away, for NaN.
        self.max = (2 - self.eps * (2 if name == "float8_e4m3fn" else 1)) * 2.0 ** most
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** least
        self.resolution = 10.0 ** -int((digits - 1) * 0.30102999566398120)

    def __repr__(self):
        values = ((n, getattr(self, n)) for n in ("resolution", "min", "max", "eps", "smallest_normal", "tiny"))
        return f"finfo({', '.join(f'{n}={v:g}' for n, v in values)}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


class iinfo:
    """Limits of an integer dtype: bits, max, min."""

    def __init__(self, dtype):
        if not isinstance(dtype, _sconce.dtype):
            raise TypeError(f"iinfo(): argument 'type' (position 1) must be torch.dtype, not {type(dtype).__name__}")
        if dtype.is_floating_point or dtype.is_complex:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        name = _name(dtype)
        if name == "bool":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        self.dtype, self.bits = name, dtype.itemsize * 8
        signed = dtype.is_signed
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -(2 ** (self.bits - 1)) if signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)
