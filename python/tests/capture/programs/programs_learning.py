# Training and models: hooks, lazy layers, optimisers, schedules, functions with a backward, checkpoints, modes, models as they stand in
# libraries.
import collections
import contextlib
import copy
import dataclasses
import functools
import itertools
import math
import random
import typing
from dataclasses import dataclass


class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.first = nn.Linear(3, width)
        self.second = nn.Linear(width, 2)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


def net(width=4):
    torch.manual_seed(3)
    return Net(width)


@program(lambda: (net(), t(2, 3)), lambda: (net(), t(4, 3)))
def hooks_before_and_after(model, x):
    log = []

    def before(module, args):
        log.append(type(module).__name__)
        return (args[0] * 2,)

    def after(module, args, result):
        log.append(tuple(result.shape))
        return result + 1

    handles = [model.first.register_forward_pre_hook(before), model.second.register_forward_hook(after)]
    y = model(x)
    for h in handles:
        h.remove()
    return y, model(x), log


class Recording(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.seen = []
        self.inner.register_forward_hook(self._keep)
        self.inner.register_forward_hook(lambda m, args, kwargs, out: out * 2, with_kwargs=True)

    def _keep(self, module, args, out):
        self.seen.append(out.detach().mean())

    def forward(self, x):
        return self.inner(self.inner(x))


def recording():
    torch.manual_seed(1)
    return Recording()


@program(lambda: (recording(), t(2, 3)), lambda: (recording(), t(2, 3)))
def hooks_of_the_module_itself(model, x):
    y = model(x)
    return y, len(model.seen), sum(model.seen)


@program(lambda: (net(), t(2, 3)), lambda: (net(), t(3, 3)))
def hooks_on_gradients(model, x):
    log = []
    model.first.weight.register_hook(lambda g: g * 2)
    y = model(x)
    y.register_hook(lambda g: log.append(tuple(g.shape)))
    y.sum().backward()
    return model.first.weight.grad, model.second.bias.grad, log


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = None
        self.layers = nn.ModuleDict()

    def forward(self, x):
        if self.scale is None:
            self.scale = torch.ones(x.shape[-1]) * 2
        key = str(x.shape[-1])
        if key not in self.layers:
            self.layers[key] = nn.Identity()
        return self.layers[key](x * self.scale)


@program(lambda: (Lazy(), t(2, 3)), lambda: (Lazy(), t(2, 4)))
def layers_made_when_needed(model, x):
    a = model(x)
    b = model(x)
    return a + b, list(model.layers), model.scale


class Linears(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.full((3, 3), 0.1 * (i + 1))) for i in range(3)])
        self.table = nn.ParameterDict({"a": nn.Parameter(torch.ones(3)), "b": nn.Parameter(torch.zeros(3))})
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("count", torch.tensor(0), persistent=False)
        self.register_parameter("nothing", None)

    def forward(self, x):
        for i, w in enumerate(self.weights):
            x = x @ w + (self.table["a"] if i % 2 else self.table["b"])
        with torch.no_grad():
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            self.count += 1
        return x if self.nothing is None else x + self.nothing


@program(lambda: (Linears(), t(2, 3)), lambda: (Linears(), t(4, 3)))
def parameters_in_lists_and_dicts(model, x):
    y = model(x)
    names = [n for n, p in model.named_parameters()]
    return y, names, model.mean, model.count, list(model.state_dict()), sum(p.numel() for p in model.parameters())


@program(lambda: (net(), t(4, 3)), lambda: (net(), t(2, 3)))
def optimizers_of_many_kinds(model, x):
    results = []
    for kind, options in ((optim.SGD, dict(momentum=0.9, nesterov=True)), (optim.Adam, dict(amsgrad=True)), (optim.RMSprop, {}),
                          (optim.Adagrad, {})):
        optimizer = kind(model.parameters(), lr=0.01, **options)
        loss = model(x).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        results.append(loss.detach())
    return results, model.first.weight.detach()


