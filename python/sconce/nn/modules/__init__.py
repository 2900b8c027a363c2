"""Modules of torch.nn; most of them are texts of the script library (_library.py)."""

import importlib


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError:
        return getattr(importlib.import_module("sconce.nn"), name)
