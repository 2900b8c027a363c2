"""torch.backends.cuda: `matmul.allow_tf32` lets products of float32 use TF32 on CUDA devices, as set_float32_matmul_precision("high")
does."""

import sys as _sys

from .. import _sconce
from ._absent import AbsentLibrary as _AbsentLibrary
from ._absent import is_available  # noqa: F401


class _Matmul:
    __slots__ = ()

    @property
    def allow_tf32(self):
        return _sconce._matmul_precision() != 0

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        _sconce._set_matmul_precision(1 if allowed else 0)


matmul = _Matmul()


class _Library(_AbsentLibrary):
    _switches = ()


_sys.modules[__name__].__class__ = _Library
