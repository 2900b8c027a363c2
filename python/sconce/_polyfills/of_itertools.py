"""Substitutes for itertools: iterators over the program's own iterators, and with its own functions."""

import itertools
import operator
import sys

from . import StandIn, substitute

_MISSING = object()


class Accumulate(StandIn):
    __slots__ = ("iterator", "function", "total")

    def __init__(self, iterator, function, total):
        self.iterator = iterator
        self.function = function
        self.total = total  # _MISSING: nothing came yet; in a list: to be given first

    def __next__(self):
        if type(self.total) is _Initial:
            self.total = self.total.value
            return self.total
        item = next(self.iterator)
        if self.total is _MISSING:
            self.total = item
        elif self.function is None:
            self.total = self.total + item
        else:
            self.total = self.function(self.total, item)
        return self.total

    def __reduce__(self):
        if self.total is _MISSING:
            return itertools.accumulate, (self.iterator, self.function)
        if type(self.total) is _Initial:
            return _make_accumulate, (self.iterator, self.function, self.total.value)
        return _resume_accumulate, (self.iterator, self.function, self.total)


class _Initial:
    def __init__(self, value):
        self.value = value


def _make_accumulate(iterator, function, initial):
    return itertools.accumulate(iterator, function, initial=initial)


def _resume_accumulate(iterator, function, total):
    made = itertools.accumulate(iterator, function, initial=total)
    next(made)
    return made


@substitute(itertools.accumulate)
def accumulate(iterable, func=None, *, initial=None):
    return Accumulate(iter(iterable), func, _MISSING if initial is None else _Initial(initial))


class Chain(StandIn):
    __slots__ = ("sources", "current")

    def __init__(self, sources):
        self.sources = sources
        self.current = None

    def __next__(self):
        while self.sources is not None:
            if self.current is None:
                try:
                    self.current = iter(next(self.sources))
                except BaseException:
                    self.sources = None
                    raise
            try:
                return next(self.current)
            except StopIteration:
                self.current = None
        raise StopIteration

    def __reduce__(self):
        if self.sources is None:
            return itertools.chain, ()
        if self.current is None:
            return itertools.chain.from_iterable, (self.sources,)
        return _make_chain, (self.current, self.sources)


def _make_chain(current, sources):
    made = itertools.chain()
    made.__setstate__((sources, current))
    return made


@substitute(itertools.chain)
def chain(*iterables):
    return Chain(iter(iterables))


def chain_from_iterable(iterable, /):
    return Chain(iter(iterable))


substitute(itertools.chain.from_iterable)(chain_from_iterable)


class Compress(StandIn):
    __slots__ = ("data", "selectors")

    def __init__(self, data, selectors):
        self.data = data
        self.selectors = selectors

    def __next__(self):
        while True:
            item = next(self.data)
            if next(self.selectors):
                return item

    def __reduce__(self):
        return itertools.compress, (self.data, self.selectors)


@substitute(itertools.compress)
def compress(data, selectors):
    return Compress(iter(data), iter(selectors))


class Cycle(StandIn):
    __slots__ = ("iterator", "saved", "index", "first_pass")

    def __init__(self, iterator):
        self.iterator = iterator
        self.saved = []
        self.index = 0
        self.first_pass = True

    def __next__(self):
        if self.first_pass:
            try:
                item = next(self.iterator)
            except StopIteration:
                self.first_pass = False
                self.iterator = None
            else:
                self.saved.append(item)
                return item
        if not self.saved:
            raise StopIteration
        item = self.saved[self.index]
        self.index = (self.index + 1) % len(self.saved)
        return item

    def __reduce__(self):
        if self.first_pass:
            return _make_cycle, (self.iterator, self.saved)
        return itertools.cycle, (self.saved[self.index:] + self.saved[:self.index],)


def _make_cycle(iterator, saved):
    made = itertools.cycle(itertools.chain(saved, iterator))
    for _ in saved:
        next(made)
    return made


@substitute(itertools.cycle)
def cycle(iterable, /):
    return Cycle(iter(iterable))


class DropWhile(StandIn):
    __slots__ = ("predicate", "iterator", "started")

    def __init__(self, predicate, iterator):
        self.predicate = predicate
        self.iterator = iterator
        self.started = False

    def __next__(self):
        while True:
            item = next(self.iterator)
            if self.started:
                return item
            if not self.predicate(item):
                self.started = True
                return item

    def __reduce__(self):
        return (itertools.chain, (self.iterator,)) if self.started else (itertools.dropwhile, (self.predicate, self.iterator))


@substitute(itertools.dropwhile)
def dropwhile(predicate, iterable, /):
    return DropWhile(predicate, iter(iterable))


