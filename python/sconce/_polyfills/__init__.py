"""Polyfills: functions in Python that stand for callables in C which call Python code back (map, sorted with a key, reduce).

Capture follows bytecode, so code of C that would run a Python function is replaced by a function of this package, which it can
follow. Each gives the results, the order of calls and the errors of its original; test_polyfills.py compares them.

    TABLE        original callable -> substitute. Methods take self first: list.sort, str.join.
    CALLS        class -> substitute for calling an instance: functools.partial, operator.itemgetter.

Rules for whoever substitutes:
  - Arguments that do not fit the substitute's signature go to the original, which says what is wrong with them.
  - Calls made by functions of this package are not substituted again: they run as they are, or their Python code is followed.
    So these functions go through an iterable by a loop of their own, never by list(iterable).
  - An instance of a class of this package (subclass of StandIn) that escapes is rebuilt by its __reduce__, as the original.
"""

import importlib

TABLE = {}
CALLS = {}

_LIBRARIES = ("autograd", "builtins", "containers", "control_flow", "copy", "functools", "heapq", "itertools", "objects",
              "operator", "texts")


def substitute(*originals):
    """Decorator: the function stands for these callables."""
    def register(function):
        for original in originals:
            TABLE[original] = function
        return function
    return register


def substitute_call(*classes):
    """Decorator: the function stands for calling instances of these classes; it takes the instance first."""
    def register(function):
        for cls in classes:
            CALLS[cls] = function
        return function
    return register


class StandIn:
    """Base of iterators that stand in for those of C. Not generators: a StopIteration that a callback raises ends them silently."""

    __slots__ = ()

    def __iter__(self):
        return self


for _name in _LIBRARIES:
    importlib.import_module(f"{__name__}.of_{_name}")
