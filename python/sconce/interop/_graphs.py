"""Graphs of ATen operators, as torch.export and aot_autograd make them, as functions of our IR.

Operators keep their names and overloads. Those that we do not have call PyTorch, one by one; callbacks() lists them.
"""

import math
import operator
import warnings

import torch
import torch.fx

from .. import _sconce
from ._values import to_sconce, to_torch

_reported = {}  # operators that PyTorch ran, by name

# Functions on numbers (sizes) that graphs have beside operators.
_NUMBERS = {
    operator.add: "aten::add", operator.sub: "aten::sub", operator.mul: "aten::mul", operator.floordiv: "aten::floordiv",
    operator.truediv: "aten::div", operator.mod: "aten::remainder", operator.pow: "aten::pow", operator.neg: "aten::neg",
    operator.eq: "aten::eq", operator.ne: "aten::ne", operator.lt: "aten::lt", operator.le: "aten::le", operator.gt: "aten::gt",
    operator.ge: "aten::ge", operator.and_: "aten::__and__", operator.or_: "aten::__or__", operator.not_: "aten::__not__",
    math.trunc: "aten::Int", math.floor: "aten::floor", math.ceil: "aten::ceil", math.sqrt: "aten::sqrt",
    torch.sym_max: "prim::max", torch.sym_min: "prim::min", torch.sym_int: "aten::Int", torch.sym_float: "aten::Float",
    torch.sym_not: "aten::__not__",
}


def callbacks():
    """The operators that PyTorch ran because we do not have them: name -> is it one of Core ATen?"""
    return dict(_reported)


class Unsupported(Exception):
    """A node that is no operator and no function on numbers."""


class Translation:
    """One graph on its way into our IR. `function` takes the placeholders in order and returns a tuple; `results` says for each
    output of the graph which placeholder it is, or -1 for the next part of that tuple."""

    def __init__(self, graph_module, name="forward"):
        self.graph_module = graph_module
        self.builder = _sconce._GraphBuilder()
        self.values = {}
        self.is_random = False
        self.callbacks = []
        self.placeholders = []
        self.may_have_bits = []  # per placeholder: a tensor that is conjugate or negative by a bit
        self.results = []
        for node in graph_module.graph.nodes:
            try:
                made = getattr(self, node.op)(node)
            except Unsupported:
                raise
            except Exception as error:
                raise RuntimeError(f"{node.format_node()}: {error}") from error
            if node.op != "output":
                self.values[node] = made
        self.function = self.builder.finish(name, self.returned)

    def placeholder(self, node):
        self.placeholders.append(node)
        value = node.meta.get("val", node.meta.get("example_value"))
        self.may_have_bits.append(isinstance(value, torch.Tensor) and (value.is_neg() or value.is_conj()))
        return self.builder.input(node.name, _type_of(value))

    def get_attr(self, node):
        value = self.graph_module
        for part in node.target.split("."):
            value = getattr(value, part)
        if isinstance(value, torch.fx.GraphModule):
            raise Unsupported(f"the graph {node.target} as a value")
        # Not through an operator of PyTorch: while it compiles, those make tensors without memory.
        return self.builder.constant(_sconce._from_torch(value) if isinstance(value, torch.Tensor) else value)

    def call_function(self, node):
        args, kwargs = self.arguments(node.args), dict(self.arguments(node.kwargs))
        if isinstance(node.target, torch._ops.OpOverload):
            return self.operator(node.target, args, kwargs)
        if node.target is operator.getitem:
            if isinstance(args[0], (tuple, list)):
                return args[0][args[1]]
            return self.builder.call("aten::__getitem__", None, args, {})
        if node.target in _NUMBERS and not kwargs:
            if not any(isinstance(arg, _sconce._GraphValue) for arg in args):
                return node.target(*args)
            return self.builder.call(_NUMBERS[node.target], None, args, {})
        if node.target is operator.pos:
            return args[0]
        raise Unsupported(f"{node.target}")

    def operator(self, target, args, kwargs):
        namespace, _, name = target._schema.name.partition("::")
        overload = target._schema.overload_name
        found = _sconce._find_operator(f"{namespace}::{name}", overload)
        if found is None:
            return self.callback(target, args, kwargs)
        self.is_random |= found[2]
        return self.builder.call(f"{namespace}::{name}", overload, args, kwargs)

    def callback(self, target, args, kwargs):
        """A node that calls PyTorch's operator."""
        name = _callback_operator(target)
        self.callbacks.append(str(target))
        if str(target) not in _reported:
            _reported[str(target)] = torch.Tag.core in target.tags
            warnings.warn(f"sconce has no operator {target}: PyTorch runs it", stacklevel=2)
        return self.builder.call(name, target._schema.overload_name, args, kwargs)

    def output(self, node):
        results = node.args[0] if isinstance(node.args[0], (tuple, list)) else [node.args[0]]
        returned = []
        for result in results:
            if isinstance(result, torch.fx.Node) and result.op == "placeholder":
                self.results.append(self.placeholders.index(result))
            else:
                self.results.append(-1)
                returned.append(self.values[result] if isinstance(result, torch.fx.Node) else result)
        self.returned = tuple(returned)

    def arguments(self, args):
        """Arguments of a node: values of the graph for nodes, ours for what PyTorch names."""
        def value(item):
            if isinstance(item, torch.fx.Node):
                return self.values[item]
            if isinstance(item, (tuple, list)):
                return type(item)(value(part) for part in item) if type(item) in (tuple, list) else [value(part) for part in item]
            if isinstance(item, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                raise Unsupported(f"the symbolic number {item} as a constant")
            return to_sconce(item)

        if isinstance(args, dict):
            return {name: value(item) for name, item in args.items()}
        return tuple(value(item) for item in args)


def _type_of(value):
    """The type of a placeholder, by its example."""
    for kinds, name in (((bool, torch.SymBool), "bool"), ((int, torch.SymInt), "int"), ((float, torch.SymFloat), "float"),
                        ((torch.Tensor,), "Tensor"), ((str,), "str"), ((type(None),), "NoneType")):
        if isinstance(value, kinds):
            return name
    raise Unsupported(f"an input of type {type(value).__name__}")


_callback_operators = {}


def _callback_operator(target):
    """The name of our operator that calls PyTorch's; made on first use."""
    if target not in _callback_operators:
        schema = target._schema
        name = "torch_callback::" + schema.name.replace("::", "_").replace(".", "_")
        named = [argument.name for argument in schema.arguments if argument.kwarg_only]
        count = len(schema.arguments) - len(named)

        def run(*values):
            values = [to_torch(value) for value in values]
            return to_sconce(target(*values[:count], **dict(zip(named, values[count:]))))

        text = str(schema).replace("SymInt", "int").replace(schema.name, name, 1)
        _sconce._define_python_op(text, run)
        _callback_operators[target] = name
    return _callback_operators[target]
