"""Tracer: runs a module or function with proxies in place of its arguments, and keeps what they wrote down."""

import builtins
import collections
import contextlib
import copy
import functools
import inspect
import itertools
import math
import types
import warnings

import sconce
from .. import _overrides, _sconce
from . import _pytree
from ._codegen import _PyTreeCodeGen, _PyTreeInfo
from .graph import Graph
from .graph_module import GraphModule, module_call
from .node import base_types, map_aggregate
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

_VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_tracing = 0
_proxyable_classes = {}
_wrapped_functions = {}  # (id of globals, name) -> globals


def is_fx_tracing():
    """Is a Tracer at work?"""
    return _tracing > 0


class ProxyableClassMeta(type):
    """Metaclass of classes whose construction from proxies becomes a node."""

    def __init__(cls, name, bases, attrs):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        proxy = _find_proxy(args, kwargs) if is_fx_tracing() else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class PHBase:
    """In concrete_args: an argument that stays an argument."""

    def __repr__(self):
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """The same; its attributes go to the node."""

    def __init__(self, ph_key=None):
        self.ph_key = ph_key


class Tracer(TracerBase):
    """Turns programs into graphs; methods may be overridden to change what becomes a node, and which."""

    _fresh_names = collections.defaultdict(int)

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        super().__init__()
        functions = itertools.chain.from_iterable(vars(module).items() for module in autowrap_modules)
        self._autowrap_ids = {id(value) for name, value in functions if not name.startswith("_") and callable(value)}
        self._autowrap_ids.update(map(id, autowrap_functions))
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.root_module_name = ""
        self.num_calls = {}

    # ---- what may be overridden ----

    def is_leaf_module(self, m, module_qualified_name):
        """Is a call of this module one node? So are those of the library, other than Sequential."""
        return type(m).__module__.startswith("sconce.nn") and not isinstance(m, sconce.nn.Sequential)

    def path_of_module(self, mod):
        """The name of a module within the root."""
        paths = self.submodule_paths or {module: name for name, module in self.root.named_modules()}
        if mod not in paths:
            raise NameError("module is not installed as a submodule")
        return paths[mod]

    def call_module(self, m, forward, args, kwargs):
        """What a call of a module is: a node for a leaf, otherwise what its forward does."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            key = f"{scope.module_path}@{calls}" if calls else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = calls + 1
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem(last=True)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What a module's attribute is: a proxy for a parameter."""
        tables = []
        if isinstance(attr_val, sconce.nn.Parameter):
            tables.append(self.root.named_parameters())
        if self.proxy_buffer_attributes and isinstance(attr_val, sconce.Tensor):
            tables.append(self.root.named_buffers())
        for name, tensor in itertools.chain(*tables):
            if tensor is not attr_val:
                continue
            if name not in parameter_proxy_cache:
                factory = None
                if self.param_shapes_constant:
                    def factory(node, name=name):
                        return ParameterProxy(self, node, name, attr_val)
                parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory)
            return parameter_proxy_cache[name]
        return attr_val

    def create_arg(self, a):
        """Tensors and modules of the root become attributes; other tensors become constants of it."""
        if isinstance(a, sconce.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, sconce.Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
            if id(a) not in self.tensor_attrs:
                name = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[id(a)] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", self.tensor_attrs[id(a)], (), {})
        if isinstance(a, sconce.nn.Module):
            for name, module in self.root.named_modules():
                if a is module:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(item) for item in a), {})
        if type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def get_fresh_qualname(self, prefix):
        """An attribute name that the root does not have."""
        if not hasattr(self.root, f"{prefix}0"):
            self._fresh_names[prefix] = 0
            return f"{prefix}0"
        number = self._fresh_names[prefix]
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        self._fresh_names[prefix] = number + 1
        return f"{prefix}{number}"

    # ---- arguments ----

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """The function to run and its arguments: a placeholder for each parameter that has no concrete value."""
        function = inspect.unwrap(root_fn)
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = iter(code.co_varnames)
        args = []
        if is_module:
            if count == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            next(names)
            args.append(self.root)
        signature = inspect.signature(function)
        if isinstance(concrete_args, tuple) and concrete_args and code.co_flags & _VARIABLE and count == 1:
            for i, value in enumerate(concrete_args):
                made = self.create_proxy("placeholder", f"input_{i}", (), {})
                _give_attributes(value, made.node)
                args.append(made)
            return root_fn, args
        named = [next(names) for _ in range(count - len(args))]
        if isinstance(concrete_args, tuple):
            if len(named) != len(concrete_args):
                raise RuntimeError(f"Tracing expected {len(named)} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(named, concrete_args))
        args += [self._placeholder(name, concrete_args, signature, function) for name in named]
        if code.co_kwonlyargcount or code.co_flags & _VARIABLE:
            if code.co_flags & inspect.CO_VARARGS:
                args.append(self._placeholder("*" + next(names), concrete_args, signature, function))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(self._placeholder("**" + next(names), concrete_args, signature, function))
            root_fn = _all_positional(root_fn, len(args))
        flat, in_spec = _pytree.tree_flatten(tuple(args))
        if all(child.type is None for child in in_spec.children_specs):
            return root_fn, args
        self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(list(code.co_varnames)[:count], in_spec, None))

        def flattened(*args):
            result, out_spec = _pytree.tree_flatten(root_fn(*_pytree.tree_unflatten(args, in_spec)))
            codegen = self.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return result

        return flattened, flat

    def _placeholder(self, name, concrete_args, signature, function):
        parameter = signature.parameters.get(name)
        default = () if parameter is None or parameter.default is inspect.Parameter.empty else (parameter.default,)
        if concrete_args is None or name not in concrete_args:
            annotation = function.__annotations__.get(name)
            return self.create_proxy("placeholder", name, default, {}, type_expr=annotation)
        counter = itertools.count(1)

        def replace(value):
            made = self.create_proxy("placeholder", f"{name}_{next(counter)}", default, {})
            if isinstance(value, PHBase):
                _give_attributes(value, made.node)
                return made
            said = f"{name} has been specialized to have value {value} but got another value"
            if type(value) in base_types and not isinstance(value, sconce.Tensor):
                self.create_proxy("call_function", _overrides.assert_, (made == value, said), {}, name="_assert")
            elif value is None:
                self.create_proxy("call_function", _assert_is_none, (made, said), {})
            else:
                warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up "
                              "to the user to make sure that your inputs match the inputs you specialized the function with.")
            return value

        return _pytree.tree_map(replace, concrete_args[name])

    # ---- tracing ----

    def trace(self, root, concrete_args=None):
        """The graph of a module or function."""
        global _tracing
        is_module = isinstance(root, sconce.nn.Module)
        if is_module:
            self.root = root
            assert hasattr(type(root), self.traced_func_name), \
                f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
            function = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root, function = sconce.nn.Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {id(value): (path + "." if path else "") + name
                             for path, module in self.root.named_modules()
                             for name, value in vars(module).items() if isinstance(value, sconce.Tensor)}
        assert isinstance(function, types.FunctionType), f"Expected FunctionType, got {type(function)}"
        scope = function.__globals__
        _tracing += 1
        try:
            with _overrides.enabled():
                function, args = self.create_args_for_root(function, is_module, concrete_args)
                with _Patches() as patches:
                    self._patch_modules(patches)
                    patches.wrap_registered()
                    for names in (scope, *map(vars, self._autowrap_search)):
                        patches.wrap_known(names, self._autowrap_ids)
                    result = function(*args)
                    annotations = inspect.get_annotations(inspect.unwrap(function))
                    self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=annotations.get("return"))
            self.submodule_paths = None
        finally:
            _tracing -= 1
        return self.graph

    def _patch_modules(self, patches):
        """Lets calls and parameters of modules come to this tracer."""
        module_class = sconce.nn.Module
        get, call = module_class.__getattr__, module_call()
        proxies = {}

        @functools.wraps(get)
        def traced_get(module, name):
            return self.getattr(name, get(module, name), proxies)

        @functools.wraps(call)
        def traced_call(module, *args, **kwargs):
            patches.wrap_known(getattr(module.forward, "__globals__", {}), self._autowrap_ids)
            return self.call_module(module, functools.partial(call, module), args, kwargs)

        patches.callback(_tune, module_class)  # in the end, when the class has its own methods again
        patches.set_attribute(module_class, "__getattr__", traced_get)
        patches.set_attribute(module_class, "__call__", traced_call)

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        made.__dict__ = {name: copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
                         for name, value in self.__dict__.items()}
        return made


