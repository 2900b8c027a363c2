#!/usr/bin/env python3
"""Fits the polynomials of the special functions and prints their coefficients: those of one element, or of vectors.

    python3 tools/fit_special.py > sconce/kernels/cpu/special/coefficients.h && make format
    python3 tools/fit_special.py vector > sconce/kernels/cpu/simd/math/special_coefficients.h && make format

Needs mpmath. Each polynomial interpolates its function at the Chebyshev points of an interval, with so many terms that
the rest is below 1e-17 of the largest; it is written in powers of t, which goes from -1 to 1 over the interval. The
comment beside each says what t is and how large the first term left out would be.
"""

import sys
from fractions import Fraction

import mpmath as mp

mp.mp.dps = 50


def chebyshev(f, n):
    points = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / n) for k in range(n)]
    values = [f(t) for t in points]
    return [(1 if j == 0 else 2) * mp.fsum(v * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / n) for k, v in enumerate(values)) / n
            for j in range(n)]


def powers(c):
    """Coefficients of a sum of Chebyshev polynomials in powers of t."""
    total = [mp.mpf(0)] * len(c)
    before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for j, weight in enumerate(c):
        poly = before if j == 0 else now
        for i, p in enumerate(poly):
            total[i] += weight * p
        if j > 0:
            later = [mp.mpf(0)] + [2 * p for p in now]
            for i, p in enumerate(before):
                later[i] -= p
            before, now = now, later
    return total


def print_array(name, comment, numbers):
    print(f"// {comment}")
    print(f"inline constexpr double {name}[] = {{{', '.join(float(x).hex() for x in numbers)}}};")


def fit(name, f, low, high, rest, terms=64):
    """f as a polynomial in t = (2 v - low - high) / (high - low): powers of t, and the first term left out."""
    c = chebyshev(lambda t: f((t * (high - low) + low + high) / 2), terms)
    largest = max(abs(x) for x in c)
    keep = max(k for k, x in enumerate(c) if abs(x) > rest * largest) + 1
    assert keep < terms, f"{name} needs more than {terms} terms"
    return powers(c[:keep]), abs(c[keep]) / largest


def emit(name, comment, f, low, high):
    low, high = mp.mpf(low), mp.mpf(high)
    numbers, left = fit(name, f, low, high, 1e-17)
    print_array(name, f"{comment}, over [{mp.nstr(low, 6)}, {mp.nstr(high, 6)}]: {mp.nstr(left, 1)}", numbers)


def emit_vector(name, comment, f, low, high):
    """Twice: for float, with fewer terms, and for double."""
    low, high = mp.mpf(low), mp.mpf(high)
    for suffix, kind, rest in (("f32", "float", 3e-9), ("f64", "double", 1e-17)):
        numbers, left = fit(name, f, low, high, rest)
        end = "f" if kind == "float" else ""
        print(f"// {comment}, over [{mp.nstr(low, 6)}, {mp.nstr(high, 6)}]: {mp.nstr(left, 1)}")
        print(f"constexpr {kind} {name}_{suffix}[] = {{{', '.join(mp.nstr(x, 9 if end else 17) + end for x in numbers)}}};")


# Modified Bessel functions -----------------------------------------------------------------------------------------------


def limited(f, at_zero):
    """f, with its limit at 0."""
    return lambda v: at_zero if v == 0 else f(v)


