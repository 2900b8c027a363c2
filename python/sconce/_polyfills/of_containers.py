"""Substitutes for list, dict, set, tuple, deque: made from the program's own iterators, searched by its own ==."""

import collections
import sys

from . import substitute

# What C reads without running Python code: these go to the original as they are.
_HASHED = (dict, set, frozenset)  # have the hashes of their elements, so that C does not ask again
_PLAIN = (list, tuple, dict, set, frozenset, str, bytes, range)


def _items(iterable):
    """All items of an iterable, in a list. A loop, as list(iterable) would call Python code from C."""
    if type(iterable) in _PLAIN:
        return list(iterable)
    items = []
    for item in iterable:
        items.append(item)
    return items


@substitute(list.extend)
def list_extend(self, iterable, /):
    if type(iterable) in _PLAIN:
        return list.extend(self, iterable)
    for item in iterable:
        list.append(self, item)


@substitute(collections.deque.extend)
def deque_extend(self, iterable, /):
    if iterable is self:
        iterable = [item for item in iterable]
    for item in iterable:
        collections.deque.append(self, item)


@substitute(collections.deque.extendleft)
def deque_extendleft(self, iterable, /):
    if iterable is self:
        iterable = [item for item in iterable]
    for item in iterable:
        collections.deque.appendleft(self, item)


def _index(self, value, start, stop, length):
    start, stop = max(start + length, 0) if start < 0 else start, max(stop + length, 0) if stop < 0 else stop
    i = start
    while i < stop and i < len(self):
        item = self[i]
        if item is value or item == value:
            return i
        i += 1
    return -1


@substitute(list.index)
def list_index(self, value, start=0, stop=9223372036854775807, /):
    i = _index(self, value, start, stop, len(self))
    return i if i >= 0 else [].index(value)  # refuses


@substitute(tuple.index)
def tuple_index(self, value, start=0, stop=9223372036854775807, /):
    i = _index(self, value, start, stop, len(self))
    return i if i >= 0 else ().index(value)  # refuses


@substitute(list.count, tuple.count, collections.deque.count)
def count(self, value, /):
    number = 0
    for item in self:
        if item is value or item == value:
            number += 1
    return number


@substitute(list.remove)
def list_remove(self, value, /):
    i = 0
    for item in self:
        if item is value or item == value:
            del self[i]
            return
        i += 1
    [].remove(value)  # refuses


@substitute(list.__contains__, tuple.__contains__, collections.deque.__contains__)
def contains(self, value, /):
    for item in self:
        if item is value or item == value:
            return True
    return False


def _updated(self, args, keywords):
    if args:
        source = args[0]
        if isinstance(source, dict) and type(source).__iter__ is dict.__iter__ and type(source).keys is dict.keys:
            dict.update(self, source)
        elif hasattr(source, "keys"):
            for key in _items(source.keys()):
                dict.__setitem__(self, key, source[key])
        else:
            i = -1
            for pair in source:
                i += 1
                try:
                    pair = _items(pair)
                except TypeError:
                    if hasattr(type(pair), "__iter__"):
                        raise
                    raise TypeError(f"cannot convert dictionary update sequence element #{i} to a sequence") from None
                if len(pair) != 2:
                    raise ValueError(f"dictionary update sequence element #{i} has length {len(pair)}; 2 is required")
                dict.__setitem__(self, pair[0], pair[1])
    for key, value in keywords.items():
        dict.__setitem__(self, key, value)


@substitute(dict.update)
def dict_update(self, /, *args, **keywords):
    if len(args) > 1:
        return dict.update(self, *args)  # refuses
    _updated(self, args, keywords)


@substitute(dict)
def make_dict(*args, **keywords):
    if len(args) > 1:
        return dict(*args)  # refuses
    made = {}
    _updated(made, args, keywords)
    return made


@substitute(dict.fromkeys)
def dict_fromkeys(iterable, value=None, /):
    made = {}
    for key in iterable:
        made[key] = value
    return made


@substitute(list)
def make_list(iterable=(), /):
    return _items(iterable)


@substitute(tuple)
def make_tuple(iterable=(), /):
    return iterable if type(iterable) is tuple else tuple(_items(iterable))


@substitute(set)
def make_set(iterable=(), /):
    if type(iterable) in _HASHED:
        return set(iterable)
    made = set()
    for item in iterable:
        made.add(item)
    return made


@substitute(frozenset)
def make_frozenset(iterable=(), /):
    if type(iterable) in _HASHED:
        return frozenset(iterable)
    return iterable if type(iterable) is frozenset else frozenset(_items(iterable))


@substitute(collections.deque)
def make_deque(iterable=(), maxlen=None):
    made = collections.deque((), maxlen)
    for item in iterable:
        made.append(item)
    return made


@substitute(set.update)
def set_update(self, /, *others):
    for other in others:
        if type(other) in _HASHED:
            set.update(self, other)
            continue
        for item in _items(other):
            set.add(self, item)


@substitute(set.difference_update)
def set_difference_update(self, /, *others):
    for other in others:
        for item in _items(other):
            set.discard(self, item)


def _over_items(original):
    def method(self, /, *others):
        return original(self, *[other if isinstance(other, (set, frozenset)) else _items(other) for other in others])
    return method


for _method in (set.union, set.difference, set.intersection, set.intersection_update, frozenset.union, frozenset.difference,
                frozenset.intersection):
    substitute(_method)(_over_items(_method))


def _over_one(original):
    def method(self, other, /):
        return original(self, other if isinstance(other, (set, frozenset)) else _items(other))
    return method


for _method in (set.symmetric_difference, set.symmetric_difference_update, set.issuperset,
                frozenset.symmetric_difference, frozenset.issuperset):
    substitute(_method)(_over_one(_method))


@substitute(set.issubset, frozenset.issubset)
def issubset(self, other, /):
    if isinstance(other, (set, frozenset)) or sys.version_info < (3, 12):
        return set.issubset(set(self), other if isinstance(other, (set, frozenset)) else _items(other))
    found = set()
    for item in other:  # from 3.12 on no further than needed
        if item in self:
            found.add(item)
            if len(found) == len(self):
                return True
    return len(found) == len(self)


@substitute(set.isdisjoint, frozenset.isdisjoint)
def isdisjoint(self, other, /):
    for item in other:
        if item in self:
            return False
    return True


@substitute(collections.defaultdict.__missing__)
def defaultdict_missing(self, key, /):
    if self.default_factory is None:
        raise KeyError(key)
    value = self.default_factory()
    self[key] = value
    return value


def count_elements(mapping, iterable, /):
    for item in iterable:
        mapping[item] = mapping.get(item, 0) + 1


if hasattr(collections, "_count_elements"):  # otherwise there is only the one in Python
    substitute(getattr(collections, "_count_elements"))(count_elements)
