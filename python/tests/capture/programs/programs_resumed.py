# Further programs of the kind that suites of tests have: recompilations, resumed functions, training in all its parts, views, shapes.
import collections
import contextlib
import copy
import dataclasses
import functools
import itertools
import math
import operator
import random
import types
import typing


@program(lambda: (t(3),), lambda: (t(5),), lambda: (t(7),))
def resumed_with_many_locals(x):
    a, b, c = 1, "two", [3]
    d = {"k": x}
    n = x.shape[0]

    def inner(v):
        return v + a + n

    torch._dynamo.graph_break()
    c.append(a)
    y = inner(d["k"])
    torch._dynamo.graph_break()
    return y * len(c), b, c, inner(y)


def break_deep(x, depth):
    if depth == 0:
        torch._dynamo.graph_break()
        return x + 1
    y = break_deep(x * 2, depth - 1)
    return y + depth


@program(lambda: (t(3), 2), lambda: (t(3), 1))
def breaks_in_recursion(x, depth):
    before = x - 1
    y = break_deep(x, depth)
    return before + y


@program(lambda: (t(3),))
def breaks_in_expressions(x):
    def noisy(v):
        torch._dynamo.graph_break()
        return v * 2

    z = [x + 1, noisy(x), x.sin() + noisy(x) * noisy(x + 1)]
    return {"a": noisy(z[0]), **{"b": z}}, f"{noisy(2)}" + str(noisy(3))


@program(lambda: (t(3), True), lambda: (t(3), False))
def breaks_in_with_and_try(x, fail):
    log = []
    try:
        with torch.no_grad():
            y = x * 2
            torch._dynamo.graph_break()
            if fail:
                raise ValueError("inside")
            y = y + torch.is_grad_enabled()
    except ValueError as e:
        torch._dynamo.graph_break()
        log.append(str(e))
    finally:
        log.append(torch.is_grad_enabled())
    return y, log


@program(lambda: (t(2, 3),), lambda: (t(4, 3),))
def printing_shapes(x):
    print("shape", tuple(x.shape), x.dtype)
    y = x.sum(0)
    print(f"{y.ndim}d", end="!\n")
    return y


def lin(i, o):
    m = nn.Linear(i, o)
    with torch.no_grad():
        m.weight.copy_(t(o, i) * 0.3)
        m.bias.zero_()
    return m


def make_train(kind):
    m = nn.Sequential(lin(2, 3), nn.Tanh(), lin(3, 1))
    o = {"sgd": lambda: optim.SGD(m.parameters(), lr=0.1, weight_decay=0.01), "adamw": lambda: optim.AdamW(m.parameters(), lr=0.01), "adagrad": lambda: optim.Adagrad(m.parameters(), lr=0.1), "adamax": lambda: optim.Adamax(m.parameters()), "nadam": lambda: optim.NAdam(m.parameters()), "rprop": lambda: optim.Rprop(m.parameters())}[kind]()
    return m, o, t(4, 2), t(4, 1)


