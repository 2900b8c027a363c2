"""PyTorch beside Sconce: tensors over the same memory, modules carried over, a backend for torch.compile.

    torch.compile(model, backend="sconce")        finds this package by its entry point, or after `import sconce.interop`
    sconce.from_torch(model)                      runs a PyTorch model, over its own parameters
    sconce.to_torch(tensor)

Nothing here is imported with sconce itself: PyTorch is needed only here.
"""

from ._backend import callbacks, sconce
from ._modules import from_torch, to_torch

__all__ = ["callbacks", "from_torch", "sconce", "to_torch"]
