"""Module: parameters, buffers, submodules and hooks by name, with PyTorch's methods. Calls and the lookup of attributes are
python/src/module_object.cpp."""

import collections
import collections.abc
import functools
import itertools

from .. import _sconce
from .._hooks import RemovableHandle, add_hook
from .._sconce import Tensor
from .parameter import Buffer, Parameter, is_lazy


class _IncompatibleKeys(collections.namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict found missing, or of no use."""

    __slots__ = ()

    def __repr__(self):
        return "<All keys matched successfully>" if not any(self) else super().__repr__()

    __str__ = __repr__


_EXTRA = "_extra_state"
_set_attribute = _sconce._set_module_attribute
_HOOKS = ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
          "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
          "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")
_global_forward_pre_hooks, _global_forward_hooks, _global_always_called = {}, {}, {}
_global_backward_pre_hooks, _global_backward_hooks = {}, {}


def _without_grad(method):
    """Runs a method without recording."""

    @functools.wraps(method)
    def wrapped(*args, **kwargs):
        before = _sconce.is_grad_enabled()
        _sconce._set_grad_enabled(False)
        try:
            return method(*args, **kwargs)
        finally:
            _sconce._set_grad_enabled(before)

    return wrapped


class Module(_sconce._ModuleBase):
    """The base class of all modules: assign parameters and modules to attributes, and define forward."""

    training: bool
    dump_patches = False
    call_super_init = False
    _version = 1

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _sconce._tune_module_class(cls)

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {1 + len(args)} were given")
        own = self.__dict__
        own["training"] = True
        own["_parameters"], own["_buffers"], own["_modules"] = {}, {}, {}
        own["_non_persistent_buffers_set"] = set()
        for name in _HOOKS:
            own[name] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def compile(self, *args, **kwargs):
        """Compiles calls of this module, in place: sconce.compile of it, with the same arguments."""
        from ..compiler import compile

        self.__dict__["forward"] = compile(self.forward, *args, **kwargs)

    # ---- attributes ----

    def __setattr__(self, name, value):
        _set_attribute(self, name, value)

    def __delattr__(self, name):
        _set_attribute(self, name)

    def _set_registered(self, name, value):
        """self.name = value for a parameter, buffer or module, and for names that stand in one of the tables."""
        own = self.__dict__
        if isinstance(value, Parameter):
            self._need_init("parameters", "_parameters")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{_name_of(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._need_init("module", "_modules")
            self._forget(name, "_modules")
            own["_modules"][name] = value
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{_name_of(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            own["_modules"][name] = None
        elif isinstance(value, Buffer):
            self._need_init("buffer", "_buffers")
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in own.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{_name_of(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            own["_buffers"][name] = value
        else:  # a tensor of another subclass is an attribute like any other
            own[name] = value

    def _need_init(self, kind, table):
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")

    def _forget(self, name, keep):
        """A name stands in one table at most."""
        own = self.__dict__
        own.pop(name, None)
        for table in ("_parameters", "_modules", "_buffers"):
            if table != keep:
                own[table].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    def _delete_registered(self, name):
        """del self.name for names that stand in one of the tables."""
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[0].isdigit())

    def register_parameter(self, name, param):
        """A parameter under a name; None keeps the name free for one."""
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{_name_of(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                             f"express '{name}' as a function of another Tensor, compute the value in the forward() method.")
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """A tensor that is no parameter; a persistent one is part of the state dict."""
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{_name_of(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        """A module under a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_name_of(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = module

    def register_module(self, name, module):
        """The same as add_module."""
        self.add_module(name, module)

    def _check_name(self, kind, name, table):
        self._need_init(kind, table)
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_name_of(name)}")
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}' if kind == "module" else f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'module name can\'t be empty string "", got: {name}' if kind == "module" else
                           f'{kind} name can\'t be empty string ""')

    # ---- calls ----

    def forward(self, *args, **kwargs):
        """What the module computes, for subclasses to define."""
        raise NotImplementedError(f"Module [{type(self).__name__}] is missing the required \"forward\" function")

    def _call_with_hooks(self, *args, **kwargs):
        """A call where hooks have a say; others go to forward at once."""
        called = set()  # hooks that run even after an exception, and have run
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            backward = None
            if self._backward_hooks or self._backward_pre_hooks or _global_backward_hooks or _global_backward_pre_hooks:
                backward = _BackwardHooks(self)
                args = backward.enter(args)
            result = self.forward(*args, **kwargs)
            for key, hook in [*_global_forward_hooks.items(), *self._forward_hooks.items()]:
                called.add(key)
                result = self._run_hook(key, hook, args, kwargs, result)
            return result if backward is None else backward.leave(result)
        except Exception:
            for key, hook in [*_global_forward_hooks.items(), *self._forward_hooks.items()]:
                if key not in called and (key in self._forward_hooks_always_called or key in _global_always_called):
                    try:
                        self._run_hook(key, hook, args, kwargs, None)
                    except Exception as error:  # the first exception is the one to see
                        import warnings
                        warnings.warn("forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                                      f"raised in forward: {error}")
            raise

    def _run_pre_hooks(self, args, kwargs):
        for key, hook in [*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()]:
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _run_hook(self, key, hook, args, kwargs, result):
        with_kwargs = key in self._forward_hooks_with_kwargs
        changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
        return result if changed is None else changed

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """hook(module, args) before forward, with_kwargs: hook(module, args, kwargs); it may return other arguments."""
        return add_hook(self._forward_pre_hooks, hook, prepend, *([self._forward_pre_hooks_with_kwargs] if with_kwargs else []))

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """hook(module, args, output) after forward, with_kwargs: hook(module, args, kwargs, output); it may return another output."""
        marks = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        return add_hook(self._forward_hooks, hook, prepend, *marks)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """hook(module, grad_output) before gradients pass through the module; it may return other gradients."""
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """hook(module, grad_input, grad_output) when gradients of the inputs are there; it may return other ones for them."""
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """Refused: which gradients it sees depends on how forward is written."""
        raise NotImplementedError("register_backward_hook is not supported: use register_full_backward_hook")

    # ---- lists ----

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """This module and all below, with their paths."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def modules(self):
        """This module and all below."""
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        """The modules right below, with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The modules right below."""
        for _, module in self.named_children():
            yield module

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]:
            for name, tensor in get_members_fn(module):
                if tensor is None or tensor in seen:
                    continue
                if remove_duplicate:
                    seen.add(tensor)
                yield path + ("." if path else "") + name, tensor

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Parameters with their paths."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Buffers with their paths."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """All parameters."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def buffers(self, recurse=True):
        """All buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target):
        """The module at a path: "layers.0"."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts a module at a path; strict refuses a path where there is none yet."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _member(self, target, what, is_one):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        found = getattr(module, name)
        if not is_one(module, name, found):
            raise AttributeError(f"`{name}` is not {what}")
        return found

    def get_parameter(self, target):
        """The parameter at a path: "layers.0.weight"."""
        return self._member(target, "an nn.Parameter", lambda module, name, found: isinstance(found, Parameter))

    def get_buffer(self, target):
        """The buffer at a path."""
        return self._member(target, "a buffer", lambda module, name, found: name in module._buffers)

    # ---- state ----

    def get_extra_state(self):
        """More to keep in the state dict, for subclasses to define, with set_extra_state."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state):
        """Takes over what get_extra_state returned."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Parameters and persistent buffers by path; without history unless keep_vars."""
        if args:  # the order of old versions
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = collections.OrderedDict()
            destination._metadata = collections.OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in list(self._state_dict_hooks.values()):
            changed = hook(self, destination, prefix, metadata)
            if changed is not None:
                if not getattr(hook, "_may_replace", True):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = changed
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """What this module itself adds to the state dict."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies values into tensors of the same paths; `assign` puts the tensors themselves there."""
        if not isinstance(state_dict, collections.abc.Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, problems = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = collections.OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        def load(module, values, prefix):
            local = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
            if assign:
                local["assign_to_params_buffers"] = True
            module._load_from_state_dict(values, prefix, local, True, missing, unexpected, problems)
            for name, child in module._modules.items():
                if child is not None:
                    below = prefix + name + "."
                    load(child, {key: value for key, value in values.items() if key.startswith(below)}, below)
            incompatible = _IncompatibleKeys(missing, unexpected)
            for hook in list(module._load_state_dict_post_hooks.values()):
                if hook(module, incompatible) is not None:
                    raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                                         "values, if incompatible_keys need to be modified, it should be done inplace.")

        load(self, state_dict, "")
        if strict:
            for kind, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    problems.insert(0, "{} key(s) in state_dict: {}. ".format(kind, ", ".join(f'"{key}"' for key in keys)))
        if problems:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(problems)))
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """What this module itself takes from the state dict; problems are added to the lists."""
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        kept = {name: buffer for name, buffer in self._buffers.items() if name not in self._non_persistent_buffers_set}
        for name, tensor in itertools.chain(self._parameters.items(), kept.items()):
            if tensor is None:
                continue
            key = prefix + name
            if key in state_dict:
                self._load_tensor(name, tensor, key, state_dict[key], local_metadata, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA
        if type(self).set_extra_state is not Module.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                name, *below = key[len(prefix):].split(".", 1)
                if not key.startswith(prefix) or key == extra:
                    continue
                if name not in self._modules if below else name not in self._parameters and name not in kept:
                    unexpected_keys.append(key)

    @_without_grad
    def _load_tensor(self, name, tensor, key, value, metadata, error_msgs):
        if not isinstance(value, Tensor):
            error_msgs.append(f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
                              f"but received {type(value)}")
            return
        if not is_lazy(tensor):
            if tensor.dim() == 0 and tuple(value.shape) == (1,):  # scalars of files older than PyTorch 0.4
                value = value[0]
            if tuple(tensor.shape) != tuple(value.shape):
                error_msgs.append(f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                                  f"current model is {tensor.shape}.")
                return
        try:
            if metadata.get("assign_to_params_buffers", False):
                if isinstance(tensor, Parameter) and not isinstance(value, Parameter):
                    value = Parameter(value, requires_grad=tensor.requires_grad)
                setattr(self, name, value)
            else:
                tensor.copy_(value)
        except Exception as error:
            error_msgs.append(f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and whose '
                              f"dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}.")

    def register_state_dict_pre_hook(self, hook):
        """hook(module, prefix, keep_vars) before this module adds to a state dict."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata) after this module and those below added to it."""
        hook._may_replace = False
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        """The same, for a hook that may return another dict."""
        if getattr(hook, "_may_replace", True) is False:
            raise RuntimeError(f"previously registered via register_state_dict_post_hook: {hook}")
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return add_hook(self._load_state_dict_pre_hooks, functools.partial(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook):
        """hook(module, incompatible_keys) after this module and those below have taken their values; it may change the lists."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, {})
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    # ---- modes and conversions ----

    def train(self, mode=True):
        """Training mode, or evaluation mode, for this module and all below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Says of all parameters whether they are trained."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Clears the gradients of all parameters."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    def apply(self, fn):
        """fn(module) for all below, then for this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    @_without_grad
    def _apply(self, fn, recurse=True):
        """Puts fn(tensor) in the place of each parameter's data, gradient and buffer."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            made = fn(parameter.detach())
            if made.is_meta != parameter.is_meta:  # memory begins or ends to be: another parameter, as in PyTorch
                self._parameters[name] = Parameter(made, parameter.requires_grad)
                continue
            parameter.set_data(made)
            if parameter.grad is not None:
                parameter.grad.set_data(fn(parameter.grad))
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """to(device), to(dtype), to(tensor), to(memory_format=...): a dtype is for floats alone."""
        dtypes = [a for a in (*args, kwargs.get("dtype")) if isinstance(a, _sconce.dtype)]
        dtypes += [a.dtype for a in (*args, kwargs.get("tensor")) if isinstance(a, Tensor)]
        for dtype in dtypes:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        if "tensor" in kwargs:
            kwargs = {**{name: value for name, value in kwargs.items() if name != "tensor"}, "other": kwargs["tensor"]}
        without = [a for a in args if not isinstance(a, (_sconce.dtype, Tensor))]
        others = {name: value for name, value in kwargs.items() if name not in ("dtype", "other", "memory_format")}
        layout = kwargs.get("memory_format")

        def convert(tensor):
            named = {name: value for name, value in kwargs.items() if name != "memory_format"}
            if layout is not None and tensor.dim() in (4, 5):
                named["memory_format"] = layout
            if dtypes and not (tensor.is_floating_point() or tensor.is_complex()):
                return tensor.to(*without, **others)
            return tensor.to(*args, **named)

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """The same shapes on a device, with memory that holds anything."""
        return self._apply(lambda t: _sconce._function("empty_like")(t, device=_sconce.device(device)), recurse=recurse)

    def _convert(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def type(self, dst_type):
        """All parameters and buffers in a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self):
        """Floats as float32."""
        return self._convert(_sconce.float32)

    def double(self):
        """Floats as float64."""
        return self._convert(_sconce.float64)

    def half(self):
        """Floats as float16."""
        return self._convert(_sconce.float16)

    def bfloat16(self):
        """Floats as bfloat16."""
        return self._convert(_sconce.bfloat16)

    def cpu(self):
        """All tensors on the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """All tensors on a CUDA device, the current one unless another is named."""
        where = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
        return self._apply(lambda t: t.to(where))

    def share_memory(self):
        """Refused: memory is not shared between processes."""
        raise NotImplementedError("Module.share_memory: memory that processes share is not supported")

    # ---- printing ----

    def extra_repr(self):
        """What repr says between the brackets."""
        from ._describe import describe

        return describe(self)

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = ["({}): {}".format(name, repr(module).replace("\n", "\n  ")) for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return self._get_name() + "(\n  " + "\n  ".join(lines + children) + "\n)"


_sconce._tune_module_class(Module)


def tune_classes(cls=Module):
    """Gives modules their quick ways back after Module.__call__ or __getattr__ was replaced for a while, as tracing does."""
    _sconce._tune_module_class(cls)
    for below in cls.__subclasses__():
        tune_classes(below)


class _BackwardHooks:
    """Full backward hooks of one call: the tensors that enter and leave the module pass through identities whose gradients the
    hooks see."""

    def __init__(self, module):
        self.module = module
        self.before = [*_global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        self.after = [*_global_backward_hooks.values(), *module._backward_hooks.values()]
        self.inputs = self.grad_output = None

    def _through(self, value, hook, materialize):
        """The value with its tensors replaced; hook(gradients of all places) -> gradients.

        With materialize, the hook sees zeros for tensors without a gradient, else None.
        """
        many = isinstance(value, tuple)  # tensors in other containers are not seen
        items = list(value) if many else [value]
        at = [i for i, item in enumerate(items) if isinstance(item, Tensor)]
        if not _sconce.is_grad_enabled() or not any(items[i].requires_grad for i in at):
            return None
        from ..autograd import Function

        class Identity(Function):
            @staticmethod
            def forward(ctx, *tensors):
                results = tuple(tensor.detach() for tensor in tensors)
                ctx.mark_non_differentiable(*[result for result, tensor in zip(results, tensors) if not tensor.requires_grad])
                ctx.set_materialize_grads(materialize)
                return results

            @staticmethod
            def backward(ctx, *gradients):
                places = [None] * len(items)
                for i, gradient in zip(at, gradients):
                    places[i] = gradient
                places = hook(tuple(places))
                return tuple(zeros() if places[i] is None and zeros is not None else places[i] for i, zeros in zip(at, absent))

        absent = [_zeros_like(items[i]) if items[i].requires_grad and not materialize else None for i in at]
        for i, tensor in zip(at, Identity.apply(*[items[i] for i in at])):
            items[i] = tensor
        if not many:
            return items[0]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)

    def enter(self, args):
        changed = self._through(args, self._leave_backward, True)
        self.inputs, self.count = changed is not None, len(args)
        return args if changed is None else changed

    def leave(self, result):
        changed = self._through(result, self._enter_backward, False)
        return result if changed is None else changed

    def _enter_backward(self, gradients):
        for hook in self.before:
            changed = hook(self.module, gradients)
            if changed is not None:
                changed = changed if isinstance(changed, tuple) else (changed,)
                if len(changed) != len(gradients):
                    raise RuntimeError(f"Backward pre hook returned an invalid number of grad_output, got {len(changed)}, but expected "
                                       f"{len(gradients)}")
                gradients = changed
        self.grad_output = gradients
        if not self.inputs:
            for hook in self.after:
                changed = hook(self.module, (None,) * self.count, gradients)
                if changed is not None and not (isinstance(changed, tuple) and all(item is None for item in changed)):
                    raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or None for all "
                                       "gradients.")
        return gradients

    def _leave_backward(self, gradients):
        if self.grad_output is None:  # the gradient came past the module's result
            return gradients
        grad_output, self.grad_output = self.grad_output, None
        for hook in self.after:
            changed = hook(self.module, gradients, grad_output)
            if changed is not None:
                changed = changed if isinstance(changed, tuple) else (changed,)
                if len(changed) != len(gradients):
                    raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(changed)}, but expected "
                                       f"{len(gradients)}")
                gradients = changed
        return gradients


def _zeros_like(tensor):
    """Makes zeros of a tensor's shape later, without the tensor."""
    return functools.partial(_sconce._function("zeros"), tensor.shape, dtype=tensor.dtype, device=tensor.device)


class _GlobalHandle(RemovableHandle):
    """A hook of all modules: while there is one, no call takes the short way."""

    def remove(self):
        if self.id in self.tables[0]:
            _sconce._add_global_module_hooks(-1)
        super().remove()


def _add_global(table, hook, *marks):
    handle = _GlobalHandle(table, *marks)
    table[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    _sconce._add_global_module_hooks(1)
    return handle


def register_module_forward_pre_hook(hook):
    """hook(module, args) before the forward of every module."""
    return _add_global(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """hook(module, args, output) after the forward of every module."""
    if with_kwargs:
        raise NotImplementedError("register_module_forward_hook: with_kwargs=True is not supported")
    return _add_global(_global_forward_hooks, hook, *([_global_always_called] if always_call else []))


def register_module_full_backward_pre_hook(hook):
    """hook(module, grad_output) before gradients pass through any module."""
    return _add_global(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook):
    """hook(module, grad_input, grad_output) when gradients of a module's inputs are there."""
    return _add_global(_global_backward_hooks, hook)


def _name_of(value):
    """How messages name the class of an object: torch.FloatTensor, list, __main__.Net."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return value.type()
    kind = type(value)
    if isinstance(value, Parameter):
        return "torch.nn.parameter.Parameter"
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
