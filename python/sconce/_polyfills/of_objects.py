"""Substitutes for functions of builtins that ask an object's class: len, str, hash, int, isinstance with the class's own say."""

import builtins
import math
import operator
import os
import sys

from . import substitute

_MISSING = object()


def special(obj, name):
    """The method of that name of obj's class, bound, as C finds it: not in the instance, not in the metaclass. None: there is none."""
    kind = type(obj)
    for base in kind.__mro__:
        namespace = base.__dict__
        if name in namespace:
            found = namespace[name]
            if found is None:
                return None
            get = getattr(type(found), "__get__", None)
            return found if get is None else get(found, obj, kind)
    return None


@substitute(builtins.len)
def len(obj, /):
    method = special(obj, "__len__")
    if method is None:
        return builtins.len(obj)  # refuses
    length = method()
    if type(length) is not int:
        length = operator.index(length)
    if length < 0:
        raise ValueError("__len__() should return >= 0")
    if length > sys.maxsize:
        raise OverflowError("cannot fit 'int' into an index-sized integer")
    return length


@substitute(builtins.bool)
def make_bool(obj=False, /):
    return True if obj else False


@substitute(builtins.hash)
def hash(obj, /):
    method = special(obj, "__hash__")
    if method is None:
        raise TypeError(f"unhashable type: '{type(obj).__name__}'")
    value = method()
    if not isinstance(value, int):
        raise TypeError("__hash__ method should return an integer")
    value = int(value)
    if -sys.maxsize - 1 <= value <= sys.maxsize:
        return -2 if value == -1 else value
    return builtins.hash(value)


def _text(obj, name, word):
    text = special(obj, name)()
    if not isinstance(text, str):
        raise TypeError(f"{word} returned non-string (type {type(text).__name__})")
    return text


@substitute(builtins.repr)
def repr(obj, /):
    return _text(obj, "__repr__", "__repr__")


@substitute(builtins.str)
def make_str(*args, **keywords):
    if builtins.len(args) != 1 or keywords:
        return str(*args, **keywords)
    obj = args[0]
    return obj if type(obj) is str else _text(obj, "__str__", "__str__")


@substitute(object.__str__)
def object_str(self, /):
    return _text(self, "__repr__", "__repr__")


@substitute(builtins.format)
def format(value, format_spec="", /):
    text = special(value, "__format__")(format_spec)
    if not isinstance(text, str):
        raise TypeError(f"__format__ must return a str, not {type(text).__name__}")
    return text


@substitute(object.__format__)
def object_format(self, format_spec, /):
    if format_spec:
        return object.__format__(self, format_spec)  # refuses
    return make_str(self)


@substitute(builtins.abs)
def abs(x, /):
    method = special(x, "__abs__")
    return builtins.abs(x) if method is None else method()


@substitute(builtins.round)
def round(number, ndigits=_MISSING):
    method = special(number, "__round__")
    if method is None:
        return builtins.round(number)  # refuses
    return method() if ndigits is _MISSING or ndigits is None else method(ndigits)


@substitute(builtins.divmod)
def divmod(x, y, /):
    forward, backward = special(x, "__divmod__"), special(y, "__rdivmod__")
    later = type(x) is not type(y)
    if later and backward is not None and issubclass(type(y), type(x)) and type(y).__rdivmod__ is not getattr(type(x), "__rdivmod__", None):
        value = backward(x)
        if value is not NotImplemented:
            return value
        later = False
    if forward is not None:
        value = forward(y)
        if value is not NotImplemented:
            return value
    if later and backward is not None:
        value = backward(x)
        if value is not NotImplemented:
            return value
    raise TypeError(f"unsupported operand type(s) for divmod(): '{type(x).__name__}' and '{type(y).__name__}'")


def _rounded(name):
    original = getattr(math, name)
    method_name = f"__{name}__"

    def function(x, /):
        method = special(x, method_name)
        return original(x) if method is None else method()
    return function


for _name in ("floor", "ceil", "trunc"):
    substitute(getattr(math, _name))(_rounded(_name))


@substitute(os.fspath)
def fspath(path):
    if isinstance(path, (str, bytes)):
        return path
    method = special(path, "__fspath__")
    if method is None:
        return os.fspath(path)  # refuses
    text = method()
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"expected {type(path).__name__}.__fspath__() to return str or bytes, not {type(text).__name__}")
    return text


@substitute(operator.length_hint)
def length_hint(obj, default=0, /):
    if special(obj, "__len__") is not None:
        try:
            return len(obj)
        except TypeError:
            pass
    method = special(obj, "__length_hint__")
    if method is None:
        return default
    hint = method()
    if hint is NotImplemented:
        return default
    if not isinstance(hint, int):
        raise TypeError(f"__length_hint__ must be an integer, not {type(hint).__name__}")
    if hint < 0:
        raise ValueError("__length_hint__() should return >= 0")
    return hint
