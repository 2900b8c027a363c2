"""Fourier transforms and linear algebra."""

import math

import numpy as np

from real_sizes.calls import Call
from real_sizes.families import budget, family

LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 20, 21, 24, 25, 27, 28, 31, 32, 33, 36, 47, 48, 49, 50, 60, 63, 64, 65, 77, 80,
           81, 96, 97, 100, 101, 112, 120, 121, 125, 127, 128, 129, 144, 160, 169, 180, 192, 200, 210, 224, 240, 243, 251, 255, 256, 257,
           289, 300, 320, 343, 360, 384, 400, 401, 441, 480, 500, 509, 512, 513, 600, 640, 720, 729, 768, 800, 840, 900, 960, 997, 1000,
           1021, 1024, 1025, 1200, 1250, 1331, 1440, 1500, 1536, 1600, 1800, 1920, 2000, 2039, 2048, 2049, 2187, 2400, 2500, 3000, 3072,
           3600, 4000, 4093, 4096, 4097, 4410, 4800, 5000, 6000, 6144, 7919, 8000, 8191, 8192, 8193, 9600, 10000, 12000, 16000, 16384,
           16385, 20000, 22050, 32000, 32768, 44100, 48000, 65536, 65537)


@family("fft", 3)
def along_one(d):
    wide = d.chance(3)
    real_, complex_ = ("float64", "complex128") if wide else ("float32", "complex64")
    n = d.pick(LENGTHS)
    rest = max(1, budget(d) // n)
    shape = [n, *d.shape(d.pick((1, 2)), min(rest, 512))] if d.chance(2) else [*d.shape(d.pick((1, 2)), min(rest, 512)), n]
    dim = 0 if shape[0] == n and d.chance(2) else len(shape) - 1
    kind = d.pick(("fft", "ifft", "rfft", "irfft", "fft of reals"))
    norm = d.pick((None, None, "ortho", "forward"))
    length = None
    m = shape[dim]
    if d.chance(4):
        length = d.pick((m, m + 1, max(1, m - 1), 2 * m, max(1, m // 2), m + 7))
    terms = max(m, length or 0)
    x = d.tensor(tuple(shape), real_ if kind in ("rfft", "fft of reals") else complex_)
    name = kind.split()[0]
    if kind == "irfft" and length is None and m < 2:
        length = 1
    return Call(f"fft.{name}[n={length} dim={dim} {norm}]", [x], lambda T, x: getattr(T.fft, name)(x, length, dim, norm), terms)


@family("fft")
def along_several(d):
    wide = d.chance(3)
    real_, complex_ = ("float64", "complex128") if wide else ("float32", "complex64")
    shape = d.shape(d.pick((2, 3, 4)), budget(d) // 2)
    dims = tuple(i for i in range(len(shape)) if d.chance(2)) or (len(shape) - 1,)
    kind = d.pick(("fftn", "ifftn", "rfftn"))
    norm = d.pick((None, None, "ortho", "forward"))
    x = d.tensor(shape, real_ if kind == "rfftn" else complex_)
    return Call(f"fft.{kind}[{dims} {norm}]", [x], lambda T, x: getattr(T.fft, kind)(x, dim=dims, norm=norm),
                math.prod(shape[i] for i in dims))


@family("fft")
def of_windows(d):
    dtype = d.pick(("float32", "float32", "float64"))
    n = d.pick((4, 8, 16, 25, 32, 64, 100, 128, 200, 256, 400, 512, 1024))
    hop = max(1, n // d.pick((2, 4, 4, 3)))
    length = max(n, min(16000, n * d.between(1, 20)))
    x = d.tensor((d.pick((1, 2, 4)), length), dtype)
    window = d.tensor((n,), dtype, grad=False, layouts=False, values=0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n))

    def run(T, x, w):
        if hasattr(T, "by_places"):
            return T.stft(x, n, hop, w)
        return T.stft(x, n, hop, window=w, return_complex=True)
    return Call(f"stft[{n} {hop}]", [x, window], run, n)


def matrix(d, batch, n, dtype, kind):
    """positive: its eigenvalues lie between 0.5 and some; well: far from singular."""
    a = d.normal((*batch, n, n), dtype.startswith("complex"))
    if kind == "positive":
        a = a @ np.conj(np.swapaxes(a, -1, -2)) / n + 0.5 * np.eye(n)
    elif kind == "well":
        a = a / math.sqrt(n) * 0.5 + 1.5 * np.eye(n)
    return d.tensor(a.shape, dtype, values=a)


ORDERS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 20, 24, 30, 31, 32, 33, 40, 48, 50, 63, 64, 65, 80, 96, 100, 127, 128, 129, 160, 192, 200)


@family("linalg", 3)
def algebra(d):
    dtype = d.pick(("float32", "float32", "float64", "complex64", "complex128"))
    n = d.pick(ORDERS)
    batch = () if d.chance(2) else (d.pick((1, 2, 3, 5, 16, 64)),)
    while math.prod(batch) * n ** 3 > 1 << 20:
        batch = tuple(b // 2 for b in batch) if batch and batch[0] > 1 else ()
        if not batch:
            break
    while n ** 3 > 1 << 22:
        n //= 2
    kind = d.pick(("solve", "inv", "cholesky", "det", "slogdet", "svdvals", "eigvalsh", "matrix_power", "triangular", "matrix_exp",
                   "triangular"))
    if kind in ("det", "slogdet") and dtype.startswith("complex"):
        dtype = "float64"
    k = d.pick((1, 1, 2, 3, 7, 16, 64))
    if kind == "solve":
        return Call(kind, [matrix(d, batch, n, dtype, "well"), d.tensor((*batch, n, k), dtype)],
                    lambda T, a, b: T.linalg.solve(a, b), n)
    if kind == "inv":
        return Call(kind, [matrix(d, batch, n, dtype, "well")], lambda T, a: T.linalg.inv(a), n)
    if kind == "cholesky":
        return Call(kind, [matrix(d, batch, n, dtype, "positive")], lambda T, a: T.linalg.cholesky((a + a.mH) * 0.5 if hasattr(T, "Tensor")
                                                                                              else a), n, once=True)
    if kind == "det":
        n = min(n, 40)
        return Call(kind, [matrix(d, batch, n, dtype, "well")], lambda T, a: T.linalg.det(a), n)
    if kind == "slogdet":
        return Call(kind, [matrix(d, batch, n, dtype, "well")], lambda T, a: tuple(T.linalg.slogdet(a)), n)
    if kind in ("svdvals", "eigvalsh"):
        a = matrix(d, batch, n, dtype, "positive" if kind == "eigvalsh" else "any")
        a.grad = False
        return Call(kind, [a], lambda T, a: getattr(T.linalg, kind)(a), n)
    if kind == "matrix_power":
        p = d.pick((2, 3, 5))
        return Call(f"{kind}[{p}]", [matrix(d, batch, n, dtype, "well")], lambda T, a: T.linalg.matrix_power(a, p), n * p)
    if kind == "matrix_exp":
        n = min(n, 48)
        a = matrix(d, batch, n, dtype, "any")
        scaled = d.tensor(a.values.shape, dtype, values=a.values / math.sqrt(n))
        return Call(kind, [scaled], lambda T, a: T.linalg.matrix_exp(a), n * 16, once=True)
    upper, left, unit = d.chance(2), not d.chance(2), d.chance(3)
    a = matrix(d, batch, n, dtype, "well")
    b = d.tensor((*batch, n, k) if left else (*batch, k, n), dtype)

    def run(T, a, b):
        if hasattr(T, "Tensor"):
            return T.linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)
        return T.triangular_solve(a, b, upper, left, unit)
    return Call(f"solve_triangular[{upper} {left} {unit}]", [a, b], run, n, once=unit)


@family("linalg", 2)
def factors(d):
    """Factors are not unique; their products and solutions are."""
    dtype = d.pick(("float32", "float32", "float64", "complex64", "complex128"))
    n = d.pick(ORDERS)
    m = d.pick((n, n, n + 1, n + 7, 2 * n))
    batch = () if d.chance(2) else (d.pick((1, 2, 3, 8)),)
    while math.prod(batch) * n * n * m > 1 << 20:
        n, m = max(1, n // 2), max(1, m // 2)
    m = max(n, m)
    kind = d.pick(("qr", "svd", "eigh", "lu_factor", "cholesky_solve", "pinv", "lstsq", "lu"))
    square = kind in ("eigh", "lu_factor", "cholesky_solve")
    if square:
        a = matrix(d, batch, n, dtype, "positive" if kind != "lu_factor" else "well")
    else:
        a = d.normal((*batch, m, n), dtype.startswith("complex"))
        a = d.tensor(a.shape, dtype, values=a / math.sqrt(m) + 1.5 * np.eye(m, n))
    k = d.pick((1, 2, 5, 16))
    rows = n if square else m
    b = d.tensor((*batch, rows, k), dtype)
    if kind in ("svd", "eigh"):
        a.grad = False

    def run(T, a, b):
        plain = hasattr(T, "by_places")
        if kind in ("lu_factor", "cholesky_solve", "lstsq", "pinv"):
            if plain:
                return T.least_squares(a, b) if not square else T.linalg.solve(a, b)
            if kind == "lu_factor":
                return T.linalg.lu_solve(*T.linalg.lu_factor(a), b)
            if kind == "cholesky_solve":
                return T.cholesky_solve(b, T.linalg.cholesky((a + a.mH) * 0.5))
            return T.linalg.pinv(a) @ b if kind == "pinv" else T.linalg.lstsq(a, b).solution
        if plain:
            return T.clone(a)
        if kind == "qr":
            q, r = T.linalg.qr(a)
            return q @ r
        if kind == "lu":
            p, low, up = T.linalg.lu(a)
            return p @ low @ up
        if kind == "eigh":
            values, vectors = T.linalg.eigh(a)
            return (vectors * values.unsqueeze(-2)) @ vectors.mH
        u, s, v = T.linalg.svd(a, full_matrices=False)
        return (u * s.unsqueeze(-2)) @ v
    uses = kind in ("lu_factor", "cholesky_solve", "lstsq", "pinv")
    if not uses:
        return Call(f"product of {kind}", [a], lambda T, a: run(T, a, None), m, once=True)
    b.grad = kind != "lstsq"
    a.grad = a.grad and kind not in ("lstsq", "cholesky_solve")
    return Call(f"solution by {kind}", [a, b], run, m, once=True)


@family("linalg")
def cross(d):
    dtype = d.pick(("float32", "float64", "complex64"))
    shape = (*d.shape(d.pick((1, 2)), 4096), 3)
    return Call("cross", [d.tensor(shape, dtype), d.tensor(shape, dtype)], lambda T, a, b: T.linalg.cross(a, b, dim=-1), 3)
