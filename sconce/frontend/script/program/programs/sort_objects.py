# Instances are sorted by their class's __lt__, whatever it answers.
from typing import List, Tuple


class Plain:
    def __init__(self, k: int):
        self.k = k

class Odd:
    def __init__(self, k: int):
        self.k = k

    def __lt__(self, other: int) -> bool:
        return self.k < other

class Liar:
    def __init__(self, k: int):
        self.k = k

    def __lt__(self, other: "Liar") -> bool:
        return True

class Greedy:
    def __init__(self, k: int, all: List[int]):
        self.k = k
        self.all = all

    def __lt__(self, other: "Greedy") -> bool:
        self.all.append(self.k)
        return self.k < other.k

def plain() -> int:
    items = [Plain(2), Plain(1)]
    items.sort()
    return items[0].k

def odd() -> int:
    return sorted([Odd(2), Odd(1)])[0].k

def liar(n: int) -> int:
    items = [Liar(i) for i in range(n)]
    items.sort()
    total = 0
    for item in items:
        total += item.k
    return total

def greedy() -> Tuple[List[int], List[int]]:
    seen: List[int] = []
    items = sorted([Greedy(3, seen), Greedy(1, seen), Greedy(2, seen)])
    return [i.k for i in items], seen

#> plain()
# ! To sort a list of __torch__.Plain it must define a __lt__ method with two inputs of type __torch__.Plain that returns a bool
#> odd()
# ! To sort a list of __torch__.Odd it must define a __lt__ method
#> liar(100)
# 4950
#> greedy()
# ([1, 2, 3], [1, 2, 2])
