"""script: functions, classes and modules of Python compiled to TorchScript, and the decorators that say how."""

import enum
import functools
import inspect
import os
import sys
import warnings

from .. import _sconce
from . import _sources

_ENABLED = os.environ.get("PYTORCH_JIT", "1") == "1"


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Compiles a function to a ScriptFunction, a module to a ScriptModule, and makes a class known to programs.

    Functions and classes that it uses are compiled with it; constants are those that it sees now.
    """
    from ..nn import Module
    from . import _module

    for name, value in (("_rcb", _rcb), ("example_inputs", example_inputs)):
        if value is not None:
            raise NotImplementedError(f"script: {name} is not supported")
    if optimize is not None:
        warnings.warn("`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead",
                      FutureWarning, stacklevel=2)
    if not _ENABLED or isinstance(obj, (_sconce.ScriptFunction, _module.ScriptModule)):
        return obj
    with _sources.LOCK:
        if isinstance(obj, Module):
            return _module.create(obj)
        if isinstance(obj, type):
            return _script_class(obj, sys._getframe(_frames_up + 1))
        return _script_function(obj)


def _script_function(fn):
    if isinstance(fn, (dict, list)):
        raise NotImplementedError(f"script of a {type(fn).__name__} is not supported")
    if not callable(fn):
        raise TypeError(f"script: a function, class or module was expected, got {type(fn).__name__}")
    plain = inspect.unwrap(fn)
    if inspect.ismethod(plain):
        raise RuntimeError(f"script: '{plain.__name__}' is a method; script the module that it belongs to")
    if not inspect.isfunction(plain):
        raise TypeError(f"script: there is no text of {plain!r} that could be compiled")
    compiled = getattr(plain, "__script_function__", None)
    if compiled is not None:
        return compiled
    functions = _sconce._script_compile(_sources.function_definition(plain))
    if len(functions) > 1:
        raise RuntimeError(f"Function {plain.__name__} cannot be directly compiled because it is overloaded. It must be used in a "
                           "context of a function where its inputs can determine which overload to call.")
    compiled = functions[0]
    compiled.__doc__ = plain.__doc__
    compiled._torchdynamo_inline = plain
    plain.__script_function__ = compiled
    return compiled


def _script_class(cls, frame):
    from ..nn import Module

    if issubclass(cls, Module):
        raise RuntimeError(f"Type '{cls}' cannot be compiled since it inherits from nn.Module, consider passing an instance instead")
    if issubclass(cls, enum.Enum) or _sources.is_named_tuple(cls):
        _sources.class_definition(cls)
        return cls
    if len(cls.__mro__) > 2 and not _sources.is_interface(cls):
        raise RuntimeError("TorchScript classes does not support inheritance yet. Please directly inherit from 'object'.")
    definition = _sources.class_definition(cls, dict(frame.f_locals))
    try:
        _sconce._script_compile_class(definition, cls)
    except Exception:
        _sources._DEFINITIONS.pop(cls, None)
        raise
    return cls


# ---- decorators ----


def _mark(fn, kind):
    target = fn.fget if isinstance(fn, property) else fn
    setattr(target, _sources.MODIFIER, kind)
    return fn


def export(fn):
    """Marks a method that is compiled although forward does not call it."""
    return _mark(fn, "export")


def ignore(drop=False, **kwargs):
    """Marks a function that stays in Python: programs call it there, and cannot be saved."""
    if callable(drop):
        return _mark(drop, "ignore")
    if kwargs:
        raise NotImplementedError(f"ignore: {', '.join(kwargs)} is not supported")
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    return functools.partial(_mark, kind="unused" if drop else "ignore")


def unused(fn):
    """Marks a function that is left out: a program that reaches a call of it raises an exception."""
    if isinstance(fn, property):
        for accessor in (fn.fget, fn.fset):
            if accessor is not None:
                _mark(accessor, "unused")
        return fn
    return _mark(fn, "unused")


def interface(cls):
    """Makes an interface of a class: its methods are signatures, which other classes may have."""
    if not inspect.isclass(cls):
        raise RuntimeError("interface must be applied to a class")
    cls.__torch_script_interface__ = True
    with _sources.LOCK:
        definition = _sources.class_definition(cls, dict(sys._getframe(1).f_locals))
        _sconce._script_compile_class(definition, cls)
    return cls


def annotate(the_type, the_value):
    """The value: the type is for the compiler."""
    return the_value


def is_scripting():
    """False: this is Python. In programs it is True."""
    return False


def script_if_tracing(fn):
    """A function that is compiled when it is called while a program is traced; otherwise Python runs it."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        tracing = getattr(sys.modules[__package__], "is_tracing", None)
        if tracing is None or not tracing():
            return fn(*args, **kwargs)
        return script(wrapper.__original_fn)(*args, **kwargs)

    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    return wrapper


def isinstance_(obj, target_type):
    """Whether the object has the type, containers with what they hold: List[int] is not List[str]."""
    import typing

    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if isinstance(target_type, tuple):
        return any(isinstance_(obj, each) for each in target_type)
    if target_type is typing.Any:
        return True
    if origin is None:
        return isinstance(obj, type(None) if target_type is None else target_type)
    if origin is typing.Union or type(target_type).__name__ == "UnionType":
        return any(isinstance_(obj, each) for each in arguments)
    if origin is list:
        return isinstance(obj, list) and all(isinstance_(item, arguments[0]) for item in obj)
    if origin is tuple:
        if not isinstance(obj, tuple) or len(obj) != len(arguments):
            return False
        return all(isinstance_(item, each) for item, each in zip(obj, arguments))
    if origin is dict:
        return isinstance(obj, dict) and all(isinstance_(key, arguments[0]) and isinstance_(value, arguments[1])
                                             for key, value in obj.items())
    raise RuntimeError(f"jit.isinstance: {target_type} is not a type of the language")


isinstance_.__name__ = isinstance_.__qualname__ = "isinstance"


class Attribute:
    """A value with its type, for attributes of modules: self.names = jit.Attribute([], List[str])."""

    def __init__(self, value, type):
        self.value, self.type = value, type


Error = _sconce.JITException


def fork(func, *args, **kwargs):
    """Calls a function; in programs, beside the caller. Python's own calls run at once."""
    return _Done(func(*args, **kwargs))


class _Done:
    """A future whose result is there."""

    def __init__(self, result):
        self._result = result

    def wait(self):
        return self._result

    value = wait

    def done(self):
        return True


def wait(future):
    """The result of a future."""
    return future.wait()
