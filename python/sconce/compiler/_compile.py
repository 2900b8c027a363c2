"""compile(): functions and modules that capture runs."""

import functools
import os
import types

from .. import _sconce
from ._backends import lookup_backend
from ._errors import InvalidBackend

# How much time compiling may take, by PyTorch's names. Plans for CPUs are the same for all: one is made, and it is the best known.
MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
OPTIONS = {"plans": bool}  # of the backend "sconce": False runs the graph by the interpreter
_SYNONYMS = {"inductor": "sconce", "aot_eager": "eager"}  # PyTorch's names for the default, and for none
_DYNAMIC = {None: -1, False: 0, True: 1}


def compile(model=None, *, fullgraph=False, dynamic=None, backend="sconce", mode=None, options=None, disable=False):
    """Compiles a function or module: the first call captures its operators as graphs, later calls run these as long as what was
    seen holds. What cannot be captured runs in Python, between graphs.

    fullgraph: a break of the graph is an error. dynamic: sizes are free from the start (True), never (False), or as soon as a second
    one is seen (None). backend: a name of list_backends(), or a callable over (fx.GraphModule, example inputs). mode and options are
    the default backend's."""
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options,
                                 disable=disable)
    if not callable(model):
        raise TypeError(f"compile() expected a function, method or module, got {type(model).__name__}")
    if dynamic not in _DYNAMIC:
        raise TypeError(f"dynamic must be True, False or None, got {dynamic!r}")
    backend = _checked_backend(backend, mode, options)
    if disable or os.environ.get("SCONCE_COMPILE_DISABLE", "0") not in ("", "0"):
        return model
    return _Settings(backend, options or None, bool(fullgraph), _DYNAMIC[dynamic]).compile(model)


def _checked_backend(backend, mode, options):
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if backend is None:
        backend = "sconce"
    if isinstance(backend, str):
        backend = _SYNONYMS.get(backend, backend)
        try:
            lookup_backend(backend)
        except ValueError as error:
            raise InvalidBackend(f"Invalid backend: {backend!r}, see `sconce._dynamo.list_backends()` for available backends; {error}"
                                 ) from None
    elif not callable(backend):
        raise TypeError(f"backend must be a name or a callable, got {type(backend).__name__}")
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"options must be a dict, got {type(options).__name__}")
    if backend in ("sconce", "interpreter"):
        for name, value in (options or {}).items():
            if name not in OPTIONS:
                raise RuntimeError(f"Unexpected optimization option {name}, known options are {sorted(OPTIONS)}")
            if not isinstance(value, OPTIONS[name]):
                raise RuntimeError(f"Unexpected type of attr {name}, got {type(value).__name__} should be {OPTIONS[name].__name__}")
        if options and options.get("plans") is False:
            backend = "interpreter"
    return backend


class _Settings:
    """What one call of compile() was told."""

    def __init__(self, backend, options, fullgraph, dynamic):
        self.backend = None if backend == "sconce" else backend
        self.options = None if backend in ("sconce", "interpreter") else options
        self.fullgraph, self.dynamic = fullgraph, dynamic

    def compile(self, model):
        from ..nn import Module

        if isinstance(model, Module) or _is_torch_module(model):
            return _optimized_module(model, self)
        if isinstance(model, _sconce._Compiled):
            model = model.__wrapped__
        if isinstance(model, types.MethodType):
            function = self.compile(model.__func__)
            return types.MethodType(function, model.__self__)
        if isinstance(model, types.FunctionType):
            return self.function(model)
        return self.function(_caller(model))

    def function(self, function):
        return _sconce._capture_compile(function, self.backend, self.options, self.fullgraph, self.dynamic)


def _caller(target):
    """A function that calls a callable object: what is evaluated for partials, classes, instances with __call__, and C functions."""

    def inner(*args, **kwargs):
        return target(*args, **kwargs)

    if not isinstance(target, functools.partial):
        functools.update_wrapper(inner, target, updated=())
    return inner


def _is_torch_module(model):
    import sys

    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "nn") and isinstance(model, torch.nn.Module)


def _optimized_module(model, settings):
    if _is_torch_module(model):
        return settings.compile(model.__call__) if not hasattr(model, "forward") else _torch_module(model, settings)
    from ._module import OptimizedModule

    return OptimizedModule(model, settings)


def _torch_module(model, settings):
    """A module of PyTorch: a function that calls it, with its attributes."""
    compiled = settings.compile(_caller(model))
    compiled._orig_mod = model
    return compiled


