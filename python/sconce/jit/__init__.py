"""TorchScript: functions, classes and modules of Python compiled to programs, and files of programs."""

from .._jit_internal import _overload, _overload_method
from .._sconce import Future, ScriptFunction, _jit_compile
from ._module import RecursiveScriptModule, ScriptModule, freeze, load, optimize_for_inference, save
from ._script import Attribute, Error, annotate, export, fork, ignore, interface, is_scripting, script, script_if_tracing, unused, wait
from ._script import isinstance_ as isinstance
from ._trace import TracerWarning, TracingCheckError, is_tracing, trace, trace_module

__all__ = ["Attribute", "CompilationUnit", "Error", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "annotate",
           "export", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference", "save", "script", "script_if_tracing",
           "trace", "trace_module", "unused", "wait"]


class CompilationUnit:
    """The functions of a text: CompilationUnit("def f(x: int) -> int: ...").f(1)."""

    def __init__(self, source):
        self._functions = _jit_compile(source)

    def __getattr__(self, name):
        try:
            return self.__dict__["_functions"][name]
        except KeyError:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'") from None
