"""Functions that stay in Python (@jit.ignore): an operator for each, python::NAME, which calls it.

Arguments of such an operator may be anything, and so may its result, which the compiler takes for what the function declares: it is
converted to that here. Programs with such calls cannot be saved.
"""

import inspect
import weakref

from .. import _sconce
from . import _sources

_OPERATORS = weakref.WeakKeyDictionary()  # names by function
_TAKEN = set()


def operator_of(fn):
    """The operator that calls the function, "python.NAME"; made on first use."""
    found = _OPERATORS.get(fn)
    if found is None:
        found = _OPERATORS[fn] = _make(fn)
    return found


def _make(fn):
    base = fn.__name__ if fn.__name__.isidentifier() else "_lambda"
    name, number = base, 0
    while name in _TAKEN:
        number += 1
        name = f"{base}_{number}"
    _TAKEN.add(name)
    parameters = inspect.signature(fn).parameters.values()
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise RuntimeError(f"Compiled functions can't take variable number of arguments or use keyword-only arguments with "
                               f"defaults: '{fn.__name__}'")
    keyword_only = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    arguments = ", ".join(f"Any {parameter.name}" for parameter in parameters)
    qualified = _sconce._define_operator("python", f"{name}({arguments}) -> Any", "")
    result_type = []

    def call(*values):
        count = len(values) - len(keyword_only)
        result = fn(*values[:count], **dict(zip(keyword_only, values[count:])))
        if not result_type:
            result_type.append(_declared_result(fn))
        return _sconce._script_typed_value(result_type[0], result)

    for key in ("CPU", "CUDA", "Meta"):
        _sconce._set_kernel(qualified, key, call)
    _sconce._set_kernel(qualified, "Autograd", None)  # what the function calls is recorded
    return f"python.{name}"


def _declared_result(fn):
    """The type that the function says it returns; a tensor when it says nothing."""
    inner = {}
    text = _sources.annotation_text(fn.__annotations__.get("return", _sconce.Tensor), inner)
    with _sources.LOCK:
        names = _sources._Names([fn], inner)
        return _sconce._script_type(_sources.make_scope("__torch__", names), "_result", text)
