"""torch.special: the operators whose names begin with special_."""

from . import _sconce


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'sconce.special' has no attribute '{name}'")
    found = _sconce._function(f"special_{name}")
    globals()[name] = found
    return found


def __dir__():
    return [name.removeprefix("special_") for name in _sconce._function_names() if name.startswith("special_")]
