"""Settings of the process, as PyTorch names them."""

import sys

from . import _absent_device, _sconce
from .overrides import TorchFunctionMode

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


_FACTORIES = """
    arange bartlett_window blackman_window empty empty_permuted empty_strided eye fft_fftfreq fft_rfftfreq full hamming_window
    hann_window kaiser_window linspace logspace ones rand randint randn randperm range scalar_tensor tensor tril_indices triu_indices
    vander zeros""".split()


class DeviceContext(TorchFunctionMode):
    """with torch.device("meta"): the device of tensors that are made inside, where the program names none."""

    factories = None

    def __init__(self, device):
        self.device = device

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in DeviceContext.factories and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)


def enter_device(device):
    """device.__enter__"""
    if DeviceContext.factories is None:
        package = sys.modules["sconce"]
        DeviceContext.factories = {getattr(package, name, None) or _sconce._function(name): name for name in _FACTORIES}
    DeviceContext(device).__enter__()
    return device


def exit_device(device):
    """device.__exit__"""
    _sconce._pop_torch_function_mode()


def get_default_device():
    """The device of tensors that are made where the program names none: that of the innermost `with torch.device(...)`, or the CPU."""
    for mode in reversed(_sconce._torch_function_modes()):
        if isinstance(mode, DeviceContext):
            return mode.device
    return _sconce.device("cpu")
