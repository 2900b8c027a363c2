"""torch.backends.cudnn: there is no cuDNN; its switches may be set."""

import sys as _sys

from ._absent import AbsentLibrary as _AbsentLibrary
from ._absent import is_available  # noqa: F401

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


class _Library(_AbsentLibrary):
    _switches = ('enabled', 'benchmark', 'deterministic', 'allow_tf32')


_sys.modules[__name__].__class__ = _Library
