# Containers of modules: unrolled loops, literal indices, slices, dictionaries.
import torch
import torch.nn as nn
from typing import List, Tuple


class Add(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x: int) -> int:
        return x + self.n


class Times(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x * 10 + self.n


class Block(nn.Sequential):
    def __init__(self, a, b):
        super().__init__(Times(a), Times(b))


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Add(i) for i in range(3)])
        self.layers.append(Add(10))
        self.layers += [Add(20)]
        self.seq = nn.Sequential(Times(1), Block(2, 3))
        self.pair = nn.Sequential(Add(5), Add(6))
        self.named = nn.ModuleDict({"a": Add(100)})
        self.named["b"] = Add(200)
        self.params = nn.ParameterList([nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))])

    @torch.jit.export
    def loops(self, x: int) -> List[int]:
        out: List[int] = []
        for layer in self.layers:
            x = layer(x)
        out.append(x)
        for i, layer in enumerate(self.layers):
            out.append(layer(i))
        for a, b in zip(self.layers, self.pair[::-1]):
            out.append(a(b(x)))
        return out

    @torch.jit.export
    def indices(self, x: int) -> Tuple[int, int, int, int]:
        total = 0
        for layer in self.layers[1:3]:
            total = layer(total)
        return self.layers[0](x), self.layers[-1](x), total, len(self.layers)

    @torch.jit.export
    def keys(self, x: int) -> List[str]:
        out: List[str] = []
        for k, m in self.named.items():
            out.append(k + str(m(x)))
        for k in self.named.keys():
            out.append(k)
        for k in self.named:
            out.append(k)
        for m in self.named.values():
            out.append(str(m(1)))
        out.append(str("a" in self.named) + str("c" in self.named) + str(len(self.named)))
        out.append(str(self.named["b"](5)))
        return out

    @torch.jit.export
    def kinds(self) -> List[bool]:
        out: List[bool] = []
        for m in self.seq:
            if isinstance(m, Block):
                out.append(len(m) == 2)
            else:
                out.append(isinstance(m, (nn.Linear, Times)))
        out.append(isinstance(self.layers, nn.ModuleList) and isinstance(self, nn.Module))
        out.append(isinstance(self.layers, nn.Sequential))
        return out

    @torch.jit.export
    def sums(self) -> float:
        total = 0.0
        for p in self.params:
            total += float(p.sum())
        return total + float(self.params[1].sum()) * 10

    def forward(self, x: int) -> int:
        return int(self.seq(torch.tensor(x)))

#> Holder()(1)
# 1123
#> Holder().loops(1)
# [34, 0, 2, 4, 13, 24, 40, 40]
#> Holder().indices(1)
# (1, 21, 3, 5)
#> Holder().keys(1)
# ['a101', 'b201', 'a', 'b', 'a', 'b', '101', '201', 'TrueFalse2', '205']
#> Holder().kinds()
# [True, True, True, False]
#> Holder().sums()
# 35.0
