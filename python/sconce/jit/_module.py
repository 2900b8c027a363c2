"""Modules of programs in Python: made from live modules, and read from files."""

import collections.abc
import inspect
import os
import tempfile
import types

from .. import _sconce
from ..nn.module import Module
from ..nn.parameter import Parameter
from . import _sources
from ._script import Attribute

_OTHER, _PARAMETER, _BUFFER, _MODULE = range(4)


class _Slots(collections.abc.MutableMapping):
    """The parameters or buffers of a program's module, where the program keeps them."""

    def __init__(self, handle, names):
        self._c, self._names = handle, names

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return self._c.get(name)

    def __setitem__(self, name, value):
        if name not in self._names:
            raise RuntimeError(f"Can't add a new parameter or buffer '{name}' to a ScriptModule: its class is fixed")
        self._c.set(name, value)

    def __delitem__(self, name):
        raise RuntimeError(f"Can't delete '{name}' of a ScriptModule: its class is fixed")

    def __contains__(self, name):
        return name in self._names

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)


class ScriptModule(Module):
    """A module of a program: what jit.script makes of a module, and jit.load of a file."""

    def __init__(self, *args, **kwargs):
        if type(self) is ScriptModule or not isinstance(self, RecursiveScriptModule):
            raise NotImplementedError("classes that derive from jit.ScriptModule are not supported: derive from nn.Module, and "
                                      "script an instance")
        super().__init__()


