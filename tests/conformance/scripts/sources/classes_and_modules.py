# ---- class_ops
@torch.jit.script
class Vec:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y
    def __add__(self, o: "Vec") -> "Vec":
        return Vec(self.x + o.x, self.y + o.y)
    def __sub__(self, o: "Vec") -> "Vec":
        return Vec(self.x - o.x, self.y - o.y)
    def __mul__(self, k: float) -> "Vec":
        return Vec(self.x * k, self.y * k)
    def __neg__(self) -> "Vec":
        return Vec(-self.x, -self.y)
    def __eq__(self, o: "Vec") -> bool:
        return self.x == o.x and self.y == o.y
    def __ne__(self, o: "Vec") -> bool:
        return not (self == o)
    def __lt__(self, o: "Vec") -> bool:
        return self.x < o.x
    def __getitem__(self, i: int) -> float:
        return self.x if i == 0 else self.y
    def __setitem__(self, i: int, v: float) -> None:
        if i == 0:
            self.x = v
        else:
            self.y = v
    def __len__(self) -> int:
        return 2
    def __contains__(self, v: float) -> bool:
        return v == self.x or v == self.y
    def __call__(self, k: float) -> float:
        return self.x * k
    def __str__(self) -> str:
        return "Vec({}, {})".format(self.x, self.y)
    def __bool__(self) -> bool:
        return self.x != 0.0
    def norm(self, p: int = 2) -> float:
        return (self.x ** p + self.y ** p) ** (1.0 / p)
    @property
    def total(self) -> float:
        return self.x + self.y
    @staticmethod
    def unit() -> "Vec":
        return Vec(1.0, 0.0)
def class_ops(a: float, b: float):
    u = Vec(a, b)
    v = Vec(1.0, 2.0)
    w = (u + v - Vec.unit()) * 2.0
    w[1] = 7.5
    n = -w
    s = sorted([v, u])
    return w.x, w[1], n.x, len(w), 7.5 in w, w(3.0), str(w), w.norm(), w.norm(p=1), w.total, u == v, u != v, u < v, s[0].x, bool(u)
# >>> 3.0, 4.0
# >>> 0.0, -1.0
# ---- class_order
class Card:
    def __init__(self, suit: int, name: str):
        self.suit = suit
        self.name = name
    def __lt__(self, o: "Card") -> bool:
        if self.suit == 9 or o.suit == 9:
            raise ValueError("no such suit")
        return self.suit < o.suit
def class_order(suits: List[int]):
    cards = [Card(s, str(i)) for i, s in enumerate(suits)]
    up = sorted(cards)
    cards.sort(reverse=True)
    pairs = [(1, Card(3, "x")), (1, Card(2, "y")), (0, Card(5, "z"))]
    pairs.sort()
    return [c.name for c in up], [c.name for c in cards], [c.name for _, c in pairs]
# >>> [3, 1, 2, 1, 3, 0]
# >>> [2]
# >>> [1, 9]
# ---- class_attrs
class Counter:
    LIMIT: int
    def __init__(self, start: int = 0):
        self.count = start
        self.items: List[str] = []
        self.table: Dict[str, int] = {}
        self.best = torch.jit.annotate(Optional[int], None)
        self.LIMIT = 10
    def add(self, name: str) -> "Counter":
        self.count += 1
        self.items.append(name)
        self.table[name] = self.count
        if self.best is None:
            self.best = self.count
        return self
def class_attrs(names: List[str]):
    c = Counter(5)
    for n in names:
        c.add(n).add(n + "!")
    d = Counter()
    d.count = 3
    d.best = 4
    e = c
    e.count = 100
    return c.count, c.items, c.table, c.best, d.count, d.best, c is e, c is d, c.LIMIT
# >>> ["a", "b"]
# >>> []
# ---- class_list
class Item:
    def __init__(self, k: int):
        self.k = k
class Bag:
    def __init__(self):
        self.items = [Item(1), Item(2)]
    def total(self) -> int:
        s = 0
        for i in self.items:
            s += i.k
        return s
