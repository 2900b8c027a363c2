"""Methods of Tensor that PyTorch has beside its operators, written in terms of them."""

import builtins

from . import _overrides, _sconce, _tensor
from ._sconce import Tensor, device, dtype

_CONVERSIONS = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "int": "int32",
                "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64", "cdouble": "complex128"}


def _conversion(name, target):
    def convert(self, memory_format=None):
        return self.to(target, memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The same numbers as {target}."
    return convert


_to, _unique2, _unique_dim, _nonzero, _nonzero_numpy, _einsum = map(
    _sconce._packet, ("aten::to", "aten::_unique2", "aten::unique_dim", "aten::nonzero", "aten::nonzero_numpy", "aten::einsum"))
_unique_consecutive = _sconce._packet("aten::unique_consecutive")
_split, _split_with_sizes = _sconce._packet("aten::split").Tensor, _sconce._packet("aten::split_with_sizes")
_vector_norm = _sconce._packet("aten::linalg_vector_norm")
_to_dtype, _to_device, _to_layout = _to.dtype, _to.device, _to.dtype_layout


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
    target, place, memory_format = options.get("dtype"), options.get("device"), options.get("memory_format")
    rest = (options.get("non_blocking") or False, options.get("copy") or False, memory_format)
    unknown = options.keys() - {"dtype", "device", "memory_format", "non_blocking", "copy"}
    if unknown:
        raise TypeError(f"to() got an unexpected keyword argument '{min(unknown)}'")
    if target is None and place is None and memory_format is None and not rest[1]:
        return self
    # The overloads that PyTorch calls: traces show them.
    if target is not None:
        return _to_dtype(self, target, *rest) if place is None else _to_device(self, place, target, *rest)
    return _to_layout(self, dtype=self.dtype, layout=self.layout, device=self.device if place is None else place,
                      non_blocking=rest[0], copy=rest[1], memory_format=memory_format)


def _targets(args):
    """How many of the positional arguments say where to: those before non_blocking."""
    count = 0
    while count < len(args) and not isinstance(args[count], builtins.bool):
        count += 1
    return count


def cpu(self, memory_format=None):
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


def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    """The elements, or slices along dim, without repeated neighbours; with their places and numbers when asked for."""
    found = _unique_consecutive(self, return_inverse, return_counts, dim)
    wanted = [part for part, asked in zip(found, (True, return_inverse, return_counts)) if asked]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


def nonzero(input, *, out=None, as_tuple=False):
    """The places of elements that are not 0: a row for each, or one tensor for each dimension."""
    if as_tuple:
        return tuple(_nonzero_numpy(input))
    return _nonzero(input) if out is None else _nonzero(input, out=out)


def split(tensor, split_size_or_sections, dim=0):
    """The tensor in parts of one size along dim, the last perhaps smaller, or of the sizes in a list."""
    if _overrides.active:
        result = _overrides.redirect(split, (tensor, split_size_or_sections), {"dim": dim})
        if result is not _overrides.NOTHING:
            return result
    if isinstance(split_size_or_sections, Tensor):
        split_size_or_sections = builtins.int(split_size_or_sections)
    parts = _split if isinstance(split_size_or_sections, builtins.int) else _split_with_sizes
    return tuple(parts(tensor, split_size_or_sections, dim))


split.__module__ = "sconce.functional"  # where PyTorch has it


def _split_method(self, split_size, dim=0):
    """split(split_size, dim=0): see torch.split."""
    return split(self, split_size, dim)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of the elements as one vector, or along dim."""
    if _overrides.active:
        result = _overrides.redirect(norm, (input,), {"p": p, "dim": dim, "keepdim": keepdim, "out": out, "dtype": dtype})
        if result is not _overrides.NOTHING:
            return result
    if p is None or p == "nuc" or out is not None or input.layout is not _sconce.strided:
        from . import _library  # reads the texts of the library, which is not needed for importing
        return _library.functional().norm(input, p, dim, keepdim, out, dtype)
    dims = [dim] if isinstance(dim, builtins.int) else dim
    return _vector_norm(input, 2 if p == "fro" else p, dims, keepdim, dtype=dtype)


norm.__module__ = "sconce.functional"  # where PyTorch has it


def _norm_method(self, p="fro", dim=None, keepdim=False, dtype=None):
    """norm(p="fro", dim=None, keepdim=False, dtype=None): see torch.norm."""
    return norm(self, p, dim, keepdim, dtype=dtype)


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


def record_stream(self, stream):
    """The memory of a tensor on a CUDA device is used on the stream, too, and is reused only behind that."""
    from . import _streams

    _streams.record_stream(self, stream)


_TYPE_STRINGS = {"bool": "|b1", "uint8": "|u1", "int8": "|i1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "uint16": "<u2", "uint32": "<u4",
                 "uint64": "<u8", "float16": "<f2", "float32": "<f4", "float64": "<f8", "complex64": "<c8", "complex128": "<c16"}


def _cuda_array_interface(self):
    """A tensor of a CUDA device as other libraries take it: address, sizes, strides in bytes, and the stream of its work."""
    if self.device.type != "cuda":
        raise AttributeError(f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use tensor.cuda() to "
                             "copy tensor to device memory.")
    if self.requires_grad:
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use var.detach() to get "
                           "Variable that doesn't require grad.")
    name = str(self.dtype).split(".")[-1]
    if name not in _TYPE_STRINGS:
        raise TypeError(f"{self.dtype} has no type in __cuda_array_interface__")
    from . import _streams

    strides = None if self.is_contiguous() else tuple(s * self.element_size() for s in self.stride())
    return {"typestr": _TYPE_STRINGS[name], "shape": tuple(self.shape), "strides": strides, "version": 3,
            "data": (self.data_ptr() if self.numel() > 0 else 0, False), "stream": _streams.current_stream(self.device).cuda_stream}


def add_methods():
    _sconce._add_method("__cuda_array_interface__", property(_cuda_array_interface))
    _sconce._add_method("__torch_function__", classmethod(_tensor.__torch_function__))
    for name, target in _CONVERSIONS.items():
        _sconce._add_method(name, _conversion(name, getattr(_sconce, target)))
    _sconce._add_method("norm", _norm_method)
    _sconce._add_method("split", _split_method)
    for method in (record_stream, to, cpu, type, nonzero, unique, unique_consecutive, __format__, __reversed__, _tensor.__deepcopy__, _tensor.__reduce_ex__):
        _sconce._add_method(method.__name__, method)