def bessel():
    emit("kI0Near", "I0(x) in x^2", lambda z: mp.besseli(0, mp.sqrt(z)), 0, 4)
    emit("kI1Near", "I1(x) / x in x^2",
         limited(lambda z: mp.besseli(1, mp.sqrt(z)) / mp.sqrt(z), mp.mpf(1) / 2), 0, 4)
    emit("kK0Near", "K0(x) + log(x/2) I0(x) in x^2",
         limited(lambda z: mp.besselk(0, mp.sqrt(z)) + mp.log(mp.sqrt(z) / 2) * mp.besseli(0, mp.sqrt(z)), -mp.euler), 0, 4)
    emit("kK1Near", "x (K1(x) - log(x/2) I1(x)) in x^2",
         limited(lambda z: mp.sqrt(z) * (mp.besselk(1, mp.sqrt(z)) - mp.log(mp.sqrt(z) / 2) * mp.besseli(1, mp.sqrt(z))),
                 mp.mpf(1)), 0, 4)
    emit("kK0Far", "sqrt(x) exp(x) K0(x) in 1/x",
         limited(lambda v: mp.sqrt(1 / v) * mp.exp(1 / v) * mp.besselk(0, 1 / v), mp.sqrt(mp.pi / 2)), 0, mp.mpf(1) / 2)
    emit("kK1Far", "sqrt(x) exp(x) K1(x) in 1/x",
         limited(lambda v: mp.sqrt(1 / v) * mp.exp(1 / v) * mp.besselk(1, 1 / v), mp.sqrt(mp.pi / 2)), 0, mp.mpf(1) / 2)


# Airy's function ---------------------------------------------------------------------------------------------------------


def airy():
    # Ai(x) = Ai(0) f(x^3) + Ai'(0) x g(x^3), both entire.
    def solution(first):
        def value(z):
            total = term = mp.mpf(1)
            k = first
            for _ in range(80):
                term *= z / ((k + 2) * (k + 3) if first == 0 else (k + 2) * (k + 3))
                total += term
                k += 3
            return total
        return value
    emit("kAiryEven", "the solution of y'' = x y with y(0) = 1, y'(0) = 0 in x^3", solution(0), -27, 8)
    emit("kAiryOdd", "that with y(0) = 0, y'(0) = 1, by x, in x^3", solution(1), -27, 8)

    def x_of(v):  # v = 1 / (2/3 x^1.5)
        return (mp.mpf(3) / 2 / v) ** (mp.mpf(2) / 3)

    def decaying(v):
        x = x_of(v)
        return 2 * mp.sqrt(mp.pi) * x ** mp.mpf("0.25") * mp.exp(1 / v) * mp.airyai(x)
    emit("kAiryDecay", "2 sqrt(pi) x^(1/4) exp(z) Ai(x) in 1/z, z = 2/3 x^(3/2)",
         limited(decaying, mp.mpf(1)), 0, mp.mpf("0.6"))

    # Ai(-x) = (P cos(p) + Q sin(p)) / (sqrt(pi) x^(1/4)), Bi(-x) = (Q cos(p) - P sin(p)) / ..., p = z - pi/4.
    def wave(which):
        def value(w):
            v = mp.sqrt(w)
            x = x_of(v)
            phase = 1 / v - mp.pi / 4
            a, b = mp.airyai(-x), mp.airybi(-x)
            scale = mp.sqrt(mp.pi) * x ** mp.mpf("0.25")
            p = a * mp.cos(phase) - b * mp.sin(phase)
            q = a * mp.sin(phase) + b * mp.cos(phase)
            return scale * (p if which == 0 else q / v)
        return value
    emit("kAiryCos", "P of Ai(-x) = (P cos(z - pi/4) + Q sin(z - pi/4)) / (sqrt(pi) x^(1/4)) in 1/z^2",
         limited(wave(0), mp.mpf(1)), 0, mp.mpf("0.0835"))
    emit("kAirySin", "Q z of the same", limited(wave(1), mp.mpf(5) / 72), 0, mp.mpf("0.0835"))


# Error functions ---------------------------------------------------------------------------------------------------------


def erfcx(x):
    if x > 60:  # the asymptotic series
        total = term = mp.mpf(1)
        for k in range(1, 60):
            term *= -(2 * k - 1) / (2 * x * x)
            total += term
        return total / (x * mp.sqrt(mp.pi))
    return mp.exp(x * x) * mp.erfc(x)


def normal_quantile(p):
    """x with P(X > x) = p, for p <= 1/2."""
    r = mp.sqrt(-2 * mp.log(p))
    x = r - (mp.log(r) + mp.log(2 * mp.pi) / 2) / r if r > 2 else mp.mpf(1)
    for _ in range(60):
        tail = mp.erfc(x / mp.sqrt(2)) / 2
        step = mp.log(tail / p) * tail / (mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi))
        x += step
        if abs(step) < mp.mpf(10) ** -40 * abs(x):
            break
    return x


