"""torch.fft: the operators whose names begin with fft_."""

from . import _sconce


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'sconce.fft' has no attribute '{name}'")
    found = _sconce._function(f"fft_{name}")
    globals()[name] = found
    return found


def __dir__():
    return [name.removeprefix("fft_") for name in _sconce._function_names() if name.startswith("fft_")]
