# Special functions as series, in float64: derivatives of the gamma function's logarithm, Hurwitz' zeta function.


def in_double(x: Tensor) -> Tensor:
    return x.to(torch.float64)


def float_dtype_of(x: Tensor) -> int:
    # Integers promote to the default dtype.
    return default_dtype() if is_integral(x) else x.dtype


def zeta_above_zero(s: Tensor, x: Tensor) -> Tensor:
    # Single terms as long as the series that follows would not converge, then Euler's and Maclaurin's formula.
    factors = [1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000, 1.0 / 74724249600, -3617.0 / 10670622842880000, 43867.0 / 5109094217170944000, -174611.0 / 802857662698291200000.0]
    q = x + zero_of(s)
    total = zero_of(q).expand(q.shape)
    # Where terms add nothing, those that follow do not, either.
    more = q < s + 10
    while bool(torch.any(more)):
        term = torch.where(more, q.pow(-s), zero_of(q))
        total = total + term
        q = torch.where(more, q + 1, q)
        more = torch.logical_and(torch.logical_and(more, q < s + 10), term > total * 1.7347234759768071e-18)
    power = q.pow(-s)
    rest = power * q / (s - 1) + power / 2
    rising = s
    for k in range(len(factors)):
        power = power / q
        rest = rest + rising * power * factors[k]
        power = power / q
        rising = rising * ((s + (2 * k + 1)) * (s + (2 * k + 2)))
    # Infinity has no rest; nor has a sum that was complete before.
    return torch.where(q < s + 10, total, torch.where(q == float("inf"), total, total + rest))


def hurwitz_zeta(s: Tensor, q: Tensor) -> Tensor:
    one = torch.full([], 1.0, dtype=torch.float64, device=q.device)
    positive = torch.where(q > 0, q, one)
    above = zeta_above_zero(s, torch.where(torch.isnan(q), q, positive))
    # The terms with a negative base, turned round, are a sum from the next integer's distance up to, without, 1 - q.
    whole = q == q.floor()
    inside = torch.logical_and(q < 0, torch.logical_not(whole))
    x = torch.where(inside, q, torch.full([], -0.5, dtype=torch.float64, device=q.device))
    sign = torch.where(s.fmod(2) == 0, one, -one)
    below = zeta_above_zero(s, x - x.floor()) + sign * (zeta_above_zero(s, x.ceil() - x) - zeta_above_zero(s, 1 - x))
    infinite = torch.full([], float("inf"), dtype=torch.float64, device=q.device)
    none = torch.full([], float("nan"), dtype=torch.float64, device=q.device)
    below = torch.where(whole, infinite, torch.where(s == s.floor(), below, none))
    out = torch.where(torch.logical_or(q > 0, torch.isnan(q)), above, below)
    return torch.where(s == 1, infinite, torch.where(s < 1, none, out))


def digamma_series(given: Tensor) -> Tensor:
    # Up to 10 by recurrence, then Stirling's series; below 0 by reflection.
    pi = 3.141592653589793
    reflected = given < 0
    part = given - given.trunc()
    out = torch.where(reflected, -pi / torch.tan(part * pi), zero_of(given))
    x = torch.where(reflected, 1 - given, given)
    for k in range(10):
        small = x < 10
        out = torch.where(small, out - 1 / x, out)
        x = torch.where(small, x + 1, x)
    z = 1 / (x * x)
    series = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))))
    out = torch.log(x) - 0.5 / x - series + out
    # Poles: at 0 by the sign of the zero, at negative integers nothing.
    out = torch.where(torch.logical_and(reflected, given == given.trunc()), torch.full([], float("nan"), dtype=torch.float64, device=given.device), out)
    return torch.where(given == 0, -1 / given, out)


def trigamma_series(given: Tensor, sine: Tensor) -> Tensor:
    # `sine` is sin(pi x) at the precision of the argument's dtype: beside a pole that decides.
    pi = 3.141592653589793
    two = torch.full([], 2.0, dtype=torch.float64, device=given.device)
    infinite = torch.full([], float("inf"), dtype=torch.float64, device=given.device)
    above = zeta_above_zero(two, torch.where(given <= 0, 1 - given, given))
    below = (pi / sine) * (pi / sine) - above
    return torch.where(given == 0, infinite, torch.where(given < 0, below, above))


def polygamma_series(n: int, x: Tensor) -> Tensor:
    assert n >= 0, "polygamma(n, x) does not support negative n."
    kept = float_dtype_of(x)
    given = in_double(x.to(kept))
    if n == 0:
        return digamma_series(given).to(kept)
    if n == 1:
        sine = in_double(torch.sin(x.to(kept) * 3.141592653589793)) if kept == torch.float32 else torch.sin(given * 3.141592653589793)
        return trigamma_series(given, sine).to(kept)
    factor = 1.0 if n % 2 == 1 else -1.0
    for k in range(2, n + 1):
        factor = factor * k
    zeta = hurwitz_zeta(torch.full([], n + 1.0, dtype=torch.float64, device=x.device), given)
    return (zeta.to(kept) * factor).to(kept)
