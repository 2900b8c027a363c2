#!/usr/bin/env python3
"""Exports small programs with PyTorch and records calls of them, as tests/conformance/exported.

    python tools/record_exported.py [name ...]

Each program is written as name.pt2 and, decomposed, as name.core.pt2; name.pt2.safetensors has the calls: inputs, kwargs,
what comes out, inputs and state after the call where they change. `refused` calls record a part of Sconce's message.
"""

import collections
import contextlib
import copy
import io
import pathlib
import re
import sys
import zipfile
from unittest import mock

import torch
import torch.utils._pytree as pytree
from torch import nn
from torch.export import Dim

from case_writer import Writer

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "conformance" / "exported"
PROGRAMS = {}


def program(*args, kwargs=None, dynamic=None, calls=(), refused=(), core=True, only_core=False):
    """Registers a module class: example inputs, then calls (args, or (args, kwargs)) and refused ones with a message.

    `core`: is there a decomposed file, too? `only_core`: PyTorch can save the decomposed program alone.
    """
    def register(cls):
        PROGRAMS[cls.__name__] = (cls, args, kwargs or {}, dynamic, calls, refused, core, only_core)
        return cls
    return register


@contextlib.contextmanager
def flex_attention_by_math():
    """Lets flex_attention call PyTorch's own formula for it: torch.export.save (2.13) refuses the operator itself, whose
    block mask is a tuple of numbers, tensors and a graph, for which files have no form."""
    from torch._higher_order_ops.flex_attention import math_attention
    from torch.nn.attention import flex_attention as flex
    with mock.patch.multiple(flex, flex_attention_hop=math_attention, _FLEX_ATTENTION_DISABLE_COMPILE_DEBUG=True,
                             setup_compilation_env=lambda: contextlib.nullcontext("eager")):
        yield


def r(*sizes, seed=1):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


Pair = collections.namedtuple("Pair", "first second")
pytree._register_namedtuple(Pair, serialized_type_name="sconce.Pair")
batch = Dim("batch", min=2, max=64)


@program(r(3, 4), dynamic={"x": {0: batch}}, calls=[(r(2, 4),), (r(1, 4),), (r(64, 4),)],
         refused=[((r(65, 4),), "input 'x': dimension 0 is 65, the program was exported for at most 64"),
                  ((r(3, 5),), "input 'x': dimension 1 is 5, the program was exported for 4"),
                  ((r(4),), "input 'x': has 1 dimensions (sizes [4]), the program was exported for 2 (sizes [?, 4])"),
                  ((r(3, 4).double(),), "input 'x': is a tensor of float64, the program was exported for float32"),
                  ((), "forward() is missing value for argument 'x'"),
                  ((r(3, 4), r(3, 4)), "forward() expected at most 2 argument(s) but received 3 argument(s)")])
