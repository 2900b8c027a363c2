"""Programs over PyTorch's tensors: what the recorder asks when it meets one.

Fakes of such programs are Sconce's tensors whose __class__ is PyTorch's; functions of PyTorch's C++ part become the operators of the same
name; dtypes and devices are PyTorch's on the program's side. The compiled graph takes and gives PyTorch's tensors, over the same memory;
gradients go through a torch.autograd.Function.
"""

import types

import torch

import sconce
from .. import _sconce
from .._polyfills import TABLE
from ..interop import _values

_KINDS = (torch.dtype, torch.layout, torch.memory_format)
_OUR_KINDS = (sconce.dtype, sconce.layout, sconce.memory_format)
_PLAIN = (torch.Tensor.__torch_function__.__func__, torch._C._disabled_torch_function_impl)
_fakes = {}


def borrow(tensor):
    """Our tensor over the memory of PyTorch's. Raises TypeError for one that cannot be shared."""
    decides = type(tensor).__torch_function__
    if getattr(decides, "__func__", decides) not in _PLAIN:
        raise TypeError(f"a {type(tensor).__name__} decides itself what functions do with it")
    return _sconce._from_torch(tensor.detach())


def fake_class(kind):
    """The class of fakes for PyTorch's tensors of a class."""
    if kind not in _fakes:
        _fakes[kind] = type(f"Fake{kind.__name__}", (sconce.Tensor,), {
            "__class__": property(lambda self: kind), "__torch_function__": _sconce._disabled_torch_function_impl,
            "__slots__": (), "to": _to, "type": _type, "norm": _norm})
    return _fakes[kind]


# Methods that are written in Python, and take PyTorch's dtypes and devices here.
def _to(self, *args, **kwargs):
    return sconce.Tensor.to(self, *[argument(a) for a in args], **{name: argument(a) for name, a in kwargs.items()})


def _type(self, dtype=None, non_blocking=False, **kwargs):
    return answer(sconce.Tensor.type(self, argument(dtype), non_blocking, **kwargs))


def _norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    if p == "nuc":
        return sconce.Tensor.norm(self, p, dim, keepdim, argument(dtype))
    dims = [dim] if isinstance(dim, int) else dim
    return sconce.linalg.vector_norm(self, 2 if p is None or p == "fro" else p, dims, keepdim, dtype=argument(dtype))


def _no(*args, **kwargs):
    return False


def _nothing(*args, **kwargs):
    return None


def _set_grad_enabled(enabled):
    torch._C._set_grad_enabled(enabled)
    _sconce._set_grad_enabled(enabled)


# Functions of PyTorch's C++ part that ask for or set the state of a thread.
_STATE = {"_has_torch_function": _no, "_has_torch_function_unary": _no, "_has_torch_function_variadic": _no,
          "_get_tracing_state": torch._C._get_tracing_state, "is_grad_enabled": torch.is_grad_enabled,
          "_set_grad_enabled": _set_grad_enabled, "get_default_dtype": torch.get_default_dtype, "_log_api_usage_once": _nothing,
          "is_autocast_enabled": torch.is_autocast_enabled, "is_anomaly_enabled": torch.is_anomaly_enabled,
          "_is_torch_function_enabled": torch._C._is_torch_function_enabled, "is_inference_mode_enabled": torch.is_inference_mode_enabled}


def _is_compiling():
    return sconce.compiler.is_compiling()


# Functions of PyTorch's Python part that ask whether Dynamo follows the program.
for _name in ("is_compiling", "is_dynamo_compiling"):
    TABLE[getattr(torch.compiler, _name)] = _is_compiling


def _operator(name):
    try:
        return _sconce._function(name)
    except AttributeError:
        return None


def target_of(target):
    """What stands for a callable of PyTorch; None for what is unknown."""
    if isinstance(target, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        if target.__objclass__ not in torch.Tensor.__mro__[:-1]:
            return None
        return sconce.Tensor.__dict__.get(target.__name__)
    if not isinstance(target, types.BuiltinFunctionType):
        return None
    name, module = target.__name__, target.__module__ or ""
    if module.startswith("torch"):
        if name in _STATE:
            return _STATE[name]
        if name.startswith(("_get_", "get_", "is_", "_is_")) and _operator(name) is None:
            return target
    if module == "torch._C._nn" or getattr(torch, name, None) is target:
        return sconce.tensor if name == "tensor" else _operator(name)
    return None


def argument(value):
    """A value of the program for our call: dtypes, devices and the like by name, through containers."""
    if isinstance(value, _KINDS):
        return getattr(sconce, str(value).removeprefix("torch."))
    if type(value) is torch.device:
        return sconce.device(str(value))
    if type(value) in (tuple, list, torch.Size):
        return (list if type(value) is list else tuple)(argument(item) for item in value)
    return value


def answer(value):
    """Of our call for the program: the other way."""
    if isinstance(value, _OUR_KINDS):
        return getattr(torch, str(value).removeprefix("torch."))
    if isinstance(value, sconce.device):
        return torch.device(str(value))
    if type(value) is sconce.Size and all(type(n) is int for n in value):
        return torch.Size(value)
    return value


def _taken(value):
    return borrow(value) if isinstance(value, torch.Tensor) else value


def run(graph, *inputs):
    """Calls the compiled graph with PyTorch's tensors."""
    if torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in inputs):
        return _Differentiable.apply(graph, *inputs)
    with sconce.no_grad():
        return tuple(map(_values.to_torch, graph._run(*map(_taken, inputs))))


def run_drawing(graph, *inputs):
    """The same for a graph that draws random numbers: from PyTorch's default generator, whose state goes there and back. Both draw
    alike."""
    sconce.set_rng_state(_sconce._from_torch(torch.get_rng_state()))
    try:
        return run(graph, *inputs)
    finally:
        torch.set_rng_state(_values.to_torch(sconce.get_rng_state()))


class _Differentiable(torch.autograd.Function):
    """A run of the graph in PyTorch's backward graph; its backward is that of our run."""

    @staticmethod
    def forward(ctx, graph, *inputs):
        with sconce.enable_grad():
            given = [borrow(t).requires_grad_(t.requires_grad) if isinstance(t, torch.Tensor) else t for t in inputs]
            results = graph._run(*given)
        ctx.given, ctx.results = given, results
        made = tuple(_values.to_torch(r.detach()) if isinstance(r, sconce.Tensor) else r for r in results)
        ctx.mark_non_differentiable(*(m for m, r in zip(made, results) if isinstance(r, sconce.Tensor) and not r.requires_grad))
        return made

    @staticmethod
    def backward(ctx, *grads):
        pairs = [(r, _sconce._from_torch(g)) for r, g in zip(ctx.results, grads)
                 if g is not None and isinstance(r, sconce.Tensor) and r.requires_grad]
        wanted = [t for t in ctx.given if isinstance(t, sconce.Tensor) and t.requires_grad]
        made = iter(sconce.autograd.grad([r for r, _ in pairs], wanted, [g for _, g in pairs], retain_graph=True, allow_unused=True))
        found = [next(made) if isinstance(t, sconce.Tensor) and t.requires_grad else None for t in ctx.given]
        return (None, *(None if g is None else _values.to_torch(g.detach()) for g in found))
