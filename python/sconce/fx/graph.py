"""Graph: a list of nodes that is a function of Python."""

import builtins
import contextlib
import copy
import keyword
import re
import warnings

import sconce
from ._codegen import BUILTINS, CodeGen, PythonCode, _PyTreeCodeGen, _PyTreeInfo
from ._codegen import inplace_methods, magic_methods, reflectable_magic_methods  # noqa: F401
from ._names import is_operator, operator_path, snake_case
from .node import Node, _legal_ops, _torch_typename, map_arg

__all__ = ["PythonCode", "CodeGen", "Graph"]

_TAKEN = {**{name: object() for name in keyword.kwlist}, **vars(builtins), **{name: value for name, (_, value) in BUILTINS.items()}}


class _Namespace:
    """Names that are used once each, and hide nothing of Python's."""

    def __init__(self):
        self._obj_to_name = {}
        self._used_names = set()
        self._base_count = {}

    def create_name(self, candidate, obj):
        """The candidate, or the candidate with a number; always the same for an object that has one."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        base, number = re.match(r"(\w*?)(?:_(\d+))?$", candidate).groups()
        if not base:  # "_1"
            base, number = candidate, None
        if number is None or candidate in self._used_names:
            number = self._base_count.get(base, 0)
            if _TAKEN.get(candidate, obj) is not obj:
                number += 1
                candidate = f"{base}_{number}"
        else:
            number = int(number)
        while candidate in self._used_names:
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name, obj):
        """Gives an object a name that create_name made."""
        assert self._obj_to_name.setdefault(obj, name) is name, "obj is already associated"

    def _rename_object(self, obj, name):
        self._obj_to_name[obj] = name
        self._used_names.add(name)


class _InsertPoint:
    """Where new nodes go, for the length of a with block."""

    def __init__(self, graph, insert):
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self):
        pass

    def __exit__(self, *error):
        self.graph._insert = self.before


class _node_list:
    """The nodes in order; the current one may be erased or moved while iterating."""

    def __init__(self, graph, direction="_next"):
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class Graph:
    """Nodes in the order in which they run: placeholders, calls, one output."""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len = 0
        self._used_names = {}
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._owners = 0
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    # ---- reading ----

    @property
    def nodes(self):
        """All nodes, in order."""
        return _node_list(self)

    @property
    def owning_module(self):
        """The GraphModule that runs this graph; None when there are none or several."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module):
        if module:
            self._owning_module = module if not self._owners else None
            self._owners += 1

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of this kind with this target (any, for kinds other than call_function)."""
        if op == "call_function":
            assert target is not None, "target must not be None for call_function op"
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self):
        """The output, which is the last node."""
        node = next(iter(reversed(self.nodes)))
        assert node.op == "output", f"Expected output node, got op={node.op}"
        return node

    def process_inputs(self, *args):
        """What placeholders get for these arguments."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """The function's result for this result of the graph."""
        return self._codegen.process_outputs(out)

    # ---- making nodes ----

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """A new node, at the place where nodes are inserted."""
        args, kwargs = args or (), kwargs or {}
        assert isinstance(args, tuple), f"args must be a tuple, got {type(args)}"
        assert isinstance(kwargs, dict), f"kwargs must be a dict, got {type(kwargs)}"
        name = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target), None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def placeholder(self, name, type_expr=None, default_value=...):
        """An input of the function."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """An attribute of the module: parameter, buffer or submodule."""
        if self.owning_module is not None and not _is_attribute(self.owning_module, qualified_name):
            warnings.warn("Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                          "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                          "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer", stacklevel=2)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of a submodule."""
        if self.owning_module is not None:
            try:
                self.owning_module.get_submodule(module_name)
            except AttributeError:
                warnings.warn("Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! "
                              "Call GraphModule.add_submodule to add the necessary submodule", stacklevel=2)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """The result of the function."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node, arg_transform=lambda x: x):
        """A copy of a node of another graph; arg_transform turns that graph's nodes into this one's."""
        made = self.create_node(node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform),
                                node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copies all nodes of a graph; returns what it outputs, or None. val_map gets the copy of every node."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return result if not return_output_node else (result, node)
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def _target_to_str(self, target):
        if is_operator(target):
            name = operator_path(target).partition(".")[2].replace(".", "_")
        else:
            assert callable(target) or isinstance(target, str), f"Expected target to be str, got {type(target)}"
            name = target.__name__ if callable(target) else target
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return snake_case(name)

    # ---- changing ----

    def inserting_before(self, n=None):
        """In a with block: new nodes go before this one, or to the start."""
        if n is None:
            return self.inserting_after(self._root)
        assert n.graph is self, "Node to insert before is not in graph."
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n=None):
        """In a with block: new nodes go right after this one (the last made comes first), or to the end."""
        if n is None:
            return self.inserting_before(self._root)
        assert n.graph is self, "Node to insert after is not in graph."
        return _InsertPoint(self, n.append)

    def erase_node(self, to_erase):
        """Takes out a node that nobody uses."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                               f"{to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node")
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs(map_arg(to_erase.args, lambda n: None), map_arg(to_erase.kwargs, lambda n: None))

    def eliminate_dead_code(self, is_impure_node=None):
        """Takes out nodes that nobody uses and that do nothing else. Returns whether there were any."""
        self.lint()
        is_impure = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not is_impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self):
        """Raises an error when nodes are used before they are made, or their targets are not there."""
        names, seen = set(), set()
        for node in self.nodes:
            if node.op not in _legal_ops[:-1]:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for arg in node._input_nodes:
                if arg.graph is not self:
                    raise RuntimeError(f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an "
                                       "argument! If you are copying nodes from another graph, make sure to use "
                                       f"``arg_transform`` on node_copy() to remap values\n{self}")
                if arg not in seen:
                    raise RuntimeError(f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check "
                                       f"that Nodes in the graph are topologically ordered\n{self}")
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                _check_target(node, self.owning_module)

    # ---- texts ----

    def set_codegen(self, codegen):
        """Another way of writing the function."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """Passes the lines of the body through a function each time code is made: make_transformer gets the one that does so
        now, or None, and returns the new one. The result is a context manager that takes it away again."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def restore():
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return restore()

    def python_code(self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False):
        """The function as text: src, and globals that it needs."""
        namespace = _Namespace()

        def name_of(node):
            return namespace.create_name(node.name, node)

        before = {node: node._repr_fn for node in self.nodes}
        try:
            for node in self.nodes:
                node._repr_fn = name_of
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, verbose=verbose,
                                                  include_stride=include_stride, include_device=include_device, colored=colored)
        finally:
            for node, repr_fn in before.items():
                node._repr_fn = repr_fn

    def __str__(self):
        lines = [node.format_node([]) for node in self.nodes]
        return "graph():" + "".join("\n    " + line for line in lines if line)

    def print_tabular(self):
        """Prints a table of all nodes."""
        header = ["opcode", "name", "target", "args", "kwargs"]
        rows = [[str(cell) for cell in (n.op, n.name, n.target, n.args, n.kwargs)] for n in self.nodes]
        widths = [max([len(title) + 2, *(len(row[i]) for row in rows)]) for i, title in enumerate(header)]

        def line(cells):
            return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()

        print("\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)]))

    # ---- copies ----

    def __deepcopy__(self, memo=None):
        made = Graph(tracer_cls=self._tracer_cls)
        val_map = {}
        result = made.graph_copy(self, val_map, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        if result is not None:
            value, old = result
            made.output(value, type_expr=getattr(old, "type", None)).meta = copy.copy(old.meta)
        return made

    def __getstate__(self):
        raise TypeError("a graph is not pickled itself: a GraphModule is, by its code")


def _is_attribute(module, qualified_name):
    path, _, name = qualified_name.rpartition(".")
    try:
        owner = module.get_submodule(path)
    except AttributeError:
        warnings.warn(f"Failed to fetch module {path}!")
        return False
    found = getattr(owner, name, None)
    return isinstance(found, (sconce.nn.Module, sconce.nn.Parameter)) or name in owner._buffers


def _check_target(node, module):
    """Raises an error when a node's target is not what its kind calls for."""
    if node.op == "call_function" and not callable(node.target):
        raise ValueError(f"Node {node} target {node.target} has type {_torch_typename(node.target)} but a Callable is expected")
    if node.op != "call_function" and not isinstance(node.target, str):
        raise ValueError(f"Node {node} target {node.target} has type {_torch_typename(node.target)} but a str is expected")
    if node.op not in ("get_attr", "call_module"):
        return
    parts, found = node.target.split("."), module
    for i, part in enumerate(parts):
        found = getattr(found, part, None)
        if found is None:
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of "
                               f"{'.'.join(parts[:i])}")
        if node.op == "call_module" and not isinstance(found, sconce.nn.Module):
            raise RuntimeError(f"Node {node} target {node.target} {part} of {'.'.join(parts[:i])} does not reference an nn.Module")


__all__ += ["_PyTreeCodeGen", "_PyTreeInfo"]
