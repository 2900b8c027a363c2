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


class UninitializedParameter(Parameter):
    """Refused: lazy modules find their sizes at the first call, which is not there yet."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError("UninitializedParameter: lazy modules are not supported")
