"""Stubs of modules written in Python, from their texts: signatures as they stand, Any where nothing is annotated."""

import ast
import importlib
import inspect
import sys

from extension import class_stub
from operators import HEAD

KEPT_OF_CLASSES = ("dataclass", "dataclasses.dataclass")
KEPT_DECORATORS = {"property", "staticmethod", "classmethod", "abstractmethod", "abc.abstractmethod", "typing.overload", "overload"}
IMPLICIT = ("from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Type, Union\n")


def names_of(node):
    """What a statement of a module defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
            yield from (item.id for item in ast.walk(target) if isinstance(item, ast.Name))


class Stub:
    """The stub of one text. `exports`: imported names are those of the package, too."""

    def __init__(self, text, path, exports=False):
        self.tree = ast.parse(text, path)
        self.exports = exports
        self.names = set()
        self.known = {"Any", "Callable", "Dict", "Iterable", "Iterator", "List", "NamedTuple", "Optional", "Sequence", "Set", "Tuple",
                      "Type", "Union", "None", "int", "float", "bool", "str", "bytes", "complex", "object", "list", "tuple", "dict",
                      "set", "type", "frozenset", "True", "False"}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.known.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self.known.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)

    def text(self):
        lines = self.block(self.tree.body, "")
        return "\n".join([HEAD, IMPLICIT, *lines]) + "\n"

    def annotation(self, node):
        if node is None:
            return "Any"
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        shown = ast.unparse(node)
        if "BroadcastingList" in shown:
            return "Any"
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return shown if used <= self.known else "Any"

    def block(self, body, indent, in_class=False):
        lines, names = [], set()
        last = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        overloaded = {node.name for node in body if isinstance(node, ast.FunctionDef)
                      and any(ast.unparse(d) in ("overload", "typing.overload") for d in node.decorator_list)}
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name in overloaded and last[node.name] is node:
                continue  # what runs
            if isinstance(node, ast.FunctionDef) and last[node.name] is not node and not self.is_part(node):
                continue  # a declaration of the script language; the last one is what Python calls
            if not indent:
                self.names.update(names_of(node))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names.add(node.name)
                lines += self.function(node, indent, in_class)
            elif isinstance(node, ast.ClassDef):
                names.add(node.name)
                lines += self.class_(node, indent)
            elif isinstance(node, (ast.Import, ast.ImportFrom)) and self.is_foreign(node):
                lines += [f"{indent}{(alias.asname or alias.name).partition('.')[0]}: Any" for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                lines += self.import_from(node, indent)
            elif isinstance(node, ast.Import):
                lines += [indent + ast.unparse(ast.Import([alias])) for alias in node.names]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                default = " = ..." if in_class and node.value is not None else ""
                lines.append(f"{indent}{node.target.id}: {self.annotation(node.annotation)}{default}")
                names.add(node.target.id)
            elif isinstance(node, ast.Assign):
                lines += self.assignment(node, indent, names)
            elif isinstance(node, ast.If):
                lines += self.block(node.body, indent, in_class)
            elif isinstance(node, ast.Try):
                lines += self.block(node.body, indent, in_class)
        return lines

    @staticmethod
    def is_foreign(node):
        """Of a package that need not be installed."""
        name = node.names[0].name if isinstance(node, ast.Import) else (node.module or "")
        root = name.partition(".")[0]
        return not getattr(node, "level", 0) and root != "sconce" and root not in sys.stdlib_module_names

    @staticmethod
    def is_part(node):
        return any(ast.unparse(d) in KEPT_DECORATORS or ast.unparse(d).endswith(".setter") for d in node.decorator_list)

    def assignment(self, node, indent, names):
        lines = []
        for target in node.targets:
            for name in target.elts if isinstance(target, ast.Tuple) else (target,):
                if not isinstance(name, ast.Name) or name.id in names:
                    continue
                names.add(name.id)
                alias = isinstance(node.value, (ast.Name, ast.Attribute)) and not isinstance(target, ast.Tuple)
                root = ast.unparse(node.value).partition(".")[0] if alias else ""
                if name.id == "__all__" and isinstance(node.value, ast.List):
                    lines.append(f"{indent}__all__ = {ast.unparse(node.value)}")
                elif alias and root in self.known and root not in ("None", "True", "False"):
                    lines.append(f"{indent}{name.id} = {ast.unparse(node.value)}")
                elif indent and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "property":
                    lines.append(f"{indent}@property\n{indent}def {name.id}(self) -> Any: ...")
                else:
                    lines.append(f"{indent}{name.id}: Any")
        return lines

    def import_from(self, node, indent):
        if node.module == "__future__":
            return []
        exported = self.exports and node.level
        source = "." * node.level + (node.module or "")
        lines = []
        for alias in node.names:
            shown = alias.name if not alias.asname else f"{alias.name} as {alias.asname}"
            if exported and not alias.asname and alias.name != "*":
                shown = f"{alias.name} as {alias.name}"
            lines.append(f"{indent}from {source} import {shown}")
        return lines

    def function(self, node, indent, in_class):
        if node.name == "__getattr__" and not in_class:
            return []
        decorators = [ast.unparse(d) for d in node.decorator_list]
        if "lazy_property" in decorators:  # an attribute once it was read
            return [f"{indent}{node.name}: Any"]
        kept = [d for d in decorators if d in KEPT_DECORATORS or d.endswith((".setter", ".deleter"))]
        arguments = node.args
        first = in_class and "staticmethod" not in decorators
        everything = arguments.posonlyargs + arguments.args
        defaults = [None] * (len(everything) - len(arguments.defaults)) + list(arguments.defaults)
        parts = []
        for i, (argument, default) in enumerate(zip(everything, defaults)):
            annotation = "" if first and i == 0 else f": {self.annotation(argument.annotation)}"
            if default is not None and isinstance(default, ast.Constant) and default.value is None and annotation not in (": Any", ""):
                annotation = annotation if "Optional" in annotation or "None" in annotation else f": Optional[{annotation[2:]}]"
            parts.append(argument.arg + annotation + (" = ..." if default is not None else ""))
            if argument in arguments.posonlyargs and argument is arguments.posonlyargs[-1]:
                parts.append("/")
        if arguments.vararg:
            parts.append(f"*{arguments.vararg.arg}: {self.annotation(arguments.vararg.annotation)}")
        elif arguments.kwonlyargs:
            parts.append("*")
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
            parts.append(f"{argument.arg}: {self.annotation(argument.annotation)}" + (" = ..." if default is not None else ""))
        if arguments.kwarg:
            parts.append(f"**{arguments.kwarg.arg}: {self.annotation(arguments.kwarg.annotation)}")
        plain = not [d for d in decorators if d not in kept]
        result = "None" if node.name == "__init__" else self.annotation(node.returns) if plain else "Any"
        return [f"{indent}@{d}" for d in kept] + [f"{indent}def {node.name}({', '.join(parts)}) -> {result}: ..."]

    def class_(self, node, indent):
        bases = [ast.unparse(base) for base in node.bases if not isinstance(base, ast.Call)]
        metaclass = [f"metaclass={ast.unparse(k.value)}" for k in node.keywords if k.arg == "metaclass"]
        body = self.block(node.body, indent + "    ", in_class=True)
        defined = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        defined |= {n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        defined |= {t.id for n in node.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                for name in self.set_attributes(method):
                    if name not in defined:
                        defined.add(name)
                        body.append(f"{indent}    {name}: Any")
        head = f"{indent}class {node.name}({', '.join(bases + metaclass)}):" if bases + metaclass else f"{indent}class {node.name}:"
        decorators = [f"{indent}@{shown}" for shown in map(ast.unparse, node.decorator_list) if shown.startswith(KEPT_OF_CLASSES)]
        return [*decorators, head, *(body or [f"{indent}    ..."])]

    @staticmethod
    def set_attributes(method):
        for node in ast.walk(method):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            for target in targets:
                for item in target.elts if isinstance(target, ast.Tuple) else (target,):
                    if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and item.value.id == "self":
                        yield item.attr


def of_script(text):
    """A text of the script library: torch in it means sconce."""
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] in (["import"], ["from"]) and len(words) > 1 and words[1].split(".")[0] == "torch":
            whole = " as " in line or words[0] == "from" or "." in words[1]
            line = line.replace("torch", "sconce", 1) + ("" if whole else " as torch")
        lines.append(line)
    return "\n".join(lines)


def dynamic_names(name, known):
    """Names that a module has at run time beside those of its text: what it loads on first use, classes that it makes."""
    try:
        module = importlib.import_module(name)
        getattr(module, "__all__", None)  # loads it
    except ImportError:  # of PyTorch
        return ""
    lines, operator = [], sys.modules["sconce"]._sconce.OperatorFunction
    for found in sorted(dir(module)):
        if found.startswith("_") or found in known or not found.isidentifier():
            continue
        try:
            value = getattr(module, found)
        except (AttributeError, ImportError):
            continue
        home = getattr(value, "__module__", None) or ""
        if inspect.ismodule(value):
            if value.__name__ == f"{name}.{found}":
                lines.append(f"from . import {found} as {found}")
        elif isinstance(value, operator):
            lines.append(f"from sconce._operators import {found} as {found}")
        elif home.startswith("sconce") and home != name and home != "sconce._sconce":
            lines.append(f"from {home} import {found} as {found}")
        elif isinstance(value, type) and home == name:
            lines.append(class_stub(found, value))
        else:
            lines.append(f"{found}: Any")
    return "\n".join(lines) + "\n"