class Ranges(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        return torch.softmax(self.layers(x), -1)


@program(r(4, 3), r(9), dynamic={"x": {0: batch}, "y": {0: 2 * batch + 1}}, calls=[(r(5, 3), r(11))],
         refused=[((r(5, 3), r(10)), "input 'y': dimension 0 is 10, the program was exported for 2*x.size(0) + 1 = 11")])
class Derived(nn.Module):
    def forward(self, x, y):
        return x.sum(1) + y[1::2] + y[::2][:-1]


@program(r(6), dynamic={"x": {0: 3 * batch}}, calls=[(r(12),)],
         refused=[((r(13),), "input 'x': dimension 0 is 13, the program was exported for 3*s"),
                  ((r(3),), "input 'x': dimension 0 is 3, the program was exported for 6 to 192")])
class OnlyDerived(nn.Module):
    def forward(self, x):
        return x.reshape(-1, 3).sum(0)


@program(r(4, 6), r(8), dynamic={"x": {0: Dim.AUTO, 1: Dim.AUTO}, "y": {0: Dim.AUTO}}, calls=[(r(5, 7), r(10))],
         refused=[((r(4, 6), r(9)), "input 'y': dimension 0 is 9, the program was exported for 2*x.size(0) = 8"),
                  ((r(4, 3), r(8)), "input 'x': dimension 1 is 3, the program was exported for at least 4")])
class Auto(nn.Module):
    def forward(self, x, y):
        if x.shape[0] * 2 == y.shape[0] and x.shape[1] > 3:
            return x.sum() + y.sum()
        return x.sum()


@program(r(4, 6), r(3, 6), r(4, 6), dynamic={"x": {0: Dim("a"), 1: Dim("b", max=100)}, "y": {0: Dim("c"), 1: Dim("b", max=100)},
                                            "z": {0: Dim("a"), 1: Dim("b", max=100)}},
         calls=[(r(2, 5), r(7, 5), r(2, 5))],
         refused=[((r(2, 5), r(7, 6), r(2, 5)), "input 'y': dimension 1 is 6, the program was exported for x.size(1) = 5")])
class Shared(nn.Module):
    def forward(self, x, y, z):
        return torch.cat([x, y]), x + z


@program(r(4, 3), 7, dynamic={"x": {0: batch}, "n": Dim.DYNAMIC}, calls=[((r(6, 3), 9))],
         refused=[((r(6, 3), 1), "the program was exported for inputs with")])
class Numbers(nn.Module):
    def forward(self, x, n):
        b = x.shape[0]
        doubled = torch.cat([x, x]).reshape(b * 2, -1)
        return (doubled, torch.zeros(b // 2 + 1, n), b, n + 1, torch.sym_max(b, n), torch.ones(torch.sym_min(b, n)),
                torch.arange(b), b % 3, -b)


@program(r(4, 3), dynamic={"x": {0: batch}}, calls=[(r(5, 3),)])
class Floats(nn.Module):
    def forward(self, x):
        b = x.shape[0]
        return x * (b * 0.5), x * torch.sym_float(b), x * torch.sym_sqrt(b), x * (b / 2), torch.sym_float(b)


@program(r(3, 4), {"a": r(4), "b": [(r(4),)]}, kwargs={"scale": 2, "flag": False, "name": "x", "rate": 0.5, "other": None},
         calls=[((r(3, 4, seed=2), {"a": r(4), "b": [(r(4),)]}),
                 {"flag": False, "scale": 2, "name": "x", "rate": 0.5, "other": None})],
         refused=[((r(3, 4), {"a": r(4), "b": [(r(4),)]}), {"scale": 3, "flag": False, "name": "x", "rate": 0.5, "other": None},
                   "input 'scale': is 3, the program was exported for 2"),
                  ((r(3, 4), {"a": r(4), "b": [(r(4),)]}), {"scale": 2, "flag": True, "name": "x", "rate": 0.5, "other": None},
                   "input 'flag': is True, the program was exported for False"),
                  ((r(3, 4), {"a": r(4), "b": [(r(4),)]}), {"scale": 2, "flag": False, "name": "y", "rate": 0.5, "other": None},
                   "input 'name': is 'y', the program was exported for 'x'"),
                  ((r(3, 4), {"a": r(4), "b": [(r(4),)]}), {"scale": 2, "flag": False, "name": "x", "other": None},
                   "forward() is missing value for argument 'rate'")])
class Structures(nn.Module):
    def forward(self, x, d, *, scale=3, flag=True, name="", rate=1.0, other=None):
        y = x + d["a"] + d["b"][0][0] * scale * rate
        return {"y": y, "z": (y * 2, None, [y + 1, y - 1])}, Pair(y, x)


@program([r(3), r(4)], {"k": r(3), "l": r(4)}, Pair(r(3), r(4)),
         calls=[([r(3, seed=5), r(4)], {"l": r(4), "k": r(3, seed=6)}, Pair(r(3), r(4)))],
         refused=[(([r(3)], {"k": r(3), "l": r(4)}, Pair(r(3), r(4))), "input 'items': has 1 items, the program was exported for 2"),
                  (([r(3), r(4)], {"k": r(3)}, Pair(r(3), r(4))),
                   "input 'table': has no key 'l', the program was exported for ['k', 'l']"),
                  (([r(3), r(4)], {"k": r(3), "l": r(4), "m": r(4)}, Pair(r(3), r(4))),
                   "input 'table': has a key 'm', the program was exported for ['k', 'l']"),
                  (([r(3), r(5)], {"k": r(3), "l": r(4)}, Pair(r(3), r(4))),
                   "input 'items[1]': dimension 0 is 5, the program was exported for 4")])
class Containers(nn.Module):
    def forward(self, items, table, pair):
        return [items[0] + table["k"], items[1] * pair.second], {1: table["l"], 2: pair.first}


@program([r(3), 2, None], {"a": r(3), "b": [r(2), r(2)]}, calls=[([r(3, seed=3), 2, None], {"a": r(3), "b": [r(2), r(2)]})],
         refused=[(([r(3), 3, None], {"a": r(3), "b": [r(2), r(2)]}), "input 'items[1]': is 3, the program was exported for 2"),
                  (([r(3), r(3), None], {"a": r(3), "b": [r(2), r(2)]}), "input 'items[1]': is of type Tensor")])
class Mixed(nn.Module):
    def forward(self, items, table):
        return [items[0] * items[1], 5, None], {"u": table["a"], "v": [table["b"][0], table["b"][1]]}


@program(r(4, 3), r(4), r(3), dynamic={"x": {0: Dim.AUTO, 1: Dim.AUTO}, "rest": ({0: Dim.AUTO}, {0: Dim.AUTO})},
         calls=[(r(6, 3, seed=4), r(6), r(3))],
         refused=[((r(5, 3), r(6), r(3)), "input 'rest_0': dimension 0 is 6, the program was exported for x.size(0) = 5"),
                  ((r(6, 5), r(6), r(5)), "the program was exported for inputs with rest[1].size(0) + rest[0].size(0) < 10")])
class Variadic(nn.Module):
    def forward(self, x, *rest):
        if rest[0].shape[0] + rest[1].shape[0] < 10:
            return x + rest[0][:, None] + rest[1]
        return x


@program(r(4, 3), kwargs={"z": r(3), "y": r(3)}, calls=[((r(4, 3, seed=4),), {"y": r(3), "z": r(3)})])
class Keywords(nn.Module):
    def forward(self, x, **named):
        return x + named["z"] * named["y"]


@program(r(2, 3), calls=[(r(2, 3, seed=7),), (r(2, 3, seed=8),)])
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("scratch", torch.ones(3), persistent=False)

    def forward(self, x):
        self.count.add_(1)
        self.mean.mul_(0.9).add_(x.mean(0) * 0.1)
        return x - self.mean * self.scratch, self.count.clone()


@program(r(2, 3, 4), calls=[(r(2, 3, 4, seed=7),), (r(2, 3, 4, seed=8),)])
class TrainedNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x)


@program(r(2, 3), r(3), calls=[(r(2, 3, seed=7), r(3))])
class ChangesInput(nn.Module):
    def forward(self, x, y):
        x.mul_(2)
        y[0] = 5
        return x + y


@program(r(2, 4), calls=[(r(2, 4, seed=3),)])
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4, bias=False)
        self.second.weight = self.first.weight
        self.again = self.first
        self.whole = nn.Parameter(r(6))
        self.register_buffer("part", self.whole.detach()[2:])
        self.table = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x):
        return self.again(self.second(self.first(x))) + self.part + self.table + torch.tensor(2.0)


