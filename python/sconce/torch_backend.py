"""The backend of torch.compile, under the name of the package's entry point: importing it registers "sconce"."""

from .interop import sconce as sconce_backend

__all__ = ["sconce_backend"]
