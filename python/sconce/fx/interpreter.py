"""Interpreter: runs a graph node by node. Transformer: makes a new graph that way."""

from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate, map_arg
from .proxy import Proxy
from ._symbolic_trace import Tracer
from .. import _overrides

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module; methods named after kinds of nodes may be overridden."""

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.graph = module, module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses, seen = {}, set()
        for user in reversed(self.graph.nodes) if garbage_collect_values else ():
            for node in user._input_nodes:
                if node not in seen:
                    seen.add(node)
                    self.user_to_last_uses.setdefault(user, []).append(node)

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """The module's result. initial_env: values of nodes that need not run."""
        self.env = {} if initial_env is None else initial_env
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    text = f"While executing {node.format_node()}"
                    text = f"{error.args[0]}\n\n{text}" if error.args else text
                    error.args = (f"{text}\nOriginal traceback:\n{node.stack_trace}", *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            for unused in self.user_to_last_uses.get(node, ()):
                del self.env[unused]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list):
        """The same for a list of all arguments, which is emptied so that they may go as soon as they are used."""
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        if len(args_list) != len(placeholders):
            kind = "extra arguments" if len(args_list) > len(placeholders) else "missing arguments"
            raise RuntimeError(f"Interpreter.boxed_run expected {len(placeholders)} arguments for placeholders but received "
                               f"{len(args_list)} ({kind})")
        env = dict(zip(placeholders, args_list))
        args_list.clear()
        return self.run(initial_env=env)

    def run_node(self, n):
        """The value of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """The next argument, or the default."""
        if target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target, args, kwargs):
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target, args, kwargs):
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        return args[0]

    def fetch_attr(self, target):
        """An attribute of the module, by its path."""
        found, parts = self.module, target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[:i + 1])}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n):
        """The arguments of a node, with values in place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """The same structure with the values of nodes."""
        def value(node):
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues")
            return self.env[node]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Makes a new module from a graph: values are proxies, and overridden methods decide what becomes of each node."""

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=module.graph._tracer_cls)
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph):
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}
                self.root = module

            def is_leaf_module(self, m, module_qualified_name):
                return True

        self.tracer = TransformerTracer(self.new_graph)

    def placeholder(self, target, args, kwargs):
        default = next(iter(args)) if args else ...
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target, args, kwargs):
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        submodule = self.fetch_attr(target)
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)

    def call_function(self, target, args, kwargs):
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self):
        """The new module."""
        with _overrides.enabled():
            result = super().run(enable_io_processing=False)
        if result is not None:
            result = map_aggregate(result, lambda value: value.node if isinstance(value, Proxy) else value)
            old = self.graph.output_node()
            made = self.new_graph.output(result)
            made.type, made.meta = old.type, dict(old.meta)
        return GraphModule(self.module, self.new_graph)
