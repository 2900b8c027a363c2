"""The stub of the extension, _sconce.pyi: what it has beside operators is looked up in the built one."""

import inspect

from operators import HEAD, PRELUDE, definitions

# What Tensor has beside methods of operators.
TENSOR = {
    "shape": "Size", "dtype": "_dtype", "device": "_device", "layout": "_layout", "ndim": "_int", "itemsize": "_int", "nbytes": "_int",
    "is_leaf": "_bool", "is_sparse": "_bool", "is_quantized": "_bool", "is_meta": "_bool", "is_cuda": "_bool", "grad_fn": "Any",
    "retains_grad": "_bool", "output_nr": "_int", "_version": "_int", "T": "Tensor", "mT": "Tensor", "mH": "Tensor", "H": "Tensor",
}
SETTABLE = {"requires_grad": "_bool", "grad": "Tensor | None", "data": "Tensor", "real": "Tensor", "imag": "Tensor"}
SIGNATURES = {
    "backward": "gradient: Tensor | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Any = ...) -> None",
    "requires_grad_": "requires_grad: _bool = ...) -> Tensor", "numel": ") -> _int", "nelement": ") -> _int", "dim": ") -> _int",
    "ndimension": ") -> _int", "data_ptr": ") -> _int", "storage_offset": ") -> _int", "element_size": ") -> _int", "item": ") -> Any",
    "tolist": ") -> Any", "retain_grad": ") -> None", "numpy": "*args: Any, **kwargs: Any) -> Any",
    "register_hook": "hook: Callable[[Tensor], Tensor | None], /) -> Any", "cpu": "memory_format: _memory_format | None = ...) -> Tensor",
    "__repr__": ") -> _str", "__hash__": ") -> _int", "__len__": ") -> _int", "__bool__": ") -> _bool", "__int__": ") -> _int",
    "__float__": ") -> _float", "__complex__": ") -> complex", "__index__": ") -> _int", "__iter__": ") -> Iterator[Tensor]",
    "__contains__": "item: Any, /) -> _bool", "__getitem__": "key: Any, /) -> Tensor", "__setitem__": "key: Any, value: Any, /) -> None",
    "__delitem__": "key: Any, /) -> None", "__format__": "spec: _str) -> _str", "__reversed__": ") -> Tensor",
}
OVERLOADED = {"size": ["self) -> Size", "self, dim: _int) -> _int"], "stride": ["self) -> tuple[_int, ...]", "self, dim: _int) -> _int"]}
COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
UNARY = ("__neg__", "__pos__", "__abs__", "__invert__")
LEFT_OUT = {"__new__", "__getattribute__", "__setattr__", "__delattr__", "__doc__", "__dict__", "__module__"}


def tensor_stub(tensor, methods):
    lines = ["@type_check_only\nclass _TensorMeta(type): ...", "class Tensor(metaclass=_TensorMeta):",
             "    def __new__(cls, *args: Any, **kwargs: Any) -> Any: ..."]
    for name, member in sorted(vars(tensor).items()):
        kind = type(member).__name__
        if name in LEFT_OUT or (name in methods and kind == "OperatorFunction"):
            continue
        if name in SETTABLE:
            lines.append(f"    {name}: {SETTABLE[name]}")
        elif kind == "getset_descriptor" or isinstance(member, property):
            lines.append(f"    @property\n    def {name}(self) -> {TENSOR.get(name, 'Any')}: ...")
        elif name in OVERLOADED:
            lines += [f"    @overload\n    def {name}({rest}: ..." for rest in OVERLOADED[name]]
        elif name in SIGNATURES:
            lines.append(f"    def {name}(self, {SIGNATURES[name]}: ...".replace("(self, )", "(self)"))
        elif name in COMPARISONS:
            lines.append(f"    def {name}(self, other: Any, /) -> Tensor: ...")
        elif name in UNARY:
            lines.append(f"    def {name}(self) -> Tensor: ...")
        elif name in ("__pow__", "__rpow__"):
            lines.append(f"    def {name}(self, other: Any, mod: Any = ..., /) -> Tensor: ...")
        elif kind == "wrapper_descriptor":
            lines.append(f"    def {name}(self, other: Any, /) -> Tensor: ...")
        elif inspect.isfunction(member):
            result = "Tensor" if name in CONVERSIONS else "Any"
            lines.append(f"    def {name}({python_parameters(member)}) -> {result}: ...")
        elif callable(member) or isinstance(member, (staticmethod, classmethod)):
            decorator = f"    @{kind}\n" if kind in ("staticmethod", "classmethod") else ""
            if kind == "classmethod_descriptor":
                decorator = "    @classmethod\n"
            first = () if kind == "staticmethod" else ("cls",) if "class" in kind else ("self",)
            lines.append(f"{decorator}    def {name}({builtin_parameters(member, first)}) -> Any: ...")
        else:
            lines.append(f"    {name}: Any")
    own = {name for name in vars(tensor) if type(vars(tensor)[name]).__name__ != "OperatorFunction"}
    for name, operators in methods.items():
        if name not in own:
            lines += definitions(name, operators, method=True, indent="    ")
    return "\n".join(lines)


