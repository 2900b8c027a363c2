"""What older programs use: torch.FloatTensor and its kind, Tensor.new, loops over elements; and methods with other orders of
arguments than their operators."""

from . import _sconce
from ._sconce import Tensor

_empty, _where, _polygamma = map(_sconce._function, ("empty", "where", "polygamma"))


class _TypeOfTensor(type):
    """Tensors of the dtype are its instances."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == "cpu"

    def __call__(cls, *args, **kwargs):
        """FloatTensor(2, 3): uninitialised; FloatTensor([1, 2]): of the data."""
        return _made(args, cls.dtype, **kwargs)

    def __repr__(cls):
        return f"<class 'torch.{cls.__name__}'>"


_ABSENT = object()


def _made(args, dtype, *, data=_ABSENT, size=_ABSENT, other=_ABSENT, device="cpu"):
    """Sizes make an uninitialised tensor, a sequence one of its data, nothing an empty one."""
    given = [value for value in (data, other) if value is not _ABSENT]
    if size is not _ABSENT:
        return _empty(size, dtype=dtype, device=device)
    if len(args) == 1:
        given += args
    elif given and args:
        raise TypeError("new() received an invalid combination of arguments")
    if not given:
        return _empty(args or (0,), dtype=dtype, device=device)
    (data,) = given
    if isinstance(data, _sconce.Size):
        return _empty(data, dtype=dtype, device=device)
    if isinstance(data, Tensor):
        if data.dtype is not dtype:
            raise TypeError(f"expected {dtype} (got {data.dtype})")
        return data.detach()
    if hasattr(data, "__index__") and not hasattr(data, "__len__"):
        return _empty((data,), dtype=dtype, device=device)
    if not hasattr(data, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return _sconce.tensor(data, dtype=dtype, device=device)


def make_tensor(*args, **kwargs):
    """torch.Tensor(...): as FloatTensor, in the default dtype."""
    return _made(args, _sconce.get_default_dtype(), **kwargs)


_DTYPES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
           "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool"}
TYPES = {f"{name}Tensor": _TypeOfTensor(f"{name}Tensor", (), {"dtype": getattr(_sconce, dtype), "__module__": "sconce"})
         for name, dtype in _DTYPES.items()}


def new(self, *args, **kwargs):
    """new(2, 3) or new([1, 2]): another tensor of this dtype."""
    return _made(args, self.dtype, **{"device": self.device, **kwargs})


def _elements(tensor):
    """Every element in order, as a tensor over its memory."""
    if tensor.dim() == 0:
        yield tensor
        return
    for part in tensor.unbind(0):
        yield from _elements(part)


def apply_(self, callable):
    """Replaces every element by callable(element)."""
    if self.requires_grad:
        raise TypeError("apply_ is only implemented on CPU tensors that do not require grad")
    for element in _elements(self):
        element.fill_(callable(element.item()))
    return self


def map_(self, tensor, callable):
    """Replaces every element by callable(element, element of tensor)."""
    if self.requires_grad or tensor.requires_grad:
        raise TypeError("map_ is only implemented on tensors that do not require grad")
    for element, other in zip(_elements(self), _elements(tensor.expand_as(self))):
        element.fill_(callable(element.item(), other.item()))
    return self


def where(self, condition, other):
    """Elements of this tensor where the condition holds, else of other."""
    return _where(condition, self, other)


def polygamma(self, n):
    """The n-th derivative of digamma."""
    return _polygamma(n, self)


def to_sparse_coo(self):
    """The same numbers in layout COO."""
    return self.to_sparse()


def dim_order(self):
    """The dimensions from the outermost in memory to the innermost."""
    strides = self.stride()
    return tuple(sorted(range(self.dim()), key=lambda d: (-strides[d], d)))


def __complex__(self):
    return complex(self.item())


def _is_cpu(self):
    """Are the elements in the memory of the CPU?"""
    return self.device.type == "cpu"


def _is_sparse_csr(self):
    """Is its layout CSR?"""
    return self.layout is _sconce.sparse_csr


def _never(self):
    """False: there are no such tensors here."""
    return False


def add_methods():
    for method in (new, apply_, map_, where, polygamma, to_sparse_coo, dim_order, __complex__):
        _sconce._add_method(method.__name__, method)
    _sconce._add_method("is_cpu", property(_is_cpu))
    _sconce._add_method("is_sparse_csr", property(_is_sparse_csr))
    for kind in ("mkldnn", "nested", "xpu", "mps", "xla", "vulkan", "ipu", "maia", "mtia"):
        _sconce._add_method(f"is_{kind}", property(_never))
    _sconce._add_method("__array_priority__", 1000)  # numpy leaves array * tensor to the tensor
