"""torch._check and its kin, and torch.sym_*: what programs say about numbers that a capture may not know."""

import math

from . import _sconce


def _failed(kind, message):
    text = message() if callable(message) else message
    raise kind("Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement "
               "request to PyTorch.)" if text is None else str(text))


def _check_with(error_type, cond, message=None):
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        _failed(error_type, message)


def _check(cond, message=None):
    """Raises RuntimeError, with what message() gives, where cond is false."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """The same with IndexError."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """The same with ValueError."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """The same with TypeError."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """The same with NotImplementedError."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """A number that can be a size: not negative, and at most max."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all(cond, message=None):
    """RuntimeError unless all elements of a tensor of bools are true."""
    if not isinstance(cond, _sconce.Tensor) or cond.dtype != _sconce.bool:
        raise TypeError(f"cond must be a torch.Tensor with dtype=torch.bool, but got {cond.dtype if isinstance(cond, _sconce.Tensor) else type(cond)}")
    if not cond.all().item():
        _failed(RuntimeError, message)


def sym_int(a):
    """int(a), for a number of whatever kind."""
    return math.trunc(a)


def sym_float(a):
    """float(a)."""
    return float(a)


def sym_not(a):
    """not a."""
    return not a


def sym_max(a, b):
    """The larger number; a float where one of them is."""
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a, b):
    """The smaller number; a float where one of them is."""
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_sum(args):
    """The sum of several numbers."""
    return sum(args)


def sym_ite(b, t, f):
    """t if b, else f."""
    return t if b else f


def sym_sqrt(a):
    """The square root of a number."""
    return math.sqrt(a)
