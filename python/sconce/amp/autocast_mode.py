"""autocast: a region in which operators that gain by it run in bfloat16 or float16."""

import collections.abc
import functools
import warnings

from .. import _sconce
from .._sconce import Tensor

_LOWER = (_sconce.bfloat16, _sconce.float16)
_nesting = 0


def is_autocast_available(device_type):
    """Is there autocast for this kind of device? Here: the CPU."""
    return str(device_type) == "cpu"


class autocast:
    """A context manager and decorator: with autocast("cpu", dtype=torch.bfloat16): loss = net(x).sum()."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self._enabled = device_type, enabled
        state = _sconce._autocast_state()
        self.fast_dtype = dtype if dtype is not None else state[1]
        self._cache_enabled = state[2] if cache_enabled is None else cache_enabled
        if device_type == "cuda":
            if enabled:
                warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling")
            self._enabled = False
        elif device_type != "cpu":
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        elif enabled and self.fast_dtype not in _LOWER:
            warnings.warn("In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports dtype of "
                          "torch.bfloat16, torch.float16 currently.")
            self._enabled = False

    def __enter__(self):
        global _nesting
        self.before = _sconce._autocast_state()
        _nesting += 1
        if self.device == "cpu":
            kept = self.fast_dtype if self.fast_dtype in _LOWER else self.before[1]
            _sconce._set_autocast(self._enabled, kept, self._cache_enabled)
        return self

    def __exit__(self, *error):
        global _nesting
        _nesting -= 1
        if _nesting == 0:
            _sconce.clear_autocast_cache()
        _sconce._set_autocast(*self.before)
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled):
                return function(*args, **kwargs)

        return wrapped


def is_autocast_enabled(device_type="cpu"):
    """Is it on for this thread and kind of device?"""
    return str(device_type) == "cpu" and _sconce._autocast_state()[0]


def get_autocast_dtype(device_type):
    """What floats become."""
    return _sconce._autocast_state()[1] if str(device_type) == "cpu" else _sconce.float16


def is_autocast_cache_enabled():
    """Are converted weights kept until the end of the region?"""
    return _sconce._autocast_state()[2]


def _converted(value, dtype):
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() and value.dtype is not _sconce.float64 else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, collections.abc.Mapping):
        return {_converted(key, dtype): _converted(item, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_converted(item, dtype) for item in value)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """For forward of an autograd.Function: with cast_inputs, its inputs are converted and autocast is off inside."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def wrapped(*args, **kwargs):
        args[0]._dtype, args[0]._fwd_used_autocast = get_autocast_dtype(device_type), is_autocast_enabled(device_type)
        if cast_inputs is None or not is_autocast_enabled(device_type):
            return fwd(*args, **kwargs)
        args[0]._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            return fwd(*_converted(args, cast_inputs), **_converted(kwargs, cast_inputs))

    return wrapped


def custom_bwd(bwd=None, *, device_type):
    """For backward of an autograd.Function: autocast is as it was in forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def wrapped(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return wrapped
