"""Substitutes for callables of C (sconce/_polyfills) beside their originals: results, order of callbacks, errors and their texts."""

import collections
import copy
import dataclasses
import functools
import heapq
import inspect
import itertools
import math
import operator
import os
import pathlib
import unittest

from sconce import _polyfills

LOG = []


class Items:
    """An iterable in Python that tells of each step, and may fail at one."""

    def __init__(self, *items, fail=None):
        self.items, self.fail = items, fail

    def __iter__(self):
        LOG.append("iter")
        for i, item in enumerate(self.items):
            if i == self.fail:
                raise OSError("broken")
            LOG.append(("next", item))
            yield item


class Old:
    """An iterable by __getitem__ and __len__ alone."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        LOG.append(("getitem", i))
        return self.items[i]


class Key:
    """Ordered and equal by Python code."""

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value

    def __gt__(self, other):
        return self.value > other.value

    def __eq__(self, other):
        LOG.append("eq")
        return isinstance(other, Key) and self.value == other.value

    __hash__ = None

    def __repr__(self):
        return f"Key({self.value})"


class Word:
    def __init__(self, text):
        self.text = text

    def __str__(self):
        return f"str {self.text}"

    def __repr__(self):
        return f"répr {self.text}"

    def __format__(self, spec):
        return f"<{spec}|{self.text}>"

    def __len__(self):
        return self.text

    def __hash__(self):
        return self.text

    def __abs__(self):
        return "abs"

    def __round__(self, *n):
        return ("round", *n)

    def __floor__(self):
        return "floor"

    def __divmod__(self, other):
        return ("divmod", other)

    def __rdivmod__(self, other):
        return ("rdivmod", other)

    def __length_hint__(self):
        return self.text

    def __fspath__(self):
        return self.text


@dataclasses.dataclass
class Held:
    value: object
    more: list = dataclasses.field(default_factory=list)


class Mapping:
    def keys(self):
        return Items("a", "b")

    def __getitem__(self, key):
        LOG.append(("item", key))
        return key * 2


def logged(function):
    def call(*args, **keywords):
        LOG.append(("call", args))
        return function(*args, **keywords)
    return call


def stop_at(limit):
    def call(x):
        if x >= limit:
            raise StopIteration
        return x
    return call


def drained(value):
    """A value in a form that can be compared: iterators become what they give."""
    if isinstance(value, (Key, Word)):
        return repr(value)
    if isinstance(value, tuple):
        return tuple(drained(item) for item in value)
    if hasattr(type(value), "__next__"):
        items = []
        try:
            for item in itertools.islice(_polyfilled_iterator(value), 40):
                items.append(drained(item))
        except Exception as error:  # noqa: BLE001
            items.append((type(error), str(error)))
        return ["iterator", *items, next(value, "end")]
    return [drained(item) for item in value] if type(value) is list else value


def _polyfilled_iterator(value):
    return iter(value)


def called(function, make):
    """What a call comes to: its value or error, the log of callbacks, and what became of the arguments."""
    LOG.clear()
    args, keywords = make()
    try:
        value = drained(function(*args, **keywords))
    except Exception as error:  # noqa: BLE001
        value = (type(error), str(error))
    return value, list(LOG), [drained(a) for a in args if isinstance(a, (list, dict, set, collections.deque))]


def a(*args, **keywords):
    """Arguments that may be used twice."""
    return lambda: (args, keywords)


def m(make):
    """Arguments that are made anew."""
    return lambda: (make(), {})


I = Items
double = logged(lambda x: x * 2)
odd = logged(lambda x: x % 2)
pair = logged(lambda x, y: (x, y))

CASES = {
    copy.copy: [a([1, [2]]), a((1, 2)), a({"a": []}), a({1, 2}), a(7), a(print), a(Held([1, {"k": 2}]))],
    copy.deepcopy: [a([1, [2, {"k": (3, [4])}]]), a((1, (2, "x"))), a({"a": [], "b": {}}), a(7), a([print, {1, 2}]), a(Held([1, {"k": 2}])),
                    a([Held(Held(3))] * 2)],
    map: [a(double, I(1, 2)), a(pair, I(1, 2, 3), I(4, 5)), a(stop_at(2), I(1, 2, 3)), a(double), a(), a(double, 3), a(double, I(1, 2, fail=1)),
          a(None, I(1)), a(double, Old(1, 2))],
    filter: [a(odd, I(1, 2, 3)), a(None, I(0, 1, "", "x")), a(bool, I(0, 1)), a(odd, 5), a(odd)],
    zip: [a(), a(I(1, 2), I(3)), a(I(1), I(3, 4)), a(I(1, 2), I(3), strict=True), a(I(1), I(3, 4), strict=True), a(I(1, 2), I(3, 4), strict=True),
          a(I(1), I(2), I(3, 4), strict=True), a(I(1), I(2), I(), strict=True), a(I(1), 5), a(I(1, 2, fail=1), I(5, 6)), a(strict=True)],
    enumerate: [a(I("a", "b")), a(I("a", "b"), 5), a(I("a"), start=-3), a(I("a"), True), a(3), a(I(), "x"), a(I(1), 2**70)],
    reversed: [a(Old(1, 2, 3)), a(Old()), a(I(1)), a([1, 2]), a({1: 2}), a({1}), a(5)],
    sum: [a(I(1, 2)), a(I(1.5, 2), 3), a(I([1], [2]), []), a(I("a"), ""), a(I(0.1) for _ in ()), a(I(1, "x")), a(I(*[0.1] * 10)), a(5),
          a(I(1), start=2)],
    any: [a(I(0, 2, 3)), a(I()), a(4)],
    all: [a(I(1, 0, 3)), a(I()), a(4)],
    iter: [m(lambda: (logged(iter([1, 2, 3, 4]).__next__), 3)), m(lambda: (logged(iter([1, 2]).__next__), 9)), a(5, 6), a(I(1, 2))],
    min: [a(I(3, 1, 2)), a(3, 1), a(I(3, 1, 1.0), key=logged(lambda x: -x)), a(I()), a(I(), default=7), a(1, 2, default=3), a(), a(5),
          a(Key(2), Key(1)), a(I("bb", "a"), key=len)],
    max: [a(I(3, 1, 2)), a(3, 1), a(I(3, 1, 1.0), key=logged(lambda x: -x)), a(I()), a(I(), default=7), a(1, 2, default=3), a(), a(5),
          a(Key(2), Key(1)), a(I(1, "x"))],
    sorted: [a(I(3, 1, 2)), a(I(3, 1, 2), reverse=True), a(["b", "aa", "c"], key=logged(len)), a(["b", "aa", "c"], key=len, reverse=True),
             a(I(1, "a")), a(I(Key(3), Key(1), Key(2))), a([Key(3), Key(1), Key(2)], reverse=True), a(I((1, "b"), (1, "a"))), a(5), a(),
             a([3, float("nan"), 1, 2], key=lambda x: x), a([1, 2], key=lambda x: 1 / 0),
             a([("x", 2), ("y", 1), ("z", 2)], key=lambda p: p[1]), a([("x", 2), ("y", 1), ("z", 2)], key=lambda p: Key(p[1]), reverse=True)],
    list.sort: [m(lambda: ([3, 1, 2],)), lambda: (([3, 1, 2],), {"key": double}), lambda: ((["b", "a"],), {"key": lambda x: 1 / 0}),
                lambda: (([Key(2), Key(1)],), {}), lambda: (([2, "x"],), {}), m(lambda: ([1], 2))],
    functools.reduce: [a(pair, I(1, 2, 3)), a(pair, I(1, 2), 0), a(pair, I()), a(pair, I(), 5), a(pair, 5), a(pair)],
    functools.cmp_to_key: [],
    operator.countOf: [a(I(1, 2, 1), 1), a(5, 1)],
    operator.indexOf: [a(I(1, 2, 1), 2), a(I(), 1)],
    operator.concat: [a([1], [2]), a(1, 2)],
    operator.setitem: [m(lambda: ([1], 0, 5)), m(lambda: ((1,), 0, 5))],
    operator.delitem: [m(lambda: ([1, 2], 0)), m(lambda: ({}, 0))],
    heapq.heappush: [m(lambda: ([1, 3, 2], 0)), m(lambda: ((1,), 0))],
    heapq.heappop: [m(lambda: ([1, 3, 2, 7, 5],)), m(lambda: ([],)), m(lambda: ((1,),))],
    heapq.heapreplace: [m(lambda: ([1, 3, 2], 9)), m(lambda: ([], 9))],
    heapq.heappushpop: [m(lambda: ([1, 3, 2], 9)), m(lambda: ([1, 3, 2], 0)), m(lambda: ([], 9))],
    heapq.heapify: [m(lambda: ([5, 3, 8, 1, 9, 2],)), m(lambda: ((1,),))],
    itertools.accumulate: [a(I(1, 2, 3)), a(I(1, 2, 3), pair), a(I(1, 2), initial=10), a(I()), a(I(), initial=4), a(I(1, 2), func=pair),
                           a(4)],
    itertools.chain: [a(), a(I(1, 2), I(), I(3)), a(I(1), 5), a(I(1, 2, fail=1), I(3))],
    itertools.chain.from_iterable: [a(I(I(1), [2])), a(I(1)), a(3)],
    itertools.compress: [a(I(1, 2, 3), I(1, 0, 1)), a(I(1, 2), I(1)), a(1, 2)],
    itertools.cycle: [a(I(1, 2, 3)), a(I()), a(3)],
    itertools.dropwhile: [a(odd, I(1, 3, 2, 3)), a(odd, I()), a(odd, 3)],
    itertools.takewhile: [a(odd, I(1, 3, 2, 3)), a(odd, I()), a(odd, 3)],
    itertools.filterfalse: [a(odd, I(1, 3, 2, 3)), a(None, I(0, 1)), a(odd, 3)],
    itertools.starmap: [a(pair, I((1, 2), [3, 4])), a(pair, I((1,))), a(pair, I(3))],
    itertools.groupby: [a(I(1, 1, 2, 3, 3)), a(I(1, 3, 2, 5), odd), a(I(1, 3, 2, 5), key=odd), a(I()), a(5)],
    itertools.pairwise: [a(I(1, 2, 3)), a(I(1)), a(I()), a(5)],
    itertools.islice: [a(I(1, 2, 3, 4), 2), a(I(1, 2, 3, 4), 1, 3), a(I(1, 2, 3, 4, 5), 0, None, 2), a(I(1, 2, 3), None), a(I(1), -1), a(I(1), 0, 5, 0),
                       a(I(1), "x"), a(I(1)), a(I(1, 2, 3), 5, 2), a(I(*range(10)), 1, 9, 3)],
    itertools.zip_longest: [a(I(1, 2), I(3)), a(I(1), I(3, 4), fillvalue="-"), a(), a(I(1), 5), a(I(1, 2, fail=1), I(2))],
    itertools.tee: [a(I(1, 2)), a(I(1, 2), 3), a(I(1), 0), a(I(1), -1)],
    itertools.product: [a(I(1, 2), I("a", "b")), a(I(1, 2), repeat=2), a(5)],
    itertools.permutations: [a(I(1, 2, 3)), a(I(1, 2, 3), 2), a(I(1), -1)],
    itertools.combinations: [a(I(1, 2, 3), 2), a(5, 1)],
    itertools.combinations_with_replacement: [a(I(1, 2), 2)],
    list.extend: [m(lambda: ([1], I(2, 3))), m(lambda: ([1], [2])), m(lambda: ([1], 5)), m(lambda: ([1], I(2, 3, fail=1)))],
    collections.deque.extend: [m(lambda: (collections.deque([1], 2), I(2, 3)))],
    collections.deque.extendleft: [m(lambda: (collections.deque([1]), I(2, 3)))],
    list.index: [a([Key(1), Key(2)], Key(2)), a([Key(1)], Key(2)), a([1, 2, 1], 1, 1), a([1, 2, 1], 2, -1), a([1, 2], 1, -5, 5)],
    tuple.index: [a((Key(1), Key(2)), Key(2)), a((Key(1),), Key(2)), a((1, 2, 1), 1, 1)],
    list.count: [a([Key(1), Key(1)], Key(1))],
    tuple.count: [a((Key(1), Key(1)), Key(1))],
    list.remove: [m(lambda: ([Key(1), Key(2)], Key(2))), m(lambda: ([Key(1)], Key(2)))],
    list.__contains__: [a([Key(1)], Key(1)), a([Key(1)], Key(2))],
    tuple.__contains__: [a((Key(1),), Key(1)), a((Key(1),), Key(2))],
    dict.update: [m(lambda: ({1: 2}, Mapping())), m(lambda: ({1: 2}, I((1, 5), [2, 3]))), m(lambda: ({}, I((1, 2, 3)))), m(lambda: ({}, I(5))),
                  lambda: (({},), {"a": 1}), m(lambda: ({}, 1, 2)), m(lambda: ({}, 5)), m(lambda: ({}, "ab")), m(lambda: ({}, {1: 2}))],
    dict: [a(), a(Mapping()), a(I((1, 5), [2, 3]), x=4), a(I((1, 2, 3))), a(I("ab", "cd")), a(1, 2), a(5), a({1: 2}, b=3)],
    dict.fromkeys: [a(I(1, 2)), a(I(1, 2), 0), a(5)],
    list: [a(), a(I(1, 2)), a(5), a("ab"), a(I(1, 2, fail=1))],
    tuple: [a(), a(I(1, 2)), a(5), a((1, 2))],
    set: [a(), a(I(1, 2, 1)), a(5), a(I([]))],
    frozenset: [a(), a(I(1, 2, 1)), a(5), a(frozenset((1,)))],
    collections.deque: [a(I(1, 2, 3), 2), a(I(1, 2, 3), maxlen=5), a(5), a(I(), -1)],
    set.update: [m(lambda: ({1}, I(2, 3), I(4))), m(lambda: ({1}, 5)), m(lambda: ({1}, {2: 3}))],
    set.difference_update: [m(lambda: ({1, 2}, I(2, 3)))],
    set.union: [a({1}, I(2, 3), [4])],
    set.intersection: [a({1, 2}, I(2, 3))],
    frozenset.difference: [a(frozenset((1, 2)), I(2, 3))],
    set.issubset: [a({1}, I(1, 2)), a({5}, I(1, 2)), a({1}, 5)],
    set.isdisjoint: [a({1}, I(1, 2)), a({5}, I(1, 2))],
    len: [a(Word(3)), a(Word(-1)), a(Word("x")), a(Word(2**70)), a(5), a(Word(True)), a([1, 2])],
    hash: [a(Word(3)), a(Word(2**70)), a(Word("x")), a(Key(1)), a("text"), a([])],
    repr: [a(Word("w")), a(5)],
    str: [a(Word("w")), a(), a(b"x", "ascii"), a(object=5), a(Key(1)), a("text")],
    format: [a(Word("w"), ">3"), a(Word("w")), a(Key(1)), a(Key(1), "x"), a(1.5, ".3f")],
    abs: [a(Word(1)), a(-3), a("x")],
    round: [a(Word(1)), a(Word(1), 2), a(2.5), a(2.567, 2), a("x"), a(2.5, None), a(2.5, ndigits=1)],
    divmod: [a(Word(1), 2), a(2, Word(1)), a(7, 2), a("x", 1), a(1.5, None)],
    math.floor: [a(Word(1)), a(2.5)],
    math.ceil: [a(2.5)],
    math.trunc: [a(2.5)],
    os.fspath: [a("x"), a(b"x"), a(pathlib.PurePosixPath("a/b")), a(Word("x")), a(Word(3)), a(3), a()],
    operator.length_hint: [a(Word(3)), a(iter([1, 2])), a(5, 9), a(Word("x")), a(Word(-2))],
    bool: [a(), a(Word(0)), a(Word(1)), a([])],
    str.join: [a(",", I("a", "b")), a(",", I("a", 1)), a("", 5), a("-", I())],
    str.format: [a("{} {}", Word("w"), 2), a("{0!r:>5} {0!s} {1:03d} {0!a}", Word("w"), 7), a("{x.text[0]} {{}}", x=Word("w")), a("{}"),
                 a("{0} {}", 1), a("{} {0}", 1), a("{x}"), a("{:{width}}", 5, width=7), a("{:{}}", 5, 3), a("{0[a]}", {"a": 1}), a("{0[1]}", [1, 2]),
                 a("{0.}", 1), a("{!x}", 1), a("{", 1), a("}", 1), a("{:{:{}}}", 1, 2, 3), a("{0[}", 1), a("{0[]}", 1), a("{0[a]b}", {"a": 1})],
    str.format_map: [a("{a} {b!r}", {"a": 1, "b": Word("w")}), a("{c}", {})],
}
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "eq", "ne", "ge", "gt", "is_", "is_not", "and_", "or_",
              "xor", "lshift", "rshift", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift",
              "irshift"):
    CASES[getattr(operator, _name)] = [a(7, 2), a(Key(1), Key(2)), a("x", 3)]
for _name in ("neg", "pos", "invert", "not_", "truth", "index"):
    CASES[getattr(operator, _name)] = [a(7), a("x")]
if hasattr(itertools, "batched"):
    CASES[itertools.batched] = [a(I(1, 2, 3), 2), a(I(), 2), a(I(1), 0), a(5, 1)]


class Polyfills(unittest.TestCase):
    maxDiff = None

    def test_same_as_originals(self):
        calls = 0
        for original, cases in CASES.items():
            substitute = _polyfills.TABLE[original]
            for i, make in enumerate(cases):
                with self.subTest(original=getattr(original, "__qualname__", original), case=i):
                    expected = called(original, make)
                    args, keywords = make()
                    try:
                        inspect.signature(substitute).bind(*args, **keywords)
                    except TypeError:  # goes to the original, which must refuse
                        self.assertIsInstance(expected[0], tuple)
                        self.assertTrue(issubclass(expected[0][0], TypeError), f"the original takes {args} {keywords}: {expected[0]}")
                        continue
                    got = called(substitute, make)
                    self.assertEqual(got[0], expected[0])
                    self.assertEqual(got[2], expected[2])
                    self.assertEqual(got[1], expected[1])
                    calls += 1
        self.assertGreater(calls, 250)

    def test_calls_of_objects(self):
        class Thing:
            x, y = 1, [5, 6]

            def method(self, *args, **keywords):
                return args, keywords

        thing = Thing()
        for instance, args, keywords in [
                (functools.partial(pair, 1), (2,), {}), (functools.partial(lambda **k: k, a=1, b=2), (), {"b": 3, "c": 4}),
                (operator.attrgetter("x"), (thing,), {}), (operator.attrgetter("x", "y.__class__"), (thing,), {}),
                (operator.attrgetter("z"), (thing,), {}), (operator.itemgetter(1), ("abc",), {}), (operator.itemgetter(1, 0), ("abc",), {}),
                (operator.itemgetter(7), ("abc",), {}), (operator.methodcaller("method"), (thing,), {}),
                (operator.methodcaller("method", 1, 2), (thing,), {}), (operator.methodcaller("method", 1, k=2), (thing,), {})]:
            with self.subTest(instance=str(instance)):
                substitute = _polyfills.CALLS[type(instance)]
                self.assertEqual(called(functools.partial(substitute, instance), a(*args, **keywords))[:2],
                                 called(instance, a(*args, **keywords))[:2])

    def test_compared_keys(self):
        for items in ([3, 1, 2], [1], [2, 2, 1]):
            compare = logged(lambda x, y: y - x)
            LOG.clear()
            expected = sorted(items, key=functools.cmp_to_key(compare))
            substitute = _polyfills.TABLE[functools.cmp_to_key]
            self.assertEqual(sorted(items, key=substitute(compare)), expected)
            self.assertEqual(_polyfills.TABLE[sorted](items, key=substitute(compare)), expected)

    def test_iterators_become_their_originals(self):
        made = [(map, (str, [1, 2, 3])), (filter, (None, [1, 0, 3, 4])), (zip, ([1, 2, 3], "abc")), (enumerate, ("abc",)),
                (reversed, (Old(1, 2, 3),)), (itertools.accumulate, ([1, 2, 3],)), (itertools.chain, ([1, 2], [3])),
                (itertools.compress, ("abcd", [1, 1, 0, 1])), (itertools.cycle, ("abc",)), (itertools.dropwhile, (bool, [0, 1, 2])),
                (itertools.takewhile, (bool, [1, 2, 0, 3])), (itertools.filterfalse, (None, [0, 1, 0, 0])),
                (itertools.starmap, (max, [(1, 2), (3, 4), (0, 9)])), (itertools.pairwise, ("abcd",)), (itertools.islice, ("abcdefg", 1, 6, 2)),
                (itertools.zip_longest, ("ab", "cde"))]
        for original, args in made:
            for steps in range(5):
                with self.subTest(original=original.__name__, steps=steps):
                    expected, got = original(*args), _polyfills.TABLE[original](*args)
                    for _ in range(steps):
                        next(expected, None)
                        next(got, None)
                    function, values = got.__reduce__()[:2]
                    rebuilt = function(*values)
                    self.assertNotIn("_polyfills", type(rebuilt).__module__)
                    self.assertEqual(list(itertools.islice(rebuilt, 9)), list(itertools.islice(expected, 9)))

    def test_every_substitute_is_compared(self):
        without = {original for original in _polyfills.TABLE if original not in CASES}
        # Those made by one function that is compared for another, and methods of Python's protocol.
        known = {collections.deque.count, collections.deque.__contains__, set.difference, set.intersection_update, frozenset.union,
                 frozenset.intersection, set.symmetric_difference, set.symmetric_difference_update, set.issuperset,
                 frozenset.symmetric_difference, frozenset.issubset, frozenset.issuperset, frozenset.isdisjoint, object.__str__, object.__format__,
                 operator.matmul, operator.imatmul, operator.inv, operator.abs, operator.contains, operator.getitem,
                 collections.defaultdict.__missing__, collections._count_elements}
        # Functions of the library: test_training.py and test_control_flow.py compare what they record.
        known |= {original for original in without if getattr(original, "__module__", "").startswith("sconce.")}
        self.assertEqual(without - known, set())


if __name__ == "__main__":
    unittest.main()
