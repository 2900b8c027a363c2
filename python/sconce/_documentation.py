"""Docstrings of operators: their signatures, what they do, and an example that has run (_examples.txt, made by the build)."""

import functools
import pathlib
import re

_TYPES = {"Scalar": "Number", "SymInt": "int", "SymBool": "bool", "ScalarType": "dtype", "Device": "device", "Layout": "layout",
          "MemoryFormat": "memory_format"}
_ALIAS = re.compile(r"\((?:[a-z]+(?:\|[a-z]+)*!?(?: -> [*a-z|]+)?|\*)\)(?=\s|\[|\?|$|,|\))")


@functools.cache
def _examples():
    """Name -> example. Empty where the build did not make them."""
    file = pathlib.Path(__file__).with_name("_examples.txt")
    if not file.is_file():
        return {}
    blocks = re.split(r"^@", file.read_text(), flags=re.M)[1:]
    return dict((name, text.rstrip("\n")) for name, _, text in (block.partition("\n") for block in blocks))


def _type(text):
    base = re.match(r"\w+", text)
    return _TYPES.get(base[0], base[0]) + text[base.end():] if base else text


def _split(text):
    """At commas outside of brackets and quotes."""
    return [part.strip() for part in re.findall(r"""(?:\[[^\]]*\]|"[^"]*"|'[^']*'|\([^)]*\)|[^,])+""", text)]


def signature(name, schema, is_method=False):
    """add(input: Tensor, other: Tensor, *, alpha: Number = 1) -> Tensor, for a schema."""
    arguments, _, returns = _ALIAS.sub("", schema.partition("(")[2]).rpartition(") -> ")
    parts = []
    for i, argument in enumerate(_split(arguments)):
        kind, _, rest = argument.partition(" ")
        called, equals, default = rest.partition("=")
        if is_method and i == 0:
            continue
        if kind == "*":
            parts.append("*")
            continue
        called = "input" if called == "self" else called
        parts.append(f"{called}: {_type(kind)}" + (f" = {default}" if equals else ""))
    results = [_type(part) for part in _split(returns.strip("()"))] if returns != "()" else ["None"]
    result = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"{'Tensor.' if is_method else ''}{name}({', '.join(parts)}) -> {result}"


def describe(name, schemas, doc, is_method=False):
    """The docstring of a function or method of operators."""
    short = name.partition("::")[2].partition(".")[0] or name
    lines = [signature(name, schema, is_method) for schema in schemas]
    if doc:
        lines += ["", doc]
    example = _examples().get(short)
    if example and (not name.partition("::")[1] or name.startswith("aten::")):
        lines += ["", "Example:", *(f"    {line}" for line in example.split("\n"))]
    return "\n".join(lines) + "\n"
