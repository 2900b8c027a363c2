# What modules share: one number for every dimension.
from typing import List


def _tuple_of(x, n):
    if isinstance(x, (list, tuple)):
        return tuple(x)
    return (x,) * n


def _single(x):
    return _tuple_of(x, 1)


def _pair(x):
    return _tuple_of(x, 2)


def _triple(x):
    return _tuple_of(x, 3)


def _quadruple(x):
    return _tuple_of(x, 4)


# (a, b) as (b, b, a, a): the order of F.pad, last dimension first, `n` numbers for each.
def _reverse_repeat_tuple(t, n):
    result = []
    for i in range(len(t)):
        for _ in range(n):
            result.append(t[len(t) - 1 - i])
    return tuple(result)