class RecursiveScriptModule(ScriptModule):
    """A module of a program. It has the methods of nn.Module; parameters, buffers and attributes are the program's."""

    def __init__(self, handle):
        super().__init__()
        own = self.__dict__
        own.pop("training", None)
        own["_c"] = handle
        kinds = {kind: [] for kind in (_OTHER, _PARAMETER, _BUFFER, _MODULE)}
        for name, kind in handle.attributes():
            kinds[kind].append(name)
        for name in kinds[_PARAMETER]:
            handle.parameter(name, Parameter)  # its object is a Parameter from now on
        own["_parameters"] = _Slots(handle, kinds[_PARAMETER])
        own["_buffers"] = _Slots(handle, kinds[_BUFFER])
        own["_modules"] = {name: handle.get(name) for name in kinds[_MODULE]}
        own["_names"] = frozenset(kinds[_OTHER]) | frozenset(handle.constants()) | frozenset(handle.property_names())

    # ---- attributes ----

    def __getattr__(self, name):
        own = self.__dict__
        if "_c" not in own:
            raise AttributeError(name)
        if name in own["_modules"]:
            return own["_modules"][name]
        if name in own["_parameters"] or name in own["_buffers"] or name in own["_names"]:
            return own["_c"].get(name)
        method = own["_c"].method(name)
        if method is not None:
            return method
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        own = self.__dict__
        if "_c" not in own or name in own:
            object.__setattr__(self, name, value)
        elif name in own["_modules"]:
            raise RuntimeError(f"Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing "
                               f"module '{name}': {value}")
        elif name in own["_c"].constants():
            raise AttributeError(f"Cannot mutate TorchScript constant value: '{name}'. Value: '{own['_c'].get(name)}'")
        elif name in own["_parameters"] or name in own["_buffers"] or name in own["_names"]:
            own["_c"].set(name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        if name in self.__dict__:
            object.__delattr__(self, name)
        else:
            raise RuntimeError(f"Can't delete '{name}' of a ScriptModule: its class is fixed")

    def __dir__(self):
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules, *self._names,
                       *self._c.method_names()})

    def register_parameter(self, name, param):
        self._refuse_new(name)

    def register_buffer(self, name, tensor, persistent=True):
        self._refuse_new(name)

    def add_module(self, name, module):
        self._refuse_new(name)

    def _refuse_new(self, name):
        raise RuntimeError(f"Can't add a new parameter, buffer or module '{name}' after ScriptModule construction")

    # ---- calls ----

    def __call__(self, *args, **kwargs):
        if not self._forward_pre_hooks and not self._forward_hooks:
            return self._c(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    @property
    def forward(self):
        method = self._c.method("forward")
        if method is None:  # it has none, or several (overloads)
            raise AttributeError(f"'{type(self).__name__}' object has no attribute 'forward'")
        return method

    def __len__(self):
        return self._magic("__len__")()

    def __contains__(self, key):
        return self._magic("__contains__")(key)

    def __iter__(self):
        self._magic("__len__")
        keyed = "__contains__" in self._c.method_names()
        return iter(self._modules if keyed else self._modules.values())

    def __getitem__(self, key):
        method = self._c.method("__getitem__")
        if method is not None:
            return method(key)
        self._magic("__len__")
        if isinstance(key, str):
            return self._modules[key]
        if isinstance(key, slice):
            raise NotImplementedError("slices of a ScriptModule are not supported")
        return list(self._modules.values())[key]

    def __bool__(self):
        return True

    def _magic(self, name):
        method = self._c.method(name)
        if method is None:
            raise NotImplementedError(f"'{self.original_name}' has no method {name}")
        return method

    # ---- what it is ----

    @property
    def original_name(self):
        """The name of the class that it was made from."""
        return self._c.type_name.rpartition(".")[2]

    def extra_repr(self):
        return f"original_name={self.original_name}"

    @property
    def code(self):
        """The text of forward, as archives hold it."""
        return self.forward.code

    @property
    def graph(self):
        """The graph of forward, before optimisation."""
        return self.forward.graph

    @property
    def inlined_graph(self):
        """The graph of forward with calls replaced by what they call."""
        return self.forward.inlined_graph

    def _repr_html_(self):
        """The page of the graph of forward, with calls inlined: what a notebook shows."""
        return self.inlined_graph._repr_html_() if "forward" in self._c.method_names() else None

    # ---- files and copies ----

    def save(self, f, _extra_files=None):
        """Writes a TorchScript archive to a path or file; with bytecode for a path that ends with .ptl."""
        _write(self._c, f, _extra_files)

    def save_to_buffer(self, _extra_files=None):
        """The bytes of the archive."""
        return _bytes_of(self._c, _extra_files)

    def copy(self):
        """A copy with its own tensors."""
        return RecursiveScriptModule(self._c.clone())

    def __deepcopy__(self, memo):
        return self.copy()

    def __copy__(self):
        return self.copy()

    def __reduce__(self):
        raise RuntimeError("ScriptModules cannot be saved using torch.save. Mixed serialization of script and non-script modules is "
                           "not supported. For purely script modules use my_script_module.save(<filename>) instead.")


_sconce._jit_set_module_wrapper(RecursiveScriptModule)


# ---- files ----


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """The module in a TorchScript archive (.pt), one for the lite interpreter (.ptl), or an exported program (.pt2): a path or a
    file. `_extra_files` is a dict whose values become what the archive has under its keys."""
    if _restore_shapes:
        raise NotImplementedError("load: _restore_shapes is not supported")
    if hasattr(f, "read"):
        f = bytes(f.read())
    elif not os.path.exists(f):
        raise ValueError(f"The provided filename {f} does not exist")
    elif os.path.isdir(f):
        raise ValueError(f"The provided filename {f} is a directory")
    module = _sconce._jit_load(f, _extra_files)
    if map_location is not None:
        module.to(_sconce.device(map_location) if isinstance(map_location, str) else map_location)
    return module


def save(m, f, _extra_files=None):
    """Writes a ScriptModule or ScriptFunction to a path or file."""
    if not isinstance(m, (ScriptModule, _sconce.ScriptFunction)):
        raise TypeError(f"jit.save: a ScriptModule or ScriptFunction was expected, got {type(m).__name__}")
    m.save(f, _extra_files=_extra_files)


def save_function(function, f, _extra_files=None):
    """Writes an archive with a module whose forward is the function."""
    _write(_sconce._jit_function_module(function), f, _extra_files)


def _write(handle, f, extra_files):
    if hasattr(f, "write"):
        f.write(_bytes_of(handle, extra_files))
    else:
        handle.save(f, extra_files, os.fspath(f).endswith(".ptl"))


def _bytes_of(handle, extra_files):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "archive.pt")
        handle.save(path, extra_files, False)
        with open(path, "rb") as file:
            return file.read()


