"""PyTorch's other names for what sconce.compiler has."""

from ..compiler import (allow_in_graph, assume_constant_result, disable, explain, graph_break, is_compiling, list_backends, mark_dynamic,
                        mark_static, maybe_mark_dynamic, register_backend, reset, set_stance, substitute_in_graph)
from ..compiler._backends import lookup_backend
from ..compiler._export import export
from ..compiler._module import OptimizedModule
from . import config, exc, testing, utils

__all__ = ["OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "exc", "explain", "export", "graph_break",
           "is_compiling", "list_backends", "lookup_backend", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic",
           "nonstrict_trace", "optimize", "optimize_assert", "patch_dynamo_config", "register_backend", "reset", "run", "set_stance", "skip",
           "substitute_in_graph", "testing", "utils"]

nonstrict_trace = allow_in_graph  # what Python does inside happens while the graph is captured
patch_dynamo_config = config.patch


def mark_static_address(t, guard=False):
    """A tensor whose memory stays where it is, for CUDA graphs that copy it otherwise. Graphs here read such inputs in place by themselves."""


def optimize(backend="sconce", *, nopython=False, disable=False, dynamic=None):
    """A decorator: compile() with this backend."""
    from ..compiler import compile

    return compile(backend=backend, fullgraph=nopython, disable=disable, dynamic=dynamic)


def optimize_assert(backend, *, dynamic=None):
    """The same, where a break of the graph is an error."""
    return optimize(backend, nopython=True, dynamic=dynamic)


def run(fn=None):
    """Calls of fn use what is compiled, and compile nothing."""
    from ..compiler import set_stance

    return (lambda function: run(function)) if fn is None else _decorated(set_stance, fn)


def _decorated(stance, fn):
    import functools

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        with stance("eager_on_recompile"):
            return fn(*args, **kwargs)

    return wrapped


def skip(fn=None):
    """disable(), for the function alone and not for what it calls."""
    return (lambda function: disable(function, recursive=False)) if fn is None else disable(fn, recursive=False)
