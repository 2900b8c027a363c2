"""make_tensor: random values of any dtype, for tests."""

import math
import warnings

import sconce as torch

_INTEGERS = {torch.uint8: (0, 10), torch.int8: (-9, 10), torch.int16: (-9, 10), torch.int32: (-9, 10), torch.int64: (-9, 10)}
_LIMITS = {torch.uint8: (0, 255), torch.int8: (-128, 127), torch.int16: (-2 ** 15, 2 ** 15 - 1), torch.int32: (-2 ** 31, 2 ** 31 - 1),
           torch.int64: (-2 ** 63, 2 ** 63 - 1), torch.bool: (0, 2)}


def _range(dtype, low, high):
    smallest, largest = _INTEGERS.get(dtype, (0, 2) if dtype is torch.bool else (-9, 9))
    low = smallest if low is None else low
    high = largest if high is None else high
    for name, value in (("low", low), ("high", high)):
        if isinstance(value, float) and math.isnan(value):
            raise ValueError(f"`{name}` cannot be NaN, but got {name}={value}")
    if low > high or (low == high and not (dtype.is_floating_point or dtype.is_complex)):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if low == high:
        warnings.warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will be "
                      f"removed in 2.3. Use `torch.full(...)` instead to get the same result: {low}", FutureWarning, stacklevel=3)
    if dtype in _LIMITS:
        least, most = _LIMITS[dtype]
        low, high = max(math.ceil(low), least), min(math.ceil(high), most + 1 if dtype is not torch.bool else most)
    return low, high


def make_tensor(*shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False,
                memory_format=None):
    """A tensor of the shape with values that are drawn evenly from [low, high)."""
    if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
        shape = shape[0]
    shape = tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"noncontiguous={noncontiguous} and memory_format={memory_format}")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}")
    low, high = _range(dtype, low, high)
    numel = math.prod(shape)
    wide = noncontiguous and numel > 1
    drawn = (*shape[:-1], 2 * shape[-1]) if wide else shape
    if dtype is torch.bool or dtype in _INTEGERS:
        made = torch.randint(low, high, drawn, dtype=dtype, device=device)
    elif dtype.is_complex:
        part = {torch.complex64: torch.float32, torch.complex128: torch.float64}[dtype]
        made = torch.view_as_complex(torch.empty((*drawn, 2), dtype=part, device=device).uniform_(low, high))
    elif dtype.is_floating_point:
        made = torch.empty(drawn, dtype=dtype, device=device).uniform_(low, high)
    else:
        raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor().")
    if wide:
        made = made[..., ::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        smallest = 1 if dtype in _INTEGERS or dtype is torch.bool else torch.finfo(dtype).tiny
        made[made == 0] = smallest
    return made.requires_grad_(requires_grad) if requires_grad else made
