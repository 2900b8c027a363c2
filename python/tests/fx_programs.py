"""Modules and functions whose graphs are compared with PyTorch's: programs(torch) makes them from either package."""

import collections
import math
import operator


def wrapped_function(x, n):
    return x * n


def programs(torch):
    """name -> (module or function, concrete_args)"""
    nn, F = torch.nn, torch.nn.functional

    class MLP(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

        def forward(self, x):
            return self.layers(x)

    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3, padding=1)
            self.bn = nn.BatchNorm2d(4)
            self.pool = nn.AdaptiveAvgPool2d(1)
            self.fc = nn.Linear(4, 5)

        def forward(self, x):
            x = F.relu(self.bn(self.conv(x)), inplace=True)
            x = F.max_pool2d(x, 2)
            x = torch.flatten(self.pool(x), 1)
            return F.log_softmax(self.fc(x), dim=1)

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(4, 4)
            self.scale = nn.Parameter(torch.ones(4))
            self.register_buffer("shift", torch.zeros(4))

        def forward(self, x):
            y = self.a(x).relu() * self.scale - self.shift
            return y + x

    class Annotated(nn.Module):
        def forward(self, x: torch.Tensor, n: int = 2) -> torch.Tensor:
            return x * n

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24)
            self.out = nn.Linear(8, 8)

        def forward(self, x):
            b, t, c = x.size()
            q, k, v = self.qkv(x).split(8, dim=2)
            q = q.view(b, t, 2, c // 2).transpose(1, 2)
            k = k.view(b, t, 2, c // 2).transpose(1, 2)
            v = v.view(b, t, 2, c // 2).transpose(1, 2)
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(4))
            att = F.softmax(att, dim=-1)
            y = (att @ v).transpose(1, 2).contiguous().view(b, t, c)
            return self.out(y)

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.drop(x) * self.weight

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Inner() for _ in range(2)])
            self.norm = nn.LayerNorm(3)

        def forward(self, x):
            for block in self.blocks:
                x = block(x) + x
            return self.norm(x)

    class Functional(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4, 4))
            self.b = nn.Parameter(torch.zeros(4))

        def forward(self, x):
            x = F.linear(x, self.w, self.b)
            x = F.gelu(x)
            x = F.dropout(x, 0.5, self.training)
            x = F.layer_norm(x, (4,))
            x = F.pad(x, (1, 1))
            return F.interpolate(x.unsqueeze(0), scale_factor=2.0, mode="nearest").squeeze(0)

    def arithmetic(x, y):
        a = -x + y * 2 - 3 / y // 2 % 5
        b = a ** 2 if isinstance(x, int) else (a @ y.T)
        return (a < b) & ~(a >= b) | (a == 1) ^ (b != 2), +a, abs(b), x << 1, 2 >> y

    def indexing(x):
        return x[0], x[1:, None], x[..., -1], x[:, ::2], x[[0, 1]]

    def containers(x):
        return {"a": x.sum(), "b": [x, (x.mean(), 1)], "c": None}

    def methods(x):
        n = x.size(0)
        return x.reshape(n, -1).shape[1], x.dtype, x.to(torch.float64), torch.cat([x, x], dim=0), x.T.mT

    def builtins_and_math(x):
        return torch.sum(x), torch.max(x, dim=1)[0], math.sqrt(2.0) * x, getattr(x, "real"), operator.neg(x)

    def factories(x):
        zero = torch.zeros(2, 3)
        return x + zero, torch.zeros_like(x), torch.full_like(x, 2.0)

    def unpack(x):
        a, b = x.chunk(2)
        values, indices = torch.topk(a, 1)
        return a + b, values, indices

    def star(x, *args, k=3, **kwargs):
        return x + k

    def specialised(x, flag, n):
        return x + n if flag else x - n

    def nested(x):
        return x["a"] + x["b"][0] * x["b"][1]

    def dead(x):
        y = x + 1
        z = y * 2  # noqa: F841
        return y

    def losses(x, y):
        return F.cross_entropy(x, y), F.mse_loss(x, y), F.nll_loss(x, y, reduction="sum"), F.smooth_l1_loss(x, y)

    def activations(x):
        return [F.silu(x), F.elu(x, 0.5), F.leaky_relu(x), F.hardtanh(x), F.softplus(x), F.sigmoid(x), F.tanh(x), F.glu(x),
                F.softmin(x, 0), F.normalize(x), F.one_hot(x), F.embedding(x, x), F.avg_pool2d(x, 2), F.conv1d(x, x),
                F.batch_norm(x, x, x), F.adaptive_avg_pool2d(x, 1), F.cosine_similarity(x, x), F.relu6(x), F.celu(x)]

    def keyword_names(x):
        lambda_ = x.sum()
        list_ = torch.abs(x)
        return torch.add(x, lambda_, alpha=2), list_.add(1), torch.where(x > 0, x, -x), torch.einsum("ij->ji", x)

    Pair = collections.namedtuple("Pair", ["first", "second"])

    def slices_of_values(x, n):
        return x[: n + 1], x[n:], x[0, n], torch.stack([x, x])[n]

    PH = torch.fx.PH
    found = {"MLP": MLP(), "Conv": Conv(), "Residual": Residual(), "Annotated": Annotated(), "Attention": Attention(),
             "Outer": Outer(), "Functional": Functional(), "arithmetic": arithmetic, "indexing": indexing,
             "containers": containers, "methods": methods, "builtins_and_math": builtins_and_math, "factories": factories,
             "unpack": unpack, "star": star, "dead": dead, "losses": losses, "activations": activations,
             "keyword_names": keyword_names, "slices_of_values": slices_of_values}
    found = {name: (program, None) for name, program in found.items()}
    found["specialised"] = (specialised, {"flag": True, "n": 3})
    found["nested"] = (nested, {"x": {"a": PH, "b": [PH, PH]}})
    return found


def texts(torch, name):
    """What is compared for a program: code, graph and table, without addresses of functions."""
    import contextlib
    import io
    import re

    program, concrete = programs(torch)[name]
    module = torch.fx.symbolic_trace(program, concrete_args=concrete)
    table = io.StringIO()
    with contextlib.redirect_stdout(table):
        module.graph.print_tabular()
    table = table.getvalue().replace("boolean_dispatch.<locals>.fn", "max_pool2d")
    table = re.sub(r" of type object| at 0x[0-9a-f]+|<built-in (method|function) |<function |"
                   r"<method '|' of '[^']*' objects", "", table)
    table = "\n".join(re.sub(r"[ -]{2,}", "  ", line).strip().replace(">", "") for line in table.split("\n"))
    return {"code": module.code, "graph": str(module.graph), "table": table,
            "readable": module.print_readable(print_output=False),
            "names": [node.name for node in module.graph.nodes]}
