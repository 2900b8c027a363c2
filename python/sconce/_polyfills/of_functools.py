"""Substitutes for functools: reduce, cmp_to_key, calls of partial objects."""

import functools

from . import substitute, substitute_call

_MISSING = object()


@substitute(functools.reduce)
def reduce(function, iterable, initial=_MISSING, /):
    try:
        items = iter(iterable)
    except TypeError:
        raise TypeError("reduce() arg 2 must support iteration") from None
    if initial is _MISSING:
        try:
            value = next(items)
        except StopIteration:
            return functools.reduce(function, ())  # refuses
    else:
        value = initial
    for item in items:
        value = function(value, item)
    return value


@substitute_call(functools.partial)
def call_partial(self, /, *args, **keywords):
    return self.func(*self.args, *args, **{**self.keywords, **keywords})


class ComparedKey:
    """What functools.cmp_to_key(f)(x) gives."""

    __slots__ = ("obj", "_compare")
    __hash__ = None

    def __init__(self, obj, compare):
        self.obj = obj
        self._compare = compare

    def __lt__(self, other):
        return self._compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self._compare(self.obj, other.obj) > 0

    def __eq__(self, other):
        return self._compare(self.obj, other.obj) == 0

    def __le__(self, other):
        return self._compare(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self._compare(self.obj, other.obj) >= 0

    def __reduce__(self):
        return _make_compared, (self._compare, self.obj)


def _make_compared(compare, obj):
    return functools.cmp_to_key(compare)(obj)


@substitute(functools.cmp_to_key)
def cmp_to_key(mycmp):
    return lambda obj: ComparedKey(obj, mycmp)


def dispatched_method(self, obj, cls=None):
    """singledispatchmethod.__get__ of CPython 3.13 for a method that is called at once: it need not be kept."""
    def method(*args, **keywords):
        if not args:
            raise TypeError(f"{getattr(self.func, '__name__', 'singledispatchmethod method')} requires at least 1 positional argument")
        return self.dispatcher.dispatch(args[0].__class__).__get__(obj, cls)(*args, **keywords)
    return method
