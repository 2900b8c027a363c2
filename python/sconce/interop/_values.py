"""Values of PyTorch as Sconce's, and back: tensors over the same memory, dtypes, devices and the rest by name."""

import torch

import sconce as _sc
from .. import _sconce

if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    raise ImportError(f"PyTorch {torch.__version__} has no DLPack exchange table (__dlpack_c_exchange_api__): 2.10 or later is needed")
_sconce._torch_open(torch.Tensor)

_KINDS = {torch.dtype: _sc.dtype, torch.layout: _sc.layout, torch.memory_format: _sc.memory_format}


def to_sconce(value):
    """A value of PyTorch as ours; tuples, lists and dicts of values, too."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, torch.device):
        return _sc.device(str(value))
    if type(value) in _KINDS:
        return getattr(_sc, str(value).removeprefix("torch."))
    if isinstance(value, (tuple, list)):
        parts = [to_sconce(item) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: to_sconce(item) for key, item in value.items()}
    return value


def _tensor(value):
    made = _sconce._from_torch(value)
    if value.requires_grad and value.is_leaf:
        made.requires_grad_(True)
    return made


def to_torch(value):
    """A value of ours as PyTorch's; tuples, lists and dicts of values, too."""
    if isinstance(value, _sc.Tensor):
        made = _sconce._to_torch(value.detach())
        return made.requires_grad_(True) if value.requires_grad and value.is_leaf else made
    if isinstance(value, _sc.device):
        return torch.device(str(value))
    if isinstance(value, tuple(_KINDS.values())):
        return getattr(torch, str(value).removeprefix("torch."))
    if isinstance(value, (tuple, list)):
        parts = [to_torch(item) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: to_torch(item) for key, item in value.items()}
    return value
