"""The backend "sconce" of torch.compile: graphs of aot_autograd, decomposed to Core ATen, run by our interpreter."""

import warnings

import torch
from torch._decomp import core_aten_decompositions
from torch._dynamo import list_backends, register_backend
from torch._dynamo.backends.common import aot_autograd

from .. import _sconce, random
from ._graphs import Translation, Unsupported, callbacks
from ._values import to_sconce, to_torch

__all__ = ["callbacks", "compile_graph", "sconce"]


def compile_graph(graph_module, example_inputs):
    """A callable for a graph of ATen operators: takes a list of tensors and numbers, and empties it."""
    try:
        made = Translation(graph_module)
    except Unsupported as reason:
        warnings.warn(f"sconce cannot compile a graph, PyTorch runs it: {reason} is not supported", stacklevel=2)
        return torch._functorch.aot_autograd.make_boxed_func(graph_module.forward)
    call = _sconce._TorchCall(made.function, made.results, made.may_have_bits)
    return _with_pytorch_randomness(call) if made.is_random else call


def _with_pytorch_randomness(call):
    """The same with random numbers from PyTorch's default generator: both draw alike, so the state goes there and back."""
    def run(args):
        random.set_rng_state(to_sconce(torch.get_rng_state()))
        try:
            return call(args)
        finally:
            torch.set_rng_state(to_torch(random.get_rng_state()))

    run._boxed_call = True
    run.function = call.function
    return run


def sconce(graph_module, example_inputs, **options):
    """torch.compile(model, backend="sconce")"""
    if options:
        raise TypeError(f"the backend sconce takes no options, got {', '.join(options)}")
    compiler = aot_autograd(fw_compiler=compile_graph, bw_compiler=compile_graph, inference_compiler=compile_graph,
                            decompositions=_decompositions())
    return compiler(graph_module, example_inputs)


def _decompositions():
    """Those to Core ATen, but for attention: what its decomposition returns as the logsumexp are the weights, with which its
    derivative cannot work."""
    table = core_aten_decompositions()
    table.pop(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default, None)
    return table


if "sconce" not in list_backends(exclude_tags=()):  # where the package is installed, PyTorch knows it by its entry point
    register_backend(sconce, name="sconce")
