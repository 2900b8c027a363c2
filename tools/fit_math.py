#!/usr/bin/env python3
"""Fits the polynomials of sconce/kernels/cpu/simd/math/math.h and prints math_coefficients.h.

    python3 tools/fit_math.py > sconce/kernels/cpu/simd/math/math_coefficients.h && make format
    python3 tools/fit_math.py normal    # the coefficients inside normal.h

Needs mpmath. Each polynomial has the least possible largest relative error (Remez's exchange over a dense grid, 200
bits). The comment beside each says what is left of it before the coefficients are rounded.
"""

import struct
import sys

import mpmath as mp

mp.mp.prec = 200


def remez(f, weight, low, high, degree, var):
    """The coefficients c with least max |weight(x) * (sum c[i] var(x)^i - f(x))| over [low, high], and that maximum."""
    n = degree + 2
    size = 40 * n
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / (size - 1)) for k in range(size)]
    grid = [x for x in grid if weight(x) != 0]
    size = len(grid)
    fs, ws, vs = [f(x) for x in grid], [weight(x) for x in grid], [var(x) for x in grid]
    points = [round(k * (size - 1) / (n - 1)) for k in range(n)]
    for _ in range(40):
        a, b = mp.matrix(n, n), mp.matrix(n, 1)
        for row, k in enumerate(points):
            for i in range(degree + 1):
                a[row, i] = vs[k] ** i
            a[row, degree + 1] = (-1) ** row / ws[k]
            b[row] = fs[k]
        solved = mp.lu_solve(a, b)
        c, level = list(solved)[:-1], abs(solved[n - 1])
        errors = [w * (mp.polyval(c[::-1], v) - y) for w, v, y in zip(ws, vs, fs)]
        # The largest error of each run of one sign; the n adjacent ones with the largest errors.
        peaks = []
        for k, e in enumerate(errors):
            if peaks and (e > 0) == (errors[peaks[-1]] > 0):
                if abs(e) > abs(errors[peaks[-1]]):
                    peaks[-1] = k
            else:
                peaks.append(k)
        while len(peaks) > n:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        largest = max(abs(e) for e in errors)
        if len(peaks) < n or largest <= level * (1 + mp.mpf("1e-6")):
            break
        points = peaks
    return c, largest


def emit(name, formula, f, weight, low, high, degree32, degree64, var=lambda x: x):
    for degree, bits in ((degree32, 32), (degree64, 64)):
        if degree is None:
            continue
        c, error = remez(f, weight, mp.mpf(low), mp.mpf(high), degree, var)
        if bits == 32:
            numbers = [float(struct.unpack("f", struct.pack("f", float(x)))[0]).hex() + "f" for x in c]
        else:
            numbers = [float(x).hex() for x in c]
        print(f"// {formula}: relative error 2^{float(mp.log(error, 2)):.1f}")
        print(f"constexpr {'float' if bits == 32 else 'double'} {name}_f{bits}[] = {{")
        for i in range(0, len(numbers), 4):
            print("    " + ", ".join(numbers[i:i + 4]) + ",")
        print("};", flush=True)


def square(x):
    return x * x


def above(a):  # P(X > a) of a standard normal X
    return mp.erfc(a / mp.sqrt(2)) / 2


if sys.argv[1:] == ["normal"]:  # weighed between absolute and relative error of 2^p
    emit("normal_tail", "log2(P(X > a)), 0 <= a < 6.5", lambda a: mp.log(above(a), 2),
         lambda a: mp.sqrt(above(a)) * mp.log(2), 0, "6.5", 10, None)
    sys.exit()

half_ln2 = mp.log(2) / 2 * mp.mpf("1.01")
tiny = mp.mpf("1e-6")

print("""// Coefficients for math.h, lowest power first. Printed by tools/fit_math.py.
#pragma once

namespace sconce::SCONCE_ISA_NAMESPACE {
""")
emit("exp_tail", "(exp(r) - 1 - r) / r^2, |r| < ln(2)/2", lambda r: (mp.expm1(r) - r) / r**2,
     lambda r: r * r / mp.exp(r), -half_ln2, half_ln2, 4, 9)
emit("log_tail", "(log(1 + f) - f + f^2/2) / f^3, -1/3 < f < 1/3", lambda f: (mp.log1p(f) - f + f * f / 2) / f**3,
     lambda f: f**3 / mp.log1p(f), "-0.334", "0.334", 8, None)
# log(1 + f) = 2 atanh(s) with s = f / (2 + f)
emit("log_atanh", "(2 atanh(s) - 2 s) / s^3 in s^2, s < 1/5", lambda s: (2 * mp.atanh(s) - 2 * s) / s**3,
     lambda s: s**3 / mp.atanh(s), tiny, "0.2003", None, 6, square)
# float32 pow in double: 2^-34 is enough there
emit("pow_log", "(2 atanh(s) - 2 s) / s^3 in s^2, s < 1/5", lambda s: (2 * mp.atanh(s) - 2 * s) / s**3,
     lambda s: s**3 / mp.atanh(s), tiny, "0.2003", None, 5, square)
# double pow: the terms 2 s and 2/3 s^3 in twice the precision, the others in double
emit("pow_tail", "log2(e) (2 atanh(s) - 2 s - 2/3 s^3) / s^5 in s^2, s < 1/5",
     lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5 / mp.log(2), lambda s: s**5 / mp.atanh(s),
     "1e-4", "0.2003", None, 8, square)
emit("pow_exp", "(exp(r) - 1 - r) / r^2, |r| < ln(2)/2", lambda r: (mp.expm1(r) - r) / r**2,
     lambda r: r * r / mp.exp(r), -half_ln2, half_ln2, None, 6)