@program(r(4, 3), r(9), calls=[(r(4, 3, seed=2), r(9).abs() * 10)],
         refused=[((torch.zeros(4, 3), r(9).abs()), "Runtime assertion failed for expression u0 >= 1"),
                  ((r(4, 3), torch.full((9,), 50.0)), "Runtime assertion failed for expression u1 <= 99")])
class Unbacked(nn.Module):
    def forward(self, x, y):
        places = torch.nonzero(x > 0)
        torch._check(places.shape[0] >= 1)
        n = y.abs().sum().to(torch.int64).item()
        torch._check(n >= 0)
        torch._check(n < 100)
        return places, torch.full((n,), 2.0), torch.split(y, 2), n


@program(r(4, 3), r(2), calls=[(r(4, 3, seed=2), r(2))])
class Arguments(nn.Module):
    def forward(self, x, y):
        values, places = torch.max(x, 1)
        return (x.to(torch.float64, memory_format=torch.contiguous_format), torch.zeros(2, device="cpu", dtype=torch.int8),
                torch.nn.functional.interpolate(x[None, None], scale_factor=[2.0, 2.0]), values, places, y.unbind(0)[1],
                x[:, torch.tensor([0, 1])], torch.full((2,), 1 + 2j), torch.full((2,), float("-inf")),
                x.clone(memory_format=torch.preserve_format), torch.where(x > 0, x, 0.0), x.clamp(min=0), 2 - x, 1 / (x.abs() + 1),
                torch.native_group_norm(x[None], None, None, 1, 4, 3, 2, 1e-5)[0], x.view(torch.int32), x.max().item())


@program(r(4, 3), calls=[(r(4, 3).abs(),), (-r(4, 3).abs(),)])
class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda a: (self.linear(a) + 1, a * 3), lambda a: (a - 1, self.linear(a)), (x,))


