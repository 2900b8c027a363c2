"""What the texts of the script library use of torch._jit_internal."""

import typing

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = typing.List  # List[int], or one int for all


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that is one of two by the value of an argument: max_pool2d with return_indices."""

    def function(*args, **kwargs):
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    function.__name__ = function.__qualname__ = func_name or "function"
    return function


def _overload(fn):
    """Declares an overload; the definition that follows is what Python calls."""
    return fn


_overload_method = _overload
