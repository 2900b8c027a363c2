"""OptimizedModule: what compile() returns for a module. It is the module in all but its calls."""

import types

from .. import _sconce
from ..nn import Module

_OWN = {"_orig_mod", "_settings", "_compiled", "_compiled_call", "forward"}


def _call_module(self, *args, **kwargs):
    return self(*args, **kwargs)


class OptimizedModule(Module):
    """A compiled module. Attributes, parameters and state are those of the module inside (_orig_mod); a call runs captured graphs."""

    def __init__(self, model, settings):
        object.__setattr__(self, "_orig_mod", model)
        own = self.__dict__
        own["_settings"] = settings
        own["_compiled"] = settings.compile(model.forward)
        own["_compiled_call"] = None  # for modules with hooks; made when one is there
        own["forward"] = self._run

    def _run(self, *args, **kwargs):
        model = self._orig_mod
        if _sconce._module_has_hooks(model):
            if self._compiled_call is None:
                self.__dict__["_compiled_call"] = types.MethodType(self._settings.function(_call_module), model)
            return self._compiled_call(*args, **kwargs)
        return self._compiled(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        return self._run(*args, **kwargs)

    def __getattr__(self, name):
        if name == "_orig_mod":  # before __init__: copies, unpickling
            raise AttributeError(f"'OptimizedModule' object has no attribute '{name}'")
        if name in ("_modules", "_parameters", "_buffers"):
            return getattr(self._orig_mod, name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name in _OWN:
            self.__dict__[name] = value
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        if name in _OWN:
            del self.__dict__[name]
        else:
            delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*object.__dir__(self), *dir(self._orig_mod)})

    def __repr__(self):
        inside = repr(self._orig_mod).replace("\n", "\n  ")
        return f"OptimizedModule(\n  (_orig_mod): {inside}\n)"

    def __len__(self):
        return len(self._orig_mod)

    def __iter__(self):
        return iter(self._orig_mod)

    def __getitem__(self, index):
        return self._orig_mod[index]

    def __reduce__(self):
        settings = self._settings
        return _remade, (self._orig_mod, settings.backend, settings.options, settings.fullgraph, settings.dynamic)

    def __deepcopy__(self, memo):
        import copy

        return OptimizedModule(copy.deepcopy(self._orig_mod, memo), self._settings)


def _remade(model, backend, options, fullgraph, dynamic):
    from ._compile import _Settings

    return OptimizedModule(model, _Settings(backend or "sconce", options, fullgraph, dynamic))