@program(r(6, 3), dynamic={"x": {0: batch}}, calls=[(r(3, 3),), (r(8, 3),)])
class BranchOnSize(nn.Module):
    def forward(self, x):
        return torch.cond(x.shape[0] > 4, lambda a: a.sin(), lambda a: a.cos(), (x,))


@program(r(3), calls=[(r(3, seed=9),), (r(3, seed=9) * 20,)])
class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop
        return while_loop(lambda i, v: torch.logical_and(i < 5, v.abs().sum() < 30),
                          lambda i, v: (i + 1, self.linear(v) + v * 2), (torch.tensor(0), x))


@program(r(3), calls=[(r(3, seed=9),)])
class WithoutGradients(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(r(3))

    def forward(self, x):
        y = x * self.weight
        with torch.no_grad():
            scale = y.abs().max() + 1
        return y / scale


@program(torch.randint(0, 10, (2, 5), generator=torch.Generator().manual_seed(0)),
         dynamic={"tokens": {0: Dim("n", min=1, max=8), 1: Dim("t", min=2, max=16)}},
         calls=[(torch.tensor([[1, 2, 3]]),), (torch.tensor([[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]]),)])
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.project = nn.Linear(8, 24)

    def forward(self, tokens):
        n, t = tokens.shape
        q, k, v = self.project(self.embed(tokens)).reshape(n, t, 3, 2, 4).permute(2, 0, 3, 1, 4)
        mask = torch.ones(t, t, dtype=torch.bool).tril()
        scores = (q @ k.transpose(-1, -2) / 2).masked_fill(~mask, float("-inf")).softmax(-1)
        return (scores @ v).transpose(1, 2).reshape(n, t, 8)


@program(r(5, 2, 3), calls=[(r(5, 2, 3, seed=2),)])
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return out, h, c


@program(r(1, 2, 8, 8), calls=[(r(1, 2, 8, 8, seed=2),)])
class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1, groups=2)
        self.norm = nn.BatchNorm2d(4)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)

    def __post__(self):
        return self.eval()

    def forward(self, x):
        y = nn.functional.relu(self.norm(self.conv(x)), inplace=True)
        y = nn.functional.max_pool2d(y, 2)
        y = nn.functional.adaptive_avg_pool2d(self.up(y), (4, 4))
        return nn.functional.interpolate(y, scale_factor=2.0, mode="bilinear"), y.flatten(1)


@program(r(3), calls=[(r(3),)])
class NoParameters(nn.Module):
    def forward(self, x):
        return None, x.sin(), x, 3


@program(calls=[()])
class NoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(r(2))

    def forward(self):
        return self.weight * 2


@program(torch.arange(6, dtype=torch.float16).reshape(2, 3), torch.tensor([True, False]), torch.tensor(3, dtype=torch.uint8),
         torch.tensor(1 + 2j), calls=[(torch.arange(6, dtype=torch.float16).reshape(2, 3), torch.tensor([True, False]),
                                       torch.tensor(3, dtype=torch.uint8), torch.tensor(1 + 2j))])
class Dtypes(nn.Module):
    def forward(self, h, b, u, c):
        return h * 2, b.logical_not(), u + u, c * c, h.to(torch.bfloat16), b.to(torch.int32), h.double().sum(), h.to(torch.int16)


@program(r(3, 3), calls=[(r(3, 3, seed=5),)])
class Effects(nn.Module):  # tokens, after decomposition
    def forward(self, x):
        return torch.linalg.inv(x @ x.T + torch.eye(3))


@program(r(4, 3), r(3), calls=[(r(4, 3, seed=2), r(3))])
class Map(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, y):
        from torch._higher_order_ops import map as hop_map
        return hop_map(lambda rows, b: (self.linear(rows[0]) + b, rows[1].sum()), (x, x * 2), y)


@program(r(5, 3), r(3), dynamic={"x": {0: batch}, "h": None}, calls=[(r(2, 3), r(3)), (r(7, 3), r(3, seed=2))])
class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, h):
        from torch._higher_order_ops.scan import scan

        def step(carried, row):
            state = torch.tanh(self.linear(carried) + row)
            return state, state * 2
        return scan(step, h, x)


@program(r(2, 3, 4), calls=[(r(2, 3, 4, seed=2),)], core=False)  # PyTorch cannot decompose it
class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(self.norm(x))
            z = torch.einsum("bij,bkj->bik", y, x)
            with torch.autocast("cpu", enabled=False):
                w = self.linear(x)
            return (y, z, w, torch.prod(z, 1), torch.stack([y, w]), torch.cat([y, y]), nn.functional.mse_loss(y, w),
                    nn.functional.scaled_dot_product_attention(x, x, x), torch.exp(y), y.double() @ x.double().mT)


