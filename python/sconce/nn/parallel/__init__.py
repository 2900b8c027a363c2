"""Modules that several processes train together."""

from .distributed import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
