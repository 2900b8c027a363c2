# Named tuples, enums and dataclasses.
import enum
from collections import namedtuple
from dataclasses import dataclass
from enum import Enum
from typing import List, NamedTuple, Tuple


class Point(NamedTuple):
    x: int
    y: float = 2.5


Pair = NamedTuple("Pair", [("a", int), ("b", str)])


def points(n: int) -> Tuple[int, float, float, int]:
    p = Point(n)
    q = Point(y=1.0, x=p.x + 1)
    x, y = q
    return q.x, p.y, y, p[0]


def pair(p: Pair) -> str:
    return p.b + str(p.a)


class Color(Enum):
    RED = 1
    GREEN = 2


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


def enums(c: Color) -> Tuple[int, str, bool, int]:
    total = 0
    for each in Color:
        total += each.value
    return c.value, c.name, c == Color.RED, total


def mode(m: Mode = Mode.SLOW) -> str:
    return m.value


@dataclass
class Item:
    name: str
    price: float = 1.5
    count: int = 1

    def total(self) -> float:
        return self.price * self.count


@dataclass(order=True)
class Version:
    major: int
    minor: int


def items() -> Tuple[float, bool, bool]:
    a = Item("a", count=2)
    b = Item("a", 1.5, 2)
    return a.total(), a == b, a == Item("b")


def versions() -> Tuple[bool, bool, bool]:
    return Version(1, 2) < Version(1, 3), Version(2, 0) <= Version(1, 9), Version(1, 1) >= Version(1, 1)

#> points(1)
# (2, 2.5, 1.0, 1)
#> pair(Pair(3, "k"))
# 'k3'
#> enums(Color.RED)
# (1, 'RED', True, 3)
#> mode()
# 'slow'
#> mode(Mode.FAST)
# 'fast'
#> items()
# (3.0, True, False)
#> versions()
# (True, False, True)