OPTIMIZED = net()
STEPPER = optim.AdamW([{"params": OPTIMIZED.first.parameters(), "lr": 0.1}, {"params": OPTIMIZED.second.parameters()}], lr=0.01)
SCHEDULE = optim.lr_scheduler.StepLR(STEPPER, step_size=1, gamma=0.5)


@program(lambda: (t(4, 3),), lambda: (t(4, 3),), lambda: (t(4, 3),))
def steps_with_groups_and_schedule(x):
    STEPPER.zero_grad()
    loss = OPTIMIZED(x).pow(2).sum()
    loss.backward()
    STEPPER.step()
    SCHEDULE.step()
    return loss.detach(), [round(g["lr"], 6) for g in STEPPER.param_groups]


@program(lambda: (net(), t(4, 3)), lambda: (net(), t(2, 3)))
def closures_given_to_optimizers(model, x):
    optimizer = optim.LBFGS(model.parameters(), max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        return loss
    return optimizer.step(closure).detach(), model.second.bias.detach()


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        low, high = ctx.bounds
        return grad * ((x >= low) & (x <= high)), None, None


class SwapGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.set_materialize_grads(False)
        return a * 1, b * 1

    @staticmethod
    def backward(ctx, ga, gb):
        return gb, ga


@program(lambda: (t(5, grad=True),), lambda: (t(3, grad=True),))
def functions_with_bounds(x):
    y = Clamp.apply(x * 2, -1.0, 0.5)
    a, b = SwapGrad.apply(y, x)
    return (a * 3 + b).sum()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


@program(lambda: (t(5, grad=True),), lambda: (t(3),))
def functions_with_setup(x):
    y = Square.apply(x) + Square.apply(x.detach())
    if x.requires_grad:
        (g,) = torch.autograd.grad(y.sum(), x)
        return y.detach(), g
    return y, None


@program(lambda: (net(), t(2, 3, grad=True)), lambda: (net(), t(3, 3, grad=True)))
def checkpoints_of_modules(model, x):
    y = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
    z = torch.utils.checkpoint.checkpoint(lambda a, b: (a * b).sin(), y, y.detach(), use_reentrant=False, preserve_rng_state=False)
    return z.sum()


@program(lambda: (t(3), t(3) + 1), lambda: (t(3) - 5, t(3)))
def conds_of_both_kinds(x, y):
    a = torch.cond(x.sum() > 0, lambda a, b: a + b, lambda a, b: a - b, (x, y))
    b = torch.cond(x.shape[0] > 2, lambda a: a * 2, lambda a: a * 3, (x,))
    return a, b


@program(lambda: (t(3),), lambda: (t(3) + 2,))
def loops_as_operators(x):
    i, total = torch._higher_order_ops.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, v * 2), (torch.tensor(0), x))
    return i, total