@program(r(4, 3, 5), r(5), r(4), calls=[(r(4, 3, 5, seed=2), r(5), r(4))])
class Rows(nn.Module):  # vmap
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 2)

    def forward(self, x, y, z):
        def row(a, b):
            parts = a.split(2, 1)
            scaled = a.clone()
            scaled.mul_(b).add_(y)
            return (self.linear(a), a.softmax(0) * b, a @ y, parts[0].sum(1, keepdim=True), parts[2].t(), y * 2, a.max(1)[0],
                    a.unsqueeze(0).shape[2] * b, scaled, a.flatten()[2:7], a.transpose(0, 1).sum(-1), (a > b).any(), a @ a.mT)
        return torch.vmap(row)(x, z), torch.vmap(torch.dot, (1, None), 0)(x[0].t(), y), torch.vmap(lambda a: a * 2, 0, 0)(x)


@program(r(3, 4), r(5, 4), dynamic={"x": {0: batch}, "y": None}, calls=[(r(3, 4, seed=2), r(5, 4)), (r(7, 4), r(5, 4))])
class Pairs(nn.Module):  # vmap in vmap
    def forward(self, x, y):
        def distance(a, b):
            return (a - b).abs().sum(), a.dot(b), a.half() * b.sum()
        return torch.vmap(torch.vmap(distance, (None, 0)), (0, None))(x, y)


@program(r(3, 4), torch.tensor([2, 0, 1]), calls=[(r(3, 4, seed=2), torch.tensor([3, 3, 0]))])
class Lookups(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", r(4, 2))

    def forward(self, x, i):
        def row(a, j):
            found = torch.ops.aten.index.Tensor(self.table, [j])
            return found, torch.ops.aten.index.Tensor(a, [j]), torch.where(j > 1, found, 0.0), a.gather(0, j.unsqueeze(0))
        return torch.vmap(row)(x, i)


def causal(b, h, q, k):
    return q >= k


@program(r(2, 4, 6, 8), r(2, 2, 6, 8), r(2, 2, 6, 8), calls=[(r(2, 4, 6, 8, seed=2), r(2, 2, 6, 8, seed=3), r(2, 2, 6, 8, seed=4))])
class FlexAttention(nn.Module):
    around = flex_attention_by_math

    def __init__(self):
        super().__init__()
        from torch.nn.attention.flex_attention import create_block_mask
        self.causal = create_block_mask(causal, None, None, 6, 6, device="cpu")
        self.sliding = create_block_mask(lambda b, h, i, j: (i - j).abs() < 2 + h, 2, 4, 6, 6, device="cpu")

    def forward(self, q, k, v):
        from torch.nn.attention.flex_attention import AuxRequest, flex_attention
        everywhere, found = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.25, enable_gqa=True,
                                           return_aux=AuxRequest(lse=True))
        return (everywhere, found.lse, flex_attention(q, k, v, block_mask=self.causal, scale=0.3, enable_gqa=True),
                flex_attention(q, k, v, block_mask=self.sliding, enable_gqa=True, return_lse=True))


@program(r(2, 3, 5, 4), r(1, 3, 7, 4), r(1, 3, 7, 2), calls=[(r(2, 3, 5, 4, seed=2), r(1, 3, 7, 4, seed=3), r(1, 3, 7, 2, seed=4))],
         only_core=True)  # tables in score_mod and mask_mod: PyTorch cannot save them but decomposed
class FlexTables(nn.Module):
    around = flex_attention_by_math

    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(r(3))
        self.register_buffer("document", torch.tensor([0, 0, 0, 1, 1, 1, 1]))

        def same_document(b, h, i, j):
            return (self.document[i] == self.document[j]) & (i < 4)  # nothing is left for the last row
        from torch.nn.attention.flex_attention import create_block_mask
        self.mask = create_block_mask(same_document, 2, None, 5, 7, device="cpu")

    def forward(self, q, k, v):
        from torch.nn.attention.flex_attention import flex_attention

        def biased(score, b, h, i, j):
            return torch.tanh(score / 2) * 2 + self.slope[h] * (i - j) + b
        return flex_attention(q, k, v, score_mod=biased, block_mask=self.mask, return_lse=True)


@program(r(2, 2, 5, 4), calls=[(r(2, 2, 5, 4, seed=2),)])
class DenseMask(nn.Module):
    def forward(self, x):
        from torch.nn.attention.flex_attention import create_mask
        return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=create_mask(causal, 1, 1, 5, 5, device="cpu"))