class TakeWhile(StandIn):
    __slots__ = ("predicate", "iterator", "stopped")

    def __init__(self, predicate, iterator):
        self.predicate = predicate
        self.iterator = iterator
        self.stopped = False

    def __next__(self):
        if self.stopped:
            raise StopIteration
        item = next(self.iterator)
        if self.predicate(item):
            return item
        self.stopped = True
        raise StopIteration

    def __reduce__(self):
        return (iter, ((),)) if self.stopped else (itertools.takewhile, (self.predicate, self.iterator))


@substitute(itertools.takewhile)
def takewhile(predicate, iterable, /):
    return TakeWhile(predicate, iter(iterable))


class FilterFalse(StandIn):
    __slots__ = ("predicate", "iterator")

    def __init__(self, predicate, iterator):
        self.predicate = predicate
        self.iterator = iterator

    def __next__(self):
        while True:
            item = next(self.iterator)
            if not (item if self.predicate is None or self.predicate is bool else self.predicate(item)):
                return item

    def __reduce__(self):
        return itertools.filterfalse, (self.predicate, self.iterator)


@substitute(itertools.filterfalse)
def filterfalse(function, iterable, /):
    return FilterFalse(function, iter(iterable))


class StarMap(StandIn):
    __slots__ = ("function", "iterator")

    def __init__(self, function, iterator):
        self.function = function
        self.iterator = iterator

    def __next__(self):
        return self.function(*_items(next(self.iterator)))

    def __reduce__(self):
        return itertools.starmap, (self.function, self.iterator)


@substitute(itertools.starmap)
def starmap(function, iterable, /):
    return StarMap(function, iter(iterable))


class GroupBy(StandIn):
    __slots__ = ("iterator", "key", "target", "current_key", "current", "group")

    def __init__(self, iterator, key):
        self.iterator = iterator
        self.key = key
        self.target = self.current_key = self.current = _MISSING
        self.group = None

    def __next__(self):
        self.group = None
        while True:
            if self.current_key is _MISSING:
                pass
            elif self.target is _MISSING:
                break
            elif not (self.target is self.current_key or self.target == self.current_key):
                break
            self._step()
        self.target = self.current_key
        self.group = Group(self, self.target)
        return self.current_key, self.group

    def _step(self):
        item = next(self.iterator)
        self.current_key = item if self.key is None else self.key(item)
        self.current = item

    def __reduce__(self):
        if self.current is _MISSING and self.target is _MISSING:
            return itertools.groupby, (self.iterator, self.key)
        raise TypeError("cannot rebuild a groupby that has begun")


class Group(StandIn):
    __slots__ = ("parent", "target")

    def __init__(self, parent, target):
        self.parent = parent
        self.target = target

    def __next__(self):
        parent = self.parent
        if parent.group is not self:
            raise StopIteration
        if parent.current is _MISSING:
            parent._step()
        if not (self.target is parent.current_key or self.target == parent.current_key):
            raise StopIteration
        item = parent.current
        parent.current = _MISSING
        return item

    def __reduce__(self):
        raise TypeError("cannot rebuild a group of groupby")


@substitute(itertools.groupby)
def groupby(iterable, key=None):
    return GroupBy(iter(iterable), key)


class Pairwise(StandIn):
    __slots__ = ("iterator", "old")

    def __init__(self, iterator):
        self.iterator = iterator
        self.old = _MISSING

    def __next__(self):
        if self.iterator is None:
            raise StopIteration
        try:
            if self.old is _MISSING:
                self.old = next(self.iterator)
            new = next(self.iterator)
        except StopIteration:
            self.iterator = None
            self.old = _MISSING
            raise
        old = self.old
        self.old = new
        return old, new

    def __reduce__(self):
        if self.iterator is None:
            return itertools.pairwise, ((),)
        return itertools.pairwise, (self.iterator if self.old is _MISSING else itertools.chain((self.old,), self.iterator),)


@substitute(itertools.pairwise)
def pairwise(iterable, /):
    return Pairwise(iter(iterable))


class ISlice(StandIn):
    __slots__ = ("iterator", "count", "next", "stop", "step")

    def __init__(self, iterator, start, stop, step):
        self.iterator = iterator
        self.count = 0
        self.next = start
        self.stop = stop
        self.step = step

    def __next__(self):
        if self.iterator is None:
            raise StopIteration
        stop = sys.maxsize if self.stop is None else self.stop
        try:
            while self.count < self.next:
                next(self.iterator)
                self.count += 1
            if self.count >= stop:
                raise StopIteration
            item = next(self.iterator)
        except StopIteration:
            self.iterator = None
            raise
        self.count += 1
        self.next += self.step
        if self.next > stop:
            self.next = stop
        return item

    def __reduce__(self):
        if self.iterator is None:
            return itertools.islice, (iter(()), 0)
        stop = None if self.stop is None else self.stop - self.count
        return itertools.islice, (self.iterator, self.next - self.count, stop, self.step)


