"""What the texts of the script library use of torch._jit_internal."""

import inspect
import typing

from . import _overrides

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = typing.List  # List[int], or one int for all


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that is one of two by the value of an argument: max_pool2d with return_indices."""

    parameters = inspect.signature(if_true).parameters

    def function(*args, **kwargs):
        if _overrides.active:
            result = _redirected(function, parameters, args, kwargs)
            if result is not _overrides.NOTHING:
                return result
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    function.__name__ = function.__qualname__ = func_name or "function"
    function.__module__ = if_true.__module__
    return function


def _redirected(function, parameters, args, kwargs):
    """What __torch_function__ of an argument makes of the call: those without a default go by position."""
    given = {**dict(zip(parameters, args)), **kwargs}
    required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    if not set(required) <= set(given) or not set(given) <= set(parameters):
        return _overrides.NOTHING
    named = {name: given.get(name, parameter.default) for name, parameter in parameters.items() if name not in required}
    return _overrides.redirect(function, tuple(given[name] for name in required), named)


def _overload(fn):
    """Declares an overload; the definition that follows is what Python calls."""
    if not fn.__module__.startswith("sconce."):  # the library's are the compiler's own
        from .jit import _sources

        _sources.declare_overload(fn)
    return fn


_overload_method = _overload
