"""Gradients: grad() and backward(), modes, hooks of the graph, and functions with a backward of their own."""

import importlib as _importlib

from .. import _sconce
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["Function", "Variable", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck",
           "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled"]

Variable = _sconce.Tensor
_SUBMODULES = ("anomaly_mode", "function", "functional", "graph", "profiler")
_FOUND_IN = {"Function": "function", "FunctionCtx": "function", "detect_anomaly": "anomaly_mode",
             "set_detect_anomaly": "anomaly_mode", "gradcheck": "_gradcheck", "gradgradcheck": "_gradcheck",
             "GradcheckError": "_gradcheck"}


def __getattr__(name):
    """Loads what most programs do not use."""
    if name in _SUBMODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    if name not in _FOUND_IN:
        raise AttributeError(f"module 'sconce.autograd' has no attribute '{name}'")
    found = getattr(_importlib.import_module(f"{__name__}.{_FOUND_IN[name]}"), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *_SUBMODULES, *_FOUND_IN})


def _listed(tensors):
    return [] if tensors is None else [tensors] if isinstance(tensors, _sconce.Tensor) else list(tensors)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradients of outputs with respect to inputs; leaves keep theirs."""
    if not only_inputs:
        raise ValueError("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
                         "parts of the graph, please use torch.autograd.backward.")
    if is_grads_batched:
        raise NotImplementedError("grad: is_grads_batched=True is not supported")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    inputs = _listed(inputs)
    found = _sconce._gradients(_listed(outputs), inputs, _listed(grad_outputs), retain_graph, create_graph,
                               bool(allow_unused or materialize_grads))
    if not materialize_grads:
        return found
    return tuple(_sconce._function("zeros_like")(x) if g is None else g for x, g in zip(inputs, found))


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds gradients to the leaves of the graph, or only to inputs."""
    if grad_variables is not None:
        raise RuntimeError("'grad_tensors' and 'grad_variables' (deprecated) arguments both passed to backward(). Please only use "
                           "'grad_tensors'." if grad_tensors is not None else "backward: grad_variables is deprecated, use grad_tensors")
    if inputs is not None and not isinstance(inputs, _sconce.Tensor) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    _sconce._backward(_listed(tensors), _listed(grad_tensors), retain_graph, create_graph, _listed(inputs))
