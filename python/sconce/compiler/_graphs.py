"""Graphs of captured programs as fx has them: one node for each call that the program made.

    graph_module([("input", "L_x_", fake, tensor), ("call", sconce.abs, (fake,), None, result)], (result,))
"""

import operator
import types

import sconce
from sconce._higher_order_ops import HigherOrderOperator
from sconce._polyfills.of_autograd import attach
from sconce.fx import Graph, GraphModule
from sconce.fx.node import map_aggregate

_NUMBERS = (sconce._sconce.SymInt, sconce._sconce.SymFloat)
_SLOTS = {f"__{name}__": getattr(operator, name) for name in
          ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and_", "or_", "xor", "neg",
           "pos", "abs", "invert", "lt", "le", "eq", "ne", "gt", "ge", "getitem", "setitem", "delitem", "iadd", "isub", "imul",
           "itruediv", "ifloordiv", "imod", "ipow", "ilshift", "irshift", "iand", "ior", "ixor")}
_SLOTS.update(__and__=operator.and_, __or__=operator.or_)
_SWAPPED = {f"__r{name}__": getattr(operator, name) for name in
            ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "xor")}
_SWAPPED.update(__rand__=operator.and_, __ror__=operator.or_)


class ObjectCall:
    """A call of an object of the program, which text cannot name: SGD_step(). It goes before the arguments of the node."""

    def __init__(self, function, name, first=()):
        self.function, self.first = function, first
        self.__name__, self.__module__ = name, "compiled"

    def __call__(self, *args):
        return self.function(*self.first, *args)

    def __repr__(self):
        return self.__name__


def graph_module(entries, outputs):
    """The GraphModule of a log of calls (call_log.h)."""
    return _Builder().build(entries, outputs)


class _Builder:
    def __init__(self):
        self.graph = Graph()
        self.root = sconce.nn.Module()
        self.nodes = {}  # id of a fake -> its node
        self.held = 0

    def build(self, entries, outputs):
        for kind, *rest in entries:
            getattr(self, f"add_{kind}")(*rest)
        self.graph.output(tuple(map_aggregate(list(outputs), self.argument)))
        for node in reversed(list(self.graph.nodes)):  # numbers that the program computed and the graph does without
            if node.op.startswith("call") and type(node.meta.get("example_value")) in _NUMBERS and not node.users:
                self.graph.erase_node(node)
        return GraphModule(self.root, self.graph, "GraphModule")

    def add_input(self, name, fake, original):
        last = next((n for n in reversed(self.graph.nodes) if n.op == "placeholder"), None)
        place = self.graph.inserting_after(last) if last is not None else self.graph.inserting_before(_first(self.graph))
        with place:
            node = self.graph.placeholder(name)
        node.meta["original"] = original
        self.track(fake, node)

    def add_held(self, fake, original):
        name = f"_tensor_constant{self.held}"
        self.held += 1
        setattr(self.root, name, original)
        self.track(fake, self.graph.get_attr(name))

    def add_call(self, target, args, kwargs, result):
        if isinstance(target, HigherOrderOperator):
            names = iter(target.graphs)
            args = tuple(self.add_subgraph(arg, next(names)) if type(arg).__name__ == "CompiledGraph" else arg for arg in args)
        if target is attach:
            target, args = ObjectCall(target, f"{args[0].__name__}_apply", args[:1]), args[1:]
        elif isinstance(target, types.MethodType):
            target = ObjectCall(target, f"{type(target.__self__).__name__}_{target.__name__}")
        args, kwargs = map_aggregate(args, self.argument), map_aggregate(kwargs or {}, self.argument)
        name = getattr(target, "__name__", "")
        if sconce.Tensor.__dict__.get(name) is not target:
            node = self.graph.call_function(target, args, kwargs)
        elif name in _SLOTS:
            node = self.graph.call_function(_SLOTS[name], args, kwargs)
        elif name in _SWAPPED:
            node = self.graph.call_function(_SWAPPED[name], args[::-1], kwargs)
        else:
            node = self.graph.call_method(name, args, kwargs)
        self.results(result, node)

    def add_subgraph(self, graph, name):
        count = sum(1 for known in self.root._modules if known.rpartition("_")[0] == name)
        self.root.add_module(f"{name}_{count}", graph.graph_module)
        return self.graph.get_attr(f"{name}_{count}")

    def add_operator(self, name, args, results):
        # As make_fx has it: what is default is left out.
        from ..fx.experimental import proxy_tensor
        positional, named = proxy_tensor._Recorder.arguments(self, name, args)
        node = self.graph.call_function(proxy_tensor._operator(name), positional, named,
                                        name=name.partition("::")[2].partition(".")[0])
        self.results(results[0] if len(results) == 1 else results, node)

    def results(self, result, node):
        if isinstance(result, sconce.Tensor) or type(result) in _NUMBERS:
            self.track(result, node)
            return
        node.meta["example_value"] = result
        for i, part in enumerate(result if isinstance(result, (tuple, list)) else ()):
            if isinstance(part, sconce.Tensor) and id(part) not in self.nodes:
                self.track(part, self.graph.call_function(operator.getitem, (node, i)))

    def track(self, tensor, node):
        node.meta["example_value"] = tensor
        self.nodes.setdefault(id(tensor), node)

    def argument(self, value):
        if isinstance(value, sconce.Tensor) or type(value) in _NUMBERS:
            return self.nodes.get(id(value), value)
        return value


def _first(graph):
    return next(iter(graph.nodes), None)
