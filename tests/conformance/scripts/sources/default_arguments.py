# ---- TensorDefaults
class Inner(nn.Module):
    def forward(self, x: Tensor, state: Tensor = torch.zeros(0), scale: Tensor = torch.tensor(2.0)) -> Tuple[Tensor, Tensor]:
        if state.numel() == 0:
            state = torch.ones(2)
        return x * scale + state, state + 1

class TensorDefaults(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Tensor, state: Tensor = torch.zeros(0), other: Optional[Tensor] = torch.ones(2, 2), pair: Tuple[Tensor, int] = (torch.ones(1), 2)) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        y, s = self.inner(x)
        z, t = self.inner(y, state)
        assert other is not None
        return z, s, t + other.sum(), pair[0] * pair[1]
# >>> torch.ones(2)
# >>> torch.ones(2), torch.full((2,), 3.0)
# >>> torch.ones(2), torch.zeros(0), torch.ones(3)
# ---- PlainDefaults
class Color(Enum):
    RED = 1
    BLUE = 2

class PlainDefaults(nn.Module):
    def helper(self, sizes: List[int] = (1, 2), device: torch.device = torch.device("cpu"), dtype: torch.dtype = torch.float64) -> Tensor:
        return torch.zeros(sizes, device=device, dtype=dtype)

    def forward(self, x: Tensor, n: Optional[int] = None, f: float = 1e-3, i: int = -3, s: str = "a'b\n", b: bool = True, t: Tuple[int, float] = (1, 2.0), c: Color = Color.BLUE, inf: float = -math.inf, z: complex = 1 + 2j, any: Union[int, str] = "x") -> Tuple[Tensor, Optional[int], float, int, str, bool, Tuple[int, float], int, float, complex, Union[int, str]]:
        return x + self.helper(), n, f, i, s, b, t, c.value, inf, z, any
# >>> torch.ones(2)
# >>> torch.ones(2), 3, 1.0, 2
# ---- StreamingDetector
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.pad = nn.ReflectionPad1d((0, 4))
        self.basis = nn.Conv1d(1, 6, 8, stride=4, bias=False)
        self.conv = nn.Conv1d(3, 8, 3, stride=2, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        both = self.basis(self.pad(x).unsqueeze(1))
        size = torch.sqrt(both[:, :3] ** 2 + both[:, 3:] ** 2)
        return torch.relu(self.conv(size))

class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTMCell(8, 8)
        self.out = nn.Sequential(nn.Dropout(0.1), nn.ReLU(), nn.Conv1d(8, 1, 1), nn.Sigmoid())

    def forward(self, x: Tensor, state: Tensor = torch.zeros(0)) -> Tuple[Tensor, Tensor]:
        x = x.mean(-1)
        if len(state):
            h, c = self.rnn(x, (state[0], state[1]))
        else:
            h, c = self.rnn(x)
        return self.out(h.unsqueeze(-1).float()), torch.stack([h, c])

class StreamingDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()
        self.eval()

    def step(self, x: Tensor, state: Tensor = torch.zeros(0)) -> Tuple[Tensor, Tensor]:
        out, state = self.decoder(self.encoder(x), state)
        return out.squeeze(1), state

    def forward(self, x: Tensor, num_samples: int = 16) -> Tensor:
        outs: List[Tensor] = []
        out, state = self.step(x[:, :num_samples])
        outs.append(out)
        for i in range(num_samples, x.size(1), num_samples):
            out, state = self.step(x[:, i : i + num_samples], state)
            outs.append(out)
        return torch.cat(outs, 1)
# >>> torch.sin(torch.arange(64.0)).reshape(1, 64)
# >>> torch.cos(torch.arange(128.0)).reshape(2, 64), 32
