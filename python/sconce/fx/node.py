"""Node: one step of a Graph, and the functions that walk through its arguments."""

import builtins
import inspect
import types

import sconce
from ._names import get_qualified_name as _get_qualified_name
from ._names import is_operator, operator_path, public_module, type_repr as _type_repr
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]

base_types = (str, int, float, bool, complex, sconce.dtype, sconce.Tensor, sconce.device, sconce.memory_format, sconce.layout,
              types.EllipsisType, range, slice, sconce._sconce.OperatorFunction)

_legal_ops = ("call_function", "call_method", "get_attr", "call_module", "placeholder", "output", "root")

_side_effectful_functions = set()


def has_side_effect(fn):
    """Keeps calls of a function in a graph although nobody uses their results."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a, fn):
    """The same structure of tuples, lists, dicts and slices, with fn applied to everything in it."""
    if isinstance(a, tuple):
        mapped = tuple(map_aggregate(item, fn) for item in a)
        return mapped if not hasattr(a, "_fields") else type(a)(*mapped)
    if isinstance(a, list):
        return immutable_list(map_aggregate(item, fn) for item in a)
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(value, fn)) for key, value in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a, fn):
    """The same structure, with fn applied to every Node in it."""
    assert callable(fn), "torch.fx.map_arg(a, fn): fn must be a callable"
    return map_aggregate(a, lambda item: fn(item) if isinstance(item, Node) else item)


def _format_arg(arg, max_list_len=float("inf")):
    """An argument as the text of a graph shows it: nodes with a %."""
    if isinstance(arg, (list, tuple)):
        parts = [_format_arg(item) for i, item in enumerate(arg) if i < max_list_len]
        if len(arg) > max_list_len:
            parts.append(f"...[total_len={len(arg)}]")
        inside = ", ".join(parts)
        if isinstance(arg, list):
            return f"[{inside}]"
        return f"({inside},)" if len(arg) == 1 else f"({inside})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    if isinstance(arg, Node):
        return "%" + arg.name
    return operator_path(arg) if is_operator(arg) else str(arg)


class Node:
    """One step of a graph: an input, a call, an attribute or the output.

    | op            | target                   | args, kwargs            |
    | placeholder   | name of the argument     | default value or empty  |
    | get_attr      | path of the attribute    | empty                   |
    | call_function | the function             | its arguments           |
    | call_method   | name of the method       | its arguments with self |
    | call_module   | path of the module       | its arguments           |
    | output        | 'output'                 | (the result,)           |
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        assert op in _legal_ops
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {_torch_typename(target)} "
                                 "but a Callable is expected")
        elif not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {_torch_typename(target)} "
                             "but a str is expected")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self._input_nodes = {}
        self.users = {}
        self._args, self._kwargs = (), immutable_dict()
        self._prev = self._next = self
        self._erased = False
        self._repr_fn = None
        self.meta = {}
        self._update_args_kwargs(args, kwargs)

    # ---- its place ----

    @property
    def next(self):
        """The node after this one."""
        return self._next

    @property
    def prev(self):
        """The node before this one."""
        return self._prev

    def prepend(self, x):
        """Puts the node x before this one."""
        assert self.graph == x.graph, "Attempting to move a Node into a different Graph"
        if self == x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x):
        """Puts the node x after this one."""
        self._next.prepend(x)

    def _remove_from_list(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other):
        return self._is_before(other)

    def __gt__(self, other):
        return other._is_before(self)

    def __le__(self, other):
        return self is other or self < other

    def __ge__(self, other):
        return self is other or self > other

    def _is_before(self, other):
        order = {node: i for i, node in enumerate(self.graph.nodes)}
        return order[self] < order[other]

    # ---- its arguments ----

    @property
    def args(self):
        """Positional arguments: values, nodes, and tuples, lists, dicts and slices of them."""
        return self._args

    @args.setter
    def args(self, a):
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self):
        """Keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k):
        self._update_args_kwargs(self._args, k)

    def _update_args_kwargs(self, args, kwargs):
        for used in self._input_nodes:
            used.users.pop(self, None)
        self._input_nodes = {}

        def use(node):
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = map_arg(tuple(args), use)
        self._kwargs = map_arg(dict(kwargs), use)

    @property
    def all_input_nodes(self):
        """All nodes that this one uses, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx, arg):
        """Another positional argument in this place."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """One more positional argument, before place idx."""
        assert 0 <= idx <= len(self.args), "insert_args index must be between 0 and len(self.args)"
        self.args = self.args[:idx] + (arg,) + self.args[idx:]

    def update_kwarg(self, key, arg):
        """Another keyword argument of this name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Lets the users of this node use another one; those for which delete_user_cb is true. Returns the users it had."""
        if propagate_meta:
            assert not replace_with.meta, "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but " \
                                          "replace_with already has .meta keys"
            replace_with.meta.update(self.meta)
        users = list(self.users)
        chosen = [user for user in users if delete_user_cb(user)]
        for user in chosen:
            hooks = getattr(self.graph.owning_module, "_replace_hooks", ())
            for hook in hooks:
                hook(old=self, new=replace_with.name, user=user)
            user.replace_input_with(self, replace_with)
        return chosen

    def replace_input_with(self, old_input, new_input):
        """Lets this node use another one in place of one of its inputs."""
        def replaced(node):
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self.args, replaced), map_arg(self.kwargs, replaced))

    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """Arguments by the signature of the function or module that is called, as (args, kwargs); None when it has none."""
        if self.op == "call_module":
            function = root.get_submodule(self.target).forward
        elif self.op == "call_function":
            function = self.target
        else:
            return None
        try:
            bound = inspect.signature(function).bind(*self.args, **self.kwargs)
        except (TypeError, ValueError):
            return None
        bound.apply_defaults()
        if normalize_to_only_use_kwargs:
            return ArgsKwargsPair((), dict(bound.arguments))
        return ArgsKwargsPair(bound.args, bound.kwargs)

    # ---- what it does ----

    @property
    def stack_trace(self):
        """Where the program made it: lines of Python's traceback, or None."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random=True):
        """Must it stay in the graph although nobody uses it?"""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if self.target in _side_effectful_functions:
                return True
            schemas = _schemas_of(self.target)
            if schemas is not None and any("!" in schema.split("->")[0] for schema in schemas):
                return True
            return bool(impure_random and _is_random(self.target))
        if self.op == "call_module":
            owner = self.graph.owning_module
            assert owner is not None, "self.graph.owning_module not set for purity check"
            return getattr(owner.get_submodule(self.target), "_is_impure", False)
        return False

    # ---- texts ----

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    def _pretty_print_target(self, target):
        if isinstance(target, str):
            return target
        if is_operator(target):
            return _get_qualified_name(target)
        module = getattr(target, "__module__", None)
        if not hasattr(target, "__module__") or not hasattr(target, "__name__"):
            return _get_qualified_name(target)
        if module == "builtins":
            return f"builtins.{target.__name__}"
        if module == "_operator":
            return f"operator.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """The line of this node in the text of its graph. Placeholders go into the given list instead, if it has any."""
        kind = f"{_type_repr(self.type)} " if self.type is not None else ""
        start = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            text = f"{self.target}{self.target}: {_type_repr(self.type)}" if self.type else ""
            if placeholder_names:
                placeholder_names.append(text)
                return None
            return f"{start}[target={self.target}]" + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return f"{start}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        return f"{start}[target={self._pretty_print_target(self.target)}](args = {_format_arg(self.args)}, " \
               f"kwargs = {_format_arg(self.kwargs)})"


class ArgsKwargsPair(tuple):
    """Arguments of a call: .args and .kwargs."""

    def __new__(cls, args, kwargs):
        return tuple.__new__(cls, (args, kwargs))

    args = property(lambda self: self[0])
    kwargs = property(lambda self: self[1])


def _schemas_of(target):
    """The schemas of an operator, as texts; None for other functions."""
    if not is_operator(target):
        return None
    base, _, overload = target.__name__.partition(".")
    overloads = target.overloads() if operator_path(target).count(".") == 1 else [overload]
    found = [sconce._sconce._find_operator(base, "" if name == "default" else name) for name in overloads]
    return [operator[0] for operator in found if operator is not None]


def _is_random(target):
    """True for an operator that draws random numbers."""
    if not is_operator(target):
        return False
    base, _, overload = target.__name__.partition(".")
    found = sconce._sconce._find_operator(base, overload)
    return found is not None and found[2]


def _torch_typename(obj):
    kind = type(obj)
    return kind.__name__ if kind.__module__ == builtins.__name__ else f"{public_module(kind.__module__)}.{kind.__name__}"
