"""Families: products of matrices, factorisations, Fourier transforms."""

import numpy as np
import sconce as S

from real_sizes import reference as R
from variants.samples import Draw, Given, Sample

TYPES = ("float32", "float32", "float32", "float64", "bfloat16", "float16", "complex64", "complex128")


def numbers(d: Draw, dtype, *shape):
    return d.complex(*shape) if dtype.startswith("complex") else d.normal(*shape)


def side(d: Draw, *thresholds):
    return d.one(d.one(1, 2, 3, 4), d.between(1, 40), d.between(1, 300), d.near(*(thresholds or (16, 64))))


def matrix_layout(d: Draw):
    return d.one("dense", "dense", "reversed", "gaps", "padded")


def product(d: Draw):
    """mm, addmm, mv, dot, bmm, baddbmm, linear."""
    kind = d.one("mm", "mm", "mm", "addmm", "addmm", "bmm", "bmm", "mv", "dot", "linear", "linear", "baddbmm", "shared")
    dtype = d.one(*TYPES)
    m, n, k = side(d), side(d), side(d, 16, 64, 512, 1536)
    if d.flag(0.12):  # a deep one, or one of many columns
        m, n, k = d.one((d.between(2, 40), d.between(8, 60), d.one(700, 1600, 3100)),
                        (d.between(1, 30), d.one(700, 1500), d.between(8, 260)),
                        (d.between(30, 300), d.between(64, 200), d.one(512, 1024, 1030)), (d.one(40, 130), 600, 600))
    if d.flag(0.12):
        dtype, m, n, k = d.one(("bfloat16", d.between(12, 40), d.between(12, 60), d.one(1536, 1537, 1800, 3100)),
                               ("complex64", d.between(8, 12), d.between(30, 44), d.one(4100, 3000)))
        kind = d.one("mm", "addmm", "linear")
    elif m * n * k > 4_000_000 and dtype not in ("float32", "float64"):
        m, n, k = min(m, 60), min(n, 90), k
    tolerance = 16 + 4 * k ** 0.5
    a, b = numbers(d, dtype, m, k), numbers(d, dtype, k, n)
    la, lb = matrix_layout(d), matrix_layout(d)
    if kind == "mm":
        return Sample([Given(a, dtype, la), Given(b, dtype, lb)], S.mm, R.matmul, tolerance, text="mm")
    if kind == "addmm":
        c = numbers(d, dtype, *d.one((n,), (m, n), (1, n), (m, 1)))
        beta, alpha = d.one((1, 1), (1, 1), (0, 1), (2, 1), (1, 3))
        return Sample([Given(c, dtype), Given(a, dtype, la), Given(b, dtype, lb)],
                      lambda t, x, y: S.addmm(t, x, y, beta=beta, alpha=alpha),
                      lambda t, x, y: t * float(beta) + R.matmul(x, y) * float(alpha), tolerance + 8, text="addmm")
    if kind == "linear":
        rows = d.one((m,), (2, m), ())
        return Sample([Given(numbers(d, dtype, *rows, k), dtype),
                       Given(numbers(d, dtype, n, k), dtype, d.one("dense", "reversed")),
                       Given(numbers(d, dtype, n), dtype)], S.nn.functional.linear, R.linear, tolerance, text="linear")
    if kind == "mv":
        return Sample([Given(a, dtype, la), Given(numbers(d, dtype, k), dtype, d.one("dense", "gaps"))], S.mv, R.matmul,
                      tolerance,
                      text="mv")
    if kind == "dot":
        return Sample([Given(numbers(d, dtype, k), dtype, d.one("dense", "gaps")),
                       Given(numbers(d, dtype, k), dtype, d.one("dense", "gaps"))],
                      S.dot, lambda x, y: R.sum(x * y), tolerance, text="dot")
    batch = d.one(1, 2, 3, 5, d.between(1, 12))
    m, n, k = min(m, 120), min(n, 120), min(k, 200)
    x = numbers(d, dtype, batch, m, k)
    if kind == "shared":  # one b for a batch, by its stride
        y = numbers(d, dtype, k, n)
        return Sample([Given(x, dtype), Given(y, dtype, lb)], lambda p, q: S.bmm(p, q.expand(batch, k, n)), R.matmul,
                      tolerance,
                      text="bmm shared")
    y = numbers(d, dtype, batch, k, n)
    layouts = [d.one("dense", "dense", [0, 2, 1], [1, 0, 2], "padded") for _ in range(2)]
    if kind == "bmm":
        return Sample([Given(x, dtype, layouts[0]), Given(y, dtype, layouts[1])], S.bmm, R.matmul, tolerance,
                      text="bmm")
    c = numbers(d, dtype, *d.one((batch, m, n), (1, m, n), (n,)))
    return Sample([Given(c, dtype), Given(x, dtype, layouts[0]), Given(y, dtype, layouts[1])],
                  S.baddbmm, lambda t, p, q: t + R.matmul(p, q), tolerance + 8, text="baddbmm")


