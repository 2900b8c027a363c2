"""What the compiler asks of Python: the texts of functions and classes, and what the names in them mean.

Every function and class that is scripted has a scope, in which the compiler looks names up. It asks Python for those that the
text does not define (`_Names`), and gets a definition: a constant, a name of the language's own ("torch.relu"), a type, a
namespace, or another function or class, whose text is compiled in turn. Definitions are made once for each object.
"""

import ast
import builtins
import collections
import enum
import inspect
import re
import sys
import textwrap
import threading
import types
import typing
import weakref

from .. import _sconce

LOCK = threading.RLock()  # the compiler has one caller at a time
MODIFIER = "_torchscript_modifier"  # the attribute that decorators set: "unused", "ignore", "export", ...

_DEFINITIONS = weakref.WeakKeyDictionary()  # of functions and classes
_OVERLOADS = {}  # declarations of overloads by the qualified name of their function
_LANGUAGE_MODULES = {"typing", "typing_extensions", "enum", "collections", "dataclasses", "functools", "copy", "numbers", "abc"}
_PLAIN_DECORATOR = re.compile(r"\s*@[\w.]+(\([^()]*\))?\s*(#.*)?$")


def qualified_prefix(obj):
    """__torch__.module, as names of functions and classes begin."""
    module = getattr(obj, "__module__", None) or "__main__"
    return "__torch__" if module == "__main__" else f"__torch__.{module}"


# ---- texts ----


def _source_lines(obj):
    try:
        lines, first = inspect.getsourcelines(obj)
        file = inspect.getsourcefile(obj)
    except (OSError, TypeError) as error:
        raise OSError(f"Can't get source for {obj}. TorchScript requires source access in order to carry out compilation, "
                      "make sure original .py files are available.") from error
    return lines, max(first, 1), file or "<unknown>"


def _without_decorators(lines, first, keyword):
    """The lines from `def` or `class` on, if the decorators have something that the language has not."""
    indent = lines[0][:len(lines[0]) - len(lines[0].lstrip())]
    start = next((i for i, line in enumerate(lines) if line.startswith(indent + keyword)), 0)
    if all(_PLAIN_DECORATOR.match(line) for line in lines[:start]):
        return lines, first
    return lines[start:], first + start


def _literal(value):
    return value is None or type(value) in (bool, int, float, str)


def function_text(fn, name=None, marks=(), callback=""):
    """The text of a function as the compiler takes it: name, text, file, first line, marks, defaults, callback."""
    lines, first, file = _source_lines(fn)
    lines, first = _without_decorators(lines, first, "def ")
    defaults = {}
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.default is not parameter.empty and not _literal(parameter.default):
            defaults[parameter.name] = parameter.default
    return (name or fn.__name__, "".join(lines), file, first, tuple(marks), defaults, callback)


def modifier(fn):
    return getattr(fn, MODIFIER, None)


def is_method_like(member):
    return isinstance(member, (types.FunctionType, staticmethod, property))


# ---- names ----


class _Names:
    """The names around a function: its closure, its annotations, its globals."""

    def __init__(self, functions, names=None, extra=None):
        self.scope = None
        self.tables = [extra or {}]
        for fn in functions:
            self.tables.append(_closure(fn))
        for fn in functions:
            self.tables.append(_annotation_captures(fn))
        if names is not None:
            self.tables.append(names)
        for fn in functions:
            if not any(fn.__globals__ is table for table in self.tables):
                self.tables.append(fn.__globals__)

    def __call__(self, name):
        for table in self.tables:
            if name in table:
                return define(self.scope, name, table[name])
        found = getattr(builtins, name, None)
        if isinstance(found, types.BuiltinFunctionType) and not _sconce._script_is_known(name):
            return define(self.scope, name, found)
        return None


def _closure(fn):
    names = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not set yet
            pass
    return names


def _annotation_captures(fn):
    """Names in annotations of a function inside of another: the text has them, the closure has not."""
    annotations = {name: value for name, value in getattr(fn, "__annotations__", {}).items() if not isinstance(value, str)}
    if not annotations or fn.__closure__ is None and "<locals>" not in fn.__qualname__:
        return {}
    try:
        tree = ast.parse(textwrap.dedent("".join(_source_lines(fn)[0]))).body[0]
    except (OSError, SyntaxError):
        return {}
    written = {argument.arg: argument.annotation for argument in (*tree.args.args, *tree.args.kwonlyargs)}
    written["return"] = tree.returns
    return {node.id: annotations[name] for name, node in written.items() if isinstance(node, ast.Name) and name in annotations}


class _ModuleNames:
    """The attributes of a module of Python."""

    def __init__(self, module):
        self.module, self.scope = module, None

    def __call__(self, name):
        try:
            value = getattr(self.module, name)
        except AttributeError:
            return None
        return define(self.scope, name, value)


