"""Choices among ways to compute attention: sdpa_kernel, SDPBackend; and flex_attention."""

import contextlib
import enum

from . import flex_attention  # noqa: F401

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """Ways that PyTorch has. Kernels here choose by shapes, dtypes and device, and give the same answers."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """with sdpa_kernel(SDPBackend.MATH): attention by this way, or these. There is one way for each device, which is all of them."""
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for backend in chosen:
        if not isinstance(backend, SDPBackend):
            raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    yield {}