# The incomplete gamma function -------------------------------------------------------------------------------------------


def incomplete_gamma(rows, columns):
    """Temme's C_k(eta) in powers of eta: C_0 = 1/mu - 1/eta, C_k = C'_(k-1) / eta + pole / mu, where the pole is what
    makes it finite at 0, and eta^2 / 2 = mu - log(1 + mu)."""
    size = columns + 3 * rows + 4
    # mu as a series in eta: mu mu' = eta (1 + mu).
    mu = [Fraction(0), Fraction(1)]
    for n in range(2, size + 2):
        # The coefficient of eta^n in mu mu' = eta + eta mu: sum of mu[i] (j) mu[j] over i + j - 1 = n.
        known = sum(mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n))
        mu.append((mu[n - 1] - known) / (n + 1))
    # 1/mu = 1/eta * inverse of (mu / eta)
    scaled = mu[1:]
    inverse = [Fraction(1)]
    for n in range(1, size):
        inverse.append(-sum(scaled[i] * inverse[n - i] for i in range(1, n + 1)))
    c = inverse[1:]  # C_0
    for k in range(rows):
        print_array(f"kTemme{k}", f"C_{k} of Temme's expansion in powers of eta", [mp.mpf(x.numerator) / x.denominator
                                                                             for x in c[:columns]])
        derivative = [(i + 1) * c[i + 1] for i in range(len(c) - 1)]  # by eta: the pole is derivative[0] / eta
        pole = -derivative[0]
        c = [derivative[i + 1] + pole * inverse[i + 1] for i in range(len(derivative) - 2)]


def scalars():
    print("// Coefficients of the special functions, lowest power first. Printed by tools/fit_special.py.")
    print("#pragma once\n\nnamespace sconce::special {\n")
    bessel()
    airy()
    incomplete_gamma(10, 20)
    print("\n}  // namespace sconce::special")


# Vectors -----------------------------------------------------------------------------------------------------------------


# Note [Released values]
# J and Y are an amplitude times P cos - Q sin and P sin + Q cos. PyTorch's releases take a Q of lower degree than it needs:
# right above 5 their values are off by up to 9e-7, more than the tolerance within which results are compared. Programs
# expect PyTorch's values, so Q is fitted with what PyTorch's has too much: x times it, by w^5, in powers of w = 25 / x^2,
# fitted to the values of PyTorch 2.13 (to 3e-11).
RELEASED = (
    (3.1470316105753444e-06, -6.56230715282846e-05, 0.00015056234684226303, -0.0001767011823548248, 0.00012123915192641475,
     -4.6260781128259976e-05, 7.602566357477646e-06),
    (-6.9588016264732356e-06, 0.0001432164551046383, -0.00032117220368150763, 0.0003686066413795017,
     -0.00024713769603720734, 9.198956179048971e-05, -1.4711122829426882e-05),
)