@substitute(itertools.islice)
def islice(iterable, /, *bounds):
    original = itertools.islice((), *bounds)  # refuses what is no bound
    values = [None if bound is None else operator.index(bound) for bound in bounds]
    if len(values) == 1:
        values.insert(0, 0)
    start, stop, step = values[0], values[1], values[2] if len(values) == 3 else None
    del original
    return ISlice(iter(iterable), 0 if start is None else start, stop, 1 if step is None else step)


class ZipLongest(StandIn):
    __slots__ = ("iterators", "active", "fill")

    def __init__(self, iterators, fill):
        self.iterators = iterators
        self.active = len(iterators)
        self.fill = fill

    def __next__(self):
        if not self.active:
            raise StopIteration
        items = []
        for i, iterator in enumerate(self.iterators):
            if iterator is None:
                items.append(self.fill)
                continue
            try:
                items.append(next(iterator))
            except StopIteration:
                self.active -= 1
                if not self.active:
                    raise
                self.iterators[i] = None
                items.append(self.fill)
            except BaseException:
                self.active = 0
                raise
        return tuple(items)

    def __reduce__(self):
        return _make_zip_longest, (self.fill, *[() if iterator is None else iterator for iterator in self.iterators])


def _make_zip_longest(fill, *iterators):
    return itertools.zip_longest(*iterators, fillvalue=fill)


@substitute(itertools.zip_longest)
def zip_longest(*iterables, fillvalue=None):
    return ZipLongest([iter(iterable) for iterable in iterables], fillvalue)


class Tee(StandIn):
    __slots__ = ("link", "iterator")  # a link is [item, next link], or [] while nobody was there

    def __init__(self, iterator, link):
        self.iterator = iterator
        self.link = link

    def __next__(self):
        if not self.link:
            item = next(self.iterator)
            self.link.append(item)
            self.link.append([])
        item, self.link = self.link
        return item

    def __copy__(self):
        return Tee(self.iterator, self.link)

    def __reduce__(self):
        raise TypeError("cannot rebuild an iterator of tee")


@substitute(itertools.tee)
def tee(iterable, n=2, /):
    if n < 0:
        raise ValueError("n must be >= 0")
    iterator = iter(iterable)
    if type(iterator) is Tee:
        return tuple([iterator] + [iterator.__copy__() for _ in range(n - 1)]) if n else ()
    if hasattr(type(iterator), "__copy__"):
        return tuple([iterator] + [type(iterator).__copy__(iterator) for _ in range(n - 1)]) if n else ()
    link = []
    return tuple([Tee(iterator, link) for _ in range(n)])


# Those that take all items before they give one: the original, over lists.


def _items(iterable):
    return [item for item in iterable]


@substitute(itertools.product)
def product(*iterables, repeat=1):
    return itertools.product(*[_items(iterable) for iterable in iterables], repeat=repeat)


@substitute(itertools.permutations)
def permutations(iterable, r=None):
    return itertools.permutations(_items(iterable), r)


@substitute(itertools.combinations)
def combinations(iterable, r):
    return itertools.combinations(_items(iterable), r)


@substitute(itertools.combinations_with_replacement)
def combinations_with_replacement(iterable, r):
    return itertools.combinations_with_replacement(_items(iterable), r)


if sys.version_info >= (3, 12):

    class Batched(StandIn):
        __slots__ = ("iterator", "n", "strict")

        def __init__(self, iterator, n, strict):
            self.iterator = iterator
            self.n = n
            self.strict = strict

        def __next__(self):
            if self.iterator is None:
                raise StopIteration
            items = []
            while len(items) < self.n:
                try:
                    items.append(next(self.iterator))
                except StopIteration:
                    self.iterator = None
                    if not items:
                        raise
                    if self.strict:
                        raise ValueError("batched(): incomplete batch") from None
                    break
            return tuple(items)

        def __reduce__(self):
            if self.iterator is None:
                return itertools.batched, ((), 1)
            return _make_batched, (self.iterator, self.n, self.strict)

    def _make_batched(iterator, n, strict):
        return itertools.batched(iterator, n, strict=True) if strict else itertools.batched(iterator, n)

    def batched(iterable, n, *, strict=False):
        if n < 1:
            raise ValueError("n must be at least one")
        return Batched(iter(iterable), n, strict)

    def batched_312(iterable, n):
        if n < 1:
            raise ValueError("n must be at least one")
        return Batched(iter(iterable), n, False)

    substitute(itertools.batched)(batched if sys.version_info >= (3, 13) else batched_312)