@program(lambda: (t(4, 3),), lambda: (t(2, 3),))
def autocast_in_parts(x):
    w = torch.ones(3, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ w
        with torch.autocast("cpu", enabled=False):
            b = a.float() @ w
        c = torch.softmax(b @ w, -1)
    d = a.float() @ w
    return a, b, c.float(), d, a.dtype, b.dtype, torch.is_autocast_enabled("cpu")


@program(lambda: (t(4, 4),), lambda: (t(6, 6),))
def views_written_in_turn(x):
    rows = x[1:3]
    column = x[:, 0]
    rows.mul_(2)
    column.add_(1)
    x.diagonal().zero_()
    x.t()[0].sub_(1)
    flat = x.view(-1)
    flat[3] = 9.0
    x[x > 5] = 0
    part = x.narrow(0, 0, 2).unsqueeze(0).expand(2, -1, -1)
    return rows, column, part.sum(), flat[::5], x.is_contiguous()


@program(lambda: (t(3, grad=True),), lambda: (t(4, grad=True),))
def grads_read_and_set(x):
    before = x.grad
    y = (x * x).sum()
    y.backward(retain_graph=True)
    g1 = x.grad.clone()
    y.backward()
    g2 = x.grad.clone()
    x.grad = None
    z = (x * 3).sum()
    z.backward()
    x.grad.mul_(2)
    return before is None, g1, g2, x.grad


@program(lambda: (t(3),), lambda: (t(4),))
def leaves_made_inside(x):
    w = x.detach().clone().requires_grad_(True)
    v = torch.ones_like(w, requires_grad=True)
    loss = (w * v).exp().sum()
    gw, gv = torch.autograd.grad(loss, (w, v), create_graph=True)
    second = torch.autograd.grad(gw.sum(), w)[0]
    return loss.detach(), gw.detach(), gv.detach(), second


@program(lambda: (t(3),), lambda: (t(3),))
def draws_of_python(x):
    random.seed(7)
    a = random.random(), random.randint(1, 6), random.choice("abc"), random.gauss(0, 1)
    items = [1, 2, 3, 4]
    random.shuffle(items)
    r = random.Random(5)
    b = r.uniform(0, 1), r.sample(range(10), 3)
    return x * a[0] + b[0], a, items, b


@program(lambda: (t(3),), lambda: (t(4),))
def draws_of_generators(x):
    g = torch.Generator().manual_seed(4)
    a = torch.rand(3, generator=g)
    b = torch.randperm(5, generator=g)
    torch.manual_seed(9)
    c = torch.randn(2) + F.dropout(torch.ones(2), 0.5)
    d = torch.bernoulli(torch.full((4,), 0.5))
    return x.sum() + a, b, c, d, torch.initial_seed()


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * x.to(dtype)


@dataclass
class ModelConfig:
    vocab: int = 13
    dim: int = 8
    heads: int = 4
    kv_heads: int = 2
    layers: int = 2
    rope_theta: float = 10000.0
    tie: bool = True

    @property
    def head_dim(self):
        return self.dim // self.heads


class Cache:
    def __init__(self):
        self.keys: list = []
        self.values: list = []
        self._seen = 0

    def update(self, k, v, layer):
        if layer == 0:
            self._seen += k.shape[-2]
        if len(self.keys) <= layer:
            self.keys.append(k)
            self.values.append(v)
        else:
            self.keys[layer] = torch.cat([self.keys[layer], k], dim=-2)
            self.values[layer] = torch.cat([self.values[layer], v], dim=-2)
        return self.keys[layer], self.values[layer]

    def length(self):
        return self._seen


class Rotary(nn.Module):
    def __init__(self, config):
        super().__init__()
        inv = 1.0 / (config.rope_theta ** (torch.arange(0, config.head_dim, 2).float() / config.head_dim))
        self.register_buffer("inv", inv, persistent=False)

    @torch.no_grad()
    def forward(self, positions):
        angles = positions[:, None].float() * self.inv[None, :]
        both = torch.cat((angles, angles), -1)
        return both.cos(), both.sin()


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


class GroupedAttention(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.config, self.layer = config, layer
        d = config.head_dim
        self.q = nn.Linear(config.dim, config.heads * d, bias=False)
        self.k = nn.Linear(config.dim, config.kv_heads * d, bias=False)
        self.v = nn.Linear(config.dim, config.kv_heads * d, bias=False)
        self.o = nn.Linear(config.heads * d, config.dim, bias=False)

    def forward(self, x, rope, mask=None, cache: typing.Optional[Cache] = None):
        *batch, _ = x.shape
        shape = (*batch, -1, self.config.head_dim)
        q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.q, self.k, self.v))
        cos, sin = rope
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        if cache is not None:
            k, v = cache.update(k, v, self.layer)
        groups = self.config.heads // self.config.kv_heads
        k, v = (a[:, :, None].expand(-1, -1, groups, -1, -1).flatten(1, 2) for a in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o(y.transpose(1, 2).reshape(*batch, -1))


class DecoderLayer(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.attention = GroupedAttention(config, layer)
        self.norms = nn.ModuleList([RMSNorm(config.dim) for _ in range(2)])
        self.gate, self.up = nn.Linear(config.dim, 16), nn.Linear(config.dim, 16)
        self.down = nn.Linear(16, config.dim)

    def forward(self, x, **options):
        x = x + self.attention(self.norms[0](x), **options)
        h = self.norms[1](x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


@dataclass
class Output:
    logits: typing.Any = None
    loss: typing.Any = None
    cache: typing.Any = None
    hidden: tuple = ()

    def __getitem__(self, i):
        return [v for v in (self.loss, self.logits, self.cache) if v is not None][i]


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.dim)
        self.layers = nn.ModuleList(DecoderLayer(config, i) for i in range(config.layers))
        self.norm = RMSNorm(config.dim)
        self.rotary = Rotary(config)
        self.head = nn.Linear(config.dim, config.vocab, bias=False)
        if config.tie:
            self.head.weight = self.embed.weight

    def forward(self, ids, labels=None, cache=None, use_cache=False, output_hidden=False):
        if use_cache and cache is None:
            cache = Cache()
        past = cache.length() if cache is not None else 0
        n = ids.shape[1]
        x = self.embed(ids)
        positions = torch.arange(past, past + n)
        mask = torch.full((n, past + n), float("-inf")).triu(past + 1)
        hidden = ()
        for layer in self.layers[: self.config.layers]:
            if output_hidden:
                hidden += (x,)
            x = layer(x, rope=self.rotary(positions), mask=mask, cache=cache)
        logits = self.head(self.norm(x))
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
        return Output(logits=logits, loss=loss, cache=cache, hidden=hidden)


def decoder(**options):
    torch.manual_seed(5)
    return Decoder(ModelConfig(**options)).eval()


IDS = [[1, 5, 2, 7], [3, 3, 9, 0]]


@program(lambda: (decoder(), torch.tensor(IDS)), lambda: (decoder(tie=False), torch.tensor(IDS)[:, :3]))
def decoders_with_losses(model, ids):
    out = model(ids, labels=ids, output_hidden=True)
    return out.loss, out[1], len(out.hidden)


@program(lambda: (decoder(), torch.tensor(IDS)), lambda: (decoder(), torch.tensor(IDS)[:, :3]))
def decoders_with_caches(model, ids):
    with torch.no_grad():
        out = model(ids, use_cache=True)
        tokens = [out.logits[:, -1].argmax(-1)]
        for _ in range(3):
            out = model(tokens[-1][:, None], cache=out.cache)
            tokens.append(out.logits[:, -1].argmax(-1))
    return torch.stack(tokens, 1), out.cache.length()


class ResBlock(nn.Module):
    def __init__(self, inc, out, emb):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(2, inc), nn.GroupNorm(2, out)
        self.conv1, self.conv2 = nn.Conv2d(inc, out, 3, padding=1), nn.Conv2d(out, out, 3, padding=1)
        self.emb = nn.Linear(emb, out * 2)
        self.skip = nn.Conv2d(inc, out, 1) if inc != out else nn.Identity()

    def forward(self, x, e):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.emb(F.silu(e))[:, :, None, None].chunk(2, dim=1)
        h = self.norm2(h) * (1 + scale) + shift
        return self.skip(x) + self.conv2(F.silu(h))


class TinyUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 8))
        self.start = nn.Conv2d(1, 4, 3, padding=1)
        self.downs = nn.ModuleList([ResBlock(4, 4, 8), ResBlock(4, 8, 8)])
        self.mid = ResBlock(8, 8, 8)
        self.ups = nn.ModuleList([ResBlock(16, 4, 8), ResBlock(8, 4, 8)])
        self.end = nn.Conv2d(4, 1, 3, padding=1)

    def embed(self, steps):
        half = 2
        freqs = torch.exp(-math.log(100.0) * torch.arange(half) / half)
        args = steps[:, None].float() * freqs[None]
        return self.time(torch.cat([args.cos(), args.sin()], -1))

    def forward(self, x, steps):
        e = self.embed(steps)
        h = self.start(x)
        skips = []
        for i, down in enumerate(self.downs):
            h = down(h, e)
            skips.append(h)
            if i < len(self.downs) - 1:
                h = F.avg_pool2d(h, 2)
        h = self.mid(h, e)
        for up in self.ups:
            skip = skips.pop()
            if skip.shape[-1] != h.shape[-1]:
                h = F.interpolate(h, scale_factor=2, mode="nearest")
            h = up(torch.cat([h, skip], 1), e)
        return self.end(h)


