# Hooks around forward, overloaded methods, shared submodules.
import torch
import torch.nn as nn
from typing import List, Optional, Tuple


def before(self, input: Tuple[int]) -> Tuple[int]:
    return (input[0] + 1,)


def after(self, input: Tuple[int], output: int) -> int:
    return output * 10 + input[0]


class Inner(nn.Module):
    def forward(self, x: int) -> int:
        return x * 2


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.inner.register_forward_pre_hook(before)
        self.inner.register_forward_hook(after)
        self.same = self.inner

    def forward(self, x: int) -> int:
        return self.inner(x)


class Nested(nn.Module):
    def __init__(self, n):
        super().__init__()

        def add_one(self, input: Tuple[int]) -> int:
            return input[0] + 1

        def make(k):
            return k + n

        self.k = make(2)
        self.inner = Inner()
        self.inner.register_forward_pre_hook(add_one)

    def forward(self, x: int) -> int:
        return self.inner(x) * 100 + self.k


class Overloaded(nn.Module):
    @torch.jit._overload_method
    def forward(self, x: int) -> int:
        pass

    @torch.jit._overload_method
    def forward(self, x: str) -> str:
        pass

    def forward(self, x):
        if isinstance(x, int):
            return x + 1
        else:
            return x + "!"


class UsesOverloads(nn.Module):
    def __init__(self):
        super().__init__()
        self.o = Overloaded()

    def forward(self, x: int) -> str:
        return str(self.o(x)) + self.o("a")

#> Outer()(1)
# 42
#> Nested(3)(1)
# 405
#> UsesOverloads()(1)
# '2a!'
#> Overloaded()("b")
# 'b!'
#> Overloaded()(3)
# 4