# ---- for inference ----


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A module for inference only: its attributes are constants of its code, which is optimised. `preserved_attrs` are attributes
    and methods that it keeps, beside forward."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your "
                           "'nn.Module'.")
    if getattr(mod, "training", False):
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
                           "before freezing.")
    return mod._c.freeze([str(name) for name in preserved_attrs or ()], optimize_numerics)


def optimize_for_inference(mod, other_methods=None):
    """Freezes a module that is not frozen yet, with what can be computed beforehand."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("optimize_for_inference expects ScriptModule as input. Please use torch.jit.script or torch.jit.trace to "
                           "script your 'nn.Module'.")
    return freeze(mod.eval(), other_methods) if hasattr(mod, "training") else mod


# ---- from live modules ----


def create(module):
    """The program of a module and of everything below it; parameters and buffers are the same tensors."""
    return _attach(_sconce._script_build(_instance(module, {})), module)


def _internal_names():
    return frozenset(vars(Module())) - {"training"}


def _instance(module, made):
    """The description of a module that the compiler takes: its class, attributes and hooks."""
    found = made.get(id(module))
    if found is not None:
        return found
    if isinstance(module, ScriptModule):
        made[id(module)] = _sconce._script_built_instance(module._c)
        return made[id(module)]
    cls = _sources.class_definition(type(module))
    attributes, typed = [], []
    for name, parameter in module._parameters.items():
        attributes.append((name, _PARAMETER, parameter))
    for name, buffer in module._buffers.items():
        attributes.append((name, _BUFFER, buffer))
    for name, child in module._modules.items():
        attributes.append((name, _MODULE, None if child is None else _instance(child, made)))
    known = {name for name, _, _ in attributes}
    for name in _constant_names(type(module)):
        if name not in known and name not in module.__dict__ and hasattr(module, name):
            attributes.append((name, _OTHER, getattr(module, name)))
    internal = _internal_names()
    for name, value in module.__dict__.items():
        if name in internal:
            continue
        if isinstance(value, Attribute):
            typed.append((name, value.type))
            value = value.value
        elif inspect.isdatadescriptor(getattr(type(module), name, None)):
            value = getattr(module, name)
        attributes.append((name, _OTHER, _attribute_value(name, value)))
    hooks = [[_sources.function_definition(_hook_of(hook)) for hook in table.values()]
             for table in (module._forward_pre_hooks, module._forward_hooks)]
    instance = _sconce._script_instance(cls, attributes, *hooks)
    for name, annotation in typed:
        inner = {}
        text = _sources.annotation_text(annotation, inner)
        scope = _sources.make_scope("__torch__", _sources._Names((), inner))
        _sconce._script_annotate(instance, name, scope, text)
    made[id(module)] = instance
    return instance


def _hook_of(hook):
    return hook[0] if isinstance(hook, tuple) else hook


def _constant_names(cls):
    names = list(getattr(cls, "__constants__", ()))
    for base in cls.__mro__:
        for name, annotation in _sources._own_annotations(base).items():
            if "Final" in _sources.annotation_text(annotation, {}):
                names.append(name)
    return names


def _attribute_value(name, value):
    """An attribute as the compiler takes it: functions are definitions."""
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, _sconce.ScriptFunction, _sconce.OperatorFunction)):
        scope = _sources.make_scope("__torch__", _sources._Names(()))
        try:
            return _sources.define(scope, name, value)
        except (RuntimeError, OSError):  # a lambda: an error when forward uses it
            return value
    return value


def _attach(script_module, module):
    """What stays Python: methods that are ignored, for modules and those below."""
    if isinstance(module, ScriptModule):
        return script_module
    for name in dir(type(module)):
        member = getattr(type(module), name, None)
        if isinstance(member, types.FunctionType) and _sources.modifier(member) in ("ignore", "unused"):
            object.__setattr__(script_module, name, types.MethodType(member, script_module))
    for name, member in module.__dict__.items():  # a method that replaces that of the class
        if isinstance(member, types.MethodType) and _sources.modifier(member.__func__) in ("ignore", "unused"):
            object.__setattr__(script_module, name, types.MethodType(member.__func__, script_module))
    for name, child in module._modules.items():
        if child is not None and name in script_module._modules:
            _attach(script_module._modules[name], child)
    return script_module