def make_scope(prefix, names):
    names.scope = _sconce._script_scope(prefix, names)
    return names.scope


def language_path(obj):
    """The name under which the language knows an object, "torch.nn.functional.relu"; None when it does not."""
    if isinstance(obj, _sconce.OperatorFunction):
        name = obj.__name__
        if "::" in name:
            space, _, rest = name.partition("::")
            return f"torch.ops.{space}.{rest}"
        candidates = [f"torch.{name}"]
    else:
        module, name = getattr(obj, "__module__", None), getattr(obj, "__name__", None)
        if not isinstance(module, str) or not isinstance(name, str):
            return None
        if module == "builtins":
            candidates = [name]
        elif module == "sconce" or module.startswith("sconce."):
            candidates = ["torch" + module[6:] + "." + name]
            if module.startswith("sconce.jit"):
                candidates.append(f"torch.jit.{name}")
            candidates.append(f"torch.{name}")
            if candidates[0].startswith("torch.nn."):
                candidates = candidates[:1]
        elif module == "torch" or module.startswith("torch.") or module in ("math", "cmath", "warnings", "collections"):
            candidates = [f"{module}.{name}"]
        else:
            return None
    return next((path for path in candidates if _sconce._script_is_known(path)), None)


def _module_definition(scope, name, module):
    path = module.__name__
    if path == "sconce" or path.startswith("sconce."):
        path = "torch" + path[6:]
    if path in _LANGUAGE_MODULES or _sconce._script_is_known(path) or path == "torch.ops":
        return _sconce._script_import(scope, name, path)
    return _sconce._script_namespace(scope, name, make_scope(f"__torch__.{module.__name__}", _ModuleNames(module)))


_CONSTANTS = (bool, int, float, complex, str, type(None), tuple, _sconce.dtype, _sconce.device, _sconce.layout,
              _sconce.memory_format, enum.Enum)


def define(scope, name, obj):
    """What an object means to the compiler under a name of a scope; None for what it knows by itself."""
    if isinstance(obj, _CONSTANTS):
        return _sconce._script_constant(scope, name, obj)
    if isinstance(obj, types.ModuleType):
        return _module_definition(scope, name, obj)
    if isinstance(obj, _sconce.ScriptFunction):
        return _sconce._script_compiled(scope, name, obj)
    if isinstance(obj, type) or _is_typing(obj):
        return _class_or_type(scope, name, obj)
    path = language_path(obj)
    if path is not None:
        return _sconce._script_import(scope, name, path)
    if isinstance(obj, types.FunctionType):
        return function_definition(obj)
    if isinstance(obj, types.BuiltinFunctionType):
        message = f"Python builtin {obj!r} is currently not supported in Torchscript"
        return _sconce._script_foreign(scope, name, type(obj).__name__, message)
    if getattr(obj, "__wrapped__", None) is not None and callable(obj):
        return define(scope, name, inspect.unwrap(obj))
    return _sconce._script_constant(scope, name, obj)


# ---- types ----


def _is_typing(obj):
    return typing.get_origin(obj) is not None or getattr(obj, "__module__", None) == "typing" or isinstance(obj, types.UnionType)


def _class_or_type(scope, name, obj):
    if isinstance(obj, type) and typing.get_origin(obj) is None:
        if obj.__module__ == "builtins":
            return _sconce._script_import(scope, name, obj.__name__)
        if obj in (_sconce.Tensor, _sconce.device, _sconce.dtype, _sconce.layout, _sconce.memory_format):
            return _sconce._script_import(scope, name, f"torch.{obj.__name__}")
        if obj.__module__ in _LANGUAGE_MODULES:
            return _sconce._script_import(scope, name, f"{obj.__module__}.{obj.__name__}")
        path = language_path(obj)
        if path is not None and not _is_module_class(obj):
            return _sconce._script_import(scope, name, path)
        if issubclass(obj, BaseException):
            known = next(base for base in obj.__mro__ if base.__module__ == "builtins")
            return _sconce._script_import(scope, name, known.__name__)
        if issubclass(obj, _sconce.Tensor):
            return _sconce._script_import(scope, name, "torch.Tensor")
        return class_definition(obj)
    if typing.get_origin(obj) is None or not typing.get_args(obj):
        # typing.List itself: the text says of what.
        known = getattr(obj, "__name__", None) or getattr(obj, "_name", None)
        return _sconce._script_import(scope, name, f"typing.{known}")
    inner = {}
    text = annotation_text(obj, inner)
    names = _Names((), inner)
    return _sconce._script_type(make_scope("__torch__", names), name, text)


