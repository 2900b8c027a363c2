"""functional_call: a module as a function of its parameters and buffers."""

from ..nn.utils.stateless import _call


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls the module with these parameters and buffers, by path, in the place of its own.

    Args:
        module: the module to call.
        parameter_and_buffer_dicts: a dict of tensors by path, or several of them with different paths. A dict given
            alone has the tensors that forward assigned to its paths afterwards.
        args: the arguments of the call: a tuple, or one argument.
        kwargs: the arguments by name.
        tie_weights: gives the tensor to all paths that lead to the same parameter.
        strict: requires exactly the paths of the module's parameters and buffers.
    """
    dicts = parameter_and_buffer_dicts
    if isinstance(dicts, (list, tuple)):
        if not all(isinstance(part, dict) for part in dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        merged = {}
        for part in dicts:
            if repeated := merged.keys() & part.keys():
                raise ValueError(f"{sorted(repeated)} appeared in multiple dictionaries; behavior of functional call is ambiguous")
            merged.update(part)
        dicts = merged
    elif not isinstance(dicts, dict):
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}")
    return _call(module, dicts, args, kwargs, tie_weights, strict)