def product_out(d: Draw):
    """Into results whose columns, or rows, are apart."""
    dtype = d.one("float32", "float64", "bfloat16", "float16", "complex64")
    m, n, k = d.between(1, 80), d.between(1, 80), d.between(1, 120)
    place = d.one("reversed", "gaps", "padded")

    def run(x, y, out):
        S.mm(x, y, out=out)
        return out
    return Sample([Given(numbers(d, dtype, m, k), dtype, matrix_layout(d), grad=False),
                   Given(numbers(d, dtype, k, n), dtype, matrix_layout(d), grad=False),
                   Given(np.zeros((m, n)), dtype, place,
                         grad=False)], run, lambda x, y, o: R.matmul(x, y), 16 + 4 * k ** 0.5,
                  text="mm out", gradients=False)


def factored(d: Draw):
    """Factorisations and solves, by what they must give again."""
    kind = d.one("solve", "cholesky", "cholesky_solve", "cholesky_inverse", "qr", "triangular", "lu", "lu_solve",
                 "ormqr", "qr_complete")
    n = d.one(d.near(6, 12), d.between(1, 40))
    batch = d.one((), (), (d.between(1, 5),), (2, 2))
    dtype = d.one("float64", "float32", "complex128")
    layout = d.one("dense", [*range(len(batch)), len(batch) + 1, len(batch)], "padded",
                   [*range(len(batch))[::-1], len(batch) + 1, len(batch)])
    a = numbers(d, dtype, *batch, n, n)
    columns = d.between(1, 9)
    b = numbers(d, dtype, *batch, n, columns)
    adjoint = np.conj(np.swapaxes(a, -1, -2))
    positive = a @ adjoint / n + 2 * np.eye(n)
    shifted = a + 3 * np.sqrt(n) * np.eye(n)
    tolerance = 400 + 100 * n
    H = lambda t: t.mH
    if kind == "solve":
        return Sample([Given(shifted, dtype, layout), Given(b, dtype, layout)], S.linalg.solve, lambda x,
                      y: R.matmul(R.inverse(x), y),
                      tolerance, text="solve")
    if kind == "cholesky":
        return Sample([Given(positive, dtype, layout, grad=False)],
                      lambda t: (lambda l: l @ H(l))(S.linalg.cholesky(t)), lambda t: t,
                      tolerance, text="cholesky")
    if kind in ("cholesky_solve", "cholesky_inverse"):
        factor = np.linalg.cholesky(positive)
        if kind == "cholesky_inverse":
            if dtype == "complex128":
                return factored(d)
            return Sample([Given(factor, dtype, layout, grad=False)], S.cholesky_inverse,
                          lambda l: R.inverse(R.matmul(l, R.adjoint(l))),
                          tolerance, text=kind)
        return Sample([Given(b, dtype, layout, grad=False), Given(factor, dtype, layout, grad=False)], S.cholesky_solve,
                      lambda y, l: R.matmul(R.inverse(R.matmul(l, R.adjoint(l))), y), tolerance, text=kind)
    if kind == "triangular":
        upper, left = d.flag(), d.flag()
        t = np.triu(shifted) if upper else np.tril(shifted)
        y = b if left else np.swapaxes(b, -1, -2)
        return Sample([Given(t, dtype, layout, grad=False), Given(y, dtype, layout, grad=False)],
                      lambda p, q: S.linalg.solve_triangular(p, q, upper=upper, left=left),
                      lambda p, q: R.matmul(R.inverse(p),
                                            q) if left else R.matmul(q, R.inverse(p)), tolerance, text="solve_triangular")
    if kind == "lu":
        def run(t):
            lu, pivots = S.linalg.lu_factor(t)
            p, l, u = S.lu_unpack(lu, pivots)
            return p @ l @ u
        return Sample([Given(shifted, dtype, layout, grad=False)], run, lambda t: t, tolerance, text="lu_factor")
    if kind == "lu_solve":
        left, adj = d.flag(), d.flag()
        y = b if left else np.swapaxes(b, -1, -2)

        def plain(t, q):
            inverse = R.inverse(t)
            inverse = R.adjoint(inverse) if adj else inverse
            return R.matmul(inverse, q) if left else R.matmul(q, inverse)
        return Sample([Given(shifted, dtype, layout, grad=False), Given(y, dtype, layout, grad=False)],
                      lambda t, q: S.linalg.lu_solve(*S.linalg.lu_factor(t), q, left=left,
                                                     adjoint=adj), plain, tolerance, text="lu_solve")
    m = d.one(n, n + 2, d.near(6, 12))
    tall = numbers(d, dtype, *batch, m, n)
    if kind == "ormqr":
        return Sample([Given(tall, dtype, layout, grad=False),
                       Given(numbers(d, dtype, *batch, m, columns), dtype, layout, grad=False)],
                      lambda t, c: (lambda g: S.ormqr(g[0], g[1], S.ormqr(g[0], g[1], c, True, True)))(S.geqrf(t)),
                      lambda t, c: c, tolerance, text="ormqr") if m >= n else factored(d)
    mode = "complete" if kind == "qr_complete" else "reduced"
    return Sample([Given(tall, dtype, layout, grad=False)], lambda t: (lambda g: g[0] @ g[1])(S.linalg.qr(t, mode)),
                  lambda t: t,
                  tolerance, text=f"qr {mode} ")


