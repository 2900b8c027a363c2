"""The graph of gradients: its nodes, edges, and hooks for the tensors that it saves."""

from collections import namedtuple

from .. import _sconce

__all__ = ["GradientEdge", "Node", "get_gradient_edge", "save_on_cpu", "saved_tensors_hooks"]

Node = _sconce._Node
GradientEdge = namedtuple("GradientEdge", ("node", "output_nr"))


def get_gradient_edge(tensor):
    """Where the gradient of a tensor goes: a node and the number of its output."""
    return GradientEdge(*_sconce._gradient_edge(tensor))


class saved_tensors_hooks:
    """Inside, pack_hook(tensor) gives what is kept for backward, and unpack_hook(packed) the tensor again."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        _sconce._push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error):
        _sconce._pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Inside, tensors for backward are kept in the memory of the CPU."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        if pin_memory:
            raise NotImplementedError("save_on_cpu: pin_memory=True is not supported")
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))
