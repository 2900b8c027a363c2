"""Substitutes for methods of str that read the program's own iterators or ask objects for their text."""

import string

from . import substitute
from .of_objects import format, make_str, repr


@substitute(str.join)
def join(self, iterable, /):
    try:
        iterator = iter(iterable)
    except TypeError:
        raise TypeError("can only join an iterable") from None
    return str.join(self, [item for item in iterator])


_FORMATTER = string.Formatter()


def _field(name, args, keywords, numbering):
    """The value that a field of a format names: '0.attr[key]'."""
    first, rest = name, ""
    for i, character in enumerate(name):
        if character in ".[":
            first, rest = name[:i], name[i:]
            break
    if first == "":
        if numbering[0] == "manual":
            raise ValueError("cannot switch from manual field specification to automatic field numbering")
        numbering[0] = "automatic"
        first = numbering[1]
        numbering[1] += 1
        value = _argument(args, first)
    elif first.isdecimal():
        if numbering[0] == "automatic":
            raise ValueError("cannot switch from automatic field numbering to manual field specification")
        numbering[0] = "manual"
        value = _argument(args, int(first))
    else:
        value = keywords[first]
    while rest:
        if rest[0] == ".":
            end = 1
            while end < len(rest) and rest[end] not in ".[":
                end += 1
            if end == 1:
                raise ValueError("Empty attribute in format string")
            value = getattr(value, rest[1:end])
        else:
            end = rest.find("]")
            if end < 0:
                raise ValueError("Missing ']' in format string")
            key = rest[1:end]
            if not key:
                raise ValueError("Empty attribute in format string")
            value = value[int(key) if key.isdecimal() else key]
            end += 1
            if end < len(rest) and rest[end] not in ".[":
                raise ValueError("Only '.' or '[' may follow ']' in format field specifier")
        rest = rest[end:]
    return value


def _argument(args, i):
    if i >= len(args):
        raise IndexError(f"Replacement index {i} out of range for positional args tuple")
    return args[i]


def _expanded(text, args, keywords, numbering, depth):
    if depth < 0:
        raise ValueError("Max string recursion exceeded")
    parts = []
    for literal, name, spec, conversion in _FORMATTER.parse(text):
        parts.append(literal)
        if name is None:
            continue
        value = _field(name, args, keywords, numbering)
        if conversion == "r":
            value = repr(value)
        elif conversion == "s":
            value = make_str(value)
        elif conversion == "a":
            value = repr(value).encode("ascii", "backslashreplace").decode()
        elif conversion is not None:
            return text.format(*args, **keywords)  # refuses
        if spec and "{" in spec:
            spec = _expanded(spec, args, keywords, numbering, depth - 1)
        parts.append(format(value, spec))
    return "".join(parts)


@substitute(str.format)
def str_format(self, /, *args, **keywords):
    return _expanded(self, args, keywords, [None, 0], 1)


@substitute(str.format_map)
def str_format_map(self, mapping, /):
    return _expanded(self, (), mapping, [None, 0], 1)
