"""Settings of capture: sconce._dynamo.config.recompile_limit = 16. Unknown names are refused.

Some of PyTorch's settings switch on what capture does here in any case (numbers of tensors, modules whose code is followed,
arrays of numpy), or choose how much it tells. They are kept, so that programs which set them run, and change nothing."""

import contextlib
import sys
import types

from .. import _sconce

_DEFAULTS = {"recompile_limit": 8, "accumulated_recompile_limit": 256, "fail_on_recompile_limit_hit": False,
             "automatic_dynamic_shapes": True, "assume_static_by_default": True, "capture_without_tensors": False,
             "capture_every_round": False}
_ALWAYS_SO = {"capture_scalar_outputs": True, "capture_func_transforms": True, "guard_nn_modules": True,
              "inline_inbuilt_nn_modules": True, "trace_numpy": True, "skip_nnmodule_hook_guards": False, "suppress_errors": False,
              "verbose": False, "allow_unspec_int_on_nn_module": True, "nested_graph_breaks": True}
_DEFAULTS.update(_ALWAYS_SO)
_OLD_NAMES = {"cache_size_limit": "recompile_limit", "accumulated_cache_size_limit": "accumulated_recompile_limit",
              "fail_on_cache_limit_hit": "fail_on_recompile_limit_hit"}
_values = dict(_DEFAULTS)


def _apply():
    _sconce._capture_configure(_values["recompile_limit"], _values["accumulated_recompile_limit"],
                               _values["fail_on_recompile_limit_hit"], _values["automatic_dynamic_shapes"],
                               _values["assume_static_by_default"], _values["capture_without_tensors"],
                               _values["capture_every_round"])


def _name(name):
    name = _OLD_NAMES.get(name, name)
    if name not in _DEFAULTS:
        raise AttributeError(f"sconce._dynamo.config.{name} does not exist; known are {', '.join(sorted({*_DEFAULTS, *_OLD_NAMES}))}")
    return name


class _Config(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _values[_name(name)]

    def __setattr__(self, name, value):
        if name.startswith("__"):
            return super().__setattr__(name, value)
        name = _name(name)
        kind = type(_DEFAULTS[name])
        if type(value) is not kind or (kind is int and value < 0):
            raise TypeError(f"sconce._dynamo.config.{name} must be {'a positive int' if kind is int else 'a bool'}, got {value!r}")
        _values[name] = value
        _apply()


def patch(*args, **changes):
    """with patch(name=value), or patch("name", value): settings for the duration of a with statement; also a decorator."""
    if args:
        changes = dict(args[0]) if len(args) == 1 else {args[0]: args[1]}
    return _patched({_name(name): value for name, value in changes.items()})


@contextlib.contextmanager
def _patched(changes):
    module = sys.modules[__name__]
    before = {name: _values[name] for name in changes}
    try:
        for name, value in changes.items():
            setattr(module, name, value)
        yield
    finally:
        _values.update(before)
        _apply()


sys.modules[__name__].__class__ = _Config