@program(*[functools.partial(make_train, kind) for kind in ("sgd", "adamw", "adagrad", "adamax", "nadam", "rprop")])
def steps_of_many_optimisers(m, opt, x, y):
    losses = []
    for _ in range(2):
        opt.zero_grad()
        loss = F.smooth_l1_loss(m(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return torch.stack(losses), m[0].weight.detach()


@program(lambda: make_train("sgd"),)
def schedules_and_groups(m, opt, x, y):
    opt.add_param_group({"params": [nn.Parameter(torch.ones(1))], "lr": 0.5})
    for g in opt.param_groups:
        g["lr"] *= 0.5
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)
    loss = F.mse_loss(m(x), y)
    loss.backward()
    nn.utils.clip_grad_value_(m.parameters(), 0.1)
    opt.step()
    sched.step()
    return [round(g["lr"], 6) for g in opt.param_groups], loss.detach(), max(p.grad.abs().max() for p in m.parameters())


@program(lambda: make_train("sgd"),)
def scaled_gradients(m, opt, x, y):
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.mse_loss(m(x).float(), y)
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    return loss.detach() > 0, [p.grad is not None for p in m.parameters()]


@program(lambda: (t(3, grad=True), t(3, grad=True)), lambda: (t(3, grad=True), t(3)))
def backward_with_options(a, b):
    y = (a * b).sum()
    y.backward(retain_graph=True)
    first = a.grad.clone()
    a.grad.zero_()
    (y * 2).backward(inputs=[a])
    return first, a.grad, b.grad


@program(lambda: (t(2, 2, grad=True),))
def jacobians_of_functions(x):
    f = lambda v: (v ** 2).sum(0)
    j = torch.autograd.functional.jacobian(f, x)
    h = torch.func.hessian(lambda v: (v ** 3).sum())(x.detach())
    return j, h


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = lin(2, 3), lin(3, 1)
        self.backbone.requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():
            h = self.backbone(x)
        return self.head(h.detach())


@program(lambda: (Frozen(), t(4, 2)),)
def frozen_parts_trained(m, x):
    m(x).mean().backward()
    return [(n, p.grad is not None) for n, p in m.named_parameters()], m.head.weight.grad


@program(lambda: (t(4, 6),), lambda: (t(2, 6),))
def views_of_all_kinds(x):
    a = x.view(x.shape[0], 2, 3)
    b = a.transpose(1, 2).contiguous().flatten(1)
    c = x.unflatten(1, (3, 2)).movedim(-1, 0)
    d = x.as_strided((2, 2), (6, 1))
    e = x.unfold(1, 3, 3).sum(-1)
    f = x.narrow(1, 1, 2).squeeze().unsqueeze(0)
    g = torch.broadcast_to(x[:1], (2, 6))
    h, i = x.tensor_split(2, dim=1)
    j = x.diagonal().clone()
    return b, c.shape, d, e, f.shape, g.stride(), h + i, j, x.expand(1, -1, -1).shape, x.repeat(1, 2).shape, x.view_as(a.reshape_as(x)).is_contiguous(), torch.atleast_3d(x).shape


@program(lambda: (t(5),), lambda: (t(6),))
def indices_computed(x):
    order = x.argsort(stable=True)
    top = x.topk(2)
    mask = x > x.median()
    first = torch.where(mask, x, 0).cumsum(0)
    ranks = torch.empty_like(order).scatter_(0, order, torch.arange(len(x)))
    return x[order], top.values, top.indices, first, ranks, torch.searchsorted(x.sort().values, torch.tensor([0.0])), torch.bucketize(x, torch.tensor([-0.5, 0.5])), x.take(order[:2]), x.index_fill(0, order[:1], 9.0)


@program(lambda: (t(2, 3), t(3)), lambda: (t(4, 3), t(3)))
def in_place_of_all_kinds(x, v):
    y = x.clone()
    y[:, 0] = 1
    y[0] += v
    y[y < 0] = 0
    y.clamp_(max=1).sqrt_()
    y.t_()
    y.resize_as_(y).copy_(y.flip(0))
    z = torch.zeros(3)
    z.index_add_(0, torch.tensor([0, 2]), torch.ones(2))
    z.addcmul_(v, v, value=0.5)
    torch.add(v, 1, out=z)
    x.mul_(2)
    return y, z, x


class Sampler:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def draw(self, n):
        return [self.rng.randint(0, 9) for _ in range(n)]


@program(lambda: (t(3), 3), lambda: (t(3), 4))
def randomness_of_python(x, n):
    s = Sampler(n)
    a = s.draw(n)
    b = random.Random(1).random()
    items = list(range(n))
    random.Random(2).shuffle(items)
    return x + a[0], a, b, items


@program(lambda: (t(3),), lambda: (t(3),))
def randomness_of_tensors(x):
    a = torch.rand(3)
    b = torch.randn_like(x)
    c = torch.randint(0, 5, (2,))
    d = F.dropout(torch.ones(8), 0.5)
    e = torch.bernoulli(torch.full((3,), 0.5))
    f = torch.empty(2).uniform_(1, 2).normal_(0, 1)
    g = torch.multinomial(torch.tensor([0.2, 0.8]), 3, replacement=True)
    return a + b, c, d, e, f, g, torch.randperm(4)


@dataclasses.dataclass
class Batch:
    ids: torch.Tensor
    mask: typing.Optional[torch.Tensor] = None
    meta: typing.Dict[str, typing.Any] = dataclasses.field(default_factory=dict)

    def to(self, dtype):
        return dataclasses.replace(self, **{f.name: getattr(self, f.name).to(dtype) for f in dataclasses.fields(self) if torch.is_tensor(getattr(self, f.name))})

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return Batch(self.ids[i], None if self.mask is None else self.mask[i], self.meta)


@program(lambda: (Batch(t(4)),), lambda: (Batch(t(4), t(4) > 0, {"k": 1}),))
def batches_as_dataclasses(batch):
    b = batch.to(torch.float64)
    half = b[: len(b) // 2]
    out = half.ids if half.mask is None else half.ids * half.mask
    half.meta["seen"] = half.meta.get("seen", 0) + 1
    return out, half, batch.meta is half.meta


class Pipeline:
    steps = ()

    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        cls.steps = tuple(f for f in vars(cls).values() if getattr(f, "_step", False))

    def __call__(self, x):
        for s in self.steps:
            x = s(self, x)
        return x


def step(f):
    f._step = True
    return f


class Normalise(Pipeline):
    def __init__(self, eps):
        self.eps = eps

    @step
    def centre(self, x):
        return x - x.mean()

    @step
    def scale(self, x):
        return x / (x.std() + self.eps)


@program(lambda: (Normalise(1e-3), t(4)), lambda: (Normalise(1.0), t(6)))
def pipelines_of_steps(p, x):
    return p(x), [s.__name__ for s in p.steps]


@program(lambda: (t(3), ("a", 1, None, 2.5, True, b"x", (1, 2))), lambda: (t(3), ("a", 1, None, 2.5, True, b"x", (1, 3))))
def constants_compared(x, c):
    if c == ("a", 1, None, 2.5, True, b"x", (1, 2)):
        return x + 1
    return x - 1, c[-1][1], c.index(None), c.count(1)


@program(lambda: ([t(2), t(2)], 0), lambda: ([t(2), t(2)], 1), lambda: ([t(2), t(2)], -1))
def lists_rearranged(xs, i):
    xs[i], xs[0] = xs[0] + 1, xs[i]
    xs.insert(1, xs[0] * 2)
    xs.reverse()
    del xs[-1]
    xs[1:1] = [xs[0], xs[0]]
    return xs, len(xs), xs[0] is xs[1], xs.index(xs[0])


@program(lambda: (t(2, 3), "ij->ji"), lambda: (t(2, 3), "ij->i"), lambda: (t(2, 3), "ij,ij->"))
def einsum_by_text(x, eq):
    operands = [x] * len(eq.split("->")[0].split(","))
    return torch.einsum(eq, *operands), eq.upper()


@program(lambda: (t(6), 2, 3), lambda: (t(8), 2, 4))
def shapes_as_products(x, a, b):
    assert a * b == x.numel(), (a, b)
    y = x.reshape(a, b)
    s = torch.Size([a, b])
    return y, s == y.shape, s.numel(), y.shape + (1,), y.shape[::-1], tuple(reversed(y.size())), len(s), b in s, y.stride(0) == b, math.prod(s), torch.broadcast_shapes(s, (1, b))


class Scope:
    active = []

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        Scope.active.append(self.name)
        return len(Scope.active)

    def __exit__(self, *exc):
        Scope.active.pop()
        return False

    def __call__(self, f):
        @functools.wraps(f)
        def wrapped(*a):
            with self:
                return f(*a)
        return wrapped


@Scope("outer")
def scoped(x):
    with Scope("inner") as depth:
        return x * depth, "/".join(Scope.active)


@program(lambda: (t(3),))
def scopes_nested(x):
    return scoped(x), Scope.active


@program(lambda: (t(3), 2), lambda: (t(3), 3))
def functions_made_and_returned(x, n):
    def make(k):
        def f(v, *, scale=k):
            return v * scale + n
        f.k = k
        return f

    fs = [make(k) for k in range(n)]
    total = sum(f(x) for f in fs)
    return total, [f.k for f in fs], fs[-1](2), fs[0].__name__, fs[1].__kwdefaults__
