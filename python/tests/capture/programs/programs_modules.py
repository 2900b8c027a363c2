# nn.Module: parameters, buffers, containers, hooks, state that changes; optimisers; training.


class MLP(nn.Module):
    def __init__(self, n=4, depth=3):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(n, n) for _ in range(depth)])
        self.act = nn.ReLU()

    def forward(self, x):
        for layer in self.layers:
            x = self.act(layer(x)) + x
        return x


def made(module):
    """The module with weights that depend on nothing but their shapes."""
    for p in module.parameters():
        p.data.copy_(t(*p.shape) * 0.3)
    return module


@program(lambda: (t(2, 4), made(MLP())), lambda: (t(3, 4), made(MLP())))
def module_argument(x, m):
    return m(x)


@program(lambda: (t(2, 4), made(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)))))
def sequential(x, m):
    return m(x), m[0](x), len(m), [type(c).__name__ for c in m]


@program(lambda: (t(2, 4), made(nn.Linear(4, 2))), lambda: (t(2, 4), made(nn.Linear(4, 2, bias=False))))
def linear(x, m):
    return m(x) * 2, m.bias is None, m.in_features


@program(lambda: (t(2, 4), made(nn.LayerNorm(4))))
def layer_norm(x, m):
    return m(x)


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2) * 2)])
        self.register_buffer("steps", torch.zeros(1))
        self.count = 0

    def forward(self, x, which="a"):
        self.count += 1
        self.steps += 1
        for scale in self.scales:
            x = x * scale
        return self.parts[which](x) + self.steps


@program(lambda: (t(3, 2), made(Named())), lambda: (t(3, 2), made(Named())))
def module_dict_and_buffers(x, m):
    y = m(x)
    return y + m(x, which="b"), m.count


@program(lambda: (t(3, 2), made(Named())))
def named_things(x, m):
    names = [n for n, _ in m.named_parameters()] + [n for n, _ in m.named_buffers()]
    total = sum(p.sum() for p in m.parameters())
    return x + total, names, list(m.parts.keys()), len(list(m.modules()))


@program(lambda: (t(3, 4), nn.Dropout(0.5)), lambda: (t(3, 4), nn.Dropout(0.5).eval()))
def dropout_by_mode(x, m):
    return m(x), m.training


@program(lambda: (t(4, 3), nn.BatchNorm1d(3)), lambda: (t(4, 3), nn.BatchNorm1d(3).eval()))
def batch_norm_state(x, m):
    return m(x)


@program(lambda: (t(1, 1, 6, 6), made(nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()))))
def convolution(x, m):
    return m(x)


@program(lambda: (torch.tensor([0, 2, 1]), made(nn.Embedding(4, 3))))
def embedding(i, m):
    return m(i).sum(0)


class Toggled(nn.Module):
    def __init__(self, residual):
        super().__init__()
        self.residual = residual
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        y = self.lin(x)
        return y + x if self.residual else y


@program(lambda: (t(2, 3), made(Toggled(True))), lambda: (t(2, 3), made(Toggled(False))))
def module_attribute_branch(x, m):
    return m(x)


@program(lambda: (t(2, 3), made(Toggled(True))))
def module_attribute_written(x, m):
    a = m(x)
    m.residual = False
    return a - m(x)


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.log = []
        self.lin.register_forward_hook(lambda mod, args, out: out * 2)
        self.lin.register_forward_pre_hook(lambda mod, args: self.log.append("pre"))

    def forward(self, x):
        return self.lin(x)


@program(lambda: (t(2, 3), made(Hooked())))
def module_hooks(x, m):
    return m(x), m.log


class Lazily(nn.Module):
    def forward(self, x):
        if not hasattr(self, "cache"):
            self.cache = x * 2
        return x + self.cache


@program(lambda: (t(3), Lazily()))
def module_lazy_attribute(x, m):
    return m(x) + m(x)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 3)

    def forward(self, xs):
        h = torch.zeros(xs.shape[1], 3)
        out = []
        for x in xs:
            h = self.cell(x, h)
            out.append(h)
        return torch.stack(out), h


@program(lambda: (t(3, 2, 3), made(Recurrent())))
def recurrent_cell(x, m):
    return m(x)


