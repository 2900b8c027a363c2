"""Substitutes for the functions of builtins that call back: map, filter, zip, sum, sorted, min, max ..."""

import builtins

from . import StandIn, substitute

_MISSING = object()


class Map(StandIn):
    __slots__ = ("function", "iterators")

    def __init__(self, function, iterators):
        self.function = function
        self.iterators = iterators

    def __next__(self):
        if len(self.iterators) == 1:
            return self.function(next(self.iterators[0]))
        return self.function(*[next(iterator) for iterator in self.iterators])

    def __reduce__(self):
        return builtins.map, (self.function, *self.iterators)


@substitute(builtins.map)
def map(function, iterable, /, *iterables):
    iterators = [iter(iterable)]
    for more in iterables:
        iterators.append(iter(more))
    return Map(function, iterators)


class Filter(StandIn):
    __slots__ = ("function", "iterator")

    def __init__(self, function, iterator):
        self.function = function
        self.iterator = iterator

    def __next__(self):
        function = self.function
        while True:
            item = next(self.iterator)
            if function is None or function is bool:
                if item:
                    return item
            elif function(item):
                return item

    def __reduce__(self):
        return builtins.filter, (self.function, self.iterator)


@substitute(builtins.filter)
def filter(function, iterable, /):
    return Filter(function, iter(iterable))


class Zip(StandIn):
    __slots__ = ("iterators", "strict")

    def __init__(self, iterators, strict):
        self.iterators = iterators
        self.strict = strict

    def __next__(self):
        if not self.iterators:
            raise StopIteration
        items = []
        for i, iterator in builtins.enumerate(self.iterators):
            try:
                items.append(next(iterator))
            except StopIteration:
                if not self.strict:
                    raise
                if i > 0:
                    raise ValueError(_argument("shorter", i)) from None
                for j, other in builtins.enumerate(self.iterators[1:], 1):
                    try:
                        next(other)
                    except StopIteration:
                        continue
                    raise ValueError(_argument("longer", j)) from None
                raise
        return tuple(items)

    def __reduce__(self):
        return _make_zip, (self.strict, *self.iterators)


def _argument(word, i):
    return f"zip() argument {i + 1} is {word} than argument{' ' if i == 1 else 's 1-'}{i}"


def _make_zip(strict, *iterators):
    return builtins.zip(*iterators, strict=strict)


@substitute(builtins.zip)
def zip(*iterables, strict=False):
    iterators = []
    for i, iterable in builtins.enumerate(iterables):
        try:
            iterators.append(iter(iterable))
        except TypeError:
            if hasattr(type(iterable), "__iter__"):
                raise
            return builtins.zip(*iterables[:i], iterable)  # says which argument it is
    return Zip(iterators, bool(strict))


class Enumerate(StandIn):
    __slots__ = ("iterator", "number")

    def __init__(self, iterator, number):
        self.iterator = iterator
        self.number = number

    def __next__(self):
        item = next(self.iterator)
        number = self.number
        self.number = number + 1
        return number, item

    def __reduce__(self):
        return builtins.enumerate, (self.iterator, self.number)


@substitute(builtins.enumerate)
def enumerate(iterable, start=0):
    if type(start) is not int:
        start = start.__index__() if hasattr(type(start), "__index__") else builtins.enumerate((), start)
    return Enumerate(iter(iterable), start)


class Reversed(StandIn):
    __slots__ = ("sequence", "index")

    def __init__(self, sequence, index):
        self.sequence = sequence
        self.index = index

    def __next__(self):
        if self.index >= 0:
            try:
                item = self.sequence[self.index]
            except (IndexError, StopIteration):
                self.index = -1
                raise StopIteration from None
            self.index -= 1
            return item
        raise StopIteration

    def __length_hint__(self):
        return self.index + 1

    def __reduce__(self):
        return (iter, ((),)) if self.index < 0 else (_make_reversed, (self.sequence, self.index))


def _make_reversed(sequence, index):
    made = builtins.reversed(sequence)
    made.__setstate__(index)
    return made


@substitute(builtins.reversed)
def reversed(sequence, /):
    kind = type(sequence)
    method = _lookup(kind, "__reversed__")
    if method is None:
        raise TypeError(f"'{kind.__name__}' object is not reversible")
    if method is not _MISSING:
        return method(sequence)
    if not hasattr(kind, "__getitem__") or isinstance(sequence, (dict, set, frozenset)):
        raise TypeError(f"'{kind.__name__}' object is not reversible")
    return Reversed(sequence, len(sequence) - 1)


class SequenceIterator(StandIn):
    """Iterates by __getitem__, for classes without __iter__."""

    __slots__ = ("sequence", "index")

    def __init__(self, sequence):
        self.sequence = sequence
        self.index = 0

    def __next__(self):
        if self.sequence is None:
            raise StopIteration
        try:
            item = self.sequence[self.index]
        except (IndexError, StopIteration):
            self.sequence = None
            raise StopIteration from None
        self.index += 1
        return item

    def __reduce__(self):
        return (iter, ((),)) if self.sequence is None else (_make_sequence_iterator, (self.sequence, self.index))


