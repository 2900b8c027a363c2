# Interfaces: a class fits when it has the methods.
import torch


@torch.jit.interface
class Shape:
    def area(self, scale: int) -> int:
        pass


class Square:
    def __init__(self, side: int):
        self.side = side

    def area(self, scale: int) -> int:
        return self.side * self.side * scale


class Stick:
    def __init__(self, length: int):
        self.length = length

    def area(self, scale: int) -> int:
        return 0

    def more(self) -> int:
        return self.length


def area(s: Shape, scale: int) -> int:
    return s.area(scale)


def both(n: int) -> int:
    total = area(Square(n), 2) + area(Stick(n), 3)
    shapes = torch.jit.annotate(List[Shape], [])
    shapes.append(Square(1))
    shapes.append(Stick(1))
    for s in shapes:
        total += s.area(100)
    return total


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: int) -> int:
        pass


class Double(nn.Module):
    def forward(self, x: int) -> int:
        return x * 2


class Add(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x: int) -> int:
        return x + self.n


class Holder(nn.Module):
    layer: Layer

    def __init__(self, n):
        super().__init__()
        self.layer = Double()
        self.other = Add(n)
        self.all = nn.ModuleList([Double(), Add(n)])

    def forward(self, x: int) -> int:
        return self.layer(x) + self.layer.forward(x)

    @torch.jit.export
    def pick(self, x: int, which: int) -> int:
        layer: Layer = self.all[which]
        return layer.forward(x)

#> both(3)
# 118
#> Holder(5)(3)
# 12
#> Holder(5).pick(3, 0)
# 6
#> Holder(5).pick(3, 1)
# 8