class Attention(nn.Module):
    def __init__(self, n=4, heads=2):
        super().__init__()
        self.qkv = nn.Linear(n, 3 * n)
        self.out = nn.Linear(n, n)
        self.heads = heads

    def forward(self, x, mask=None):
        b, s, n = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        split = lambda y: y.view(b, s, self.heads, n // self.heads).transpose(1, 2)  # noqa: E731
        scores = split(q) @ split(k).transpose(-2, -1) / (n // self.heads) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        y = scores.softmax(-1) @ split(v)
        return self.out(y.transpose(1, 2).reshape(b, s, n))


@program(lambda: (t(2, 3, 4), made(Attention())), lambda: (t(2, 3, 4), made(Attention()), torch.ones(3, 3).tril()))
def attention(x, m, mask=None):
    return m(x, mask)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = self.a

    def forward(self, x):
        return self.a(self.b(x))


@program(lambda: (t(2, 3), made(Shared())))
def shared_submodule(x, m):
    return m(x), m.a is m.b


class KeywordForward(nn.Module):
    def forward(self, x, *, scale=1, **rest):
        return x * scale + sum(rest.values())


@program(lambda: (t(3), KeywordForward()))
def module_keywords(x, m):
    return m(x, scale=3, a=1, b=2)


class SuperForward(MLP):
    def forward(self, x):
        return super().forward(x) * 2


@program(lambda: (t(2, 4), made(SuperForward())))
def module_super_forward(x, m):
    return m(x)


@program(lambda: (t(2, 4), made(MLP())))
def module_method_calls(x, m):
    m.eval()
    y = m.forward(x)
    m.train()
    m.zero_grad()
    return y, m.training


@program(lambda: (t(2, 3),))
def module_made_inside(x):
    m = nn.ReLU()
    return m(x - 0.5)


@program(lambda: (t(4, 2), t(4, 1), made(nn.Linear(2, 1))))
def loss_functions(x, y, m):
    p = m(x)
    return F.mse_loss(p, y), F.smooth_l1_loss(p, y), nn.MSELoss()(p, y), F.cross_entropy(t(3, 4), torch.tensor([0, 3, 1]))


@program(lambda: (t(4, 2), made(nn.Linear(2, 1))))
def backward_inside(x, m):
    loss = m(x).pow(2).mean()
    loss.backward()
    return loss.detach(), m.weight.grad * 2


def trainer(kind, **options):
    def make():
        m = made(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)))
        return t(4, 2), t(4, 1), m, kind(m.parameters(), **options)
    return make


@program(trainer(optim.SGD, lr=0.1), trainer(optim.SGD, lr=0.1, momentum=0.9), trainer(optim.Adam, lr=0.1))
def training_step(x, y, m, opt):
    opt.zero_grad()
    loss = F.mse_loss(m(x), y)
    loss.backward()
    opt.step()
    return loss.detach()


@program(trainer(optim.AdamW, lr=0.1), trainer(optim.RMSprop, lr=0.1), trainer(optim.Adagrad, lr=0.1))
def training_loop(x, y, m, opt):
    losses = []
    for _ in range(3):
        opt.zero_grad()
        loss = F.mse_loss(m(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return torch.stack(losses)


@program(lambda: (t(4, 2), made(nn.Linear(2, 1))))
def manual_sgd(x, m):
    loss = m(x).sum()
    grads = torch.autograd.grad(loss, list(m.parameters()))
    with torch.no_grad():
        for p, g in zip(m.parameters(), grads):
            p -= 0.1 * g
    return loss.detach()


@program(lambda: (t(4, 2), made(nn.Linear(2, 1))))
def clip_gradients(x, m):
    m(x).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    return norm, m.weight.grad + 0


@program(lambda: (t(2, 4), made(MLP())))
def state_dict_inside(x, m):
    return m(x), sorted(m.state_dict())


@program(lambda: (t(2, 3), made(nn.Linear(3, 3))), lambda: (t(2, 3), made(nn.Linear(3, 3)).requires_grad_(False)))
def requires_grad_guarded(x, m):
    y = m(x)
    return y, y.requires_grad
