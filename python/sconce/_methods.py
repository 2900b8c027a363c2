"""Methods of Tensor that PyTorch has beside its operators, written in terms of them."""

import builtins

from . import _overrides, _sconce, _tensor
from ._sconce import Tensor, device, dtype

_CONVERSIONS = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "int": "int32",
                "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64", "cdouble": "complex128"}


def _conversion(name, target):
    def convert(self, memory_format=_sconce.preserve_format):
        return self.to(target, memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The same numbers as {target}."
    return convert


_to, _unique2, _unique_dim, _nonzero, _nonzero_numpy, _einsum = map(
    _sconce._packet, ("aten::to", "aten::_unique2", "aten::unique_dim", "aten::nonzero", "aten::nonzero_numpy", "aten::einsum"))


def to(self, *args, **kwargs):
    """to(dtype), to(device), to(device, dtype), to(other), with non_blocking, copy and memory_format."""
    options = dict(zip(("non_blocking", "copy"), args[_targets(args):]))
    for argument in args[:_targets(args)]:
        if isinstance(argument, Tensor):
            options.update(dtype=argument.dtype, device=argument.device)
        elif isinstance(argument, dtype):
            options["dtype"] = argument
        elif argument is not None:
            options["device"] = device(argument)
    if "other" in kwargs:
        other = kwargs.pop("other")
        options.update(dtype=other.dtype, device=other.device)
    options.update(kwargs)
    if isinstance(options.get("device"), str):
        options["device"] = device(options["device"])
    if not any(options.get(name) is not None for name in ("dtype", "device", "memory_format")) and not options.get("copy"):
        return self
    return _to(self, **{name: value for name, value in options.items() if value is not None})


def _targets(args):
    """How many of the positional arguments say where to: those before non_blocking."""
    count = 0
    while count < len(args) and not isinstance(args[count], builtins.bool):
        count += 1
    return count


def cpu(self, memory_format=_sconce.preserve_format):
    """The same tensor on the CPU."""
    return self.to("cpu", memory_format=memory_format)


def type(self, dtype=None, non_blocking=False):
    """The dtype's name, as 'torch.FloatTensor'; with one, converted to it."""
    if dtype is not None:
        return self.to(dtype, non_blocking)
    return f"torch.{self.dtype._legacy_name}Tensor"


def __format__(self, spec):
    return format(self.item() if self.dim() == 0 and spec else str(self), spec)


def __reversed__(self):
    return self.flip(0) if self.dim() else self


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements, or slices along dim; with their places and numbers when asked for."""
    if dim is None:
        found = _unique2(input, sorted, return_inverse, return_counts)
    else:
        found = _unique_dim(input, dim, sorted, return_inverse, return_counts)
    wanted = [part for part, asked in zip(found, (True, return_inverse, return_counts)) if asked]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


def nonzero(input, *, out=None, as_tuple=False):
    """The places of elements that are not 0: a row for each, or one tensor for each dimension."""
    if as_tuple:
        return tuple(_nonzero_numpy(input))
    return _nonzero(input) if out is None else _nonzero(input, out=out)


def einsum(equation, *operands):
    """Sums of products by Einstein's convention: einsum('ij,jk->ik', a, b)."""
    if _overrides.active:
        result = _overrides.redirect(einsum, (equation, *operands), {})
        if result is not _overrides.NOTHING:
            return result
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return _einsum(equation, list(operands))


einsum.__module__ = "sconce.functional"  # where PyTorch has it


def add_methods():
    _sconce._add_method("__torch_function__", classmethod(_tensor.__torch_function__))
    for name, target in _CONVERSIONS.items():
        _sconce._add_method(name, _conversion(name, getattr(_sconce, target)))
    for method in (to, cpu, type, nonzero, unique, __format__, __reversed__, _tensor.__deepcopy__, _tensor.__reduce_ex__):
        _sconce._add_method(method.__name__, method)
