"""Sconce: PyTorch programs without PyTorch.

    import sconce as torch

Functions, methods and operators are PyTorch's, as far as the operator table goes: every operator of the CPU. sconce.jit
loads and runs TorchScript files.
"""

import importlib

from . import _library, _methods, _sconce
from ._methods import einsum, nonzero, unique
from ._sconce import *  # noqa: F403  dtypes, layouts, Tensor, tensor, from_numpy, modes
from ._sconce import Tensor, _function, _function_names, _packet, tensor
from ._overrides import assert_ as _assert  # noqa: F401
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from .random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state


class Size(tuple):
    """The sizes of a tensor."""

    def __repr__(self):
        return f"torch.Size({list(self)})"

    def numel(self):
        product = 1
        for size in self:
            product *= size
        return product


_sconce._set_size_class(Size)
_methods.add_methods()

from math import e, inf, nan, pi  # noqa: E402,F401


def is_tensor(obj):
    """True for a Tensor."""
    return isinstance(obj, Tensor)


def as_tensor(data, dtype=None, device=None):
    """A tensor of the data: without a copy for tensors and numpy arrays whose dtype and device fit."""
    if not isinstance(data, Tensor):
        data = _sconce.from_numpy(data) if type(data).__name__ == "ndarray" else tensor(data, dtype=dtype)
    return data.to(device if device is not None else data.device, dtype if dtype is not None else data.dtype)


def save(obj, f):
    """Writes tensors, numbers, strings, and lists, tuples and dicts of them as torch.save does; PyTorch reads the file."""
    _sconce._save(obj, f)


def load(f, map_location=None, *, weights_only=True, mmap=None):
    """What save() or torch.save wrote. Nothing in the file is run, so objects of other classes are refused."""
    if not weights_only:
        raise NotImplementedError("load: weights_only=False would run code of the file, which is not supported")
    if map_location is not None and str(map_location) != "cpu":
        raise NotImplementedError(f"load: map_location={map_location!r} is not supported, only 'cpu'")
    return _sconce._load(f, mmap is True)


class _Namespace:
    """Operators of one namespace: sconce.ops.aten.add.Tensor."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        found = _packet(f"{self._name}::{name}")
        setattr(self, name, found)
        return found


class _Operators:
    """Every operator, by namespace."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _Namespace(name)
        setattr(self, name, namespace)
        return namespace


ops = _Operators()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'sconce' has no attribute '{name}'")
    if name == "fx":
        return importlib.import_module("sconce.fx")
    if name == "functional":
        return _library.functional()
    found = getattr(_library.functional(), name) if name in _library.functional_names() else _function(name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *_function_names(), *_library.functional_names()})


from . import _C, fft, jit, linalg, nn, optim, special  # noqa: E402  need the names above
