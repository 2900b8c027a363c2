"""torch.linalg: the operators whose names begin with linalg_."""

from . import _sconce


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'sconce.linalg' has no attribute '{name}'")
    found = _sconce._function(f"linalg_{name}")
    globals()[name] = found
    return found


def __dir__():
    return [name.removeprefix("linalg_") for name in _sconce._function_names() if name.startswith("linalg_")]
