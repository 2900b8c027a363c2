"""Marks: functions that capture leaves alone or trusts, tensors whose sizes are free or fixed."""

from .. import _sconce


def disable(fn=None, recursive=True, *, reason=None):
    """A function that capture leaves alone: a graph breaks at its call. recursive: so are the functions that it calls. Of a module,
    its calls are left alone."""
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)
    if not callable(fn):
        raise TypeError(f"disable() expected a function, method, class or module, got {type(fn).__name__}")
    from ..nn import Module

    if isinstance(fn, Module):
        fn.__dict__["forward"] = disable(fn.forward, recursive, reason=reason)
        return fn
    if isinstance(fn, type):
        fn.__init__ = disable(fn.__init__, recursive, reason=reason)
        return fn
    return _sconce._capture_disable(fn, bool(recursive), reason)


def assume_constant_result(fn):
    """Capture calls the function once and keeps what it returns: the caller promises that it is always the same."""
    fn._dynamo_marked_constant = True
    return fn


def allow_in_graph(fn):
    """Capture calls the function with tensors that have no data, as it calls operators, and does not look inside: what Python does
    in it happens once, when the graph is captured."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(one) for one in fn]
    if not callable(fn):
        raise TypeError(f"allow_in_graph() expected a function, got {type(fn).__name__}")
    fn._dynamo_allowed_in_graph = True
    return fn


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """A dimension, or several, whose size a compilation leaves free. min and max bound the sizes that will come; what is compiled is
    right for all others, too."""
    if hint_override is not None or specialize_on is not None:
        raise NotImplementedError("mark_dynamic: hint_override and specialize_on are not supported")
    for i in _indices(t, index, "mark_dynamic"):
        if (min is not None and t.shape[i] < min) or (max is not None and t.shape[i] > max):
            raise ValueError(f"mark_dynamic: dimension {i} has size {t.shape[i]}, outside of {min} to {max}")
        _add(t, "_dynamo_dynamic_indices", i)
        _drop(t, "_dynamo_static_indices", i)


def maybe_mark_dynamic(t, index):
    """The same, where nothing needs the size."""
    for i in _indices(t, index, "maybe_mark_dynamic"):
        _add(t, "_dynamo_weak_dynamic_indices", i)


def mark_static(t, index=None):
    """A dimension, several, or all (None), whose size a compilation fixes."""
    for i in range(t.ndim) if index is None else _indices(t, index, "mark_static"):
        _add(t, "_dynamo_static_indices", i)
        _drop(t, "_dynamo_dynamic_indices", i)


def _indices(t, index, who):
    for i in index if isinstance(index, (list, tuple)) else (index,):
        if not isinstance(i, int) or not -t.ndim <= i < t.ndim:
            raise IndexError(f"{who}: dimension {i!r} of a tensor with {t.ndim} dimensions")
        yield i % t.ndim


def _add(t, name, index):
    t.__dict__.setdefault(name, set()).add(index)
    _sconce._capture_note_marks()


def _drop(t, name, index):
    t.__dict__.get(name, set()).discard(index)
    _sconce._capture_note_marks()


def nested_compile_region(fn=None):
    """A part of a program that PyTorch compiles once for all calls. Here graphs are compiled so quickly that it is followed at each."""
    return nested_compile_region if fn is None else fn


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False):
    """Decorator: the function of Python that capture follows in the place of original_fn."""
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")

    def register(function):
        if not callable(function):
            raise TypeError(f"@substitute_in_graph(...) expects a function but got {type(function)!r}")
        from .. import _polyfills

        _polyfills.TABLE[original_fn] = function
        return function

    return register


def wrap_numpy(fn):
    """A function over arrays of numpy as one over tensors."""
    import functools

    import numpy

    from .. import _sconce
    from ..utils._pytree import tree_map_only

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        args, kwargs = tree_map_only(_sconce.Tensor, lambda t: t.numpy(), (args, kwargs))
        return tree_map_only(numpy.ndarray, _sconce.from_numpy, fn(*args, **kwargs))

    return wrapped
