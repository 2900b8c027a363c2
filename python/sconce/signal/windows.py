"""Window functions; `sym=False` gives the periodic ones, for spectra."""

import math

import sconce as torch

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
           "nuttall"]


def _checked(name, M, dtype, layout):
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


def _window(name, M, sym, formula, options):
    """formula(count, positions' own options) of at least two points; one point is 1."""
    dtype = _checked(name, M, options.pop("dtype"), options.pop("layout"))
    grad = options.pop("requires_grad")
    options = {"dtype": dtype, **{key: value for key, value in options.items() if value is not None}}
    if M <= 1:
        made = torch.ones((M,), **options)
    else:
        made = formula(M if sym else M + 1, options)[:M]
    return made.requires_grad_(grad) if grad else made


def _options(dtype, layout, device, requires_grad):
    return {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """exp(-|n - center| / tau)."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def formula(count, options):
        middle = (count - 1) / 2.0 if center is None else center
        return torch.exp(-torch.abs(torch.arange(count, **options) - middle) / tau)

    return _window("exponential", M, sym, formula, _options(dtype, layout, device, requires_grad))


def cosine(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """sin(pi (n + 1/2) / M)."""
    return _window("cosine", M, sym, lambda count, options: torch.sin((torch.arange(count, **options) + 0.5) * (math.pi / count)),
                   _options(dtype, layout, device, requires_grad))


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """exp(-((n - center) / std)^2 / 2)."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def formula(count, options):
        return torch.exp(-((torch.arange(count, **options) - (count - 1) / 2.0) / (std * math.sqrt(2))) ** 2)

    return _window("gaussian", M, sym, formula, _options(dtype, layout, device, requires_grad))


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """I0(beta sqrt(1 - x^2)) / I0(beta), for x from -1 to 1."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def formula(count, options):
        beta_tensor = torch.tensor(beta, **options)
        x = torch.linspace(-beta, beta, count, **options)
        inside = torch.clamp(beta_tensor ** 2 - x ** 2, min=0)
        return torch.i0(torch.sqrt(inside)) / torch.i0(beta_tensor)

    return _window("kaiser", M, sym, formula, _options(dtype, layout, device, requires_grad))


def general_cosine(M, *, a, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """sum of (-1)^i a[i] cos(2 pi i n / (M - 1))."""
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")

    def formula(count, options):
        angle = torch.linspace(0, 2 * math.pi, count, **options)
        return sum((-1) ** i * weight * torch.cos(i * angle) for i, weight in enumerate(a))

    return _window("general_cosine", M, sym, formula, _options(dtype, layout, device, requires_grad))


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """alpha - (1 - alpha) cos."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """0.54 - 0.46 cos."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """(1 - cos) / 2."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A sum of three cosines."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A sum of four cosines."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def bartlett(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A triangle from 0 over 1 to 0."""
    return _window("bartlett", M, sym, lambda count, options: 1 - torch.abs(torch.linspace(-1, 1, count, **options)),
                   _options(dtype, layout, device, requires_grad))
