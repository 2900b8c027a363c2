"""The library of the script language as Python modules: sconce.nn.modules.linear is script/torch/nn/modules/linear.py.

The front end compiles these texts when a program uses torch.nn; here Python runs them, so that both have one definition of
every module. `torch` in them means sconce. A folder of texts that share their names (torch/nn/functional) is one module.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import marshal
import os
import pathlib
import sys


FOLDER = pathlib.Path(__file__).parent / "script" / "torch"
NAMES = {"sconce.functional": "functional.py", "sconce.nn.functional": "nn/functional", "sconce.nn.init": "nn/init.py"}
OVERRIDABLE = {"sconce.functional", "sconce.nn.functional"}
KEPT = {"sigmoid", "tanh"}  # functions that PyTorch runs whatever their argument is
WRITTEN_ANEW = {"sconce.nn.modules.container"}


class _ForPython(ast.NodeTransformer):
    """What the language means otherwise than Python: torch is sconce, sizes are lists, and BroadcastingList2[int] takes one int
    for all. `overridable`: functions ask their arguments for __torch_function__ first."""

    def __init__(self, overridable=False):
        self.overridable = overridable

    def visit_Module(self, node):
        self.generic_visit(node)
        for function in node.body if self.overridable else ():
            if isinstance(function, ast.FunctionDef) and not function.decorator_list and function.name not in KEPT and \
                    not function.name.startswith("_"):
                _give_way(function)
        node.body[:0] = ast.parse("from sconce._library import _Sizes, _spread\nfrom sconce import _overrides").body
        return node

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name == "torch":
                alias.name, alias.asname = "sconce", "torch"
            elif alias.name.startswith("torch."):
                alias.name = "sconce" + alias.name[5:]
        return node

    def visit_ImportFrom(self, node):
        if node.module == "torch" or (node.module or "").startswith("torch."):
            node.module = "sconce" + node.module[5:]
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        sizes = isinstance(node.func, ast.Attribute) and node.func.attr == "size" and not node.args and not node.keywords
        return _listed(node) if sizes else node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        return _listed(node) if node.attr == "shape" and isinstance(node.ctx, ast.Load) else node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        for argument in reversed(node.args.args):
            text = ast.unparse(argument.annotation) if argument.annotation else ""
            if "BroadcastingList" not in text:
                continue
            count = text[text.index("BroadcastingList") + 16]
            spread = ast.parse(f"{argument.arg} = _spread({argument.arg}, {count}, {node.args.args[0].arg})").body[0]
            node.body.insert(0, ast.copy_location(spread, node))
        return node


class _Sizes(list):
    """Sizes in the texts: a list that equals tuples, too."""

    def __eq__(self, other):
        return list.__eq__(self, list(other))

    def __ne__(self, other):
        return not self == other

    __hash__ = None


def _spread(value, count, input):
    """One number for all of `count` dimensions, or a list of them; None in it, for adaptive pooling, keeps the size of the input."""
    if isinstance(value, int):
        return [value] * count
    if isinstance(value, (list, tuple)):
        return [input.shape[i - len(value)] if v is None else v for i, v in enumerate(value)]
    return value


def _give_way(function):
    """Lets a function begin with a look at its arguments, as functions of torch do: those without a default go by position."""
    arguments = function.args
    first_default = len(arguments.args) - len(arguments.defaults)
    names = [argument.arg for argument in arguments.args]
    named = names[first_default:] + [argument.arg for argument in arguments.kwonlyargs]
    args = "".join(name + ", " for name in names[:first_default])
    kwargs = ", ".join(f"{name!r}: {name}" for name in named)
    text = (f"if _overrides.active:\n    _result = _overrides.redirect(globals()[{function.name!r}], ({args}), {{{kwargs}}})\n"
            "    if _result is not _overrides.NOTHING:\n        return _result")
    after_docstring = 1 if ast.get_docstring(function) is not None else 0
    function.body.insert(after_docstring, ast.copy_location(ast.parse(text).body[0], function))


def _listed(node):
    return ast.copy_location(ast.Call(ast.Name("_Sizes", ast.Load()), [node], []), node)


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        super().exec_module(module)
        if self.name == "sconce.functional":
            module.einsum = sys.modules["sconce"].einsum  # it takes more than the language can say
        elif self.name == "sconce.nn.modules.rnn":
            from .nn._flat_weights import flat_weights
            module.RNNBase._flat_weights = flat_weights  # a program of the language has a plain list

    def source_to_code(self, data, path, *, _optimize=-1):
        tree = ast.fix_missing_locations(_ForPython(self.name in OVERRIDABLE).visit(ast.parse(data, path)))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def get_code(self, fullname):
        """Kept under a name of its own: what Python and pip keep for the file is the text as it stands, without _ForPython."""
        path = self.get_filename(fullname)
        stats = [os.stat(file) for file in (path, __file__)]
        key = importlib.util.MAGIC_NUMBER + repr([(found.st_mtime_ns, found.st_size) for found in stats]).encode()
        kept = importlib.util.cache_from_source(path, optimization="sconce")
        try:
            data = self.get_data(kept)
            if data.startswith(key):
                return marshal.loads(memoryview(data)[len(key):])
        except (OSError, EOFError, ValueError, TypeError):
            pass  # there is none, or half of one
        code = self.source_to_code(self.get_data(path), path)
        if not sys.dont_write_bytecode:
            self.set_data(kept, key + marshal.dumps(code))
        return code


class _FolderLoader(importlib.abc.Loader):
    """Runs all files of a folder in one module."""

    def __init__(self, folder):
        self.folder = folder

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        for path in sorted(self.folder.glob("*.py")):
            exec(_Loader(module.__name__, str(path)).get_code(module.__name__), module.__dict__)

        def operator(name):
            """What is an operator and nothing more: functional.linear."""
            found = getattr(sys.modules["sconce"], name)
            setattr(module, name, found)
            return found

        module.__getattr__ = operator


def find_spec(name):
    """Where a module of the library is, as finders of Python say it; None for other modules."""
    if name.startswith("sconce.nn.modules."):
        if name in WRITTEN_ANEW:
            return None
        file = FOLDER / "nn" / "modules" / (name.rpartition(".")[2] + ".py")
    elif name in NAMES:
        file = FOLDER / NAMES[name]
    else:
        return None
    if file.is_dir():
        return importlib.machinery.ModuleSpec(name, _FolderLoader(file), origin=str(file))
    if not file.is_file():
        return None
    return importlib.util.spec_from_file_location(name, file, loader=_Loader(name, str(file)))


def functional():
    """The functions of torch that take more kinds of arguments than their operators: tensordot, norm, stft."""
    return importlib.import_module("sconce.functional")
