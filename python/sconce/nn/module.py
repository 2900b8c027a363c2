"""Module: parameters, buffers, submodules and hooks by name, with PyTorch's methods."""

import collections
import itertools

from .. import _sconce
from .._sconce import Tensor
from .parameter import Buffer, Parameter

_Incompatible = collections.namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])
_Incompatible.__repr__ = lambda self: "<All keys matched successfully>" if not any(self) else tuple.__repr__(self)


class _Handle:
    """What register_*_hook returns: remove() takes the hook away."""

    ids = itertools.count()

    def __init__(self, hooks):
        self.hooks, self.id = hooks, next(self.ids)

    def remove(self):
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


class Module:
    """The base class of all modules: assign parameters and modules to attributes, and define forward."""

    training: bool
    dump_patches = False

    def __init__(self, *args, **kwargs):
        if args or kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {1 + len(args)} were given")
        own = self.__dict__
        own["training"] = True
        for name in ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks"):
            own[name] = {}
        own["_non_persistent_buffers_set"] = set()

    # ---- attributes ----

    def __setattr__(self, name, value):
        own = self.__dict__
        tables = {"_parameters": Parameter, "_modules": Module, "_buffers": Buffer}
        if isinstance(value, (Parameter, Module, Buffer)) and "_parameters" not in own:
            raise AttributeError("cannot assign attributes before Module.__init__() call")
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules")
            own["_modules"][name] = value
        elif isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{_name_of(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            own["_parameters"][name] = None
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{_name_of(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            own["_modules"][name] = None
        elif name in own.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{_name_of(value)}' as buffer '{name}' (torch.Tensor or None expected)")
            own["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name, keep):
        """A name stands in one table at most."""
        own = self.__dict__
        own.pop(name, None)
        for table in ("_parameters", "_modules", "_buffers"):
            if table != keep:
                own[table].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    def __getattr__(self, name):
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            if table in own and name in own[table]:
                return own[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name, param):
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{_name_of(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        if param is not None and not param.is_leaf:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly.")
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{_name_of(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_name_of(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, kind, name, table):
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_name_of(name)}")
        if "." in name:
            raise KeyError(f"{kind} name can't contain \".\"")
        if name == "":
            raise KeyError(f"{kind} name can't be empty string \"\"")
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    # ---- calls ----

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"Module [{type(self).__name__}] is missing the required \"forward\" function")

    def __call__(self, *args, **kwargs):
        if not self._forward_pre_hooks and not self._forward_hooks:
            return self.forward(*args, **kwargs)
        for hook, with_kwargs in list(self._forward_pre_hooks.values()):
            if with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for hook, with_kwargs in list(self._forward_hooks.values()):
            changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if changed is not None:
                result = changed
        return result

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        return _register(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False):
        return _register(self._forward_hooks, (hook, with_kwargs), prepend)

    # ---- lists ----

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
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
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        for _, module in self.named_children():
            yield module

    def _named(self, table, prefix, recurse, remove_duplicate):
        seen = {}  # with the tensors, so that no other object gets the id of one of them
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]:
            for name, tensor in module.__dict__[table].items():
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen[id(tensor)] = tensor
                yield path + ("." if path else "") + name, tensor

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self._named("_parameters", prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self._named("_buffers", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def buffers(self, recurse=True):
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target):
        module = self
        for name in target.split(".") if target else ():
            module = getattr(module, name, None)
            if not isinstance(module, Module):
                raise AttributeError(f"{type(self).__name__} has no submodule `{target}`")
        return module

    def get_parameter(self, target):
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._parameters.get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no parameter `{target}`")
        return found

    # ---- state ----

    def state_dict(self, destination=None, prefix="", keep_vars=False):
        destination = collections.OrderedDict() if destination is None else destination
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination, prefix + name + ".", keep_vars)
        return destination

    def load_state_dict(self, state_dict, strict=True):
        own = self.state_dict(keep_vars=True)
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        problems = []
        if strict and unexpected:
            problems.append("Unexpected key(s) in state_dict: {}. ".format(", ".join(f'"{name}"' for name in unexpected)))
        if strict and missing:
            problems.append("Missing key(s) in state_dict: {}. ".format(", ".join(f'"{name}"' for name in missing)))
        for name, tensor in own.items():
            if name in state_dict and tuple(tensor.shape) != tuple(state_dict[name].shape):
                problems.append(f"size mismatch for {name}: copying a param with shape {state_dict[name].shape} from checkpoint, "
                                f"the shape in current model is {tensor.shape}.")
        if problems:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(problems)))
        before = _sconce.is_grad_enabled()
        _sconce._set_grad_enabled(False)
        try:
            for name, tensor in own.items():
                if name in state_dict:
                    tensor.copy_(state_dict[name])
        finally:
            _sconce._set_grad_enabled(before)
        return _Incompatible(missing, unexpected)

    # ---- modes and conversions ----

    def train(self, mode=True):
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    def apply(self, fn):
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn):
        for module in self.children():
            module._apply(fn)
        before = _sconce.is_grad_enabled()
        _sconce._set_grad_enabled(False)
        try:
            for parameter in self._parameters.values():
                if parameter is None:
                    continue
                parameter.set_data(fn(parameter.detach()))
                if parameter.grad is not None:
                    parameter.grad.set_data(fn(parameter.grad))
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        finally:
            _sconce._set_grad_enabled(before)
        return self

    def to(self, *args, **kwargs):
        floats = any(isinstance(a, _sconce.dtype) for a in (*args, kwargs.get("dtype")))
        without = [a for a in args if not isinstance(a, _sconce.dtype)]
        others = {name: value for name, value in kwargs.items() if name != "dtype"}

        def convert(tensor):
            if floats and not (tensor.is_floating_point() or tensor.is_complex()):
                return tensor.to(*without, **others)
            return tensor.to(*args, **kwargs)

        return self._apply(convert)

    def _convert(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        return self._convert(_sconce.float32)

    def double(self):
        return self._convert(_sconce.float64)

    def half(self):
        return self._convert(_sconce.float16)

    def bfloat16(self):
        return self._convert(_sconce.bfloat16)

    def cpu(self):
        return self._apply(lambda t: t.cpu())

    # ---- printing ----

    def extra_repr(self):
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = ["({}): {}".format(name, repr(module).replace("\n", "\n  ")) for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return self._get_name() + "(\n  " + "\n  ".join(lines + children) + "\n)"


def _register(hooks, hook, prepend):
    handle = _Handle(hooks)
    if prepend:
        others = list(hooks.items())
        hooks.clear()
        hooks[handle.id] = hook
        hooks.update(others)
    else:
        hooks[handle.id] = hook
    return handle


def _name_of(value):
    kind = type(value)
    return kind.__name__ if kind.__module__ in ("builtins", "sconce") else f"{kind.__module__}.{kind.__name__}"
