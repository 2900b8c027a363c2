"""Operator schemas as the generator needs them: names, types, defaults, which arguments are written."""

import re
from dataclasses import dataclass, field


@dataclass
class Argument:
    text: str  # as written: "Tensor(a!) self"
    type: str  # without alias annotation: "Tensor", "int[2]", "Tensor?"
    name: str
    default: str | None
    keyword_only: bool
    alias: str  # "a!", "a", ""

    @property
    def written(self):
        return "!" in self.alias

    @property
    def is_tensor(self):
        return self.type in ("Tensor", "Tensor?")


@dataclass
class Schema:
    text: str
    namespace: str
    name: str
    overload: str
    arguments: list
    returns: list = field(default_factory=list)

    @property
    def key(self):
        return self.name + ("." + self.overload if self.overload else "")

    def argument(self, name):
        return next((a for a in self.arguments if a.name == name), None)


def split_top(text, separator=","):
    """Splits at separators that are outside of brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, None
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    last = text[start:]
    if last.strip() or parts:
        parts.append(last)
    return [p.strip() for p in parts]


# (a), (a!), (a|b), (a -> *), (*) behind a type; Future(t) and the like are types themselves.
_ALIAS = re.compile(r"(?<!Future)(?<!RRef)(?<!Await)\(([a-z]+(?:\|[a-z]+)*!?(?: -> [*a-z|]+)?|\*)\)(?=\s|\[|\?|$)")


def _split_type(text):
    """'Tensor(a!)[] self=None' -> 'Tensor[] self=None', 'a!'"""
    aliases = _ALIAS.findall(text)
    return _ALIAS.sub("", text), aliases[0] if aliases else ""


def parse(text):
    """Raises ValueError for what is not a schema."""
    match = re.fullmatch(r"(?:(\w+)::)?([\w]+)(?:\.(\w+))?\((.*)\)\s*->\s*(.*)", text, re.S)
    if not match:
        raise ValueError(f"not a schema: {text!r}")
    namespace, name, overload, args_text, returns_text = match.groups()
    arguments, keyword_only = [], False
    for part in split_top(args_text):
        if part == "*":
            keyword_only = True
            continue
        if part == "...":
            arguments.append(Argument(part, "...", "...", None, keyword_only, ""))
            continue
        stripped, alias = _split_type(part)
        m = re.fullmatch(r"(.*\S)\s+(\w+)(?:=(.*))?", stripped, re.S)
        if not m:
            raise ValueError(f"not an argument: {part!r} in {text!r}")
        arguments.append(Argument(part, m.group(1), m.group(2), m.group(3), keyword_only, alias))
    returns = []
    inner = returns_text.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    for part in split_top(inner):
        stripped, alias = _split_type(part)
        m = re.fullmatch(r"(\(.*\)\S*|\w+\(.*\)\S*|\S+)(?:\s+(\w+))?", stripped)
        if not m:
            raise ValueError(f"not a return: {part!r} in {text!r}")
        returns.append(Argument(part, m.group(1), m.group(2) or "", None, False, alias))
    return Schema(text, namespace or "aten", name, overload or "", arguments, returns)