def annotation_text(annotation, names):
    """The annotation as text; classes in it become names, which are added to `names`."""
    if annotation is None or annotation is type(None):
        return "None"
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, typing.ForwardRef):
        return annotation.__forward_arg__
    if annotation is typing.Any:
        return "Any"
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is None:
        if annotation is _sconce.Tensor:
            return "Tensor"
        if isinstance(annotation, type) and annotation.__module__ == "builtins":
            return annotation.__name__
        if getattr(annotation, "__module__", None) == "typing":
            return getattr(annotation, "__name__", None) or annotation._name
        name = f"_class_{len(names)}"
        names[name] = annotation
        return name
    if origin in (typing.Union, types.UnionType):
        return f"Union[{', '.join(annotation_text(a, names) for a in arguments)}]"
    if origin is tuple and (not arguments or arguments == ((),)):
        return "Tuple[()]"
    known = {list: "List", dict: "Dict", tuple: "Tuple", collections.OrderedDict: "Dict"}.get(origin)
    if known is None:
        known = getattr(origin, "__name__", None) or getattr(origin, "_name", None) or str(origin)
    return f"{known}[{', '.join(annotation_text(a, names) for a in arguments)}]"


# ---- functions ----


def declare_overload(fn):
    """A declaration of a signature; the function of the name that follows is its body."""
    _OVERLOADS.setdefault((fn.__module__, fn.__qualname__), []).append(fn)
    return fn


def overloads_of(fn):
    return [each for each in _OVERLOADS.get((fn.__module__, fn.__qualname__), ()) if each is not fn]


def function_definition(fn):
    """The definition of a function, made on first use."""
    fn = inspect.unwrap(fn)
    found = _DEFINITIONS.get(fn)
    if found is None:
        found = _DEFINITIONS[fn] = _function_definition(fn)
    return found


def _function_definition(fn):
    name = "_lambda" if fn.__name__ == "<lambda>" else fn.__name__
    texts = [function_text(each, name) for each in overloads_of(fn)]
    marks, callback = marks_of(fn)
    texts.append(function_text(fn, name, marks, callback))
    scope = make_scope(qualified_prefix(fn), _Names([fn, *overloads_of(fn)]))
    return _sconce._script_function(scope, texts)


def marks_of(fn):
    """What the decorators of sconce.jit say of a function: marks for the compiler, and the operator that calls it back."""
    kind = modifier(fn)
    if kind is None or kind == "default":
        return (), ""
    if kind == "ignore":
        from . import _callbacks

        return (), _callbacks.operator_of(fn)
    return (kind,), ""


# ---- classes ----


def _is_module_class(cls):
    from ..nn import Module

    return issubclass(cls, Module)


def is_named_tuple(cls):
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_interface(cls):
    return cls.__dict__.get("__torch_script_interface__", False)


def class_definition(cls, frame_names=None):
    """The definition of a class, made on first use: a module, an enum, a named tuple, an interface, or a script class."""
    found = _DEFINITIONS.get(cls)
    if found is None:
        if is_interface(cls):
            found = _script_class(cls, frame_names)
        elif _is_module_class(cls):
            found = _module_class(cls)
        elif issubclass(cls, enum.Enum):
            found = _enum_class(cls)
        elif is_named_tuple(cls):
            found = _named_tuple_class(cls)
        else:
            found = _script_class(cls, frame_names)
        _DEFINITIONS[cls] = found
        if not _is_module_class(cls) and (issubclass(cls, enum.Enum) or is_named_tuple(cls)):
            _sconce._script_compile_class(found, cls)
    return found


def find_class(cls):
    """The definition of a class whose instances cross into programs; None for others."""
    if _DEFINITIONS.get(cls) is not None and not _is_module_class(cls):
        return _DEFINITIONS[cls]
    if issubclass(cls, enum.Enum) or is_named_tuple(cls):
        with LOCK:
            return class_definition(cls)
    return None


_sconce._script_set_class_finder(find_class)


def _written_class(cls, text, names):
    """A class from a text that stands for it: values and types in it are names."""
    scope = make_scope(qualified_prefix(cls), _Names((), names))
    return _sconce._script_class(scope, (cls.__name__, text, "<class>", 1, (), {}, ""))


def _enum_class(cls):
    names = {f"_value_{i}": member.value for i, member in enumerate(cls)}
    body = "".join(f"    {member.name} = _value_{i}\n" for i, member in enumerate(cls))
    return _written_class(cls, f"class {cls.__name__}(Enum):\n{body}", {**names, "Enum": enum.Enum})


def _named_tuple_class(cls):
    names = {"NamedTuple": typing.NamedTuple}
    annotations = _own_annotations(cls)
    module = sys.modules.get(cls.__module__)
    lines = []
    for field in cls._fields:
        text = annotation_text(annotations.get(field, _sconce.Tensor), names)
        if field in cls._field_defaults:
            names[f"_default_{field}"] = cls._field_defaults[field]
            text += f" = _default_{field}"
        lines.append(f"    {field}: {text}\n")
    names = {**getattr(module, "__dict__", {}), **names}
    return _written_class(cls, f"class {cls.__name__}(NamedTuple):\n{''.join(lines) or '    pass'}", names)