def _tune(module_class):
    """Gives modules their quick ways to attributes and calls back, which Python's changes of the class took away."""
    tune = getattr(_sconce, "_tune_module_class", None)
    if tune is not None:
        for found in (module_class, *module_class.__subclasses__()):
            tune(found)
            if found is not module_class:
                _tune(found)


class _Patches(contextlib.ExitStack):
    """Names of modules and classes that mean something else while a program is traced."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def set_attribute(self, owner, name, value):
        if name in vars(owner):
            self.callback(setattr, owner, name, vars(owner)[name])
        else:
            self.callback(delattr, owner, name)
        setattr(owner, name, value)

    def set_global(self, names, name, value):
        if getattr(names.get(name), "_fx_wrapped", False):
            return
        if name in names:
            self.callback(names.__setitem__, name, names[name])
        else:
            self.callback(names.__delitem__, name)
        names[name] = value

    def wrap_registered(self):
        """Functions that wrap() named."""
        for (_, name), names in list(_wrapped_functions.items()):
            original = names[name] if name in names or not hasattr(builtins, name) else getattr(builtins, name)
            self.set_global(names, name, _wrapped(original))

    def wrap_known(self, names, ids):
        """Functions of the tracer's own list, where the program has them in its globals."""
        if id(names) in self.seen:
            return
        self.seen.add(id(names))
        for name, value in list(names.items()):
            if not name.startswith("_") and callable(value) and id(value) in ids:
                self.set_global(names, name, _wrapped(value))


