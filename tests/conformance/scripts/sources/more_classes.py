# ---- linked
class Node:
    def __init__(self, v: int):
        self.v = v
        self.children: List[int] = []
class Tree:
    def __init__(self):
        self.nodes: List[Node] = []
    def add(self, v: int, parent: int = -1) -> int:
        self.nodes.append(Node(v))
        at = len(self.nodes) - 1
        if parent >= 0:
            self.nodes[parent].children.append(at)
        return at
    def total(self, root: int) -> int:
        todo = [root]
        s = 0
        while len(todo) > 0:
            n = self.nodes[todo.pop()]
            s += n.v
            todo.extend(n.children)
        return s
def linked(vs: List[int]) -> Tuple[int, int]:
    t = Tree()
    root = t.add(1)
    for v in vs:
        t.add(v, parent=root)
    last = t.add(100, len(t.nodes) - 1)
    return t.total(root), t.total(last)
# >>> [1, 2, 3]
# >>> []
# ---- class_methods
class Stats:
    def __init__(self, xs: List[float]):
        self.xs = xs
        self.n = len(xs)
    def mean(self) -> float:
        return sum(self.xs) / self.n
    def var(self, ddof: int = 0) -> float:
        m = self.mean()
        s = 0.0
        for x in self.xs:
            s += (x - m) ** 2
        return s / (self.n - ddof)
    @staticmethod
    def of(n: int) -> "Stats":
        return Stats([float(i) for i in range(n)])
    @property
    def last(self) -> float:
        return self.xs[-1]
    @last.setter
    def last(self, v: float):
        self.xs[-1] = v
def class_methods(n: int):
    s = Stats.of(n)
    a = s.mean(), s.var(), s.var(ddof=1)
    s.last = 100.0
    return a, s.last, s.mean(), s.n
# >>> 4
# ---- class_inheritless
class Shape:
    def __init__(self, w: float, h: Optional[float] = None):
        self.w = w
        self.h = h
    def area(self) -> float:
        h = self.h
        if h is None:
            return self.w * self.w
        return self.w * h
def class_inheritless(w: float, h: Optional[float]) -> Tuple[float, float]:
    return Shape(w, h).area(), Shape(w).area()
# >>> 2.0, 3.0
# >>> 2.0, None
# ---- class_optional
class Box:
    def __init__(self, v: int):
        self.v = v
def find(boxes: List[Box], v: int) -> Optional[Box]:
    for b in boxes:
        if b.v == v:
            return b
    return None
def class_optional(v: int) -> Tuple[int, bool]:
    boxes = [Box(1), Box(2)]
    b = find(boxes, v)
    if b is None:
        return -1, False
    b.v += 10
    return b.v, boxes[1] is b
# >>> 2
# >>> 5
# ---- class_dict
class Entry:
    def __init__(self, name: str):
        self.name = name
        self.hits = 0
def class_dict(names: List[str]) -> Dict[str, int]:
    d: Dict[str, Entry] = {}
    for n in names:
        if n not in d:
            d[n] = Entry(n)
        d[n].hits += 1
    out: Dict[str, int] = {}
    for k, e in d.items():
        out[e.name + k] = e.hits
    return out
# >>> ["a", "b", "a"]
# ---- class_calls_compare
class Version:
    def __init__(self, major: int, minor: int):
        self.major = major
        self.minor = minor
    def __eq__(self, o: "Version") -> bool:
        return self.major == o.major and self.minor == o.minor
    def __lt__(self, o: "Version") -> bool:
        return self.major < o.major or (self.major == o.major and self.minor < o.minor)
    def __le__(self, o: "Version") -> bool:
        return self < o or self == o
    def __gt__(self, o: "Version") -> bool:
        return not (self <= o)
    def __ge__(self, o: "Version") -> bool:
        return not (self < o)
    def __mod__(self, k: int) -> int:
        return self.minor % k
    def __and__(self, k: int) -> int:
        return self.major & k
    def __pow__(self, k: int) -> int:
        return self.major
    def __int__(self) -> int:
        return self.major * 100 + self.minor
    def __float__(self) -> float:
        return self.major + self.minor / 10
def class_calls_compare(a: int, b: int):
    v = Version(a, b)
    w = Version(1, 5)
    return v == w, v < w, v <= w, v > w, v >= w, v % 3, v & 1, v ** 2, int(v), float(v)
# >>> 1, 5
# >>> 1, 6
# >>> 0, 9
# ---- enum_dict
class Kind(Enum):
    A = 1
    B = 2
class Holder:
    def __init__(self, k: Kind):
        self.k = k
def enum_dict(k: Kind) -> Tuple[int, str, bool]:
    h = Holder(k)
    ks = [Kind.A, Kind.B, k]
    n = 0
    for x in ks:
        if x == h.k:
            n += x.value
    return n, h.k.name, Kind.A == Kind.B
# >>> Kind.A
# >>> Kind.B
# ---- class_interface
@torch.jit.interface
class Animal:
    def legs(self) -> int:
        pass
    def name(self, loud: bool) -> str:
        pass
@torch.jit.script
class Dog:
    def __init__(self):
        self.n = 4
    def legs(self) -> int:
        return self.n
    def name(self, loud: bool) -> str:
        return "DOG" if loud else "dog"
@torch.jit.script
class Bird:
    def __init__(self, wings: int):
        self.wings = wings
    def legs(self) -> int:
        return 4 - self.wings
    def name(self, loud: bool) -> str:
        return "bird" + str(self.wings)
def describe(a: Animal, loud: bool) -> str:
    return a.name(loud) + str(a.legs())
def class_interface(loud: bool) -> Tuple[str, str]:
    return describe(Dog(), loud), describe(Bird(2), loud)
# >>> True
# >>> False
# ---- class_tensor_state
class Running:
    def __init__(self, shape: List[int]):
        self.mean = torch.zeros(shape)
        self.n = 0
    def update(self, x: Tensor) -> Tensor:
        self.n += 1
        self.mean += (x - self.mean) / self.n
        return self.mean.clone()
def class_tensor_state(xs: List[Tensor]) -> Tuple[Tensor, List[Tensor], int]:
    r = Running(xs[0].shape)
    steps = [r.update(x) for x in xs]
    return r.mean, steps, r.n
# >>> [torch.ones(2), torch.zeros(2), torch.arange(2.)]
# ---- ntuple_nested
class Pt(NamedTuple):
    x: int
    y: int
class Seg(NamedTuple):
    a: Pt
    b: Pt
    label: Optional[str]
def ntuple_nested(n: int):
    s = Seg(Pt(1, 2), b=Pt(x=n, y=4), label=None)
    t = Seg(s.b, s.a, "l")
    segs = [s, t]
    lengths: List[int] = []
    for seg in segs:
        (x0, y0), (x1, y1), _ = seg
        lengths.append(abs(x1 - x0) + abs(y1 - y0))
    return s, t, lengths, s.a.x, segs[1].label, s.a == Pt(1, 2), s.b[1]
# >>> 7
