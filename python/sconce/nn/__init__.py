"""Modules: sconce.nn.Linear and the others of torch.nn, from the library that scripts use, too."""

import importlib as _importlib

from .. import _jit_internal, _library  # texts of the library name torch._jit_internal
from .module import Module
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

_FILES = ("activation", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten", "fold", "instancenorm",
          "linear", "loss", "normalization", "padding", "pixelshuffle", "pooling", "rnn", "sparse", "transformer", "upsampling")
_FOUND = {}


def _load():
    """All classes of the library, on the first use of one."""
    for name in _FILES:
        module = _importlib.import_module(f"sconce.nn.modules.{name}")
        for key, value in vars(module).items():
            if isinstance(value, type) and issubclass(value, Module) and value.__module__ == module.__name__:
                _FOUND[key] = value


def __getattr__(name):
    if name in ("attention", "functional", "init", "parallel", "utils", "modules"):
        return _importlib.import_module(f"{__name__}.{name}")
    if name.startswith("__"):
        raise AttributeError(f"module 'sconce.nn' has no attribute '{name}'")
    if name.startswith("Lazy"):
        return getattr(_importlib.import_module("sconce.nn.modules.lazy"), name)
    if name not in _FOUND:
        _find(name)
    if name not in _FOUND:
        raise AttributeError(f"module 'sconce.nn' has no attribute '{name}'")
    return _FOUND[name]


def _find(name):
    """Looks into one file after the other, so that files that import from each other find what they need."""
    for file in _FILES:
        text = (_library.FOLDER / "nn" / "modules" / f"{file}.py").read_text()
        if f"\nclass {name}(" not in text and f"\nclass {name}:" not in text:
            continue
        module = _importlib.import_module(f"sconce.nn.modules.{file}")
        _FOUND[name] = getattr(module, name)
        return


def __dir__():
    _load()
    return sorted({*globals(), *_FOUND})
