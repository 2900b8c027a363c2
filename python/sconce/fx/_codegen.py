"""CodeGen: the Python text of a graph, as PyTorch writes it."""

import enum
import math
import re
import types
import typing

import sconce
from . import _pytree
from ._names import get_qualified_name, is_from_library, is_operator, operator_path, type_repr
from .node import Node

reflectable_magic_methods = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "div": "{} / {}",
    "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}",
    "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}"}
magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}",
    "neg": "-{}", "invert": "~{}", **reflectable_magic_methods}
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}"}

# What every generated function finds in its globals, and the line that imports it in a file.
BUILTINS = {
    "inf": ("from math import inf", math.inf),
    "nan": ("from math import nan", math.nan),
    "NoneType": ("NoneType = type(None)", type(None)),
    "torch": ("import sconce as torch", sconce),
    "device": ("from sconce import device", sconce.device),
    "fx_pytree": ("import sconce.fx._pytree as fx_pytree", _pytree),
    "pytree": ("import sconce.fx._pytree as pytree", _pytree),
}
_OLD_GENERICS = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple}
_COLORS = {"red": "\033[31m", "blue": "\033[34m", "dim": "\033[2m", "dim_blue": "\033[2m\033[34m", "dim_green": "\033[2m\033[32m"}
_DTYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "i16",
           "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "b8", "complex64": "c64",
           "complex128": "c128", "complex32": "c32"}


class PythonCode:
    """A text, the globals that it needs, and which node is on which line."""

    def __init__(self, src, globals, _lineno_map=None, _prologue_start=0):
        self.src, self.globals, self._lineno_map, self._prologue_start = src, globals, _lineno_map, _prologue_start


def format_target(base, target):
    """'self.layers.0' as an expression: parts that are no identifiers by getattr."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


def dtype_name(dtype):
    """'f32': the short name that annotations use."""
    return _DTYPES.get(str(dtype).rpartition(".")[2], str(dtype).rpartition(".")[2])


class CodeGen:
    """How a graph becomes a function; subclasses change its signature, its result or its lines."""

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        """The first line of the function."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args):
        """The return statement."""
        return f"return {output_args!r}"

    def process_inputs(self, *args):
        """What the graph's placeholders get, for these arguments of the function."""
        return args

    def process_outputs(self, outputs):
        """What the function returns, for this result of the graph."""
        return outputs

    def additional_globals(self):
        """Pairs of a name and a value that the text needs besides."""
        return []

    def _gen_python_code(self, nodes, root_module, namespace, *, verbose=False, include_stride=False, include_device=False,
                         colored=False):
        return _Writer(self, nodes, root_module, namespace, verbose, include_stride, include_device, colored).write()


class _PyTreeInfo(typing.NamedTuple):
    """The arguments before they were taken apart, and how they were nested."""

    orig_args: list
    in_spec: _pytree.TreeSpec
    out_spec: typing.Optional[_pytree.TreeSpec]


