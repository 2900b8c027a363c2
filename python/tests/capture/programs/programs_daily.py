# What else people write: modules of every kind, training, optimisers of their own, contexts, generators.
import abc
import collections
import contextlib
import copy
import functools
import itertools
import math
import random
import types


# Modules.


class Gated(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.gates = nn.ParameterList([nn.Parameter(torch.full((width,), 0.1 * i)) for i in range(depth)])
        self.scales = nn.ParameterDict({"in": nn.Parameter(torch.ones(1) * 2), "out": nn.Parameter(torch.ones(1) * 3)})
        for layer in self.layers:
            nn.init.constant_(layer.weight, 0.1)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        x = x * self.scales["in"]
        for i, (layer, gate) in enumerate(zip(self.layers, self.gates)):
            x = x + torch.sigmoid(gate) * layer(x) * (i + 1)
        for name, scale in self.scales.items():
            if name == "out":
                x = x * scale
        return x, len(self.layers), "in" in self.scales


gated = Gated(3, 2)


@program(lambda: (t(2, 3),), lambda: (t(4, 3),))
def parameter_lists(x):
    return gated(x)


class Stochastic(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p
        self.body = nn.Sequential(nn.Linear(3, 3, bias=False), nn.ReLU())
        nn.init.eye_(self.body[0].weight)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        if self.training:
            self.calls += 1
            if random.random() < self.p:
                return x
        return x + self.body(x)

    def extra_repr(self):
        return f"p={self.p}"


stochastic = Stochastic(0.5)


@program(lambda: (t(2, 3),), lambda: (t(2, 3),), lambda: (t(2, 3),))
def stochastic_depth(x):
    return stochastic(x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(3):
            layer = nn.Linear(2, 2)
            nn.init.constant_(layer.weight, 0.3)
            nn.init.constant_(layer.bias, i)
            setattr(self, f"layer{i}", layer)
        self.depth = 3

    def forward(self, x, *, until=None, **options):
        outputs = {}
        for i in range(until if until is not None else self.depth):
            x = getattr(self, f"layer{i}")(x)
            if options.get("keep"):
                outputs[f"layer{i}"] = x
        return (x, outputs) if outputs else x


encoder = Encoder()


@program(lambda: (t(2, 2),), lambda: ((t(2, 2),), {"until": 2}), lambda: ((t(2, 2),), {"keep": True}))
def layers_by_name(x, **options):
    return encoder(x, **options)


@program(lambda: (t(2, 2),))
def modules_walked(x):
    total = 0
    names = []
    for name, module in encoder.named_modules():
        if isinstance(module, nn.Linear):
            names.append(name)
            total = total + module.weight.sum() + F.linear(x, module.weight).mean()
    count = sum(p.numel() for p in encoder.parameters() if p.requires_grad)
    return total, names, count, [n for n, _ in encoder.named_children()]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        with torch.no_grad():
            self.embed.weight.copy_(torch.arange(28.0).reshape(7, 4) / 10)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        h = self.embed(ids)
        h = h + self.position(ids.shape[-1], h.device)
        return self.head(h)

    @functools.lru_cache(maxsize=4)
    def _unused(self):
        return None

    @staticmethod
    def position(n, device):
        return torch.arange(n, device=device, dtype=torch.float32).unsqueeze(-1) / n


tied = Tied()


@program(lambda: (torch.tensor([[1, 2, 3]]),), lambda: (torch.tensor([[4, 2, 3, 0]]),))
def tied_weights(ids):
    logits = tied(ids)
    return logits.argmax(-1), tied.head.weight is tied.embed.weight


class Norm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def rotary(q, k, base=10000.0):
    dim = q.shape[-1]
    inverse = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
    angles = torch.outer(torch.arange(q.shape[-2]).float(), inverse)
    angles = torch.cat((angles, angles), dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


norm = Norm(4)


@program(lambda: (t(1, 2, 3, 4), True), lambda: (t(1, 2, 5, 4), False))
def rotary_attention(x, causal):
    q, k = rotary(norm(x), norm(x * 0.5))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if causal:
        n = scores.size(-1)
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        scores = scores.masked_fill(mask, float("-inf"))
    return F.softmax(scores, dim=-1) @ x


class KeyValueCache:
    def __init__(self, limit):
        self.keys, self.values = None, None
        self.limit = limit

    def update(self, k, v):
        if self.keys is None:
            self.keys, self.values = k, v
        else:
            self.keys = torch.cat([self.keys, k], dim=1)[:, -self.limit:]
            self.values = torch.cat([self.values, v], dim=1)[:, -self.limit:]
        return self.keys, self.values

    def __len__(self):
        return 0 if self.keys is None else self.keys.shape[1]


@program(lambda: (t(1, 2), KeyValueCache(3)),)
def cache_of_keys(x, cache):
    sizes = []
    for step in range(5):
        k, v = cache.update(x[:, None] * step, x[:, None] + step)
        sizes.append(len(cache))
        x = torch.tanh((k * v).sum(1))
    return x, sizes


@program(lambda: (t(4, 3), torch.tensor([0, 2, 1, -100])), lambda: (t(2, 3), torch.tensor([1, -100])))
def losses_by_hand(logits, target):
    keep = target != -100
    logp = F.log_softmax(logits, dim=-1)
    picked = logp.gather(1, target.clamp(min=0).unsqueeze(1)).squeeze(1)
    smooth = logp.mean(-1)
    loss = -(0.9 * picked + 0.1 * smooth)
    loss = torch.where(keep, loss, torch.zeros_like(loss))
    focal = ((1 - picked.exp()) ** 2 * loss).sum() / keep.sum().clamp(min=1)
    return loss.sum() / keep.sum(), focal


class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, *args, **kwargs):
        return self.fn(x, *args, **kwargs) + x


class Lambda(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


wrapped = nn.Sequential(collections.OrderedDict([
    ("first", Residual(Lambda(lambda v: v * 2))), ("act", nn.GELU(approximate="tanh")), ("flat", nn.Flatten()), ("same", nn.Identity())]))


@program(lambda: (t(2, 2, 2),))
def sequential_by_name(x):
    y = wrapped(x)
    return y, wrapped.first.fn is wrapped[0].fn, len(wrapped), [type(m).__name__ for m in wrapped], wrapped[:2](x)


class Mixin:
    def scale(self, x):
        return x * self.factor


class Base(nn.Module, abc.ABC):
    def __init__(self, factor=1, **kwargs):
        super().__init__()
        self.factor = factor
        self.extra = kwargs

    @abc.abstractmethod
    def forward(self, x):
        ...


class Concrete(Mixin, Base):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.count = 0

    def forward(self, x):
        self.count += 1
        return self.scale(x) + self.extra.get("bias", 0) + self.count


concrete = Concrete(factor=3, bias=0.5)


@program(lambda: (t(3),), lambda: (t(3),))
def mixed_in(x):
    return concrete(x), concrete.count


@program(lambda: (nn.Linear(2, 2), t(1, 2)),)
def modules_copied(layer, x):
    with torch.no_grad():
        for p in layer.parameters():
            p.fill_(0.5)
    other = copy.deepcopy(layer)
    with torch.no_grad():
        other.weight.mul_(2)
    return layer(x), other(x), other.weight is layer.weight


@program(lambda: (nn.Linear(3, 2), t(2, 3)),)
def frozen_layers(layer, x):
    with torch.no_grad():
        layer.weight.fill_(0.25)
        layer.bias.zero_()
    layer.requires_grad_(False)
    y = layer(x)
    layer.bias.requires_grad = True
    z = layer(x)
    return y.requires_grad, z.requires_grad, z, [n for n, p in layer.named_parameters() if p.requires_grad]


@program(lambda: (nn.BatchNorm1d(3), t(4, 3)), lambda: (nn.BatchNorm1d(3).eval(), t(4, 3)))
def modes_switched(bn, x):
    was = bn.training
    bn.train(not was)
    y = bn(x)
    bn.train(was)
    return y, bn(x), bn.training, bn.num_batches_tracked


class Averaged:
    def __init__(self, module, decay):
        self.module, self.decay = module, decay
        self.shadow = {name: p.detach().clone() for name, p in module.named_parameters()}

    @torch.no_grad()
    def update(self):
        for name, p in self.module.named_parameters():
            self.shadow[name].lerp_(p, 1 - self.decay)

    @contextlib.contextmanager
    def applied(self):
        kept = {name: p.detach().clone() for name, p in self.module.named_parameters()}
        try:
            with torch.no_grad():
                for name, p in self.module.named_parameters():
                    p.copy_(self.shadow[name])
            yield self.module
        finally:
            with torch.no_grad():
                for name, p in self.module.named_parameters():
                    p.copy_(kept[name])


def small_linear(value=0.5):
    layer = nn.Linear(2, 2)
    with torch.no_grad():
        layer.weight.fill_(value)
        layer.bias.fill_(value / 2)
    return layer


@program(lambda: (t(2, 2), Averaged(small_linear(), 0.9)),)
def averaged_weights(x, average):
    with torch.no_grad():
        average.module.weight.add_(1)
    average.update()
    with average.applied() as module:
        inside = module(x)
    return inside, average.module(x)


@program(lambda: (t(2, 2), small_linear()),)
def hooks_with_state(x, layer):
    kept = []
    handle = layer.register_forward_hook(lambda module, inputs, output: kept.append(output.mean()))
    before = layer.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))
    y = layer(x)
    handle.remove()
    z = layer(x)
    before.remove()
    return y, z, layer(x), kept


@program(lambda: (t(2, 3, 4), nn.GRU(4, 4, batch_first=True)),)
def recurrent_layers(x, gru):
    with torch.no_grad():
        for p in gru.parameters():
            p.fill_(0.1)
    y, h = gru(x)
    return y[:, -1], h.squeeze(0)


@program(lambda: (t(1, 3, 4), nn.MultiheadAttention(4, 2, batch_first=True)),)
def attention_layers(x, attention):
    with torch.no_grad():
        for p in attention.parameters():
            p.fill_(0.05)
    y, weights = attention(x, x, x, need_weights=True)
    return y, weights.sum(-1)


@program(lambda: (t(1, 3, 4), nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)),)
def encoder_layers(x, layer):
    with torch.no_grad():
        for p in layer.parameters():
            p.fill_(0.05)
    return layer(x)


@program(lambda: (t(2, 2), small_linear()),)
def functional_parameters(x, layer):
    params = {name: p * 2 for name, p in layer.named_parameters()}
    return torch.func.functional_call(layer, params, (x,)), layer(x)


@program(lambda: (small_linear(), t(3, 2)),)
def vectors_of_parameters(layer, x):
    vector = nn.utils.parameters_to_vector(layer.parameters())
    norm = torch.norm(torch.stack([p.detach().norm() for p in layer.parameters()]))
    return vector.shape, norm, layer(x).sum() + vector.sum()


# Training.


class Momentum(optim.Optimizer):
    def __init__(self, params, lr=0.1, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "velocity" not in state:
                    state["velocity"] = torch.zeros_like(p)
                state["velocity"].mul_(group["momentum"]).add_(p.grad)
                p.add_(state["velocity"], alpha=-group["lr"])
        return loss


def _linear_and_optimizer(kind, **options):
    layer = small_linear()
    return t(3, 2), layer, kind(layer.parameters(), **options)


@program(lambda: _linear_and_optimizer(Momentum), lambda: _linear_and_optimizer(Momentum, lr=0.01))
def optimizer_of_ones_own(x, layer, optimizer):
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = layer(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


@program(lambda: _linear_and_optimizer(optim.AdamW, lr=0.1, weight_decay=0.1), lambda: _linear_and_optimizer(optim.Adam, lr=0.1, amsgrad=True))
def adaptive_steps(x, layer, optimizer):
    for step in range(3):
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(layer(x), x)
        loss.backward()
        nn.utils.clip_grad_value_(layer.parameters(), 0.5)
        optimizer.step()
    return loss.detach(), [g["lr"] for g in optimizer.param_groups]


@program(lambda: _linear_and_optimizer(optim.SGD, lr=0.1, momentum=0.9, nesterov=True),)
def gradients_accumulate(x, layer, optimizer):
    total = torch.zeros(())
    optimizer.zero_grad()
    for i, part in enumerate(x.split(1)):
        loss = layer(part).abs().sum() / len(x)
        loss.backward()
        total += loss.detach()
        if (i + 1) % 2 == 0 or i + 1 == len(x):
            optimizer.step()
            optimizer.zero_grad()
    return total


@program(lambda: _linear_and_optimizer(optim.SGD, lr=0.1),)
def schedule_by_hand(x, layer, optimizer):
    rates = []
    for step in range(4):
        rate = 0.1 * min(1.0, (step + 1) / 2) * (0.5 * (1 + math.cos(math.pi * step / 4)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        layer(x).sum().backward()
        optimizer.step()
        rates.append(round(rate, 5))
    return rates


@program(lambda: (t(3, grad=True), t(3)),)
def gradient_penalty(x, y):
    out = (x * y).tanh().sum()
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    return out + (g.norm() - 1).pow(2), g.detach()


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        ctx.save_for_backward(x)
        return x.round() * scale

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.scale * (x.abs() < 1), None


@program(lambda: (t(5, grad=True),),)
def straight_through(x):
    y = Straight.apply(x, 2.0)
    z = x + (x.round() - x).detach()
    return (y + z).sum()


@program(lambda: (t(3),),)
def gradients_as_functions(x):
    def loss(w, scale):
        return (w * x).sin().sum() * scale

    gradient, value = torch.func.grad_and_value(loss)(x, 2.0)
    rows = torch.func.vmap(lambda row: row * row.sum())(torch.stack([x, x + 1]))
    return gradient, value, rows


# Contexts.


class Timer(contextlib.ContextDecorator):
    totals = collections.Counter()

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.entered = True
        return self

    def __exit__(self, *exc):
        Timer.totals[self.name] += 1
        return False


@Timer("decorated")
def _timed(x):
    return x * 2


@program(lambda: (t(3),), lambda: (t(3),))
def context_decorators(x):
    with Timer("inline") as timer:
        x = _timed(x)
    return x, timer.entered, Timer.totals["decorated"]


@contextlib.contextmanager
def override(obj, **values):
    old = {name: getattr(obj, name) for name in values}
    for name, value in values.items():
        setattr(obj, name, value)
    try:
        yield obj
    finally:
        for name, value in old.items():
            setattr(obj, name, value)


settings = types.SimpleNamespace(scale=1.0, mode="plain")


@program(lambda: (t(3),), lambda: (t(3),))
def settings_overridden(x):
    def apply(v):
        return v * settings.scale if settings.mode == "plain" else v - settings.scale

    a = apply(x)
    with override(settings, scale=3.0):
        b = apply(x)
        with override(settings, mode="other"):
            c = apply(x)
    try:
        with override(settings, scale=5):
            raise ValueError("inside")
    except ValueError as error:
        return a, b, c, apply(x), str(error)


@program(lambda: (t(3), True), lambda: (t(3), False))
def contexts_on_a_stack(x, quiet):
    log = []
    with contextlib.ExitStack() as stack:
        stack.callback(log.append, "last")
        stack.enter_context(torch.no_grad() if quiet else contextlib.nullcontext())
        stack.push(lambda *exc: log.append(exc[0]))
        timer = stack.enter_context(Timer("stack"))
        y = x * 2
        log.append("body")
    return y, log, timer.name


@program(lambda: (t(3),),)
def grad_modes(x):
    modes = [torch.is_grad_enabled()]
    with torch.set_grad_enabled(False):
        modes.append(torch.is_grad_enabled())
        with torch.enable_grad():
            modes.append(torch.is_grad_enabled())
            y = (x.requires_grad_() * 2)
    prev = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    z = x * 3
    torch.set_grad_enabled(prev)
    return modes, y.requires_grad, z.requires_grad


@program(lambda: (t(3),),)
def closing_things(x):
    class Resource:
        def close(self):
            self.closed = True

    with contextlib.closing(Resource()) as resource:
        y = x + 1
    return y, resource.closed


# Generators and iteration.


def windows(values, size):
    window = collections.deque(maxlen=size)
    for value in values:
        window.append(value)
        if len(window) == size:
            yield tuple(window)


@program(lambda: (t(5),),)
def sliding_windows(x):
    return [sum(w) for w in windows(x.unbind(), 3)], [b - a for a, b in itertools.pairwise(x.unbind())]


def flatten(nest, path=()):
    if isinstance(nest, dict):
        for key, value in nest.items():
            yield from flatten(value, (*path, key))
    elif isinstance(nest, (list, tuple)):
        for i, value in enumerate(nest):
            yield from flatten(value, (*path, i))
    else:
        yield ".".join(map(str, path)), nest


@program(lambda: ({"a": t(2), "b": [t(3), {"c": (t(1), 4)}]},), lambda: ({"a": 1, "b": []},))
def nests_flattened(nest):
    flat = dict(flatten(nest))
    total = sum(v.sum() if torch.is_tensor(v) else v for v in flat.values())
    return total, list(flat)


def averager():
    total = count = 0
    mean = None
    while True:
        value = yield mean
        if value is None:
            return total
        total, count = total + value, count + 1
        mean = total / count


@program(lambda: (t(4),),)
def coroutine_of_means(x):
    g = averager()
    next(g)
    means = [g.send(v) for v in x]
    try:
        g.send(None)
    except StopIteration as stop:
        return means, stop.value


class Batches:
    def __init__(self, data, size, drop_last=False):
        self.data, self.size, self.drop_last = data, size, drop_last

    def __len__(self):
        n = len(self.data)
        return n // self.size if self.drop_last else -(-n // self.size)

    def __iter__(self):
        for i in range(len(self)):
            yield self.data[i * self.size:(i + 1) * self.size]


@program(lambda: (t(5, 2), 2, True), lambda: (t(5, 2), 2, False))
def batches_of_a_class(x, size, drop_last):
    loader = Batches(x, size, drop_last)
    return [b.sum(0) for b in loader], len(loader), torch.stack([b.mean() for b in loader]).sum()


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n

    def __reversed__(self):
        return iter(range(self.n))


@program(lambda: (t(3), Countdown(3)),)
def iterators_of_a_class(x, down):
    backward = list(reversed(down))
    for n in down:
        x = x + n
    return x, backward, next(down, "none"), down.n


@program(lambda: (t(2, 3),),)
def tables_of_itertools(x):
    rows = list(x)
    products = [a @ b for a, b in itertools.product(rows, repeat=2)]
    starred = list(itertools.starmap(torch.add, zip(rows, rows)))
    longest = list(itertools.zip_longest([1, 2, 3], "ab", fillvalue="-"))
    running = list(itertools.accumulate(rows, lambda a, b: a * b))
    chosen = list(itertools.compress("abc", [1, 0, 1]))
    perms = [p for p in itertools.permutations(range(3), 2)]
    return products, starred, longest, running, chosen, perms, list(itertools.islice(itertools.cycle("ab"), 5))


@program(lambda: (t(6),),)
def grouped(x):
    items = sorted(enumerate(x.unbind()), key=lambda pair: pair[0] % 3)
    groups = {k: [v for _, v in g] for k, g in itertools.groupby(items, key=lambda pair: pair[0] % 3)}
    return {k: torch.stack(v).sum() for k, v in groups.items()}


@program(lambda: (t(3),),)
def iter_with_sentinel(x):
    values = iter([3, 2, 0, 7])
    taken = list(iter(lambda: next(values), 0))
    a, b = zip(*[(1, x), (2, x + 1)])
    try:
        list(zip([1], [1, 2], strict=True))
    except ValueError as error:
        return taken, a, b, type(error).__name__


def pipeline(*stages):
    def run(source):
        for stage in stages:
            source = stage(source)
        return source
    return run


def scaled(factor):
    def stage(source):
        for item in source:
            yield item * factor
    return stage


def kept(predicate):
    return lambda source: (item for item in source if predicate(item))


@program(lambda: ([t(2), t(3), t(4)],),)
def pipelines_of_generators(items):
    run = pipeline(scaled(2), kept(lambda v: v.shape[0] != 3), scaled(0.5), list)
    return run(items)
