# Script classes: attributes, methods, properties, static methods, operators.
import torch
from typing import Any, Dict, List, Optional, Tuple


def use(x: int) -> Tuple[int, int, float]:
    a = Account(x)
    a.add(2)
    a.limit = 7
    return a.total, Account.fee(a.limit), a.mean


class Account:
    def __init__(self, start: int) -> None:
        self.total = start
        self.count = 1
        self.history: List[int] = []
        self.note: Optional[str] = None
        self.limit_ = 0

    def add(self, x: int) -> int:
        self.total += x
        self.count += 1
        self.history.append(x)
        return self.total

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def limit(self) -> int:
        return self.limit_

    @limit.setter
    def limit(self, value: int) -> None:
        self.limit_ = value + 1

    @staticmethod
    def fee(x: int) -> int:
        return x * 10


class Vec:
    def __init__(self, x: int, y: int):
        self.x = x
        self.y = y

    def __add__(self, other: "Vec") -> "Vec":
        return Vec(self.x + other.x, self.y + other.y)

    def __eq__(self, other: "Vec") -> bool:
        return self.x == other.x and self.y == other.y

    def __lt__(self, other: "Vec") -> bool:
        return self.x < other.x

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> int:
        return self.x if i == 0 else self.y

    def __setitem__(self, i: int, v: int) -> None:
        if i == 0:
            self.x = v
        else:
            self.y = v

    def __neg__(self) -> "Vec":
        return Vec(-self.x, -self.y)

    def __contains__(self, v: int) -> bool:
        return self.x == v or self.y == v

    def __call__(self, k: int) -> int:
        return self.x * k


def operators() -> Tuple[int, int, bool, bool, int, int, bool]:
    a = Vec(1, 2) + Vec(3, 4)
    a[0] = 9
    b = -a
    return a[0], a[1], a == Vec(9, 6), a < b, len(a), a(2), 6 in a


def in_place() -> int:
    a = Vec(1, 2)
    a += Vec(10, 20)
    return a.x + a.y


class Guard:
    def __init__(self, log: List[str]):
        self.log = log

    def __enter__(self) -> int:
        self.log.append("enter")
        return 5

    def __exit__(self, t: Any, v: Any, tb: Any) -> None:
        self.log.append("exit")


def context() -> List[str]:
    log: List[str] = []
    with Guard(log) as n:
        log.append(str(n))
    return log


class Node:
    def __init__(self, value: int):
        self.value = value
        self.items: Dict[str, int] = {}


def shared() -> int:
    a = Node(1)
    b = a
    b.value = 7
    b.items["k"] = 3
    return a.value + a.items["k"]

#> use(1)
# (3, 80, 1.5)
#> operators()
# (9, 6, True, False, 2, 18, True)
#> in_place()
# 33
#> context()
# ['enter', '5', 'exit']
#> shared()
# 10
#> Account(4).add(3)
# 7
#> Vec(1, 2) == Vec(1, 2)
# True
