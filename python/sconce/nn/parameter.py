"""Tensors that a module registers when they become its attributes."""

from .. import _sconce
from .._sconce import Tensor


class Parameter(Tensor):
    """A tensor that is trained."""

    __torch_function__ = _sconce._disabled_torch_function_impl

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _sconce._function("empty")(0)
        return _sconce._make_subclass(cls, data, requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        if self.__dict__:
            return super().__reduce_ex__(protocol)
        return type(self), (self.data, self.requires_grad)


_sconce._set_parameter_class(Parameter)


class Buffer(Tensor):
    """A tensor that belongs to the state of a module and is not trained."""

    __torch_function__ = _sconce._disabled_torch_function_impl

    def __new__(cls, data=None, *, persistent=True):
        buffer = _sconce._make_subclass(cls, _sconce._function("empty")(0) if data is None else data, False)
        buffer.persistent = persistent
        return buffer


def is_lazy(tensor):
    """True for a parameter or buffer whose sizes are not known yet."""
    return isinstance(tensor, _Uninitialized)


class _Uninitialized:
    """What parameters and buffers without sizes have in common."""

    def materialize(self, shape, device=None, dtype=None):
        """Becomes a tensor of these sizes, with memory that holds anything."""
        device = _sconce.device(device) if device is not None else Tensor.device.__get__(self)
        dtype = dtype if dtype is not None else Tensor.dtype.__get__(self)
        self.set_data(_sconce._function("empty")(tuple(shape), dtype=dtype, device=device))
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
                           "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters "
                           "before accessing their attributes.")

    def __repr__(self):
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose sizes the first call of its module finds."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        options = {"dtype": dtype} if dtype is not None else {}
        options.update({"device": _sconce.device(device)} if device is not None else {})
        return _sconce._make_subclass(cls, _sconce._function("empty")(0, **options), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer whose sizes the first call of its module finds."""

    cls_to_become = Buffer

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        options = {"dtype": dtype} if dtype is not None else {}
        options.update({"device": _sconce.device(device)} if device is not None else {})
        buffer = _sconce._make_subclass(cls, _sconce._function("empty")(0, **options), requires_grad)
        buffer.persistent = persistent
        return buffer