class Schedule:
    def __init__(self, n):
        betas = torch.linspace(1e-4, 0.02, n)
        self.alphas = torch.cumprod(1 - betas, 0)
        self.timesteps = list(range(n - 1, -1, -2))

    def step(self, noise, step, sample):
        a, before = self.alphas[step], self.alphas[step - 2] if step >= 2 else torch.tensor(1.0)
        origin = (sample - (1 - a).sqrt() * noise) / a.sqrt()
        return before.sqrt() * origin + (1 - before).sqrt() * noise, origin


def unet():
    torch.manual_seed(2)
    return TinyUNet().eval()


@program(lambda: (unet(), t(1, 1, 4, 4)), lambda: (unet(), t(2, 1, 4, 4)))
def pictures_sampled(model, x):
    schedule = Schedule(8)
    with torch.no_grad():
        for step in schedule.timesteps:
            steps = torch.full((x.shape[0],), step)
            guided, plain = model(x, steps), model(x * 0.5, steps)
            x, origin = schedule.step(plain + 2.0 * (guided - plain), step, x)
    return x, origin


def box_area(b):
    return (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])


def box_iou(a, b):
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (box_area(a)[:, None] + box_area(b) - inter)


def nms(boxes, scores, limit):
    keep = []
    order = scores.argsort(descending=True)
    while order.numel() > 0:
        i = order[0]
        keep.append(i)
        if order.numel() == 1:
            break
        ious = box_iou(boxes[i][None], boxes[order[1:]])[0]
        order = order[1:][ious <= limit]
    return torch.stack(keep)


