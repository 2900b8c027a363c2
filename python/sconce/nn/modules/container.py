"""Modules that hold others: the compiler has its own way to build them (script/torch/nn/modules/container.py)."""

import collections.abc
import operator

from sconce._sconce import Tensor
from sconce.nn import Module, Parameter


def _index(items, at):
    """The place of a number, counted from the end when negative."""
    at = operator.index(at)
    if not -len(items) <= at < len(items):
        raise IndexError(f"index {at} is out of range")
    return at % len(items)


class _Listed(Module):
    """Modules by number, under the names "0", "1", ..."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(list(self._modules.values()))

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def __setitem__(self, at, module):
        self._modules[list(self._modules)[_index(self._modules, at)]] = module

    def __delitem__(self, at):
        names = list(self._modules)
        for name in names[at] if isinstance(at, slice) else [names[_index(names, at)]]:
            del self._modules[name]
        self._number(list(self._modules.values()))

    def _number(self, modules):
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._number(modules)
        return self

    def extend(self, modules):
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key):
        module = self[key]
        del self[key]
        return module


class Sequential(_Listed):
    def __init__(self, *args):
        super().__init__()
        items = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else ((str(i), m) for i, m in enumerate(args))
        for name, module in items:
            self.add_module(name, module)

    def __getitem__(self, at):
        if isinstance(at, slice):
            return type(self)(dict(list(self._modules.items())[at]))
        return list(self._modules.values())[_index(self._modules, at)]

    def __add__(self, other):
        return Sequential(*self, *other)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Listed):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, at):
        if isinstance(at, slice):
            return type(self)(list(self._modules.values())[at])
        return list(self._modules.values())[_index(self._modules, at)]

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __iadd__(self, modules):
        return self.extend(modules)

    def __repr__(self):
        """Equal neighbours are written once: (0-3): 4 x Linear(...)."""
        groups = []
        for module in self:
            shown = repr(module)
            if groups and groups[-1][1] == shown:
                groups[-1][2] += 1
            else:
                groups.append([sum(g[2] for g in groups), shown, 1])
        if not groups:
            return self._get_name() + "()"
        lines = []
        for first, shown, count in groups:
            head = f"({first}): {shown}" if count == 1 else f"({first}-{first + count - 1}): {count} x {shown}"
            lines.append("\n  " + head.replace("\n", "\n  "))
        return self._get_name() + "(" + "".join(lines) + "\n)"


class ModuleDict(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def keys(self):
        return self._modules.keys()

    def items(self):
        return self._modules.items()

    def values(self):
        return self._modules.values()

    def clear(self):
        self._modules.clear()

    def pop(self, key):
        return self._modules.pop(key)

    def update(self, modules):
        if not isinstance(modules, collections.abc.Iterable):
            raise TypeError(f"ModuleDict.update should be called with an iterable of key/value pairs, but got {type(modules).__name__}")
        for key, module in modules.items() if hasattr(modules, "items") else modules:
            self[key] = module


def _parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        for value in values or ():
            self.append(value)

    def append(self, value):
        setattr(self, str(self._size), _parameter(value))
        self._size += 1
        return self

    def extend(self, values):
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def __getitem__(self, at):
        if isinstance(at, slice):
            return type(self)([self[i] for i in range(*at.indices(self._size))])
        return getattr(self, str(_index(range(self._size), at)))

    def __setitem__(self, at, value):
        setattr(self, str(_index(range(self._size), at)), _parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(self._size))

    def extra_repr(self):
        return "\n".join(f"  ({i}): {_shown(value, value.dtype)}" for i, value in enumerate(self))


class ParameterDict(Module):
    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, key, _parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        return self._keys.keys()

    def values(self):
        return (self[key] for key in self._keys)

    def items(self):
        return ((key, self[key]) for key in self._keys)

    def pop(self, key):
        value = self[key]
        del self[key]
        return value

    def update(self, parameters):
        for key, value in parameters.items() if hasattr(parameters, "items") else parameters:
            self[key] = value

    def extra_repr(self):
        return "\n".join(f"  ({key}): {_shown(value, value.type())}" for key, value in self.items())


def _shown(value, dtype):
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{dtype} of size {'x'.join(str(n) for n in value.shape)}]"