def _make_sequence_iterator(sequence, index):
    made = iter(sequence)
    made.__setstate__(index)
    return made


def _lookup(kind, name):
    """What a class has under a name, None included; _MISSING when it has not."""
    return getattr(kind, name, _MISSING)


@substitute(builtins.sum)
def sum(iterable, /, start=0):
    if isinstance(start, (str, bytes, bytearray)):
        return builtins.sum((), start)  # refuses
    items = [item for item in iterable]
    if type(start) in (int, float, bool):
        kinds = {type(item) for item in items}
        if kinds <= {int, float, bool}:
            return builtins.sum(items, start)  # floats are added in CPython's way, compensated from 3.12
    total = start
    for item in items:
        total = total + item
    return total


@substitute(builtins.any)
def any(iterable, /):
    for item in iterable:
        if item:
            return True
    return False


@substitute(builtins.all)
def all(iterable, /):
    for item in iterable:
        if not item:
            return False
    return True


@substitute(builtins.iter)
def iter_of(source, sentinel=_MISSING, /):
    if sentinel is _MISSING:
        return iter(source)
    if not callable(source):
        return iter(source, sentinel)
    return CallableIterator(source, sentinel)


class CallableIterator(StandIn):
    __slots__ = ("function", "sentinel", "done")

    def __init__(self, function, sentinel):
        self.function = function
        self.sentinel = sentinel
        self.done = False

    def __next__(self):
        if self.done:
            raise StopIteration
        try:
            item = self.function()
        except StopIteration:
            self.done = True
            raise
        if item is self.sentinel or item == self.sentinel:
            self.done = True
            raise StopIteration
        return item

    def __reduce__(self):
        return (iter, ((),)) if self.done else (iter, (self.function, self.sentinel))


def _extreme(original, better, arguments, key, default):
    if len(arguments) == 1:
        items = iter(arguments[0])
    elif default is not _MISSING:
        return original(*arguments, default=default)  # refuses
    else:
        items = iter(arguments)
    try:
        best = next(items)
    except StopIteration:
        if default is not _MISSING:
            return default
        return original(())  # refuses
    if key is None:
        for item in items:
            if better(item, best):
                best = item
        return best
    best_key = key(best)
    for item in items:
        item_key = key(item)
        if better(item_key, best_key):
            best, best_key = item, item_key
    return best


@substitute(builtins.min)
def min(first, /, *rest, key=None, default=_MISSING):
    return _extreme(builtins.min, lambda a, b: a < b, (first, *rest), key, default)


@substitute(builtins.max)
def max(first, /, *rest, key=None, default=_MISSING):
    return _extreme(builtins.max, lambda a, b: a > b, (first, *rest), key, default)


# Classes whose order is decided in C, so that sorting by such keys runs no Python code.
_PLAIN = frozenset((int, float, bool, str, bytes, complex, type(None), type))


def _plain(keys):
    for key in keys:
        kind = type(key)
        if kind not in _PLAIN and not (kind is tuple and _plain(key)):
            return False
    return True


def _sort(items, key, reverse):
    """Sorts a list as list.sort does: stable, by < alone."""
    keys = items if key is None else [key(item) for item in items]
    if _plain(keys):
        order = builtins.sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)
        return [items[i] for i in order]
    if reverse:  # reversed before and after, so that equal ones stay in order
        items, keys = items[::-1], keys[::-1]
    order = _merge(keys, list(range(len(keys))))
    if reverse:
        order.reverse()
    return [items[i] for i in order]


def _merge(keys, order):
    if len(order) < 2:
        return order
    middle = len(order) // 2
    left, right = _merge(keys, order[:middle]), _merge(keys, order[middle:])
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if keys[right[j]] < keys[left[i]]:
            merged.append(right[j])
            j += 1
        else:
            merged.append(left[i])
            i += 1
    return merged + left[i:] + right[j:]


@substitute(builtins.sorted)
def sorted(iterable, /, *, key=None, reverse=False):
    return _sort([item for item in iterable], key, bool(reverse))


@substitute(list.sort)
def list_sort(self, /, *, key=None, reverse=False):
    items = self[:]
    self.clear()  # as list.sort: empty while the order is decided
    try:
        result = _sort(items, key, bool(reverse))
    except BaseException:
        self[:] = items
        raise
    changed = len(self) > 0
    self[:] = result
    if changed:
        raise ValueError("list modified during sort")


def assert_true(tensor, *message):
    """`assert tensor, message`, as a call that a graph makes."""
    if not tensor:
        raise AssertionError(*message)
