# Functions: defaults, keywords, order of definition, constants of the file, overloads.
import math
import torch
from typing import List, Optional

N = 3
HALF = 1 / 2
NAME = "n" + str(N)
LIMITS = (0, 10)
Ints = List[int]
tensor_of = torch.tensor


def twice(x: int) -> int:
    return helper(x) * 2


def helper(x: int, by: int = N) -> int:
    return x + by


def constants() -> str:
    return NAME + str(HALF) + str(LIMITS[1])


def total(xs: Ints) -> int:
    s = 0
    for x in xs:
        s += x
    return s


def aliased(x: float) -> float:
    return float(tensor_of([x, x]).sum()) + math.floor(x)


def keyword_only(x: int, *, scale: float) -> float:
    return x * scale


@torch.jit._overload
def size(x: int) -> int:
    pass


@torch.jit._overload
def size(x: str) -> int:
    pass


def size(x):
    if isinstance(x, int):
        return x
    else:
        return len(x)


def sizes() -> int:
    return size(4) * 10 + size("abc")


@torch.jit.unused
def not_here(x: int) -> int:
    import numpy
    return numpy.zeros(x)


def may_call(x: int) -> int:
    if x > 0:
        return not_here(x)
    return 0

#> twice(1)
# 8
#> helper(1, by=5)
# 6
#> constants()
# 'n30.510'
#> total([1, 2, 3])
# 6
#> aliased(1.5)
# 4.0
#> keyword_only(2, scale=1.5)
# 3.0
#> sizes()
# 43
#> may_call(-1)
# 0
#> may_call(1)
# ! Cannot call @unused methods
