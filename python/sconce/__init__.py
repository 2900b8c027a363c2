"""Sconce: PyTorch programs without PyTorch.

    import sconce as torch

Functions, methods and operators are PyTorch's, as far as the operator table goes: every operator of the CPU. sconce.jit
loads and runs TorchScript files.
"""

import sys as _sys
from math import e, inf, nan, pi  # noqa: F401

from . import _C, _lazy, _legacy, _methods, _sconce
from ._functions import (as_tensor, asarray, broadcast_shapes, can_cast, from_torch, frombuffer, is_storage, is_tensor, load,
                         ops, promote_types, save, set_printoptions, to_torch, typename)
from ._methods import einsum, nonzero, norm, split, unique
from ._overrides import assert_ as _assert
from ._settings import (are_deterministic_algorithms_enabled, get_default_device, get_float32_matmul_precision,
                        is_deterministic_algorithms_warn_only_enabled, set_default_device, set_float32_matmul_precision,
                        use_deterministic_algorithms)
from ._tensor import DisableTorchFunctionSubclass
from ._type_info import finfo, iinfo
from ._sconce import *  # noqa: F403  dtypes, layouts, Tensor, tensor, from_numpy, modes
from ._sconce import __version__  # noqa: F401
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from .random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

newaxis = None
legacy_contiguous_format = contiguous_format  # noqa: F405  its older name
_methods.add_methods()
_legacy.add_methods()
globals().update(_legacy.TYPES)
_lazy.install(_sys.modules[__name__])
# Last, since some have names of Python's own functions: sconce.abs, sconce.sum. Nothing above is replaced.
_sconce._add_functions(globals())
