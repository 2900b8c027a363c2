# What the programs in programs/ and programs_1_13/ find around them.
from enum import Enum
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union

import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

T = torch.tensor


def helper_a(x: Tensor, k: int = 1) -> Tensor:
    return x * k


def helper_b(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = helper_a(x, n) + 1
    return x


class Point(NamedTuple):
    x: Tensor
    y: int


class Color(Enum):
    RED = 1
    GREEN = 2


@torch.jit.script
class Accumulator:
    def __init__(self, start: int):
        self.total = start
        self.seen: List[int] = []

    def add(self, x: int) -> int:
        self.total += x
        self.seen.append(x)
        return self.total

    def __len__(self) -> int:
        return len(self.seen)

    @property
    def mean(self) -> float:
        return self.total / len(self.seen)
