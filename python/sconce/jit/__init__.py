"""TorchScript programs: files, and functions from their text."""

from .._jit_internal import _overload, _overload_method
from .._sconce import ScriptFunction, ScriptModule, _jit_compile, _jit_load

__all__ = ["CompilationUnit", "ScriptFunction", "ScriptModule", "load", "save"]


def load(path):
    """The module in a TorchScript archive (.pt), one for the lite interpreter (.ptl), or an exported program (.pt2)."""
    return _jit_load(path)


def save(module, path):
    """Writes the module as a TorchScript archive; with bytecode for a path that ends with .ptl."""
    module.save(path)


class CompilationUnit:
    """The functions of a text: CompilationUnit("def f(x: int) -> int: ...").f(1)."""

    def __init__(self, source):
        self._functions = _jit_compile(source)

    def __getattr__(self, name):
        try:
            return self.__dict__["_functions"][name]
        except KeyError:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'") from None


def annotate(the_type, the_value):
    """The value: the type is for the compiler."""
    return the_value


def is_scripting():
    """False: this is Python."""
    return False


def unused(fn):
    """Marks a function that the compiler leaves out."""
    return fn


ignore = export = unused

