"""Graphs of fx as programs of the IR, and back.

    f = to_script(gm)                a ScriptFunction of the same operators, or a list of them: parameters become its constants
    gm = from_script(f)              a GraphModule of the operators of a program without control flow

Both keep every operator with its overload and arguments. call_module and call_method exist only in fx: to_script follows modules
and methods down to the operators that they run (make_fx), for example arguments.
"""

import operator

import sconce
from .. import _sconce
from ._names import is_operator
from .experimental.proxy_tensor import make_fx
from .graph import Graph
from .graph_module import GraphModule, _get_attr
from .node import Node, map_aggregate

__all__ = ["to_script", "from_script"]


def to_script(module, *example_inputs, name="forward"):
    """A ScriptFunction that does what a GraphModule does. A graph with nodes other than operators of sconce.ops, functions on
    numbers and attributes needs example_inputs, with which it is traced; sizes are those of the examples then."""
    if not _is_of_operators(module.graph):
        if not example_inputs:
            raise ValueError("to_script: the graph has calls of modules, methods or functions, so that example_inputs are needed")
        module = make_fx(module)(*example_inputs)
    builder, values = _sconce._GraphBuilder(), {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            values[node] = builder.input(node.name, _type_of(node))
        elif node.op == "get_attr":
            values[node] = builder.constant(_get_attr(module, node.target))
        elif node.op == "output":
            return builder.finish(name, _listed(node.args[0], values))
        else:
            values[node] = _call(builder, node, _listed(node.args, values), dict(_listed(node.kwargs, values)))
    raise ValueError("to_script: the graph has no output")


_NUMBERS = {operator.add: "aten::add", operator.sub: "aten::sub", operator.mul: "aten::mul", operator.floordiv: "aten::floordiv",
            operator.truediv: "aten::div", operator.mod: "aten::remainder", operator.neg: "aten::neg"}


def _call(builder, node, args, kwargs):
    if node.target is operator.getitem:
        return args[0][args[1]] if isinstance(args[0], tuple) else builder.call("aten::__getitem__", None, args, {})
    if node.target in _NUMBERS:
        return builder.call(_NUMBERS[node.target], None, args, kwargs)
    base, _, overload = node.target.__name__.partition(".")
    return builder.call(base, overload, args, kwargs)


def _listed(args, values):
    return map_aggregate(args, lambda item: values[item] if isinstance(item, Node) else item)


def _is_of_operators(graph):
    return all(node.op in ("placeholder", "get_attr", "output") or node.op == "call_function" and
               (is_operator(node.target) or node.target is operator.getitem or node.target in _NUMBERS) for node in graph.nodes)


def _type_of(node):
    if "val" in node.meta and node.meta["val"] is None:
        return "NoneType"
    for kind, name in ((bool, "bool"), (int, "int"), (float, "float")):
        if node.type is kind or isinstance(node.meta.get("val"), kind):
            return name
    return "Tensor"



def from_script(function):
    """A GraphModule of the operators of a ScriptFunction; constants become arguments, or attributes when they are tensors. Raises
    NotImplementedError for control flow, calls and classes."""
    nodes, result = _sconce._graph_nodes(function)
    graph, root, values = Graph(), sconce.nn.Module(), {}
    for kind, overload, names, inputs, extra in nodes:
        if kind == "input":
            values[names[0]] = graph.placeholder(extra)
        elif kind == "prim::Constant":
            values[names[0]] = _constant(graph, root, extra)
        elif kind in ("prim::ListConstruct", "prim::TupleConstruct"):
            made = [values[name] for name in inputs]
            values[names[0]] = made if kind == "prim::ListConstruct" else tuple(made)
        elif kind in ("prim::ListUnpack", "prim::TupleUnpack"):
            source = values[inputs[0]]
            for i, name in enumerate(names):
                values[name] = source[i] if isinstance(source, (list, tuple)) else graph.call_function(operator.getitem, (source, i))
        elif overload is None:
            raise NotImplementedError(f"from_script: {kind} is not supported, only operators are")
        else:
            _add_call(graph, kind, overload, names, [values[name] for name in inputs], values)
    graph.output(values[result])
    return GraphModule(root, graph, function.name)


def _constant(graph, root, value):
    if not isinstance(value, sconce.Tensor):
        return value
    name = f"_tensor_constant{len(root._buffers)}"
    root.register_buffer(name, value)
    return graph.get_attr(name)


def _add_call(graph, kind, overload, names, inputs, values):
    if kind == "aten::__getitem__":
        values[names[0]] = graph.call_function(operator.getitem, tuple(inputs))
        return
    namespace, _, base = kind.partition("::")
    target = getattr(getattr(getattr(sconce.ops, namespace), base), overload or "default")
    args, kwargs = [], {}
    parameters = _sconce._operator_parameters(f"{kind}.{overload}" if overload else kind)
    for (argument, default, keyword_only), value in zip(parameters, inputs):
        if keyword_only:
            if default is None or type(default[0]) is not type(value) or default[0] != value:
                kwargs[argument] = value
        else:
            args.append(value)
    node = graph.call_function(target, tuple(args), kwargs, name=base)
    if len(names) == 1:
        values[names[0]] = node
    else:
        for i, name in enumerate(names):
            values[name] = graph.call_function(operator.getitem, (node, i))