def class_list(n: int) -> int:
    b = Bag()
    for i in range(n):
        b.items.append(Item(i * 10))
    b.items[0].k += 5
    return b.total()
# >>> 3
# ---- ctx
class Ctx:
    def __init__(self, n: int):
        self.n = n
        self.log: List[str] = []
    def __enter__(self) -> int:
        self.log.append("enter")
        self.n += 1
        return self.n
    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        self.log.append("exit")
        self.n -= 1
def ctx(x: Tensor, bad: bool):
    c = Ctx(1)
    with c as k:
        y = x + k
        with Ctx(10) as m, c:
            y = y * m
            if bad:
                raise ValueError("bad " + str(m))
    return y, c.log, c.n
# >>> torch.ones(2), False
# >>> torch.ones(2), True
# ---- grad_modes
def grad_modes(x: Tensor):
    a = torch.is_grad_enabled()
    with torch.no_grad():
        b = torch.is_grad_enabled()
        y = x * 2
        c = torch.is_grad_enabled()
    return a, b, c, torch.is_grad_enabled(), y
# >>> torch.ones(2)
# ---- color
class Color(Enum):
    RED = 1
    GREEN = 2
    BLUE = 3
def color(c: Color, n: int):
    names: List[str] = []
    for m in Color:
        names.append(m.name)
    d = Color.BLUE
    if n == 2:
        d = Color.GREEN
    return c.name, c.value, c == Color.RED, c != d, d, names, [m.value for m in Color]
# >>> Color.RED, 2
# >>> Color.GREEN, 1
# ---- str_enum
class Mode(Enum):
    A = "aa"
    B = "bb"
def str_enum(m: Mode) -> str:
    if m == Mode.A:
        return m.value + "!"
    elif m == Mode.B:
        return m.name
    return ""
# >>> Mode.A
# >>> Mode.B
# ---- ntuple2
class P2(NamedTuple):
    x: Tensor
    n: int
    s: str
def ntuple2(x: Tensor, n: int):
    p = P2(x, 3, s="q")
    q = P2(x=x * 2, s="q", n=n)
    ps = [p, q]
    t = 0
    for e in ps:
        t += e.n
    a, b, c = q
    return p, q, a, b, c, t, p[1], len(p), p.x.sum(), (p.n, q.n)
# >>> torch.ones(1), 5
# ---- ntuple_defaults
class P3(NamedTuple):
    x: Tensor
    n: int = 3
    s: str = "q"
    f: Optional[float] = None
    t: Tuple[int, bool] = (1, True)
def ntuple_defaults(x: Tensor, n: int):
    p = P3(x)
    q = P3(x=x * 2, n=n)
    r = P3(x, 7, f=2.5)
    a, b, c, d, e = q
    return p.n, p.s, p.f, q.n, q.s, r.f, r.n, a, b + p[1], c, d, e, r.t
# >>> torch.ones(1), 5
# ---- max_named
def max_named(x: Tensor):
    m = x.max(dim=1)
    s = torch.sort(x, dim=0)
    t = x.topk(1)
    v, i = m
    u = torch.linalg.qr(x)
    return m.values, m.indices, s.values, s[1], t.indices, v, i, u.Q.size(), torch.frexp(x).exponent
# >>> torch.tensor([[1., 3.], [4., 2.]])
# ---- forks
def work(x: Tensor, k: int) -> Tensor:
    for i in range(k):
        x = x + i
    return x
def two(x: Tensor) -> Tuple[Tensor, int]:
    return x * 2, 7
def forks(x: Tensor):
    f = torch.jit.fork(work, x, 3)
    g = torch.jit.fork(two, x)
    fs = [torch.jit.fork(work, x, k=i) for i in range(3)]
    a, b = torch.jit.wait(g)
    out = torch.jit.wait(f)
    for h in fs:
        out = out + torch.jit.wait(h)
    return out, a, b
# >>> torch.ones(2)
# ---- fork_constants
def scaled(x: Tensor, k: float, name: str = "a", on: Optional[bool] = None) -> Tensor:
    return x * k if on is None else x
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
    def forward(self, x: Tensor, k: int = 2) -> Tensor:
        return x * self.w * k
