"""__torch_function__: functions that ask the classes of their arguments."""

from . import _sconce
from ._tensor import DisableTorchFunctionSubclass

__all__ = ["BaseTorchFunctionMode", "DisableTorchFunctionSubclass", "TorchFunctionMode", "handle_torch_function",
           "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like"]


def has_torch_function(relevant_args):
    """Is there an argument whose class decides what functions do?"""
    return _sconce._has_torch_function(relevant_args)


def has_torch_function_unary(arg):
    """The same of one argument."""
    return _sconce._has_torch_function((arg,))


def has_torch_function_variadic(*args):
    """The same of several arguments."""
    return _sconce._has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the classes of the relevant arguments make of a call of public_api(*args, **kwargs)."""
    return _sconce._handle_torch_function(public_api, tuple(relevant_args), args, kwargs)


def is_tensor_like(inp):
    """A tensor, or an object of a class with __torch_function__."""
    return isinstance(inp, _sconce.Tensor) or hasattr(inp, "__torch_function__")


class TorchFunctionMode:
    """with Mode(): functions of the library ask Mode.__torch_function__(func, types, args, kwargs) first, the innermost mode
    before others. What that calls is asked of those outside of it."""

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _sconce._push_torch_function_mode(self)
        return self

    def __exit__(self, kind, value, traceback):
        _sconce._pop_torch_function_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        """An older name of the class."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """Does as if it were not there."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
