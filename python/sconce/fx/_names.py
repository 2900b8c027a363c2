"""How graphs write functions, types and values: PyTorch's names, so that a text made here means the same there."""

import builtins
import inspect
import types

import sconce
from .._sconce import Tensor


def public_module(module):
    """The name under which PyTorch has a module of Sconce's: torch.nn.functional for sconce.nn.functional."""
    if module == "sconce" or module.startswith("sconce."):
        module = "torch" + module[len("sconce"):]
    return module


def is_operator(target):
    """One of sconce.ops: a packet (aten.add) or an overload (aten.add.Tensor)."""
    return isinstance(target, sconce._sconce.OperatorFunction) and "::" in target.__name__


def operator_path(target):
    """'aten.add.Tensor', as PyTorch prints an operator."""
    path = target.__name__.replace("::", ".")
    is_overload = repr(target).startswith("<function")
    return path + ".default" if is_overload and path.count(".") == 1 else path


def get_qualified_name(func):
    """The name by which generated code reaches a function."""
    name = getattr(func, "__name__", None)
    if name is not None and getattr(builtins, name, None) is func:
        return name
    if is_operator(func):
        return "torch.ops." + operator_path(func)
    if isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType)) and \
            func is getattr(Tensor, name, None):
        return f"torch.Tensor.{name}"
    if name == "<lambda>":
        try:
            name = inspect.getsource(func).split("=")[0].strip()
        except Exception as error:
            raise RuntimeError("Unable to represent lambda") from error
    return f"{module_of(func)}.{name}"


def module_of(func):
    """The module that a function is found in, in PyTorch's words."""
    module = getattr(func, "__module__", None)
    name = getattr(func, "__name__", None)
    if module is not None and not isinstance(func, sconce._sconce.OperatorFunction):
        return public_module(module)
    if isinstance(func, sconce._sconce.OperatorFunction) and is_of_nn(name):
        return "torch._C._nn"
    for guess in (sconce, sconce.nn.functional):
        if getattr(guess, name, None) is func:
            return public_module(guess.__name__)
    if isinstance(func, sconce._sconce.OperatorFunction):
        return "torch.ops.aten"  # linalg_vector_norm, which PyTorch has in torch._C._linalg
    raise RuntimeError(f"cannot find module for {func}")


def is_of_nn(name):
    """True for the operators that PyTorch's Python has in torch._C._nn, and not in torch."""
    return name in sconce._C.NN_NAMES


def is_from_library(obj):
    """True for what generated code names by its full path, as torch is always imported there."""
    if isinstance(obj, sconce._sconce.OperatorFunction):
        return True
    module = getattr(obj, "__module__", None)
    if module is not None:
        return module == "sconce" or module.startswith("sconce.")
    name = getattr(obj, "__name__", None)
    return name is not None and any(getattr(guess, name, None) is obj for guess in (sconce, sconce.nn.functional))


def type_repr(obj):
    """A type as an annotation: 'torch.Tensor', 'typing.List[int]'; other objects by their repr."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{public_module(obj.__module__)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace("sconce.", "torch.")


def snake_case(text):
    """'linearReLU' as 'linear_re_lu': the base of a node's name."""
    out = []
    for previous, char in zip(" " + text, text):
        out.append("_" + char if char.isupper() and previous.islower() and previous.isascii() else char)
    return "".join(out).lower()