def _wrapped(function):
    """The function, or a node that calls it when a proxy is among the arguments."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    call._fx_wrapped = True
    return call


def _find_proxy(*values):
    found = []
    map_aggregate(values, lambda value: found.append(value) if isinstance(value, Proxy) else None)
    return found[-1] if found else None


def _all_positional(function, count):
    """The same code, taking its *args, **kwargs and keyword-only parameters as they are, by place."""
    code = function.__code__.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0,
                                     co_flags=function.__code__.co_flags & ~_VARIABLE)
    return types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


def _give_attributes(placeholder, node):
    if not isinstance(placeholder, PHBase) or placeholder is PH:
        return
    for name, value in vars(placeholder).items():
        if not callable(value) and not hasattr(node, name):
            setattr(node, name, value)


def wrap(fn_or_name):
    """At module level: calls of this function become one node when a program of this module is traced."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    caller = inspect.currentframe().f_back
    if caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name.__name__ if callable(fn_or_name) else fn_or_name
    _wrapped_functions[(id(caller.f_globals), name)] = caller.f_globals
    return fn_or_name


def symbolic_trace(root, concrete_args=None):
    """A GraphModule of what a module or function does. concrete_args: values of arguments that are fixed; nested tuples, lists
    and dicts with PH for what stays an argument."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, type(root).__name__ if isinstance(root, sconce.nn.Module) else root.__name__)


@wrap
def _assert_is_none(value, msg):
    if value is not None:
        raise AssertionError(msg)
