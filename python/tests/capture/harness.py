"""Runs the programs of programs/ twice, eagerly and compiled, and compares all that a caller could see.

A program is a function with calls: `@program(lambda: (t(3), 2), lambda: (t(4), 2))`. A file of programs does not import the library;
load() runs its text with these names, so that one text serves Sconce and PyTorch:
    torch, nn, F, optim      the library under test and parts of it
    t(2, 3)                  a tensor of that shape with distinct values
    program                  the decorator
Compared are, for each call: the result, the exception (class, text), the arguments afterwards, what was printed, the global
variables of the file, and which objects are the same object.
"""

import contextlib
import functools
import io
import itertools
import math
import pathlib
import random
import re
import sys
import types
import warnings

FOLDER = pathlib.Path(__file__).parent / "programs"
FILES = sorted(path.name for path in FOLDER.glob("programs_*.py"))


class Program:
    def __init__(self, function, calls, options):
        self.function = function
        self.calls = calls
        self.options = options
        self.name = function.__name__


@functools.cache
def _code(path):
    return compile(path.read_text(), str(path), "exec")


def load(name, library):
    """A fresh copy of a file of programs: (programs by name, its namespace)."""
    path = FOLDER / name
    programs = {}

    def program(*calls, **options):
        def register(function):
            if function.__name__ in programs:
                raise ValueError(f"{name}: there are two programs '{function.__name__}'")
            programs[function.__name__] = Program(function, calls, options)
            return function
        return register

    def t(*shape, dtype=None, grad=False):
        size = math.prod(shape)
        made = ((library.arange(size, dtype=library.float32) * 7) % 11 * 0.25 - 1).reshape(shape)
        if dtype is not None:
            made = made.to(dtype)
        return made.requires_grad_() if grad else made

    module = types.ModuleType(f"capture_{path.stem}")
    sys.modules[module.__name__] = module  # dataclasses and enums look their module up
    module.__dict__.update(torch=library, nn=library.nn, F=library.nn.functional, optim=library.optim, t=t, program=program)
    exec(_code(path), module.__dict__)
    return programs, module.__dict__


_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)


def without_addresses(text):
    return re.sub(" at 0x[0-9a-f]+", " at 0x", text)


def describe(value, library, seen=None):
    """A value as a nest of tuples that can be compared; an object that comes again is named by its number."""
    seen = {} if seen is None else seen
    if isinstance(value, _PLAIN) and type(value) in _PLAIN:
        return (type(value).__name__, without_addresses(value) if type(value) is str else value)
    if id(value) in seen:
        return ("again", seen[id(value)][0])
    seen[id(value)] = (len(seen), value)

    def inner(v):
        return describe(v, library, seen)

    if isinstance(value, library.Tensor):
        grad = inner(value.grad) if value.is_leaf and value.grad is not None else None
        return ("tensor", type(value).__name__, str(value.dtype), tuple(value.shape), value.requires_grad,
                value.detach().to("cpu").tolist(), grad, _attributes(value, inner))
    if isinstance(value, (library.dtype, library.device, library.Size)):
        return (type(value).__name__, str(value))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [inner(item) for item in value], _attributes(value, inner))
    if isinstance(value, dict):
        return (type(value).__name__, [(inner(k), inner(v)) for k, v in value.items()], _attributes(value, inner))
    if isinstance(value, (set, frozenset)):
        return (type(value).__name__, sorted((inner(item) for item in value), key=repr))
    if isinstance(value, BaseException):
        return (type(value).__name__, [inner(item) for item in value.args], _attributes(value, inner))
    if isinstance(value, types.GeneratorType) or type(value).__name__ in ("Compiled", "CompiledFunction"):
        return (type(value).__name__, value.__name__)
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType, types.CodeType)):
        return ("named", getattr(value, "__qualname__", None) or value.__name__)
    if isinstance(value, types.MethodType):
        return ("method", inner(value.__self__), value.__func__.__qualname__)
    if isinstance(value, types.CellType):
        try:
            return ("cell", inner(value.cell_contents))
        except ValueError:
            return ("cell",)
    if isinstance(value, functools.partial):
        return ("partial", inner(value.func), inner(value.args), inner(value.keywords), _attributes(value, inner))
    if hasattr(type(value), "__next__"):
        return ("iterator", type(value).__name__)
    if type(value).__module__ == "numpy":
        return ("numpy", type(value).__name__, str(value.dtype), getattr(value, "shape", ()), value.tolist())
    attributes = _attributes(value, inner)
    if attributes is None:
        return ("object", type(value).__name__, re.sub("0x[0-9a-f]+", "", repr(value)))
    items = [inner(item) for item in value] if type(value).__name__ == "deque" else None
    return ("object", type(value).__name__, attributes, items)


def _attributes(value, inner):
    slots = [name for kind in type(value).__mro__ for name in _slot_names(kind)]
    own = dict(getattr(value, "__dict__", None) or {})
    own.update({name: getattr(value, name) for name in slots if hasattr(value, name)})
    own = {name: v for name, v in own.items() if not name.startswith("_dynamo")}  # notes of PyTorch's
    if not own and not slots:
        return None
    # Hooks are numbered over all modules: their order is compared, not their numbers.
    return [(name, inner(list(own[name].values()) if "_hooks" in name and isinstance(own[name], dict) else own[name]))
            for name in sorted(own, key=str)]


def _slot_names(kind):
    slots = kind.__dict__.get("__slots__", ())
    return [name for name in ((slots,) if isinstance(slots, str) else slots) if name not in ("__dict__", "__weakref__")]


def difference(a, b, path="result"):
    """Where two descriptions differ first; empty when they do not."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and type(a) is type(b):
        if len(a) != len(b):
            return f"{path}: {_short(a)} eagerly, {_short(b)} compiled"
        for i, (x, y) in enumerate(zip(a, b)):
            if found := difference(x, y, f"{path}[{i}]"):
                return found
        return ""
    if isinstance(a, float) and isinstance(b, float):
        same = a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1.3e-6, abs_tol=1e-5)
    else:
        same = type(a) is type(b) and a == b
    return "" if same else f"{path}: {_short(a)} eagerly, {_short(b)} compiled"


def _short(value):
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "..."


def outcomes(name, program_name, library, wrap=lambda function: function, only=None):
    """What the calls of one program come to, one description for each; `wrap` compiles."""
    programs, namespace = load(name, library)
    program = programs[program_name]
    function = wrap(program.function)
    shared = set(namespace)
    results = []
    for i, call in enumerate(program.calls):
        if only is not None and i >= only:
            break
        library.manual_seed(i)
        random.seed(i)
        args = call()
        args, keywords = args if len(args) == 2 and isinstance(args[0], tuple) and isinstance(args[1], dict) else (args, {})
        printed, error, value = io.StringIO(), None, None
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = function(*args, **keywords)
                if isinstance(value, types.GeneratorType) or program.options.get("drain"):
                    value = (type(value).__name__, list(itertools.islice(value, 100)))
            except Exception as raised:  # noqa: BLE001
                error = (type(raised).__name__, without_addresses(str(raised)), type(raised.__cause__).__name__, type(raised.__context__).__name__)
        seen = {}
        state = {key: v for key, v in namespace.items() if not key.startswith("__") and key in shared | set(namespace)
                 and not isinstance(v, (types.ModuleType, types.FunctionType, type))}
        results.append((describe(value, library, seen), error, describe([*args, keywords], library, seen), printed.getvalue(),
                        describe(state, library, seen), library.rand(1).tolist(), random.random()))
    return results
