"""Functions of the expression language: their number of arguments, and for which classes of dtypes they are."""

CLASSES = ("bool", "int", "float", "complex")
COMPUTE_TYPES = {"bool": ("u8",), "int": ("i32", "i64"), "float": ("f32", "f64"), "complex": ("c64", "c128")}
COMPUTE_ORDER = ("f32", "f64", "i32", "i64", "u8", "c64", "c128")  # enum class Compute
LEVELS = ("v2", "v3", "v4")  # of sconce/kernels/cpu/engine/levels.h; every architecture has the first


def at_level(level, row):
    """A row of a table with one for each level, which is not there on architectures without it."""
    return f"        {row}" if level == LEVELS[0] else f"        SCONCE_FROM_LEVEL_{level[1:]}({row})"


class Function:
    def __init__(self, arity, classes, heavy=False, kind="value", special=False, by_element=False):
        self.arity, self.classes, self.heavy, self.kind = arity, classes, heavy, kind
        self.special, self.by_element = special or by_element, by_element


def _functions():
    table = {}

    def add(names, *args, **kw):
        for name in names.split():
            table[name] = Function(*args, **kw)

    fc, f, every = {"float", "complex"}, {"float"}, set(CLASSES)
    add("exp log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh", 1, fc, heavy=True)
    add("sqrt rsqrt sigmoid log2 log10 log1p expm1 exp2", 1, fc, heavy=True)
    add("erf erfc", 1, f, heavy=True)
    add("normal_cdf gelu_slope", 1, f, heavy=True)
    add("atan2 hypot nextafter", 2, f, heavy=True)
    add("floor ceil trunc round", 1, {"float", "int"})
    add("narrow", 1, {"float", "int", "complex"})
    add("abs", 1, {"int", "float", "complex"})
    add("sign", 1, every)
    add("copysign", 2, f)
    add("fma", 3, every)
    add("minimum maximum", 2, {"bool", "int", "float"})
    add("fmin fmax", 2, {"int", "float"})
    add("isnan isinf isfinite", 1, {"int", "float", "complex"}, kind="mask")
    add("signbit", 1, {"int", "float"}, kind="mask")
    add("fmod remainder floor_div trunc_div", 2, {"int", "float"}, heavy=True)
    add("pow", 2, {"int", "float", "complex"}, heavy=True)
    add("gcd lcm", 2, {"int"}, heavy=True)
    add("logaddexp", 2, {"complex"}, heavy=True)
    add("complex", 2, {"complex"})
    add("mantissa_of exponent_of", 1, f)
    add("conj real imag angle sgn", 1, {"int", "float", "complex"})
    table["angle"].heavy = True
    table["sqrt"].heavy = table["rsqrt"].heavy = False
    # sconce/kernels/cpu/simd/math/special_vectors.h
    add("bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma erfcx erfinv i0 i0e i1 i1e lgamma ndtri trigamma", 1, f,
        heavy=True, special=True)
    # sconce/kernels/cpu/special/special.h
    add("airy_ai factorial k0 k0e k1 k1e", 1, f, heavy=True, by_element=True)
    add("chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
        "hermite_polynomial_he igamma igammac laguerre_polynomial_l legendre_polynomial_p standard_gamma_grad zeta", 2, f,
        heavy=True, by_element=True)
    add("dirichlet_grad", 3, f, heavy=True, by_element=True)
    return table


FUNCTIONS = _functions()
# Functions that pointwise.h does not have: their header, so that few families are compiled again when it changes.
HEADERS = {"normal_cdf": "math/normal.h", "gelu_slope": "math/normal.h"}
REAL_OF_COMPLEX = {"abs", "real", "imag", "angle"}
# What complex loops compute with vectors; anything else makes them go element by element.
VECTOR_COMPLEX = {"fma", "conj", "real", "imag", "complex", "isnan", "isinf", "isfinite", "narrow", "where"}
INTEGER_DIVISIONS = {"fmod", "remainder", "floor_div", "trunc_div"}