CONVERSIONS = ("float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool", "cfloat", "cdouble", "to", "cpu")


def python_parameters(function):
    """Of a function of Python: its names, and Any."""
    parts, keywords, by_place = [], False, False
    for i, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
        if by_place and parameter.kind != parameter.POSITIONAL_ONLY:
            parts.append("/")
            by_place = False
        if parameter.kind == parameter.VAR_POSITIONAL:
            parts.append(f"*{name}: Any")
            keywords = True
            continue
        if parameter.kind == parameter.VAR_KEYWORD:
            parts.append(f"**{name}: Any")
            continue
        if parameter.kind == parameter.KEYWORD_ONLY and not keywords:
            parts.append("*")
            keywords = True
        by_place = parameter.kind == parameter.POSITIONAL_ONLY
        annotation = "" if i == 0 and name in ("self", "cls", "type") else ": Any"
        parts.append(name + annotation + ("" if parameter.default is parameter.empty else " = ..."))
    return ", ".join(parts + (["/"] if by_place else []))


def builtin_parameters(function, first):
    """Of a function of C, where it says them."""
    try:
        return python_parameters(getattr(function, "__func__", function))
    except (TypeError, ValueError):
        return ", ".join((*first, "*args: Any", "**kwargs: Any"))


FUNCTIONS = {
    "tensor": "data: Any, *, dtype: _dtype | None = ..., device: _device | _str | None = ..., requires_grad: _bool = ...) -> Tensor",
    "from_numpy": "array: Any, /) -> Tensor", "is_grad_enabled": ") -> _bool", "is_inference_mode_enabled": ") -> _bool",
    "get_num_threads": ") -> _int", "set_num_threads": "n: _int, /) -> None", "get_default_dtype": ") -> _dtype",
    "set_default_dtype": "dtype: _dtype, /) -> None",
}
CLASSES = {
    "dtype": """@final
class dtype:
    @property
    def is_floating_point(self) -> _bool: ...
    @property
    def is_complex(self) -> _bool: ...
    @property
    def is_signed(self) -> _bool: ...
    @property
    def itemsize(self) -> _int: ...
    @property
    def _legacy_name(self) -> _str: ...""",
    "device": """@final
class device:
    def __new__(cls, *args: Any, **kwargs: Any) -> Any: ...
    def __lt__(self, other: Any, /) -> _bool: ...
    @property
    def type(self) -> _str: ...
    @property
    def index(self) -> _int | None: ...""",
    "Size": """@final
class Size(tuple[_int, ...]):
    def numel(self) -> _int: ...""",
    "layout": "@final\nclass layout: ...",
    "memory_format": "@final\nclass memory_format: ...",
}
MAY_BE_SUBCLASSED = 1 << 10  # Py_TPFLAGS_BASETYPE


def class_stub(name, kind):
    """A class of the extension: its own members, as far as they say what they are."""
    bases = [base.__name__ for base in kind.__bases__ if base is not object]
    head = "" if kind.__flags__ & MAY_BE_SUBCLASSED else "@final\n"
    lines = [head + (f"class {name}({', '.join(bases)}):" if bases else f"class {name}:")]
    for member, value in sorted(vars(kind).items()):
        if member in LEFT_OUT or member in ("__eq__", "__ne__", "__repr__", "__str__", "__hash__", "__reduce__", "__init_subclass__"):
            continue
        if type(value).__name__ in ("getset_descriptor", "member_descriptor"):
            lines.append(f"    {member}: Any")
        elif callable(value):
            lines.append(f"    def {member}({builtin_parameters(value, ('self',))}) -> Any: ...")
    if "__new__" in vars(kind):
        lines.insert(1, "    def __new__(cls, *args: Any, **kwargs: Any) -> Any: ...")
    return "\n".join(lines) if len(lines) > 1 else f"{lines[0]} ..."


def extension_stub(extension, methods, classes):
    text = [HEAD, PRELUDE, "_dtype: TypeAlias = dtype\n_device: TypeAlias = device\n_layout: TypeAlias = layout\n"
            "_memory_format: TypeAlias = memory_format\n_Generator: TypeAlias = Generator\n"
            "_Number: TypeAlias = _int | _float | _bool | complex\n", classes]
    constants = []
    for name, value in sorted(vars(extension).items()):
        if name.startswith("__") and name != "__version__":
            continue
        if name == "Tensor":
            text.append(tensor_stub(value, methods))
        elif name in CLASSES:
            text.append(CLASSES[name])
        elif isinstance(value, type):
            text.append(class_stub(name, value))
        elif callable(value):
            text.append(f"def {name}({FUNCTIONS.get(name, '*args: Any, **kwargs: Any) -> Any')}: ...")
        else:
            kind = type(value).__name__
            constants.append(f"{name}: {'_str' if kind == 'str' else '_' + kind if kind in CLASSES else 'Any'}")
    return "\n".join([*text, *constants]) + "\n"