def oscillating(order):
    two = 2 / mp.pi
    j, y = (lambda x: mp.besselj(order, x)), (lambda x: mp.bessely(order, x))
    # Up to 5 in x^2, without the logarithm and the pole of Y.
    near = mp.mpf(10) ** -20
    if order == 0:
        emit_vector("j0_near", "J0(x) in x^2", limited(lambda z: j(mp.sqrt(z)), mp.mpf(1)), 0, 25)
        emit_vector("y0_near", "Y0(x) - 2/pi log(x) J0(x) in x^2",
                    lambda z: (lambda x: y(x) - two * mp.log(x) * j(x))(mp.sqrt(max(z, near))), 0, 25)
    else:
        emit_vector("j1_near", "J1(x) / x in x^2", limited(lambda z: j(mp.sqrt(z)) / mp.sqrt(z), mp.mpf(1) / 2), 0, 25)
        emit_vector("y1_near", "x (Y1(x) - 2/pi log(x) J1(x)) in x^2",
                    lambda z: (lambda x: x * (y(x) - two * mp.log(x) * j(x)))(mp.sqrt(max(z, near))), 0, 25)

    def amplitudes(w):
        x = 5 / mp.sqrt(w)
        phase = x - mp.pi / 4 - order * mp.pi / 2
        scale = mp.sqrt(mp.pi * x / 2)
        p = scale * (j(x) * mp.cos(phase) + y(x) * mp.sin(phase))
        q = scale * (y(x) * mp.cos(phase) - j(x) * mp.sin(phase))
        return p, q * x
    emit_vector(f"p{order}_far", f"P of J{order} and Y{order} in 25/x^2", limited(lambda w: amplitudes(w)[0], mp.mpf(1)), 0, 1)
    first = mp.mpf(-1) / 8 if order == 0 else mp.mpf(3) / 8
    excess = lambda w: w ** 5 * mp.polyval(RELEASED[order][::-1], w)
    emit_vector(f"q{order}_far", f"x Q of J{order} and Y{order}, with Note [Released values], in 25/x^2",
                limited(lambda w: amplitudes(w)[1] + excess(w), first), 0, 1)


def vectors():
    print("// Coefficients for special.h, lowest power first. Printed by tools/fit_special.py vector.")
    print("#pragma once\n\nnamespace sconce::SCONCE_ISA_NAMESPACE {\n")
    emit_vector("lgamma_near", "log(gamma(2 + d)) / d", limited(lambda d: mp.loggamma(2 + d) / d, 1 - mp.euler),
                mp.mpf(-1) / 2, mp.mpf(1) / 2)
    root = mp.sqrt(1 / (2 * mp.pi))
    for order, factor in ((0, lambda x: 1), (1, lambda x: x)):
        emit_vector(f"i{order}_small", f"exp(-x) I{order}(x)" + (" / x" if order else ""),
                    limited(lambda x: mp.exp(-x) * mp.besseli(order, x) / factor(x), mp.mpf(1) / (1 + order)), 0, 5)
        emit_vector(f"i{order}_large", f"sqrt(x) exp(-x) I{order}(x) in 1/x",
                    limited(lambda v: mp.sqrt(1 / v) * mp.exp(-1 / v) * mp.besseli(order, 1 / v), root), 0, mp.mpf(1) / 5)
    oscillating(0)
    oscillating(1)
    mp.mp.dps = 60

    def mapped(t):  # t = (x - 3) / (x + 3)
        if t >= 1:
            return 2 / mp.sqrt(mp.pi)
        x = 3 * (1 + t) / (1 - t)
        return (1 + 2 * x) * erfcx(x)
    emit_vector("erfcx_mapped", "(1 + 2 x) exp(x^2) erfc(x) in (x - 3) / (x + 3)", mapped, -1, 1)

    def central(w):  # w = u^2
        u = mp.sqrt(w)
        return mp.sqrt(2 * mp.pi) if u == 0 else normal_quantile(mp.mpf(1) / 2 - u) / u
    emit_vector("quantile_centre", "the normal quantile of 1/2 + u by u in u^2", central, 0, mp.mpf("0.09"))
    emit_vector("quantile_tail0", "the upper normal quantile of p in r = sqrt(-2 log(p))",
                lambda r: normal_quantile(mp.exp(-r * r / 2)), mp.mpf("1.75"), 4)
    emit_vector("quantile_tail1", "the upper normal quantile of p in r = sqrt(-2 log(p))",
                lambda r: normal_quantile(mp.exp(-r * r / 2)), 4, mp.mpf("8.75"))
    for name, low, high in (("quantile_tail2", mp.mpf("8.75"), 18), ("quantile_tail3", 18, 39)):
        emit_vector(name, "the upper normal quantile of p in r = sqrt(-2 log(p))",
                    lambda r: normal_quantile(mp.exp(-r * r / 2)), low, high)
    print("\n}  // namespace sconce::SCONCE_ISA_NAMESPACE")


vectors() if "vector" in sys.argv else scalars()
