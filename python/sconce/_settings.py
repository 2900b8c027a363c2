"""Settings of the process, as PyTorch names them."""

from . import _absent_device, _sconce

_deterministic = _warn_only = False
_PRECISIONS = ("highest", "high", "medium")


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Asks that the same program gives the same bits again. It always does here, with any number of threads; for the same bits
    on other machines, too, there is set_deterministic()."""
    global _deterministic, _warn_only
    _deterministic, _warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled():
    """What use_deterministic_algorithms was told."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled():
    """What use_deterministic_algorithms was told."""
    return _warn_only


def set_float32_matmul_precision(precision):
    """Says how exact products of float32 must be: "highest"; with "high" and "medium" CUDA devices may use TF32. The CPU computes
    in float32 in any case."""
    if precision not in _PRECISIONS:
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    _sconce._set_matmul_precision(_PRECISIONS.index(precision))


def get_float32_matmul_precision():
    """What set_float32_matmul_precision was told."""
    return _PRECISIONS[_sconce._matmul_precision()]


def set_default_device(device):
    """The device of factories that are told none: the CPU, or None, which means it."""
    if device is not None:
        _absent_device.check_default(device)


def get_default_device():
    """device(type='cpu')."""
    return _sconce.device("cpu")