BOXES = [[0.0, 0.0, 2.0, 2.0], [0.1, 0.0, 2.0, 2.0], [3.0, 3.0, 5.0, 5.0], [3.0, 3.1, 5.0, 5.2], [8.0, 8.0, 9.0, 9.0]]


@program(lambda: (torch.tensor(BOXES), torch.tensor([0.9, 0.8, 0.7, 0.95, 0.1])),)
def boxes_suppressed(boxes, scores):
    return nms(boxes, scores, 0.5)


@program(lambda: (torch.tensor(BOXES), torch.tensor([0.9, 0.8, 0.7, 0.95, 0.1])),)
def boxes_filtered(boxes, scores):
    keep = torch.where(scores > 0.5)[0]
    boxes, scores = boxes[keep], scores[keep]
    small = (boxes[:, 2] - boxes[:, 0]) >= 1.95
    return boxes[small], scores[small], boxes.shape[0]


def anchors_of(sizes, ratios, stride, shape):
    made = []
    for s, r in itertools.product(sizes, ratios):
        w, h = s * math.sqrt(r), s / math.sqrt(r)
        made.append([-w / 2, -h / 2, w / 2, h / 2])
    base = torch.tensor(made)
    ys, xs = torch.meshgrid(torch.arange(shape[0]) * stride, torch.arange(shape[1]) * stride, indexing="ij")
    shifts = torch.stack((xs, ys, xs, ys), -1).reshape(-1, 1, 4)
    return (shifts + base).reshape(-1, 4)


@program(lambda: (t(1, 4, 2, 3),), lambda: (t(1, 4, 3, 3),))
def anchors_decoded(features):
    anchors = anchors_of((2, 4), (0.5, 1.0), 2, features.shape[-2:])
    deltas = features.permute(0, 2, 3, 1).reshape(-1, 4)
    deltas = deltas.repeat_interleave(4, 0)
    centre = (anchors[:, :2] + anchors[:, 2:]) / 2 + deltas[:, :2]
    size = (anchors[:, 2:] - anchors[:, :2]) * deltas[:, 2:].clamp(max=1).exp()
    boxes = torch.cat([centre - size / 2, centre + size / 2], 1)
    return boxes.clamp(0, 6), anchors.shape[0]


class Env:
    def __init__(self, n):
        self.state, self.n = 0.0, n

    def step(self, action):
        self.state += 0.5 if action else -0.25
        return self.state, float(self.state > 0), self.state > self.n


