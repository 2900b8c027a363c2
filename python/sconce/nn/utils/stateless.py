"""Calls of modules with other parameters in the place of their own."""

import contextlib

from ..._sconce import Tensor
from ..module import Module

_ABSENT = object()


class _Slot:
    """The place of a tensor in a module: a parameter, a buffer or a plain attribute, with the tensor found there."""

    def __init__(self, module, path):
        *parents, self.name = path.split(".")
        if self.name == "":
            raise KeyError('tensor name can\'t be empty string ""')
        for parent in parents:
            if not hasattr(module, parent):
                raise AttributeError(f"{module._get_name()} has no attribute `{parent}`")
            found = getattr(module, parent)
            if not isinstance(found, Module):
                raise TypeError(f"submodule `{parent}`: {found} is not an instance of torch.nn.Module")
            module = found
        self.module = module
        self.table = self._current_table()
        self.before = self._current()
        if self.before is not _ABSENT and self.table is None and not isinstance(self.before, Tensor):
            raise TypeError(f"attribute `{self.name}`: {self.before} is not an instance of torch.Tensor")

    def _current_table(self):
        return next((table for table in (self.module._parameters, self.module._buffers) if self.name in table), None)

    def _current(self):
        table = self._current_table()
        return getattr(self.module, self.name, _ABSENT) if table is None else table[self.name]

    def set(self, value):
        """Puts the tensor of a call into the slot; None takes a parameter or buffer away."""
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
        if self.table is None:
            setattr(self.module, self.name, value)
        else:
            self.table[self.name] = value

    def restore(self):
        """Puts the module's own tensor back, also if forward moved the name. Returns the tensor that the call left."""
        left, table = self._current(), self._current_table()
        if table is not None and table is not self.table:
            del table[self.name]
        elif table is None and self.name in self.module.__dict__:
            del self.module.__dict__[self.name]
        if self.table is not None:
            self.table[self.name] = self.before
        elif self.before is not _ABSENT:
            setattr(self.module, self.name, self.before)
        return left


def _tied(module):
    """All paths of parameters and buffers, and lists of paths that lead to the same tensor."""
    groups, paths = {}, []
    for prefix, owner in module.named_modules(remove_duplicate=False):
        for table in (owner._parameters, owner._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    paths.append(f"{prefix}.{name}" if prefix else name)
                    groups.setdefault(tensor, []).append(paths[-1])
    return paths, [group for group in groups.values() if len(group) > 1]


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False):
    """Inside of a with statement the module has these tensors at their paths.

    At its end `parameters_and_buffers` has the tensors that forward assigned to these paths.
    """
    if stack_weights:
        raise NotImplementedError("stack_weights=True is not supported")
    given = dict(parameters_and_buffers)
    paths, groups = _tied(module) if tie_weights or strict else ([], [])
    if tie_weights:
        for group in groups:
            named = [path for path in group if path in parameters_and_buffers]
            if any(given[path] is not given[named[0]] for path in named):
                raise ValueError(f"functional_call got multiple values for keys {sorted(named)}, which are tied. "
                                 "Consider using tie_weights=False")
            given.update({path: given[named[0]] for path in group if named})
    if strict:
        problems = []
        for kind, keys in (("Unexpected", set(given) - set(paths)), ("Missing", set(paths) - set(given))):
            if keys:
                problems.append(f"{kind} key(s): {', '.join(map(repr, sorted(keys)))}.")
        if problems:
            raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(problems)))
    slots = {}
    try:
        for path, tensor in given.items():
            slot = _Slot(module, path)
            slot.set(tensor)
            slots[path] = slot
        yield
    finally:
        left = {path: slot.restore() for path, slot in reversed(slots.items())}
        parameters_and_buffers.update({path: left[path] for path in parameters_and_buffers if left.get(path, _ABSENT) is not _ABSENT})


def _call(module, parameters_and_buffers, args, kwargs, tie_weights, strict):
    from ...jit import ScriptModule

    if isinstance(module, ScriptModule):
        raise RuntimeError("The stateless API can't be used with Jitted modules")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **({} if kwargs is None else kwargs))


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls the module with these parameters and buffers, by path, in the place of its own."""
    return _call(module, parameters_and_buffers, args, kwargs, tie_weights, strict)