def _own_annotations(cls):
    return dict(inspect.get_annotations(cls))


def _functions_of(cls):
    """The functions in the body of a class."""
    found = []
    for member in vars(cls).values():
        if isinstance(member, (staticmethod, classmethod)):
            member = member.__func__
        for fn in (member.fget, member.fset) if isinstance(member, property) else (member,):
            fn = inspect.unwrap(fn) if callable(fn) and not isinstance(fn, type) else fn
            if isinstance(fn, types.FunctionType):
                found.append(fn)
    return found


def _class_names(cls, frame_names=None):
    functions = [fn for fn in _functions_of(cls) if fn.__module__ == cls.__module__ and fn.__code__.co_filename[:1] != "<"]
    module = sys.modules.get(cls.__module__)
    return _Names(functions, getattr(module, "__dict__", {}), frame_names)


def _script_class(cls, frame_names):
    lines, first, file = _source_lines(cls)
    lines, first = _without_decorators(lines, first, "class ")
    scope = make_scope(qualified_prefix(cls), _class_names(cls, frame_names))
    marks = ("interface",) if is_interface(cls) else ()
    return _sconce._script_class(scope, (cls.__name__, "".join(lines), file, first, marks, {}, ""))


# ---- classes of modules ----


def _library_class(cls):
    """The definition of nn.Linear and its like, whose texts the compiler has itself."""
    if not cls.__module__.startswith("sconce.nn.modules."):
        return None
    return _sconce._script_library_class("torch" + cls.__module__[6:] + "." + cls.__name__)


def _module_class(cls):
    from ..nn import Module

    if _library_class(cls) is not None:
        return _library_class(cls)
    # Helpers of the package's own classes are no part of the language.
    bases = [class_definition(base) for base in cls.__mro__[1:]
             if issubclass(base, Module) and (not base.__module__.startswith("sconce.") or _library_class(base) is not None)]
    mixins = [base for base in cls.__mro__[1:] if not issubclass(base, Module) and base is not object and _functions_of(base)]
    names = _class_names(cls)
    statements = []
    constants = cls.__dict__.get("__constants__")
    if constants is not None:
        statements.append(f"__constants__ = {[str(name) for name in constants]}\n")
    for listed in ("__jit_unused_properties__", "__jit_ignored_attributes__"):
        if listed in cls.__dict__:
            statements.append(f"{listed} = {[str(name) for name in cls.__dict__[listed]]}\n")
    extra = {}
    for name, annotation in _own_annotations(cls).items():
        if name != "forward" and name.isidentifier() and not _names_module_class(annotation):
            statements.append(f"{name}: {annotation_text(annotation, extra)}\n")
    names.tables.insert(0, extra)
    scope = make_scope(qualified_prefix(cls), names)
    methods = []
    for owner in (*reversed(mixins), cls):
        methods.extend(_method_texts(owner))
    body = "".join(f"    {statement}" for statement in statements) or "    pass\n"
    text = (cls.__name__, f"class {cls.__name__}:\n{body}", f"<class {cls.__name__}>", 1, (), {}, "")
    return _sconce._script_module_class(scope, text, methods, bases)


def _names_module_class(annotation):
    """`fc: nn.Linear` says what the instance shows; only an interface is a type."""
    return isinstance(annotation, type) and _is_module_class(annotation) and not is_interface(annotation)


def _method_texts(cls):
    texts = []
    for name, member in vars(cls).items():
        if name.startswith("__") and name not in ("__call__", "__getitem__", "__len__", "__contains__", "__iter__"):
            continue
        if isinstance(member, property):
            if member.fget is not None and modifier(member.fget) not in ("unused", "ignore"):
                texts.append(_method_text(member.fget, name, ("property",)))
                if member.fset is not None:
                    texts.append(_method_text(member.fset, name, ("setter",)))
        elif isinstance(member, staticmethod):
            texts.append(_method_text(member.__func__, name, ("staticmethod",)))
        elif isinstance(member, types.FunctionType):
            fn = inspect.unwrap(member)
            if not isinstance(fn, types.FunctionType):
                continue
            for declared in overloads_of(fn):
                texts.append(_method_text(declared, name, ("_overload_method",)))
            marks, callback = marks_of(member)
            texts.append(_method_text(fn, name, marks, callback))
    return [text for text in texts if text is not None]


def _method_text(fn, name, marks, callback=""):
    fn = inspect.unwrap(fn)
    try:
        return function_text(fn, name, marks, callback)
    except OSError:  # made by a program: missing only when it is called
        return None
