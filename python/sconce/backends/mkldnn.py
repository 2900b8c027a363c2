"""torch.backends.mkldnn: oneDNN is used only where SCONCE_PROVIDERS asks for it."""

import sys as _sys

from ._absent import AbsentLibrary as _AbsentLibrary
from ._absent import is_available  # noqa: F401

enabled = True
deterministic = False


class _Library(_AbsentLibrary):
    _switches = ('enabled', 'deterministic')


_sys.modules[__name__].__class__ = _Library
