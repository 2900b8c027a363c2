from enum import Enum
class Color(Enum):
    RED = 1
    BLUE = 2

class Point(NamedTuple):
    x: Tensor
    y: int = 3

@torch.jit.interface
class Shape:
    def area(self, k: float) -> float:
        pass

class Square:
    side: float
    def __init__(self, side: float):
        self.side = side
    def area(self, k: float) -> float:
        return self.side ** 2 * k
    def __add__(self, other: "Square") -> "Square":
        return Square(self.side + other.side)
    @property
    def half(self) -> float:
        return self.side / 2

def f(s: Shape, c: Color, p: Point, *, n: Optional[int] = None) -> float:
    a, *b = p.x.shape
    d: Dict[str, List[int]] = {"k": [1, 2]}
    for i, (k, v) in enumerate(d.items()):
        v.append(i if n is None else n)
    try_ = [float(x) for x in d["k"]]
    return s.area(1.5) + float(c.value) + (Square(1.0) + Square(2.0)).half + sum(try_)