class fork_constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()
    def half(self, x: Tensor, k: float) -> Tensor:
        return x * k
    def forward(self, x: Tensor):
        f = torch.jit.fork(scaled, x, 2.0)
        g = torch.jit.fork(scaled, x, k=0.5, on=True)
        h = torch.jit.fork(self.scale, x, 3)
        i = torch.jit.fork(self.half, x, 0.5)
        j = torch.jit._fork(self.scale, x)
        return torch.jit.wait(f), torch.jit.wait(g), torch.jit.wait(h), torch.jit.wait(i), torch.jit.wait(j)
# >>> torch.ones(2)
# ---- fork_error
def boom(x: Tensor) -> Tensor:
    if x.dim() == 1:
        raise ValueError("one dimension")
    return torch.mm(x, x)
def fork_error(x: Tensor) -> Tensor:
    f = torch.jit.fork(boom, x)
    return torch.jit.wait(f)
# >>> torch.ones(2)
# ---- annotates
def annotates(x: Tensor):
    a = torch.jit.annotate(List[int], [])
    b = torch.jit.annotate(Dict[str, Tensor], {})
    c = torch.jit.annotate(Optional[int], None)
    d: List[Optional[int]] = [1, None]
    e: Tuple[int, Optional[str]] = (1, None)
    f: Optional[Tensor] = x
    a.append(1)
    b["k"] = x
    if c is None:
        c = 4
    return a, b, c, d, e, f
# >>> torch.ones(1)
# ---- tolists
def tolists(x: Tensor, y: Tensor):
    a: List[float] = x.tolist()
    b: List[List[int]] = y.tolist()
    c = torch.jit.annotate(List[float], (x * 2).tolist())
    d: int = y[0, 0].tolist()
    return a, b, c, d
# >>> torch.tensor([1., 2.]), torch.tensor([[1, 2], [3, 4]])
# ---- complexes
def complexes(a: complex, b: float):
    c = a + b
    d = c * 2j
    e = complex(b, 2)
    f = [a, d]
    return c, d, e, abs(d), a == e, f, -a, a / d, a ** 2, complex(1), torch.tensor(f)
# >>> 1+2j, 3.0
# ---- hashes
def hashes(a: int, s: str) -> Tuple[bool, bool]:
    return hash(a) == hash(a), hash(s) == hash(s)
# >>> 1, "x"
# ---- devices
def devices(x: Tensor):
    d = x.device
    e = torch.device("cpu")
    return d == e, d.type, str(e), torch.zeros(2, device=d).size(), x.to(d).size(), x.is_cuda, x.to("cpu").dim(), d.index is None
# >>> torch.ones(2)
# ---- dtypes
def dtypes(x: Tensor, t: int):
    y = x.to(torch.float64)
    return y, x.to(dtype=torch.int32), x.type_as(y), x.dtype == torch.float32, torch.zeros(2, dtype=x.dtype), x.half().dtype, x.long(), x.double(), x.int(), x.to(t), torch.finfo if False else 0
# >>> torch.ones(2), 7
# ---- dtypes2
def dtypes2(x: Tensor):
    y = x.to(torch.float64)
    return y, x.to(dtype=torch.int32), x.type_as(y), x.dtype == torch.float32, torch.zeros(2, dtype=x.dtype), x.half().dtype == torch.float16, x.long(), x.double(), x.int(), x.bool() if False else x, x.layout == torch.strided, x.element_size(), x.is_contiguous(), x.contiguous(memory_format=torch.contiguous_format), torch.get_default_dtype() == torch.float32 if False else True