class _PyTreeCodeGen(CodeGen):
    """For functions traced with nested concrete_args: takes the arguments apart, and puts the result together."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        return _pytree.tree_flatten_spec(inputs, self.pytree_info.in_spec)

    def process_outputs(self, out):
        if self.pytree_info.out_spec is None:
            return out
        return _pytree.tree_unflatten(out if isinstance(out, (list, tuple)) else [out], self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        given = self.pytree_info.orig_args
        if given and given[0] == "self":
            free_vars.insert(0, "self")
        text = super().gen_fn_def(given[:], maybe_return_annotation)
        if free_vars:
            annotated = [name for name in free_vars if ":" in name]
            if annotated:
                text += "\n    " + "".join(name + "; " for name in annotated) + "\n"
            names = ", ".join(name.split(":")[0] for name in free_vars)
            text += f"\n    {names}, = fx_pytree.tree_flatten_spec([{', '.join(given)}], self._in_spec)"
        return text

    def generate_output(self, output_args):
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"


class _Writer:
    """One run of the generator: lines of the body, names of what they use."""

    def __init__(self, codegen, nodes, root_module, namespace, verbose, include_stride, include_device, colored):
        self.codegen, self.nodes, self.root_module, self.namespace = codegen, nodes, root_module, namespace
        self.verbose, self.include_stride, self.include_device, self.colored = verbose, include_stride, include_device, colored
        self.free_vars, self.body, self.globals, self.wrapped = [], [], {}, {}
        self.return_annotation = ""
        self.last_place = None

    def write(self):
        for name, (_, value) in BUILTINS.items():
            self.namespace._rename_object(value, name)
            self.globals[name] = value
        last_uses = self.last_uses()
        for index, node in enumerate(self.nodes):
            if self.verbose:
                self.write_place(node)
            self.body.append(f"# COUNTER: {index}\n")
            statement = self.statement(node)
            if statement is not None:
                self.body.append(statement + self.frees(node, last_uses))
        wraps = ""
        if self.wrapped:
            wrap = self.global_name("wrap", sconce.fx.wrap)
            wraps = "\n".join(f'{wrap}("{name}")' for name in self.wrapped)
        body = self.body or ["pass\n"]
        if self.codegen._body_transformer:
            body = self.codegen._body_transformer(body)
        for name, value in self.codegen.additional_globals():
            self.global_name(name, value)
        prologue = self.codegen.gen_fn_def(self.free_vars, self.return_annotation)
        lines, line_of = [], {}
        current = None
        for line in "".join(body).split("\n"):
            counter = re.search(r"# COUNTER: (\d+)", line)
            if counter:
                current = int(counter.group(1))
            else:
                line_of[len(lines) + prologue.count("\n") + 1] = current
                lines.append(line)
        text = "\n".join("    " + line for line in "\n".join(lines).lstrip("\n").split("\n"))
        return PythonCode(f"\n{wraps}\n\n{prologue}\n{text}", self.globals, line_of, wraps.count("\n") + 4)

    # ---- names ----

    def global_name(self, hint, obj):
        """The name of something outside of the graph; it becomes a global of the function unless torch has it."""
        if is_from_library(obj) and obj is not sconce.device:
            return get_qualified_name(obj) if not isinstance(obj, type) else type_repr(obj)
        name = self.namespace.create_name(hint, obj)
        self.globals[name] = obj
        return name

    def type_text(self, kind):
        if kind == ():
            return "()"
        text = type_repr(kind)
        if isinstance(kind, types.UnionType) and "|" in text:
            return "|".join(self.type_text(arg) for arg in kind.__args__)
        origin = getattr(kind, "__origin__", None)
        if origin is None:
            return self.global_name(text, kind)
        if isinstance(kind, typing._GenericAlias):
            origin = _OLD_GENERICS.get(origin, origin)
        name = self.global_name(type_repr(origin), origin)
        arguments = getattr(kind, "__args__", ())
        return f"{name}[{','.join(self.type_text(arg) for arg in arguments)}]" if arguments else name

    def value(self, arg):
        """An argument as an expression."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            return self.global_name(get_qualified_name(type(arg)), type(arg)) + repr(tuple(arg))
        if is_operator(arg):
            return "torch.ops." + operator_path(arg)
        if isinstance(arg, enum.Enum):
            return f"{self.global_name(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, sconce.Tensor):
            return f"torch.Tensor(size={list(arg.size())}, dtype={str(arg.dtype).rpartition('.')[2]})"
        if isinstance(arg, tuple):
            return f"({self.value(arg[0])},)" if len(arg) == 1 else "(" + ", ".join(map(self.value, arg)) + ")"
        if isinstance(arg, list):
            return "[" + ", ".join(map(self.value, arg)) + "]"
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        if isinstance(arg, type) or (isinstance(arg, (types.BuiltinMethodType, types.MethodType, types.FunctionType))):
            return self.global_name(getattr(arg, "__name__", "function"), arg)
        return self.paint("blue", repr(arg))

    def arguments(self, args, kwargs):
        return ", ".join([*map(self.value, args), *(f"{name} = {self.value(value)}" for name, value in kwargs.items())])

    def paint(self, color, text):
        return f"{_COLORS[color]}{text}\033[0m" if self.colored else text

    # ---- statements ----

    def statement(self, node):
        """The line of a node without its end; None for a placeholder, which is in the signature."""
        target = node.target
        annotation = self.annotation(node)
        start = f"{node!r}{annotation} = "
        if node.op == "placeholder":
            default = f" = {self.value(node.args[0])}" if node.args else ""
            self.free_vars.append(f"{target}{annotation}{default}")
            raw = target.replace("*", "")
            if raw != repr(node):
                self.body.append(f"{node!r} = {raw}\n")
            return None
        if node.op == "call_method":
            return f"{start}{format_target(self.value(node.args[0]), target)}({self.arguments(node.args[1:], node.kwargs)})"
        if node.op == "call_function":
            return self.call(node, start, annotation)
        if node.op == "call_module":
            return f"{start}{format_target(self.root_module, target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "get_attr":
            return start + format_target(self.root_module, target)
        if node.op == "output":
            if node.type is not None:
                self.return_annotation = f" -> {self.type_text(node.type)}"
            return self.codegen.generate_output(node.args[0])
        raise NotImplementedError(f"node: {node.op} {node.target}")

    def call(self, node, start, annotation):
        target = node.target
        if getattr(target, "__module__", "") == "_operator":
            values = [self.value(arg) for arg in node.args]
            if target.__name__ in magic_methods:
                return start + magic_methods[target.__name__].format(*values)
            if target.__name__ in inplace_methods:
                return f"{inplace_methods[target.__name__].format(*values)};  {node!r}{annotation} = {values[0]}"
        name = self.global_name(get_qualified_name(target), target)
        if name == "getattr" and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return start + format_target(self.value(node.args[0]), node.args[1])
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)
        return f"{start}{name}({self.arguments(node.args, node.kwargs)})"

    def annotation(self, node):
        kind = "" if node.type is None else f" : {self.type_text(node.type)}"
        if not self.verbose:
            return kind
        value = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
        shape = getattr(value, "shape", None)
        if shape is None:
            return kind
        text = self.paint("red", dtype_name(value.dtype)) + self.paint("blue", _sizes(shape))
        if isinstance(value, sconce.Tensor):
            text += self.paint("dim_blue", _sizes(value.stride()) if self.include_stride else "")
            text += self.paint("dim_green", str(value.device) if self.include_device else "")
            if type(value) is not sconce.Tensor:
                text = f"{type(value).__name__}({text})"
        return f': "{text}"'

    def write_place(self, node):
        """Before the lines of a node: where the program made it, when that is another place than before."""
        if node.op in ("placeholder", "output"):
            return
        place = "No stacktrace found for following nodes"
        found = re.findall(r'^\s*File "(.+)", line (\d+), in (.+)\n(.*)$', node.stack_trace or "", re.M)
        if found:
            file, line, name, code = found[-1]
            place = f"File: {file}:{line} in {name}, code: {code.strip()}"
        text = "\n" + self.paint("dim", f"# {place}") + "\n"
        if text != self.last_place:
            self.last_place = text
            self.body.append(text)

    def last_uses(self):
        """For every node, the values that nobody needs after it."""
        last, seen = {}, set()
        for user in reversed(self.nodes):
            for used in user._input_nodes:
                if used not in seen:
                    seen.add(used)
                    last.setdefault(user, []).append(used)
        return last

    def frees(self, node, last_uses):
        """The end of a line: lets go of what was used for the last time."""
        if node.op == "output":
            return "\n"
        free = last_uses.get(node, []) + ([node] if not node.users else [])
        if not free:
            return "\n"
        return ";  " + self.paint("dim", " = ".join([*map(repr, free), "None"])) + "\n"


def _sizes(sizes):
    return "[" + ", ".join(map(str, sizes)) + "]"
