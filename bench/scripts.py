"""Programs that the rows of scripts.json time: compiled by our frontend and by torch.jit.script, from this text."""
from typing import Dict, List

import torch
from torch import Tensor


def int_loop(n: int) -> int:
    s = 0
    for i in range(n):
        if i % 3 == 0:
            s += i
        else:
            s -= 1
    return s


def float_loop(n: int) -> float:
    x = 0.0
    for i in range(n):
        x = x * 0.5 + 1.0
    return x


def add_loop(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x + 1
    return x


def list_append(n: int) -> List[int]:
    l: List[int] = []
    for i in range(n):
        l.append(i)
    return l


def list_get(n: int) -> int:
    l = [1, 2, 3, 4]
    s = 0
    for i in range(n):
        s += l[i % 4]
    return s


def dict_update(n: int) -> int:
    d: Dict[int, int] = {}
    for i in range(64):
        d[i] = 0
    for i in range(n):
        d[i % 64] = d[i % 64] + i
    return d[3]


def dict_update_str(n: int) -> int:
    d: Dict[str, int] = {}
    keys = ["alpha", "beta", "gamma", "delta"]
    for k in keys:
        d[k] = 0
    for i in range(n):
        k = keys[i % 4]
        d[k] = d[k] + i
    return d["beta"]


def str_concat(n: int) -> str:
    s = ""
    for i in range(n):
        s = s + "ab"
    return s


@torch.jit.script
class Counter:
    def __init__(self, n: int):
        self.n = n
    def step(self, i: int) -> int:
        self.n = self.n + i
        return self.n


def method_call(n: int) -> int:
    c = Counter(0)
    s = 0
    for i in range(n):
        s = c.step(i)
    return s


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential()
        for i in range(50):
            self.layers.append(torch.nn.Linear(64, 64))
            self.layers.append(torch.nn.ReLU())

    def forward(self, x):
        return self.layers(x)
