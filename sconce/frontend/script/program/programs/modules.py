# Modules: what __init__ builds, what forward may use.
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import Dict, Final, List, Optional, Tuple


def make_scale(n):
    return [float(i) / 2 for i in range(n)]


class Scale(nn.Module):
    factor: Final[float]

    def __init__(self, factor, shape=(2,)):
        super().__init__()
        self.factor = factor
        self.weight = nn.Parameter(torch.full(shape, 2.0))
        self.register_buffer("calls", torch.zeros(1))
        if factor > 1:
            self.bias = nn.Parameter(torch.ones(shape))
        else:
            self.register_parameter("bias", None)

    def forward(self, x):
        self.calls += 1
        x = x * self.weight * self.factor
        if self.bias is not None:
            x = x + self.bias
        return x


class Net(nn.Module):
    state: Optional[int]
    steps = 4

    def __init__(self, n: int, activation="relu"):
        super().__init__()
        assert n > 0, "n must be positive"
        self.first = Scale(1)
        self.second = Scale(2.0)
        self.third = Scale(2.0)
        self.scales = make_scale(n)
        self.table: Dict[str, int] = {}
        self.names = {f"layer{i}": i for i in range(n)}
        self.state = None
        self.act = F.relu if activation == "relu" else torch.tanh
        self.pair = (n, "n")
        self.empty: List[str] = []

    def helper(self, x, by: int = 2):
        return self.act(x) * by

    @staticmethod
    def shift(x: int) -> int:
        return x + 1

    @property
    def size(self) -> int:
        return len(self.scales)

    @torch.jit.ignore
    def python_only(self, x):
        return [y for y in x if y]

    @torch.jit.export
    def describe(self, i: int) -> str:
        self.table["k"] = i
        self.empty.append("e")
        return self.pair[1] + str(self.names["layer1"]) + str(self.size) + str(self.shift(i))

    def forward(self, x):
        x = self.helper(self.first(x))
        x = self.third(self.second(x))
        if self.training:
            self.state = 1
        return x.sum()

    @torch.jit.export
    def count(self) -> Tuple[float, Optional[int]]:
        return float(self.first.calls), self.state

    @torch.jit.export
    def numbers(self) -> float:
        self(torch.ones(2))
        return float(self(torch.ones(2))) + float(self.first.calls) * 1000


class Child(Net):
    def __init__(self, n):
        super().__init__(n, activation="tanh")
        self.extra = n

    def helper(self, x, by: int = 2):
        return x * by * self.extra

#> Net(2).describe(4)
# 'n125'
#> Net(2).numbers()
# 2138.0
#> Child(3).numbers()
# 2394.0
#> Net(0)
# ! AssertionError: n must be positive
#> Net(2).count()
# (0.0, None)
#> Net()
# ! __init__() is missing value for argument 'n'