def transformed(d: Draw):
    """Lengths of every plan: powers of two, products, primes, many lines and one."""
    n = d.one(d.between(1, 300), d.between(2, 33), 2 ** d.between(1, 12),
              d.one(7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 97, 101, 127, 251, 257, 509, 1009, 2017, 4099, 8191),
              d.one(96, 360, 1000, 2310, 3600, 4096, 5005, 65536, 66000, 131072), d.one(1018, 2026, 3046, 502, 10007))
    lines = d.one((), (), (1,), (d.between(1, 9),), (d.between(1, 40),), (2, 3))
    if n > 3000:
        lines = d.one((), (2,))
    kind, dtype = d.one("fft", "ifft", "rfft", "irfft", "rfft"), d.one("complex64", "complex128")
    dim = d.one(-1, -1, 0)
    shape = (*lines, n) if dim == -1 else (n, *lines)
    layout = d.one("dense", "dense", "reversed", "gaps")
    real = {"complex64": "float32", "complex128": "float64"}[dtype]
    tolerance = 64
    axis = dim % len(shape)
    if kind in ("fft", "ifft"):
        return Sample([Given(d.complex(*shape), dtype, layout)],
                      lambda t: getattr(S.fft, kind)(t, dim=dim, norm="backward" if kind == "fft" else "forward"),
                      lambda t: R.fft(t, axis, kind == "ifft"), tolerance, text=f"{kind} over {dim} of ")
    half = n // 2 + 1
    if kind == "rfft":
        def plain(t):
            whole = R.fft(t + 0j, axis)
            return whole[(slice(None),) * axis + (slice(0, half),)]
        return Sample([Given(d.normal(*shape), real, layout)], lambda t: S.fft.rfft(t, dim=dim), plain, tolerance,
                      text=f"rfft over {dim} of ")
    x = np.fft.rfft(d.normal(*shape), axis=axis)
    return Sample([Given(x, dtype, layout, grad=False)], lambda t: S.fft.irfft(t, n, dim=dim),
                  lambda t: np.fft.irfft(t.value, n, axis=axis), tolerance, text=f"irfft {n} over {dim} of ")


FAMILIES = [product, product_out, factored, transformed]
