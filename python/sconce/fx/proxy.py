"""Proxy: stands for a value while a program is traced, and writes down what is done with it."""

import bisect
import collections
import copy
import dataclasses
import dis
import enum
import inspect
import operator
import traceback

import sconce
from ._codegen import magic_methods, reflectable_magic_methods
from ._pytree import tree_leaves
from .node import base_types, map_arg

__all__ = ["TracerBase", "GraphAppendingTracer", "TraceError", "Proxy", "Attribute", "ParameterProxy", "Scope",
           "ScopeContextManager"]


class Scope:
    """The module whose forward is being traced: path and class."""

    def __init__(self, module_path, module_type):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Changes a scope for a with block."""

    def __init__(self, scope, current_scope):
        self._scope, self._before = scope, copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self):
        return self._scope

    def __exit__(self, *error):
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TraceError(ValueError):
    """The program asks for something that is known only when it runs."""


class TracerBase:
    """Makes nodes and proxies; what is traced, and how, is up to subclasses."""

    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def __init__(self):
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """A new node of the graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            frames = traceback.extract_stack()
            starts = [i for i, frame in enumerate(frames) if frame.name == "forward"]
            own = [frame for frame in frames[starts[0]:] if "sconce" not in frame.filename] if starts else []
            if own:
                node.stack_trace = "".join(traceback.StackSummary.from_list(own).format()).strip()
        return node

    def proxy(self, node):
        """What the program gets for a node."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """A new node, with proxies among its arguments, as a proxy."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a):
        """What a node holds for an argument of the program: proxies become their nodes."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(item) for item in a]
            return type(a)(*parts) if hasattr(a, "_fields") else type(a)(parts)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            kwargs = {field.name: self.create_arg(getattr(a, field.name)) for field in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), kwargs)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key):
        if isinstance(key, str):
            return key

        def refuse(node):
            raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {node}")

        key = self.create_arg(key)
        map_arg(key, refuse)
        return key

    def to_bool(self, obj):
        """The truth of a proxy; it is not known here."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """An iterator over a proxy; how long it is is not known here."""
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
                         "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
                         "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
                         "iteration errors")

    def keys(self, obj):
        """obj.keys(), for ** of a proxy."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """For proxies of an existing graph: what is done with them is added to it."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph


def assert_fn(x):
    """What `assert x` of a traced program becomes."""
    if not x:
        raise AssertionError("Assertion failed")


def _instructions_at(frame):
    """The instructions of a frame's code, and which of them runs."""
    instructions = list(dis.get_instructions(frame.f_code))
    return instructions, bisect.bisect_left(instructions, frame.f_lasti, key=lambda i: i.offset)


class Proxy:
    """Stands for the value of a node: operators, methods and functions of torch on it become nodes."""

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__ = state

    def __deepcopy__(self, memo):
        made = Proxy.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return made

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        instructions, at = _instructions_at(inspect.currentframe().f_back)
        if instructions[at].opname == "UNPACK_SEQUENCE":  # a, b = proxy says how many there are
            return (self[i] for i in range(instructions[at].argval))
        return self.tracer.iter(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        if self.tracer.trace_asserts:
            instructions, at = _instructions_at(inspect.currentframe().f_back)
            if instructions[at].opname in ("TO_BOOL", "COMPARE_OP"):  # CPython 3.13 asks before it jumps
                at += 1
            is_assert = at + 1 < len(instructions) and instructions[at + 1].opname == "LOAD_ASSERTION_ERROR"
            if instructions[at].opname.startswith("POP_JUMP") and "IF_TRUE" in instructions[at].opname and is_assert:
                self.tracer.create_proxy("call_function", assert_fn, (self,), {})
                return True
        return self.tracer.to_bool(self)

    def keys(self):
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please "
                           "call torch.fx.wrap('len') at module scope")

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = args or (), kwargs or {}
        tracers = {a.tracer: None for a in tree_leaves((args, dict(kwargs))) if isinstance(a, Proxy)}
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}")
        tracer = next(iter(tracers))
        name = orig_method.__name__
        if _is_method(orig_method):
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(orig_method))


def _is_method(function):
    """A method of Tensor, and no function of torch."""
    name = getattr(function, "__name__", "")
    return getattr(sconce.Tensor, name, None) is function or getattr(function, "__objclass__", None) is sconce.Tensor


class Attribute(Proxy):
    """An attribute of a proxy; a node of its own unless it is called."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer, self._node = root, attr, root.tracer, None

    @property
    def node(self):
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A proxy of a parameter whose sizes are known."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        assert isinstance(param, sconce.nn.Parameter), f"Expected Parameter, got {type(param)}"
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    shape = property(lambda self: self.param.shape)
    ndim = property(lambda self: self.param.ndim)

    def size(self):
        return self.param.size()

    def dim(self):
        return self.param.dim()

    def numel(self):
        return self.param.numel()

    def nelement(self):
        return self.param.nelement()


def _add_operators():
    """Proxy's operators: +, [], ==, and so on, and those with the proxy on the right."""
    def forward(name):
        target = getattr(operator, name, None)

        def method(*args, **kwargs):
            return args[0].tracer.create_proxy("call_function", target, args, kwargs)

        return method

    def reflected(name):
        target = getattr(operator, name, None)

        def method(self, rhs):
            return self.tracer.create_proxy("call_function", target, (rhs, self), {})

        return method

    for name in magic_methods:
        setattr(Proxy, f"__{name.strip('_')}__", forward(name))
    for name in reflectable_magic_methods:
        setattr(Proxy, f"__r{name.strip('_')}__", reflected(name))
    Proxy.__hash__ = object.__hash__


_add_operators()