emit("tanh_small", "(tanh(x) - x) / x^3 in x^2, x < 0.6", lambda x: (mp.tanh(x) - x) / x**3,
     lambda x: x**3 / mp.tanh(x), tiny, "0.6", 5, 11, square)
emit("erf_small", "erf(x) / x - 1 in x^2, x < 0.93", lambda x: mp.erf(x) / x - 1,
     lambda x: x / mp.erf(x), tiny, "0.93", None, 11, square)


def least_squares(f, weight, low, high, first, degree, var):
    """Coefficients of var, after the given first one, with least squares of the weighted error at Chebyshev's points."""
    xs = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / 240) for k in range(120)]
    a, b = mp.matrix(degree, degree), mp.matrix(degree, 1)
    for x in xs:
        terms = [weight(x) * var(x)**(i + 1) for i in range(degree)]
        for i in range(degree):
            b[i] += terms[i] * weight(x) * (f(x) - first)
            for j in range(degree):
                a[i, j] += terms[i] * terms[j]
    return [first] + list(mp.lu_solve(a, b))


def erf_pieces(step, degree):
    """erf around the multiples of step: one row for each power, one column for each piece, twice (16 lanes). The constant
    is rounded first, so that the other coefficients make up for it. The first piece gives erf(x) - x."""
    pieces = []
    for k in range(8):
        low, high = max(tiny, (k - mp.mpf("0.5")) * step), (k + mp.mpf("0.5")) * step
        first = mp.mpf(struct.unpack("f", struct.pack("f", float(mp.erf(k * step))))[0])
        c = least_squares(mp.erf, lambda x: 1 / mp.erf(x), low, high, first, degree, lambda x: x - k * step)
        if k == 0:
            c[1] -= 1
        pieces.append([struct.unpack("f", struct.pack("f", float(x)))[0].hex() + "f" for x in c])
    print(f"// erf(x) in x - {step} k, k = 0 ... 7 (without x for k = 0), by power; twice")
    print(f"constexpr float erf_step = {float(step)}f;")
    print(f"alignas(64) constexpr float erf_pieces[{degree + 1}][16] = {{")
    for row in zip(*pieces):
        print("    {" + ", ".join(row + row) + "},")
    print("};", flush=True)


erf_pieces(mp.mpf("0.5625"), 7)
# Only for 1 - 2^w, so the error counts a quarter
emit("erf_exp2", "2^r, |r| < 1/2", lambda r: mp.mpf(2)**r, lambda r: mp.mpf(2)**-r, "-0.5", "0.5", 5, None)
emit("erf_large", "log(erfc(x)), 0.92 < x < 6", lambda x: mp.log(mp.erfc(x)),
     lambda x: mp.erfc(x) / mp.erf(x), "0.92", "6", None, 21)
# erfc(x) = exp(-x^2) p(t) / (1 + 2 x): nearly constant factors; float in double, where 2^-30 is enough
def erfc_ratio(x):
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


for name, high, degree in (("erfc_ratio_single", "10.2", 11), ("erfc_ratio", "27.3", 23)):
    emit(name, f"exp(x^2) erfc(x) (1 + 2 x) in (x - 3.75) / (x + 3.75), 0 <= x < {high}", erfc_ratio,
         lambda x: 1 / erfc_ratio(x), 0, high, None, degree, lambda x: (x - mp.mpf("3.75")) / (x + mp.mpf("3.75")))
quarter = mp.pi / 4 * mp.mpf("1.01")
emit("sin_tail", "(sin(x) - x) / x^3 in x^2, x < pi/4", lambda x: (mp.sin(x) - x) / x**3,
     lambda x: x**3 / mp.sin(x), tiny, quarter, 3, 6, square)
emit("cos_tail", "(cos(x) - 1 + x^2/2) / x^4 in x^2, x < pi/4", lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4,
     lambda x: x**4 / mp.cos(x), tiny, quarter, 2, 6, square)
emit("atan_tail", "(atan(x) - x) / x^3 in x^2, x < 1", lambda x: (mp.atan(x) - x) / x**3,
     lambda x: x**3 / mp.atan(x), tiny, 1, 8, 19, square)
emit("asin_tail", "(asin(x) - x) / x^3 in x^2, x < 1/2", lambda x: (mp.asin(x) - x) / x**3,
     lambda x: x**3 / mp.asin(x), tiny, "0.5", 4, 11, square)

# Constants of argument reduction: the first parts have so few bits that a multiple of them is exact.
def split(name, x, parts, bits, kind):
    numbers = []
    for k in range(parts):
        step = mp.mpf(2) ** (mp.floor(mp.log(abs(x), 2)) + 1 - bits)
        part = mp.floor(x / step) * step if k + 1 < parts else x
        if kind == "float" and k + 1 == parts:
            part = mp.mpf(struct.unpack("f", struct.pack("f", float(part)))[0])
        numbers.append(float(part).hex() + ("f" if kind == "float" else ""))
        x -= mp.mpf(float(part))
    print(f"constexpr {kind} {name}[] = {{{', '.join(numbers)}}};")


print("// Sums of parts; the products of all but the last with small integers are exact.")
split("half_pi_f32", mp.pi / 2, 4, 11, "float")
split("half_pi_f64", mp.pi / 2, 3, 33, "double")
split("ln2_f32", mp.log(2), 2, 11, "float")
split("ln2_f64", mp.log(2), 2, 40, "double")
print("// Numbers in twice the precision.")
split("ln2_twice", mp.log(2), 2, 53, "double")
split("log10_2_twice", mp.log10(2), 2, 53, "double")
split("two_log2e_twice", 2 / mp.log(2), 2, 53, "double")
split("two_thirds_log2e_twice", 2 / (3 * mp.log(2)), 2, 53, "double")
print("""
}  // namespace sconce::SCONCE_ISA_NAMESPACE""")