@program(lambda: (net(), Env(1.0)), lambda: (net(), Env(0.4)))
def episodes_played(policy, env):
    log_probs, rewards, state = [], [], 0.0
    for _ in range(4):
        logits = policy(torch.tensor([[state, 1.0, 0.5]]))[0]
        action = int(logits.argmax())
        log_probs.append(F.log_softmax(logits, -1)[action])
        state, reward, done = env.step(action)
        rewards.append(reward)
        if done:
            break
    returns, total = [], 0.0
    for r in reversed(rewards):
        total = r + 0.9 * total
        returns.insert(0, total)
    loss = -(torch.stack(log_probs) * torch.tensor(returns)).sum()
    loss.backward()
    return loss.detach(), policy.second.bias.grad, len(rewards)


@program(lambda: (t(5), t(5) * 2, torch.tensor([0.0, 0, 1, 0, 0])), lambda: (t(3), t(3), torch.tensor([0.0, 0, 1])))
def advantages_estimated(rewards, values, dones):
    advantages = torch.zeros_like(rewards)
    last = 0
    for i in reversed(range(len(rewards))):
        following = values[i + 1] if i + 1 < len(rewards) else 0.0
        delta = rewards[i] + 0.9 * following * (1 - dones[i]) - values[i]
        last = delta + 0.9 * 0.95 * (1 - dones[i]) * last
        advantages[i] = last
    returns = advantages + values
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8), returns


@program(lambda: (t(6),), lambda: (t(4),))
def shapes_by_data(x):
    positive = x[x > 0]
    n = positive.numel()
    u, counts = torch.unique(x, return_counts=True)
    idx = x.nonzero().squeeze(-1)
    return positive * 2, n, u, counts, idx, positive.sum() / max(n, 1), torch.split(x, [1, x.numel() - 1])


@program(lambda: ([t(2, 3), t(4, 3), t(1, 3)],), lambda: ([t(3, 3), t(1, 3)],))
def sequences_packed(seqs):
    lengths = torch.tensor([len(s) for s in seqs])
    padded = torch.nn.utils.rnn.pad_sequence(seqs, batch_first=True, padding_value=-1.0)
    mask = torch.arange(padded.shape[1])[None] < lengths[:, None]
    pooled = (padded * mask[..., None]).sum(1) / lengths[:, None]
    offsets = torch.cumsum(lengths, 0) - lengths
    return pooled, mask, offsets, [p[: int(n)].sum() for p, n in zip(padded, lengths)]


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @contextlib.contextmanager
    def applied(self, model):
        self.backup = {n: p.detach().clone() for n, p in model.named_parameters()}
        with torch.no_grad():
            for n, p in model.named_parameters():
                p.copy_(self.shadow[n])
        try:
            yield model
        finally:
            with torch.no_grad():
                for n, p in model.named_parameters():
                    p.copy_(self.backup[n])


@program(lambda: (net(), t(2, 3)), lambda: (net(), t(3, 3)))
def averages_applied(model, x):
    ema = EMA(model)
    with torch.no_grad():
        model.first.weight.add_(1.0)
    ema.update(model)
    with ema.applied(model) as m:
        inside = m(x).detach()
    return inside, model(x).detach(), ema.shadow["first.bias"]


@program(lambda: (net(), net(6), t(2, 3)), lambda: (net(), net(6), t(4, 3)))
def discriminators_in_turn(gen, dis, x):
    og, od = optim.SGD(gen.parameters(), lr=0.1), optim.SGD(dis.parameters(), lr=0.1)
    losses = []
    for i in range(2):
        fake = F.pad(gen(x), (0, 1))
        od.zero_grad()
        loss_d = F.softplus(-dis(x)).mean() + F.softplus(dis(fake.detach())).mean()
        loss_d.backward()
        od.step()
        og.zero_grad()
        loss_g = F.softplus(-dis(fake)).mean()
        loss_g.backward()
        og.step()
        losses.append((loss_d.detach(), loss_g.detach()))
    return losses, gen.second.bias.detach()


