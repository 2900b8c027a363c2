"""make_fx: the graph of the operators that a function runs on tensors, real ones or of device 'meta'.

    gm = make_fx(lambda x: F.softmax(x, dim=1))(sconce.randn(2, 3))

Operators are seen below autograd, so that gradients taken inside of the function are part of the graph. What the function asks of
tensors in Python (sizes, truth, items) is a constant of the graph.
"""

import functools
import inspect
import operator

import sconce
from ... import _sconce
from .. import _pytree
from .._codegen import _PyTreeCodeGen, _PyTreeInfo
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import map_aggregate

__all__ = ["make_fx"]


def make_fx(f, decomposition_table=None, tracing_mode="real", _allow_non_fake_inputs=False, *, pre_dispatch=False,
            record_module_stack=False):
    """A function that takes example arguments and returns a GraphModule of what f does with them. decomposition_table: functions
    that are run, and recorded, in place of operators (sconce.ops.aten.silu.default)."""
    for name, given, default in (("tracing_mode", tracing_mode, "real"),
                                 ("_allow_non_fake_inputs", _allow_non_fake_inputs, False), ("pre_dispatch", pre_dispatch, False),
                                 ("record_module_stack", record_module_stack, False)):
        if given != default:
            raise NotImplementedError(f"make_fx: {name}={given!r} is not supported, only {default!r}")

    def wrapped(*args):
        return _Recorder(decomposition_table or {}).trace(f, args)

    return wrapped


class _Recorder:
    """The graph while it grows, and which node every tensor is the value of."""

    def __init__(self, decompositions):
        self.decompositions = {op.__name__: function for op, function in decompositions.items()}
        self.graph = Graph()
        self.root = sconce.nn.Module()
        self.nodes = {}  # id of a tensor -> its node
        self.kept = []   # so that ids stay those of these tensors
        self.constants = 0

    def trace(self, f, args):
        names = _names(f, len(args))
        inputs = []
        for name, arg in zip(names, args):
            leaves, spec = _pytree.tree_flatten(arg)
            made = [self.input(leaf, f"{name}_{i + 1}") for i, leaf in enumerate(leaves)]
            inputs.append(_pytree.tree_unflatten(made, spec))
        result = _sconce._run_hooked(self.record, self.decompositions, f, tuple(inputs))
        in_spec = _pytree.tree_flatten(args)[1]
        if any(child.type is not None for child in in_spec.children_specs):
            result, out_spec = _pytree.tree_flatten(result)
            self.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, in_spec, out_spec)))
        self.graph.output(map_aggregate(result, self.argument))
        return GraphModule(self.root, self.graph, getattr(f, "__name__", type(f).__name__))

    def input(self, leaf, name):
        """The function's own object for an argument, so that nothing outside of it is taken for the argument."""
        node = self.graph.placeholder(name)
        if not isinstance(leaf, sconce.Tensor):
            node.meta["val"] = leaf
            return leaf
        made = leaf.detach().requires_grad_(leaf.requires_grad)
        self.track(made, node)
        return made

    def track(self, tensor, node):
        self.nodes[id(tensor)] = node
        self.kept.append(tensor)
        node.meta["val"] = tensor

    def record(self, name, args, results, goes_through):
        """An operator has run: makes its node, unless the operators inside of it made one for each of its results."""
        tensors = [t for t in _pytree.tree_leaves(results) if isinstance(t, sconce.Tensor)]
        written = _writes(name)
        if not tensors or goes_through and not written and all(id(t) in self.nodes for t in tensors):
            return
        args, kwargs = self.arguments(name, args)
        name = _as_python_calls(name)
        node = self.graph.call_function(_operator(name), args, kwargs, name=name.partition("::")[2].partition(".")[0])
        if len(results) == 1 and isinstance(results[0], sconce.Tensor):
            self.track(results[0], node)
            return
        many = results[0] if len(results) == 1 else results
        node.meta["val"] = many
        for i, part in enumerate(many):
            if isinstance(part, sconce.Tensor):
                self.track(part, self.graph.call_function(operator.getitem, (node, i)))

    def arguments(self, name, args):
        """Positional and keyword arguments of a call, without those at the end that are the defaults."""
        positional, named = [], {}
        for (argument, default, keyword_only), value in zip(_parameters(name), args):
            value, is_default = map_aggregate(value, self.argument), default is not None and _same(default[0], value)
            if not keyword_only:
                positional.append((value, is_default))
            elif not is_default:
                named[argument] = value
        while positional and positional[-1][1]:
            positional.pop()
        return tuple(value for value, _ in positional), named

    def argument(self, value):
        """The node of a tensor; one that nothing in the function made is a constant. Other values are what they are."""
        if not isinstance(value, sconce.Tensor):
            return value
        if id(value) not in self.nodes:
            # Autograd hands out what it saved as tensors of its own.
            same = next((t for t in reversed(self.kept) if t.is_set_to(value) and t.dtype is value.dtype), None)
            if same is not None:
                return self.nodes[id(same)]
            name = f"_tensor_constant{self.constants}"
            self.constants += 1
            setattr(self.root, name, value)
            self.track(value, self.graph.get_attr(name))
        return self.nodes[id(value)]


def _names(f, count):
    """What the parameters of a function are called; arg0, arg1 for *args."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return plain[:count] if len(plain) >= count else [f"arg{i}" for i in range(count)]


@functools.cache
def _operator(name):
    """sconce.ops.aten.add.Tensor for 'aten::add.Tensor'."""
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(sconce.ops, namespace), packet), overload or "default")


@functools.cache
def _parameters(name):
    return _sconce._operator_parameters(name)


@functools.cache
def _writes(name):
    """Does it write to an argument?"""
    base, _, overload = name.partition(".")
    return "!" in _sconce._find_operator(base, overload)[0].partition("->")[0]


def _as_python_calls(name):
    """PyTorch's Python makes tensors of numbers for the arithmetic operators, so that graphs have add.Tensor(x, 1)."""
    base, _, overload = name.partition(".")
    plain = base.removeprefix("aten::").removesuffix("_")
    return f"{base}.Tensor" if overload == "Scalar" and plain in ("add", "sub", "mul", "div") else name


def _same(a, b):
    return type(a) is type(b) and a == b
