"""Engines that carry a model past one process: Ray, Triton, Spark (extras of the package: sconce[ray], [triton], [spark]).

Each is a module of its own, imported by name: sconce.engines.ray, .triton, .spark. The engine places, scales and retries;
Sconce loads the file in each worker and computes. Training over processes: sconce.distributed."""

from .array_model import ArrayModel

__all__ = ["ArrayModel"]
