"""torch.backends.cudnn: convolutions and attention of CUDA devices use cuDNN where it is there. `allow_tf32` lets convolutions of
float32 use TF32; it is False unless a program sets it (in PyTorch it is True). The other switches may be set, to no effect."""

import sys as _sys

from .. import _sconce
from ._absent import AbsentLibrary as _AbsentLibrary
from ._absent import is_available  # noqa: F401

enabled = True
benchmark = False
deterministic = False


class _Library(_AbsentLibrary):
    _switches = ('enabled', 'benchmark', 'deterministic', 'allow_tf32')

    @property
    def allow_tf32(self):
        return _sconce._convolution_tf32()

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        _sconce._set_convolution_tf32(bool(allowed))


_sys.modules[__name__].__class__ = _Library
