# ---- Stack
class Layer(nn.Module):
    def __init__(self, i: int, o: int, drop: float = 0.0, norm: Optional[nn.Module] = None):
        super().__init__()
        self.lin = nn.Linear(i, o, bias=norm is None)
        self.norm = norm
        self.drop = nn.Dropout(drop)
    def forward(self, x: Tensor) -> Tensor:
        x = self.lin(x)
        if self.norm is not None:
            x = self.norm(x)
        return self.drop(F.relu(x))
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(3, 4, norm=nn.LayerNorm(4)), Layer(4, 4), Layer(4, 2)])
    def forward(self, x: Tensor) -> Tuple[Tensor, int]:
        n = 0
        for i, layer in enumerate(self.layers):
            if i < 2:
                x = layer(x)
                n += 1
        return self.layers[-1](x), n + len(self.layers)
# >>> torch.ones(2, 3)
# ---- Buffers
class Buffers(nn.Module):
    steps: int
    names: List[str]
    table: Dict[str, int]
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("count", torch.tensor(0))
        self.steps = 0
        self.names = ["a"]
        self.table = {"a": 1}
        self.pair = (1, "x")
        self.ratio = 0.5
    def forward(self, x: Tensor):
        self.count += 1
        self.mean = self.mean * self.ratio + x.mean(0)
        self.steps += 2
        self.names.append(str(self.steps))
        self.table[self.names[-1]] = self.steps
        return self.mean, self.count, self.steps, self.names, self.table, self.pair[1], self.training
# >>> torch.ones(2, 3)
# >>> torch.zeros(2, 3)
# ---- Residual
class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(2, 4, 3, padding=1), nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 2, 1))
        self.act = nn.GELU()
    def forward(self, x: Tensor) -> Tensor:
        y = x
        for m in self.body:
            y = m(y)
        return self.act(x + y)
# >>> torch.ones(2, 2, 5)
# ---- Constants
class Constants(nn.Module):
    __constants__ = ["width", "mode"]
    depth: Final[int]
    def __init__(self):
        super().__init__()
        self.width = 4
        self.mode = "sum"
        self.depth = 2
        self.flags = [True, False]
    def forward(self, x: Tensor) -> Tensor:
        if self.mode == "sum":
            x = x.sum(-1, keepdim=True).expand(-1, self.width)
        else:
            x = x.mean(-1, keepdim=True)
        for _ in range(self.depth):
            x = x + self.width
        return x
# >>> torch.ones(2, 3)
# ---- Properties
class Properties(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.full((2,), 3.0))
        self._k = 2
    @property
    def k(self) -> int:
        return self._k + 1
    @staticmethod
    def twice(x: Tensor) -> Tensor:
        return x * 2
    def scaled(self, x: Tensor, by: Optional[float] = None) -> Tensor:
        if by is None:
            by = 1.5
        return x * by
    def forward(self, x: Tensor) -> Tuple[Tensor, int]:
        y = self.scaled(self.twice(x)) + self.scaled(x, by=0.5)
        return y * self.w, self.k
# >>> torch.ones(2)
# ---- Experts
class Expert(nn.Module):
    def __init__(self, bias: float):
        super().__init__()
        self.b = bias
    def forward(self, x: Tensor) -> Tensor:
        return x + self.b
class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleDict({"low": Expert(0.5), "high": Expert(10.0)})
    def forward(self, x: Tensor, which: str) -> Dict[str, Tensor]:
        out: Dict[str, Tensor] = {}
        for name, m in self.experts.items():
            if name == which:
                out[name] = m(x)
        for name in self.experts.keys():
            out[name + "?"] = x
        for m in self.experts.values():
            x = m(x)
        out["all"] = self.experts["low"](x)
        return out
# >>> torch.ones(1), "low"
# >>> torch.ones(1), "none"
# ---- Exported
class Exported(nn.Module):
    def __init__(self):
        super().__init__()
        self.total: float = 0.0
    @torch.jit.export
    def reset(self, to: float = 1.0) -> float:
        self.total = to
        return self.total
    @torch.jit.ignore
    def not_compiled(self, x):
        return [y for y in x if y]
    @torch.jit.unused
    def unused(self, x: Tensor) -> Tensor:
        raise RuntimeError("never")
    def forward(self, x: Tensor) -> Tuple[float, float]:
        self.total += float(x.sum())
        before = self.total
        return before, self.reset(1.0)
# >>> torch.ones(3)
# >>> torch.ones(3)
# ---- Raises
class Check(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 2:
            raise ValueError(f"expected 2 dimensions, got {x.dim()}")
        return x
class Raises(nn.Module):
    def __init__(self):
        super().__init__()
        self.check = Check()
    def forward(self, x: Tensor) -> Tensor:
        return self.check(x).t()
# >>> torch.ones(2, 3)
# >>> torch.ones(2)
# ---- Hooks
class Hooks(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Identity()
        self.c = nn.Flatten()
        self.d = nn.Hardtanh()
        self.e = nn.Softmax(dim=1)
    def forward(self, x: Tensor) -> Tensor:
        return self.e(self.d(self.c(self.b(self.a(x)))))
# >>> torch.ones(2, 2)
