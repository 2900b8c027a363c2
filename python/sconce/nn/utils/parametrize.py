"""Parametrisations: a parameter that is computed from others whenever it is read."""

import contextlib

from ..module import Module
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter
from ..._sconce import Tensor

_cached, _cache = 0, {}


@contextlib.contextmanager
def cached():
    """Inside of a with statement every parametrised tensor is computed once."""
    global _cached
    _cached += 1
    try:
        yield
    finally:
        _cached -= 1
        if not _cached:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrisations of one tensor, one over the other, and the tensors they begin with: original, or original0, ..."""

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        value = original.detach() if isinstance(original, Tensor) else original
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                value = module.right_inverse(value)
        self.is_tensor = isinstance(value, Tensor)
        if self.is_tensor:
            self.ntensors = 1
            self._register("original", original, value)
        else:
            self.ntensors = len(value)
            for i, part in enumerate(value):
                self._register(f"original{i}", original, part)
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            if result.dtype != original.dtype:
                raise ValueError("Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled.\n"
                                 f"unparametrized dtype: {original.dtype}\nparametrized dtype: {result.dtype}")
            if tuple(result.shape) != tuple(original.shape):
                raise ValueError("Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\n"
                                 f"unparametrized shape: {original.shape}\nparametrized shape: {result.shape}")

    def _register(self, name, original, value):
        if isinstance(original, Parameter):
            if self.is_tensor and value.shape == original.shape and value.dtype == original.dtype:
                original.data = value  # the same parameter: optimisers that hold it go on
                self.register_parameter(name, original)
            else:
                self.register_parameter(name, Parameter(value, requires_grad=original.requires_grad))
        else:
            self.register_buffer(name, value)

    def right_inverse(self, value):
        """Sets the original tensors so that the parametrised one has this value."""
        from ... import no_grad

        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                self.original.data = value
            else:
                for i, part in enumerate(value):
                    getattr(self, f"original{i}").data = part

    def forward(self):
        """The tensor, computed."""
        first, *others = self
        value = first(self.original) if self.is_tensor else first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in others:
            value = module(value)
        return value


def _property(name):
    def read(self):
        if not _cached:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def write(self, value):
        self.parametrizations[name].right_inverse(value)

    return property(read, write)


def _make_class(module):
    """A class of its own for a parametrised module, on which properties can stand."""

    def refuse(self):
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict().")

    kind = type(module)
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {"__getstate__": refuse, "_plain_class": kind, "__module__": kind.__module__})


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """From now on module.tensor_name is parametrization(original)."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            value = getattr(module, tensor_name)
            result = parametrization(value)
            if not isinstance(result, Tensor) or result.shape != value.shape or result.dtype != value.dtype:
                raise ValueError("Registering a parametrization may not change the shape or dtype of the tensor, unless the `unsafe` flag is "
                                 "enabled.")
        listed = module.parametrizations[tensor_name]
        listed.append(parametrization)  # of what the tensor is now: its original stays
        listed.unsafe = listed.unsafe or unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    original = getattr(module, tensor_name)
    listed = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _make_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = listed
    return module


def is_parametrized(module, tensor_name=None):
    """Has the module a parametrised tensor, of this name?"""
    found = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes the tensor a plain one again: with its computed value, or the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed = module.parametrizations[tensor_name]
    if leave_parametrized:
        value = getattr(module, tensor_name)
        if listed.is_tensor and isinstance(listed.original, Parameter):
            original = listed.original
            original.data = value.detach()
        else:
            trained = any(p.requires_grad for p in listed.parameters(recurse=False))
            original = Parameter(value.detach(), requires_grad=trained) if list(listed.parameters(recurse=False)) else value.detach()
    else:
        if not listed.is_tensor:
            raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
                             "tensors.")
        original = listed.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module)._plain_class
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    return module


def type_before_parametrizations(module):
    """The class that the module had."""
    return type(module)._plain_class if is_parametrized(module) else type(module)
