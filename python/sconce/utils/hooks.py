"""torch.utils.hooks: the handle that register_*_hook returns."""

from .._hooks import RemovableHandle

__all__ = ["RemovableHandle"]