@program(lambda: (net(), t(4, 3), torch.tensor([0, 1, 1, 0])), lambda: (net(), t(2, 3), torch.tensor([1, 0])))
def epochs_with_metrics(model, x, y):
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    history = collections.defaultdict(list)
    for epoch in range(2):
        model.train(epoch % 2 == 0)
        for xb, yb in zip(x.split(2), y.split(2)):
            logits = model(xb)
            loss = F.cross_entropy(logits, yb, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            history["loss"].append(loss.item())
            history["right"].append((logits.argmax(1) == yb).float().mean().item())
    return {k: sum(v) / len(v) for k, v in history.items()}, model.training


class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.arange(12.0).reshape(4, 3) / 4 - 1)
        self.register_buffer("usage", torch.zeros(4))

    def forward(self, z):
        flat = z.reshape(-1, 3)
        d = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codes.t() + self.codes.pow(2).sum(1)
        index = d.argmin(1)
        onehot = F.one_hot(index, 4).to(flat.dtype)
        q = (onehot @ self.codes).view_as(z)
        if self.training:
            self.usage = self.usage * 0.9 + onehot.detach().sum(0) * 0.1
        loss = F.mse_loss(q.detach(), z) + 0.25 * F.mse_loss(q, z.detach())
        q = z + (q - z).detach()
        p = onehot.mean(0)
        return q, loss, torch.exp(-(p * (p + 1e-10).log()).sum())


@program(lambda: (Quantizer(), t(2, 2, 3, grad=True)), lambda: (Quantizer().eval(), t(1, 2, 3, grad=True)))
def vectors_quantised(model, z):
    q, loss, perplexity = model(z)
    return q, loss, perplexity, model.usage


class Router(nn.Module):
    def __init__(self, n=3, k=2):
        super().__init__()
        self.gate = nn.Linear(4, n, bias=False)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(n))
        self.k = k

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        top, which = weights.topk(self.k, -1)
        top = top / top.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        mask = F.one_hot(which, len(self.experts)).permute(2, 1, 0)
        for i, expert in enumerate(self.experts):
            part = (mask[i].t().to(x.dtype) * top).sum(-1, keepdim=True)
            out = out + part * expert(x)
        return out, mask.sum((1, 2))


def router():
    torch.manual_seed(0)
    return Router()


@program(lambda: (router(), t(3, 4)), lambda: (router(), t(5, 4)))
def experts_in_dense_form(model, x):
    return model(x)


@program(lambda: (router(), t(3, 4)), lambda: (router(), t(5, 4)))
def experts_by_index(model, x):
    which = model.gate(x).argmax(-1)
    out = torch.zeros_like(x)
    for i, expert in enumerate(model.experts):
        rows = (which == i).nonzero().flatten()
        if rows.numel() > 0:
            out.index_add_(0, rows, expert(x[rows]))
    return out


@program(lambda: (net(), t(2, 3)), lambda: (net(), t(3, 3)))
def states_saved_and_loaded(model, x):
    saved = {k: v.clone() for k, v in model.state_dict().items()}
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    changed = model(x)
    result = model.load_state_dict(saved)
    return changed, model(x), twin(x), result.missing_keys, len(result.unexpected_keys)


@program(lambda: (net(), t(2, 3)), lambda: (net(), t(3, 3)))
def layers_swapped_inside(model, x):
    model.second = nn.Sequential(model.second, nn.Tanh())
    for name, child in list(model.named_children()):
        if isinstance(child, nn.Linear):
            setattr(model, name, nn.Sequential(child, nn.ReLU()))
    return model(x), [type(m).__name__ for m in model.modules()]


def selective_scan(x, dt, a, b, c):
    state = x.new_zeros(x.shape[0], a.shape[0])
    ys = []
    for i in range(x.shape[1]):
        decay = torch.exp(dt[:, i, None] * a)
        state = decay * state + dt[:, i, None] * b[:, i] * x[:, i, None]
        ys.append((state * c[:, i]).sum(-1))
    return torch.stack(ys, 1)