def clean(ep):
    """Without the places of this machine."""
    for module in ep.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            node.meta.pop("from_node", None)
            if "stack_trace" in node.meta and node.meta["stack_trace"]:
                trace = re.sub(r'File "[^"]*/site-packages/', 'File "', node.meta["stack_trace"])
                node.meta["stack_trace"] = re.sub(r'File "[^"]*/record_exported', 'File "record_exported', trace)
    return ep


def repack(name, layout):
    """The same program as older PyTorch wrote it: at the top of the zip file, or with pickled dicts of tensors."""
    def saved(value):
        buffer = io.BytesIO()
        torch.save(value, buffer)
        return buffer.getvalue()

    ep = torch.export.load(OUT / f"{name}.pt2")
    state, constants = saved(dict(ep.state_dict)), saved(dict(ep.constants))
    to = f"{name}_{layout}"
    with zipfile.ZipFile(OUT / f"{name}.pt2") as source, zipfile.ZipFile(OUT / f"{to}.pt2", "w") as target:
        if layout == "flat":
            records = {"version": "8.2", "serialized_exported_program.json": source.read(f"{name}/models/model.json"),
                       "serialized_state_dict.pt": state, "serialized_constants.pt": constants,
                       "serialized_example_inputs.pt": saved(ep.example_inputs)}
        else:
            kept = [r for r in source.namelist() if "/data/" not in r]
            records = {r: source.read(r) for r in kept} | {f"{name}/data/weights/model.pt": state,
                                                           f"{name}/data/constants/model.pt": constants}
        for record, content in records.items():
            target.writestr(record, content)
    (OUT / f"{to}.pt2.safetensors").write_bytes((OUT / f"{name}.pt2.safetensors").read_bytes())


def split(call):
    """(args, kwargs) of a call; without a dict of names at the end, all are args."""
    if len(call) == 2 and isinstance(call[0], tuple) and isinstance(call[1], dict):
        return call
    return call, {}


def record(name):
    cls, args, kwargs, dynamic, calls, refused, core, only_core = PROGRAMS[name]
    torch.manual_seed(0)
    module = cls()
    module = module.__post__() if hasattr(module, "__post__") else module
    with getattr(cls, "around", contextlib.nullcontext)():
        ep = torch.export.export(module, copy.deepcopy(args), copy.deepcopy(kwargs), dynamic_shapes=dynamic)
    if only_core:
        ep, core = ep.run_decompositions(), False
    OUT.mkdir(parents=True, exist_ok=True)
    torch.export.save(clean(ep), OUT / f"{name}.pt2")
    writer = Writer()
    cases = [{"name": name, "torch": torch.__version__}]
    if hasattr(cls, "refused_to_load"):
        cases.append({"load_error": cls.refused_to_load})
        return writer.save(OUT / f"{name}.pt2.safetensors", cases)
    if core:
        torch.export.save(clean(ep.run_decompositions()), OUT / f"{name}.core.pt2")
    runnable = torch.export.load(OUT / f"{name}.pt2").module()
    persistent = set(ep.state_dict)
    for call in calls:
        args, kwargs = copy.deepcopy(split(call))
        case = {"inputs": [writer.value(a) for a in args], "kwargs": {k: writer.value(v) for k, v in kwargs.items()}}
        before = [t.clone() for t in pytree.tree_leaves(args) if isinstance(t, torch.Tensor)]
        with torch.no_grad():
            case["out"] = writer.value(runnable(*args, **kwargs))
        now = [t for t in pytree.tree_leaves(args) if isinstance(t, torch.Tensor)]
        if any(not torch.equal(a, b) for a, b in zip(before, now)):
            case["after"] = [writer.value(a) for a in args]
        case["state"] = {k: writer.value(v) for k, v in runnable.state_dict().items() if k in persistent}
        cases.append(case)
    for *call, message in refused:
        args, kwargs = call if len(call) == 2 else (call[0], {})
        cases.append({"inputs": [writer.value(a) for a in args], "kwargs": {k: writer.value(v) for k, v in kwargs.items()},
                      "error": message})
    writer.save(OUT / f"{name}.pt2.safetensors", cases)


def main():
    for name in sys.argv[1:] or PROGRAMS:
        try:
            record(name)
            for layout in ("flat", "pickled") if name == "Tied" else ():
                repack(name, layout)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:600]}")


if __name__ == "__main__":
    main()
