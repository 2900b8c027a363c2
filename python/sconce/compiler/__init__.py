"""Compilation of Python functions: sconce.compile and what belongs to it."""

from .. import _sconce
from ._backends import list_backends, register_backend
from ._compile import compile
from ._explain import explain
from ._export import export, save
from ._marks import (allow_in_graph, assume_constant_result, disable, mark_dynamic, mark_static, maybe_mark_dynamic, nested_compile_region,
                     substitute_in_graph, wrap_numpy)
from ._stance import set_stance
from . import _logs

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "explain", "export",
           "graph_break", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "mark_dynamic", "mark_static", "maybe_mark_dynamic",
           "nested_compile_region", "register_backend", "reset", "save", "set_stance", "substitute_in_graph", "trace", "wrap_numpy"]

graph_break = _sconce._capture_graph_break


def is_compiling():
    """Is the function that asks being captured? True in what is captured, False in what Python runs."""
    return _sconce._capture_is_evaluating()


def is_dynamo_compiling():
    """The same."""
    return _sconce._capture_is_evaluating()


def is_exporting():
    """False: export captures as compile does."""
    return False


def reset():
    """Drops all that was compiled."""
    from ._watch import counters

    _sconce._capture_reset()
    counters.clear()


def cudagraph_mark_step_begin():
    """The start of a new iteration, for CUDA graphs: there are none on a CPU, and nothing is to be done."""


def trace(folder):
    """with trace("folder"): writes a page about all that is compiled inside: frames, breaks, graphs, guards, times."""
    from ._page import trace as begin

    return begin(folder)


_logs.install()