# >>> torch.ones(2)
# ---- functional_calls
def functional_calls(x: Tensor, w: Tensor):
    a = F.relu(x)
    b = F.dropout(x, 0.5, training=False)
    c = F.linear(x, w)
    d = F.softmax(x, dim=-1)
    e = F.mse_loss(x, x * 2)
    f = F.cross_entropy(x, torch.tensor([0, 1]))
    g = F.pad(x, [1, 1])
    h = F.layer_norm(x, [3])
    i = F.gelu(x)
    j = F.one_hot(torch.tensor([0, 2]), 3)
    k = F.normalize(x, dim=0)
    l = F.leaky_relu(x, 0.2, inplace=False)
    m = F.max_pool1d(x.unsqueeze(0), 2)
    n = F.interpolate(x.view(1, 2, 3), scale_factor=2.0)
    o = F.cosine_similarity(x, x, dim=1)
    return a, b, c, d, e, f, g, h, i, j, k, l, m, n, o
# >>> torch.arange(6.).reshape(2, 3) - 2, torch.ones(4, 3)
# ---- Sub
class Inner(nn.Module):
    def __init__(self, n: int, act: bool = True):
        super().__init__()
        self.fc = nn.Linear(n, n)
        self.act = act
        self.n = n
        self.scale: float = 0.5
    def forward(self, x):
        x = self.fc(x)
        if self.act:
            x = torch.relu(x)
        return x * self.scale + self.n
class Sub(nn.Module):
    k: Final[int] = 3
    opt: Optional[Tensor]
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Inner(4), Inner(4, act=False)])
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.0))
        self.d = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)})
        self.w = nn.Parameter(torch.ones(4))
        self.register_buffer("buf", torch.zeros(2))
        self.names = ["x", "y"]
        self.opt = None
        self.pl = nn.ParameterList([nn.Parameter(torch.ones(2)) for _ in range(2)])
    def helper(self, x: Tensor, times: int = 2) -> Tensor:
        for _ in range(times):
            x = x + 1
        return x
    @torch.jit.export
    def extra(self, n: int) -> int:
        return n + self.k
    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, int]:
        for i, b in enumerate(self.blocks):
            x = b(x) + i
        x = self.seq(x) * self.w
        y = self.helper(x)
        outs: List[Tensor] = []
        for name, m in self.d.items():
            outs.append(m(y))
        s = outs[0] + outs[1] + self.buf
        for p in self.pl:
            s = s + p
        self.buf += 1
        if self.opt is None:
            self.opt = s
        o = self.opt
        assert o is not None
        if "a" in self.d and len(self.blocks) == 2:
            s = s * 2
        return s, o, self.extra(self.k) + len(self.names)
# >>> torch.ones(1, 4)
# >>> torch.zeros(2, 4)
# ---- ConvBN
class ConvBN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.up = nn.Upsample(scale_factor=2)
    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        x = F.relu(self.bn(self.conv(x)))
        return self.pool(x).flatten(1), self.up(x)
# >>> torch.ones(2, 3, 4, 4)
# ---- Rec
class Rec(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4)
        self.lstm = nn.LSTM(4, 3, batch_first=True)
        self.gru = nn.GRU(3, 3)
        self.cell = nn.LSTMCell(3, 2)
    def forward(self, ids: Tensor):
        x = self.emb(ids)
        y, (h, c) = self.lstm(x)
        z, g = self.gru(y)
        hx, cx = self.cell(z[0])
        return y, h, c, z, g, hx, cx
# >>> torch.tensor([[1, 2, 3], [4, 5, 6]])
# ---- Attn
class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.mha = nn.MultiheadAttention(8, 2)
        self.norm = nn.LayerNorm(8)
    def forward(self, x: Tensor) -> Tensor:
        y, w = self.mha(x, x, x)
        return self.norm(x + y)
# >>> torch.rand(3, 2, 8)
# ---- Iface
@torch.jit.interface
class Op(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass
class AddOne(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1
class Mul(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k
    def forward(self, x: Tensor) -> Tensor:
        return x * self.k
class Iface(nn.Module):
    op: Op
    def __init__(self):
        super().__init__()
        self.op = AddOne()
        self.ops = nn.ModuleList([Mul(2), Mul(3)])
    def forward(self, x: Tensor, i: int) -> Tensor:
        y = self.op(x)
        z: Op = self.ops[i]
        return z.forward(y)
# >>> torch.ones(2), 0
# >>> torch.ones(2), 1