@program(lambda: (t(2, 4), t(2, 4), t(3), t(2, 4, 3), t(2, 4, 3)),)
def states_scanned(x, dt, a, b, c):
    return selective_scan(x, F.softplus(dt), -torch.exp(a), b, c)


@program(lambda: (t(3, 4),), lambda: (t(2, 4),))
def numpy_in_between(x):
    import numpy as np
    a = x.numpy()
    m = np.mean(a, axis=0)
    w = np.where(a > 0, a, 0.0) @ np.ones((4, 2), dtype=np.float32)
    angles = np.linspace(0, np.pi, 4)
    return torch.from_numpy(m) + 1, torch.as_tensor(w), float(np.cos(angles).sum()), x * np.float32(2.0), a.shape, int(np.prod(a.shape))


def distances(a, b, kind="l2"):
    table = {"l2": lambda: (a[:, None] - b[None]).pow(2).sum(-1).sqrt(), "l1": lambda: (a[:, None] - b[None]).abs().sum(-1),
             "cos": lambda: 1 - F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T}
    return table[kind]()


@program(lambda: (t(3, 4), t(2, 4) + 1), lambda: (t(2, 4), t(2, 4) + 2))
def neighbours_voting(queries, keys):
    votes = []
    for kind in ("l2", "l1", "cos"):
        d = distances(queries, keys, kind)
        value, index = d.min(dim=1)
        votes.append(index)
        if kind == "l2":
            best = value
    return torch.stack(votes).mode(0).values, best


class Tracker(nn.Module):
    instances = 0

    def __init__(self, inner, name=None):
        super().__init__()
        type(self).instances += 1
        self.inner, self.name, self.calls = inner, name or f"tracker{self.instances}", 0

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return super().__call__(*args, **kwargs)

    def forward(self, x):
        return self.inner(x)

    def extra_repr(self):
        return f"name={self.name}"


@program(lambda: (Tracker(net(), "n"), t(2, 3)), lambda: (Tracker(net(), "n"), t(2, 3)))
def modules_around_modules(model, x):
    y = model(x)
    return y, model.calls, model.first.weight.shape, model.name, isinstance(model.second, nn.Linear), len(list(model.children()))


@program(lambda: (t(2, 3, 4),), lambda: (t(1, 3, 4),))
def tensors_in_every_form(x):
    a = x.permute(2, 0, 1).contiguous().view(4, -1)
    b = torch.einsum("ij,kj->ik", a, a)
    c = x.unfold(2, 2, 1).mean(-1)
    d = torch.stack([x.select(1, i) for i in range(x.size(1))]).roll(1, 0).flip(0)
    e = x.masked_fill(x < 0, 0.0).cumsum(-1).tril()
    g = torch.gather(x, 2, torch.zeros(x.shape[0], 3, 1, dtype=torch.long))
    h = torch.scatter(torch.zeros(3), 0, torch.tensor([0, 2]), torch.tensor([1.0, 2.0]))
    top = x.flatten().topk(3)
    return b, c, d, e, g, h, top.values, top.indices, x.std(dim=(0, 2)), torch.where(x > 0, x, -x).amax(dim=1)


@program(lambda: (t(4, 4),), lambda: (t(4, 4) + 1,))
def branches_on_data(x):
    if x.isnan().any():
        return "nan"
    if (x > 0).all():
        return x.log()
    if x.sum().item() > 100:
        x = x / 2
    m = x.max()
    while m > 2:
        m = m / 2
    return x.abs() + m


class Accumulator:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.done = True

    def add(self, v):
        self.total = self.total + v
        self.n += 1
        return self

    @property
    def mean(self):
        return self.total / self.n


@program(lambda: (net(), t(4, 3)), lambda: (net(), t(2, 3)))
def gradients_over_micro_batches(model, x):
    with Accumulator() as acc:
        for part in x.chunk(2):
            loss = model(part).square().mean() / 2
            loss.backward()
            acc.add(loss.detach())
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    return acc.mean, norm, acc.done, [n for n, p in model.named_parameters() if p.grad is not None]
