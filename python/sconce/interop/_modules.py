"""from_torch and to_torch: tensors over the same memory; modules as programs whose parameters are the same memory."""

import logging
import os
import tempfile
import warnings

import torch

import sconce as _sc
from .. import _sconce, jit
from ._values import to_sconce
from ._values import to_torch as _value_to_torch

__all__ = ["from_torch", "to_torch"]

_log = logging.getLogger("sconce.interop")


def from_torch(source, example_inputs=None, *, dynamic_shapes=None):
    """PyTorch's tensor, or nested tensors, as ours; PyTorch's module or script as a ScriptModule. Memory is shared: what one side
    writes, the other sees.

    A module is scripted; where that is not possible it is exported, and where that is not, traced. Both need example_inputs: a
    tuple of arguments or a dict of keyword arguments. A warning says which it was and why the ways before failed. dynamic_shapes
    are those of torch.export.
    """
    if isinstance(source, torch.jit.ScriptFunction):
        return _loaded(lambda path: torch.jit.save(source, path))
    if isinstance(source, torch.export.ExportedProgram):
        return _shared(_loaded(lambda path: torch.export.save(source, path), ".pt2"), source)
    if isinstance(source, torch.jit.ScriptModule):
        return _shared(_loaded(lambda path: torch.jit.save(source, path)), source)
    if not isinstance(source, torch.nn.Module):
        return to_sconce(source)
    args, kwargs = (), {}
    if isinstance(example_inputs, dict):
        kwargs = example_inputs
    elif example_inputs is not None:
        args = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    ways = {"scripted": lambda: _script(source)}
    if example_inputs is not None:
        ways["exported"] = lambda: _export(source, args, kwargs, dynamic_shapes)
        ways["traced"] = lambda: _trace(source, args, kwargs)
    reasons = []
    for how, way in ways.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = _shared(way(), source)
        except Exception as error:  # PyTorch's compilers raise errors of all kinds
            reasons.append(f"it cannot be {how}: {_first_line(error)}")
            continue
        _log.info("from_torch: %s was %s", type(source).__name__, how)
        if reasons:
            warnings.warn(f"from_torch: {type(source).__name__} was {how}; {'; '.join(reasons)}", stacklevel=2)
        return made
    hint = "" if example_inputs is not None else "; with example_inputs it could be exported or traced"
    raise RuntimeError(f"from_torch: {type(source).__name__}: {'; '.join(reasons)}{hint}")


def to_torch(source):
    """Our tensor, or nested tensors, as PyTorch's; our module as a torch.jit.ScriptModule. Memory is shared."""
    if isinstance(source, _sc.nn.Module):
        source = jit.script(source)
    if not isinstance(source, jit.ScriptModule):
        return _value_to_torch(source)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.pt")
        source.save(path)
        made = torch.jit.load(path)
    own = {**dict(source.named_parameters()), **dict(source.named_buffers())}
    for name, tensor in (*made.named_parameters(), *made.named_buffers()):
        tensor.data = _sconce._to_torch(own[name].detach())
    return made


def _script(module):
    scripted = torch.jit.script(module)
    return _loaded(lambda path: torch.jit.save(scripted, path))


def _export(module, args, kwargs, dynamic_shapes):
    program = torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
    return _loaded(lambda path: torch.export.save(program, path), ".pt2")


def _trace(module, args, kwargs):
    with torch.no_grad():
        traced = torch.jit.trace(module, args or None, example_kwarg_inputs=kwargs or None, strict=False, check_trace=False)
    return _loaded(lambda path: torch.jit.save(traced, path))


def _loaded(save, suffix=".pt"):
    """The program that PyTorch writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module" + suffix)
        save(path)
        return jit.load(path)


def _shared(made, source):
    """The module with the memory of PyTorch's parameters and buffers in place of what was read."""
    if isinstance(source, torch.export.ExportedProgram):
        named = source.state_dict.items()
    else:
        named = [*source.named_parameters(remove_duplicate=False), *source.named_buffers(remove_duplicate=False)]
    # All names of tensors that have several, and buffers that are not in the state.
    own = {*made.state_dict(), *(name for name, _ in made.named_buffers())}
    shared = {}
    for name, tensor in named:
        if name not in own:
            continue
        path, _, attribute = name.rpartition(".")
        module = made
        for part in path.split(".") if path else ():
            module = getattr(module, part)
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if key not in shared:
            shared[key] = to_sconce(tensor)
        setattr(module, attribute, shared[key])
    return made


def _first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
