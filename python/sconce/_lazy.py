"""What is loaded when it is first used: submodules, and functions of the script library.

The package has no __getattr__: CPython looks attributes of a module up faster when there is none, which is a third of the time of
a small operator.
"""

import os
import sys
from _thread import RLock

_Module = type(sys)
_lock = RLock()
_FOLDER = os.path.dirname(__file__)
_NEED_OTHERS = {"engines", "interop", "torch_backend"}  # imported by name: reading all of sys.modules must import neither PyTorch nor numpy


class _LazyModule(_Module):
    """A module whose text runs when an attribute is asked for."""

    def __getattr__(self, name):
        with _lock:
            if type(self) is _LazyModule:
                _execute(self)
        return getattr(self, name)


def _execute(module):
    spec = None
    for finder in sys.meta_path:
        spec = spec or finder.find_spec(module.__name__, [_FOLDER])
    module.__class__ = _Module
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    module.__package__ = spec.parent
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
    try:
        spec.loader.exec_module(module)
    except BaseException:
        module.__class__ = _LazyModule
        raise


class _LibraryFinder:
    """Finds modules of the script library, whose loader is loaded on the first use of one."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("sconce.nn.") and name != "sconce.functional":
            return None
        from . import _library

        return _library.find_spec(name)


def _submodules():
    for entry in os.listdir(_FOLDER):
        name, extension = os.path.splitext(entry)
        if (name.startswith("_") and name not in ("_dynamo", "_higher_order_ops")) or not name.isidentifier() or name in _NEED_OTHERS:
            continue
        if extension == ".py" or os.path.isfile(os.path.join(_FOLDER, entry, "__init__.py")):
            yield name
    yield "functional"


def _functional_names():
    """The names in the text of sconce.functional."""
    with open(os.path.join(_FOLDER, "script", "torch", "functional.py"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("def "):
                name = line[4:line.index("(")]
            else:
                name, equals, _ = line.partition(" = ")
                if not equals:
                    continue
            if name.isidentifier() and name[0].islower():
                yield name


# Functions of torch that are written in Python, by the module that has them.
_WRITTEN_IN_PYTHON = {
    "sconce.amp.autocast_mode": ("autocast", "get_autocast_dtype", "is_autocast_cache_enabled", "is_autocast_enabled"),
    "sconce._decompositions": ("pca_lowrank", "svd_lowrank", "unravel_index"),
    "sconce._higher_order_ops": ("cond", "while_loop"),
    "sconce._checks": ("_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all", "_check_type",
                       "_check_value", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"),
    "sconce.func": ("vmap",),
    "sconce.compiler": ("compile",),
}


def _lazy_function(package, name, module="sconce.functional"):
    def function(*args, **kwargs):
        __import__(module)
        found = getattr(sys.modules[module], name)
        setattr(package, name, found)
        return found(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    return function


def install(package):
    """Gives the package its submodules and the functions of the script library."""
    sys.meta_path.insert(0, _LibraryFinder)
    names = vars(package)
    for name in _submodules():
        if name not in names:
            module = sys.modules[f"sconce.{name}"] = _LazyModule(f"sconce.{name}")
            folder = os.path.join(_FOLDER, name)
            if os.path.isdir(folder):  # known before its text runs: `import sconce.nn.module` asks for it, and runs that once
                module.__path__ = [folder]
            setattr(package, name, module)
    for name in _functional_names():
        if name not in names:
            setattr(package, name, _lazy_function(package, name))
    for module, functions in _WRITTEN_IN_PYTHON.items():
        for name in functions:
            setattr(package, name, _lazy_function(package, name, module))
