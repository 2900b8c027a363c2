"""torch.utils: data, checkpoint, and what programs find there."""

import importlib


def __getattr__(name):
    if name in ("checkpoint", "data", "hooks", "_pytree"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
