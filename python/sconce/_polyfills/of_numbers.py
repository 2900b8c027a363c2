"""Numbers whose arithmetic has a context, decimal.Decimal, and those that module random draws, while a function is evaluated."""

import decimal
import random

import sconce

_DTYPES = {float: sconce.float64, int: sconce.int64}


def exactly(function, *args):
    """function(*args), where no context has a say in it: nothing was rounded, and no signal came up. Otherwise this function itself."""
    with decimal.localcontext() as context:
        context.clear_flags()
        context.clear_traps()
        result = function(*args)
        return exactly if any(context.flags.values()) else result


def draw(kind, function, *args):
    """A number of module random, as a call that a graph makes."""
    return sconce.tensor(function(*args), dtype=_DTYPES[kind])


def number_like(kind):
    return sconce.empty((), dtype=_DTYPES[kind], device="meta")


def random_below(n):
    """What random.choice draws for n items."""
    return random._inst._randbelow(n)
