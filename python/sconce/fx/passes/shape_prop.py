"""ShapeProp: runs a graph, and notes the shape and dtype of every value."""

import typing

import sconce
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["TensorMetadata", "ShapeProp"]


class TensorMetadata(typing.NamedTuple):
    """What node.meta['tensor_meta'] says of a tensor."""

    shape: sconce.Size
    dtype: sconce.dtype
    requires_grad: bool
    stride: typing.Tuple[int, ...]
    memory_format: typing.Optional[sconce.memory_format]
    is_quantized: bool
    qparams: typing.Dict[str, typing.Any]


def _extract_tensor_metadata(result, include_contiguity=True):
    memory_format = None
    if include_contiguity:
        formats = [sconce.contiguous_format]
        formats += [sconce.channels_last] if result.dim() == 4 else [sconce.channels_last_3d] if result.dim() == 5 else []
        memory_format = next((kind for kind in formats if result.is_contiguous(memory_format=kind)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, tuple(result.stride()), memory_format, False, {})


class ShapeProp(Interpreter):
    """ShapeProp(gm).propagate(*args): node.meta['tensor_meta'] and ['type'] of every node."""

    def __init__(self, gm, fake_mode=None):
        if fake_mode is not None:
            raise NotImplementedError("ShapeProp: fake_mode is not supported; propagate tensors of device 'meta'")
        super().__init__(gm)

    def run_node(self, n):
        result = super().run_node(n)
        found = False

        def note(value):
            nonlocal found
            if not isinstance(value, sconce.Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs the module with these arguments; returns its result."""
        return super().run(*args)
