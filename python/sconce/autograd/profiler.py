"""The older place of sconce.profiler."""

from ..profiler import record_function

__all__ = ["record_function"]
