# Code as it is found in projects: detection, decoding, caches, routing, generative models, reinforcement learning, training helpers.
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import math
import operator
import random
import types
import typing


def fill(module, scale=0.1):
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(t(*p.shape) * scale)
    return module


def xywh_to_xyxy(b):
    c, s = b[..., :2], b[..., 2:]
    return torch.cat((c - s / 2, c + s / 2), -1)


@program(lambda: (t(4, 4).abs() + 0.1, t(4, 3)), lambda: (t(2, 4).abs() + 0.1, t(2, 3)))
def boxes_decoded_and_scored(boxes, logits):
    boxes = xywh_to_xyxy(boxes)
    scores, labels = logits.softmax(-1).max(-1)
    order = scores.argsort(descending=True)
    w, h = 64, 48
    scale = boxes.new_tensor([w, h, w, h])
    results = [{"scores": s, "labels": l, "boxes": b} for s, l, b in zip(scores[order].unbind(), labels[order].unbind(), (boxes * scale)[order].unbind())]
    return results[0], len(results), torch.stack([r["boxes"] for r in results]).clamp(min=0)


def giou(a, b):
    area = lambda v: (v[:, 2] - v[:, 0]) * (v[:, 3] - v[:, 1])
    lt = torch.maximum(a[:, None, :2], b[None, :, :2])
    rb = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(2)
    union = area(a)[:, None] + area(b)[None] - inter
    iou = inter / union
    lt2, rb2 = torch.minimum(a[:, None, :2], b[None, :, :2]), torch.maximum(a[:, None, 2:], b[None, :, 2:])
    hull = (rb2 - lt2).clamp(min=0).prod(2)
    return iou - (hull - union) / hull, iou


@program(lambda: (t(3, 4).abs().cumsum(1) + 0.1, t(2, 4).abs().cumsum(1) + 0.2),)
def boxes_matched(pred, target):
    g, iou = giou(pred, target)
    best, idx = g.max(dim=1)
    matches = torch.where(best > -0.5, idx, torch.full_like(idx, -1))
    fg = (matches >= 0).sum()
    loss = (1 - best).sum() / fg.clamp(min=1)
    return loss, matches, iou.diag(0)


@dataclasses.dataclass
class Beam:
    tokens: torch.Tensor
    score: torch.Tensor
    done: bool = False
    extra: dict = dataclasses.field(default_factory=dict)

    def extend(self, token, score):
        return dataclasses.replace(self, tokens=torch.cat([self.tokens, token[None]]), score=self.score + score, extra={**self.extra, "n": len(self.tokens)})


@program(lambda: (t(5, 5), 2, 3), lambda: (t(5, 5), 3, 2))
def beam_search_of_objects(table, width, steps):
    beams = [Beam(torch.zeros(1, dtype=torch.long), torch.zeros(()))]
    for _ in range(steps):
        candidates = []
        for beam in beams:
            logp = table[beam.tokens[-1]].log_softmax(-1)
            top, ids = logp.topk(width)
            for k in range(width):
                candidates.append(beam.extend(ids[k], top[k]))
        scores = torch.stack([c.score for c in candidates])
        keep = scores.topk(min(width, len(candidates))).indices
        tokens = torch.stack([c.tokens for c in candidates])[keep]
        beams = [Beam(tokens[i], scores[keep[i]]) for i in range(len(keep))]
    return [b.tokens for b in beams], torch.stack([b.score for b in beams])


class KVCache(nn.Module):
    def __init__(self, batch, length, heads, dim):
        super().__init__()
        self.register_buffer("k", torch.zeros(batch, heads, length, dim), persistent=False)
        self.register_buffer("v", torch.zeros(batch, heads, length, dim), persistent=False)

    def update(self, pos, k, v):
        self.k[:, :, pos] = k
        self.v[:, :, pos] = v
        return self.k, self.v


class CausalAttention(nn.Module):
    def __init__(self, dim=4, heads=2, length=6):
        super().__init__()
        self.wqkv = nn.Linear(dim, 3 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.heads, self.dim = heads, dim
        self.cache = None
        self.register_buffer("mask", torch.tril(torch.ones(length, length, dtype=torch.bool)))

    def setup(self, batch, length):
        self.cache = KVCache(batch, length, self.heads, self.dim // self.heads)

    def forward(self, x, pos):
        b, n, _ = x.shape
        q, k, v = self.wqkv(x).split([self.dim] * 3, dim=-1)
        q, k, v = (z.view(b, n, self.heads, -1).transpose(1, 2) for z in (q, k, v))
        if self.cache is not None:
            k, v = self.cache.update(pos, k, v)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask[None, None, pos], dropout_p=0.0)
        return self.wo(y.transpose(1, 2).contiguous().view(b, n, self.dim))


def attention_with_cache():
    m = fill(CausalAttention()).eval()
    m.setup(1, 6)
    return m


@program(lambda: (attention_with_cache(), t(1, 3, 4)), lambda: (attention_with_cache(), t(1, 2, 4)))
def prefill_and_decode(m, prompt):
    with torch.no_grad():
        out = m(prompt, torch.arange(prompt.shape[1]))
        last = out[:, -1:]
        outs = []
        for i in range(2):
            last = m(last, torch.tensor([prompt.shape[1] + i]))
            outs.append(last)
    return torch.cat(outs, 1), m.cache.k.abs().sum((0, 1, 3)) > 0


class Router(nn.Module):
    def __init__(self, d=4, experts=3, k=2):
        super().__init__()
        self.gate = nn.Linear(d, experts, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.SiLU()) for _ in range(experts))
        self.k = k
        self.register_buffer("load", torch.zeros(experts))

    def forward(self, x):
        flat = x.flatten(0, -2)
        probs = self.gate(flat).softmax(-1)
        w, idx = probs.topk(self.k, dim=-1)
        w = w / w.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        one_hot = F.one_hot(idx, len(self.experts)).permute(2, 1, 0)
        for e, expert in enumerate(self.experts):
            slot, token = torch.where(one_hot[e])
            if token.numel() == 0:
                continue
            out.index_add_(0, token, expert(flat[token]) * w[token, slot, None])
        if self.training:
            self.load.lerp_(one_hot.float().sum((1, 2)), 0.1)
        aux = (probs.mean(0) * one_hot.float().mean((1, 2))).sum() * len(self.experts)
        return out.view_as(x), aux


@program(lambda: (fill(Router()), t(2, 3, 4)), lambda: (fill(Router()).eval(), t(2, 3, 4)))
def experts_routed_by_index(m, x):
    y, aux = m(x)
    return y.detach(), aux.detach(), m.load


def stacked_experts(x, w1, w2, idx, weight):
    h = torch.einsum("td,edh->teh", x, w1)
    y = torch.einsum("teh,ehd->ted", F.silu(h), w2)
    return (y.gather(1, idx[..., None].expand(-1, -1, y.shape[-1])) * weight[..., None]).sum(1)


@program(lambda: (t(5, 2), t(3, 2, 4), t(3, 4, 2)),)
def experts_in_einsum(x, w1, w2):
    logits = x @ w1.mean(-1).T
    weight, idx = torch.topk(logits, 2)
    return stacked_experts(x, w1, w2, idx, weight.softmax(-1)), torch.bincount(idx.flatten(), minlength=3)


def gan():
    g, d = fill(nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 2))), fill(nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1)))
    return g, d, optim.Adam(g.parameters(), lr=1e-2, betas=(0.5, 0.999)), optim.Adam(d.parameters(), lr=1e-2), t(4, 2), t(4, 2) + 0.5


@program(gan)
def gan_step(g, d, og, od, z, real):
    bce = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(4, 1), torch.zeros(4, 1)
    od.zero_grad()
    fake = g(z)
    ld = bce(d(real), ones) + bce(d(fake.detach()), zeros)
    ld.backward()
    od.step()
    og.zero_grad()
    lg = bce(d(fake), ones)
    lg.backward()
    og.step()
    return {"d": ld.item(), "g": lg.item()}


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 4)
        self.dec = nn.Linear(2, 4)

    def encode(self, x):
        return self.enc(x).chunk(2, dim=-1)

    def reparameterize(self, mu, logvar):
        if not self.training:
            return mu
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


@program(lambda: (fill(VAE()), t(3, 4)), lambda: (fill(VAE()).eval(), t(3, 4)))
def vae_losses(m, x):
    recon, mu, logvar = m(x)
    bce = F.binary_cross_entropy_with_logits(recon, x.sigmoid(), reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kl).detach(), kl.detach()


class DDPM:
    def __init__(self, steps=4, schedule="linear"):
        make = {"linear": lambda: torch.linspace(1e-2, 0.2, steps), "cosine": lambda: torch.cos(torch.linspace(0, 1, steps)).flip(0) * 0.1 + 0.01}
        self.betas = make[schedule]()
        self.alphas = 1 - self.betas
        self.bar = torch.cumprod(self.alphas, 0)
        self.steps = steps

    def q_sample(self, x0, ts, noise):
        a = self.bar[ts].sqrt().view(-1, *[1] * (x0.ndim - 1))
        s = (1 - self.bar[ts]).sqrt().view(-1, *[1] * (x0.ndim - 1))
        return a * x0 + s * noise

    def p_sample_loop(self, model, x):
        for i in reversed(range(self.steps)):
            eps = model(x, i)
            x = (x - self.betas[i] / (1 - self.bar[i]).sqrt() * eps) / self.alphas[i].sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


@program(lambda: (DDPM(), t(2, 3), 2), lambda: (DDPM(schedule="cosine"), t(2, 3), 2))
def diffusion_steps(ddpm, x0, n):
    ts = torch.arange(n)
    noise = torch.randn_like(x0)
    noisy = ddpm.q_sample(x0, ts, noise)
    return noisy, ddpm.p_sample_loop(lambda x, i: x * (0.1 * i), noisy)


@program(lambda: (t(2, 4), t(2, 4), torch.tensor([[0, 0, 1, 0], [0, 1, 0, 0]]).bool(), 0.9, 0.8),)
def gae_returns(rewards, values, dones, gamma, lam):
    b, n = rewards.shape
    adv = torch.zeros_like(rewards)
    last = rewards.new_zeros(b)
    for i in reversed(range(n)):
        nxt = values[:, i + 1] if i + 1 < n else torch.zeros(b)
        mask = (~dones[:, i]).float()
        delta = rewards[:, i] + gamma * nxt * mask - values[:, i]
        last = delta + gamma * lam * mask * last
        adv[:, i] = last
    norm = (adv - adv.mean()) / (adv.std() + 1e-8)
    return norm, adv + values


@program(lambda: (t(4, 2), t(4, 2) * 0.9, torch.tensor([0, 1, 0, 1]), t(4), 0.2),)
def ppo_loss(logits, old, actions, adv, clip):
    dist = torch.distributions.Categorical(logits=logits)
    prior = torch.distributions.Categorical(logits=old)
    ratio = (dist.log_prob(actions) - prior.log_prob(actions)).exp()
    surrogate = torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv)
    return -surrogate.mean() - 0.01 * dist.entropy().mean(), torch.distributions.kl_divergence(prior, dist)


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {k: v.clone().detach() for k, v in model.state_dict().items()}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        for name, p in model.named_parameters():
            if p.requires_grad:
                self.shadow[name].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @contextlib.contextmanager
    def applied(self, model):
        self.backup = {k: v.clone() for k, v in model.state_dict().items()}
        model.load_state_dict(self.shadow)
        try:
            yield model
        finally:
            model.load_state_dict(self.backup)


def with_ema():
    m = fill(nn.Linear(2, 2))
    e = EMA(m)
    return m, e, t(1, 2)


@program(with_ema)
def ema_applied(m, ema, x):
    with torch.no_grad():
        m.weight.add_(1)
    ema.update(m)
    with ema.applied(m):
        inside = m(x).detach()
    return inside, m(x).detach(), sorted(ema.shadow)


@program(lambda: (t(4, 2), torch.tensor([0, 1, 1, 0]), 0.4), lambda: (t(4, 2), torch.tensor([0, 1, 1, 0]), 0.0))
def mixup_and_smoothing(x, y, alpha):
    lam = random.betavariate(alpha, alpha) if alpha > 0 else 1.0
    perm = torch.randperm(x.size(0))
    mixed = lam * x + (1 - lam) * x[perm]
    soft = F.one_hot(y, 2).float()
    soft = lam * soft + (1 - lam) * soft[perm]
    return mixed, F.cross_entropy(x, soft), F.cross_entropy(x, y, label_smoothing=0.1), lam


class WarmupCosine(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, warmup, total, last_epoch=-1):
        self.warmup, self.total = warmup, total
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        step = self.last_epoch
        if step < self.warmup:
            return [base * (step + 1) / self.warmup for base in self.base_lrs]
        p = (step - self.warmup) / max(1, self.total - self.warmup)
        return [base * 0.5 * (1 + math.cos(math.pi * p)) for base in self.base_lrs]


def trainer():
    m = fill(nn.Linear(2, 1))
    o = optim.SGD(m.parameters(), lr=0.1)
    return m, o, WarmupCosine(o, 2, 6), t(4, 2)


@program(trainer)
def schedule_of_ones_own(m, opt, sched, x):
    lrs = []
    for _ in range(3):
        loss = m(x).pow(2).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        sched.step()
        lrs.append(sched.get_last_lr()[0])
    return lrs, loss.detach()


@program(lambda: (fill(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))), t(6, 2), 3),)
def accumulation_with_clipping(m, x, parts):
    opt = optim.AdamW(m.parameters(), lr=0.01, weight_decay=0.1)
    total = 0.0
    for i, chunk in enumerate(x.chunk(parts)):
        loss = m(chunk).square().mean() / parts
        loss.backward()
        total += loss.detach()
        if (i + 1) % parts == 0:
            norm = nn.utils.clip_grad_norm_(m.parameters(), 0.5)
            opt.step()
            opt.zero_grad()
    return total, norm, [p.grad is None for p in m.parameters()]


class LoRA(nn.Module):
    def __init__(self, base, rank=1, alpha=2):
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad = False
        self.a = nn.Parameter(torch.full((rank, base.in_features), 0.1))
        self.b = nn.Parameter(torch.full((base.out_features, rank), 0.2))
        self.scaling = alpha / rank
        self.merged = False

    @property
    def delta(self):
        return self.b @ self.a * self.scaling

    @torch.no_grad()
    def merge(self):
        if not self.merged:
            self.base.weight += self.delta
            self.merged = True
        return self

    def forward(self, x):
        out = self.base(x)
        return out if self.merged else out + F.linear(F.linear(x, self.a), self.b) * self.scaling


@program(lambda: (LoRA(fill(nn.Linear(2, 2))), t(3, 2)),)
def lora_merged(m, x):
    a = m(x)
    b = m.merge()(x)
    a.sum().backward()
    return a.detach(), b.detach(), m.a.grad, [n for n, p in m.named_parameters() if p.requires_grad]


@program(lambda: ("b c (h p) -> b h c p", t(2, 3, 4), {"p": 2}), lambda: ("a b c -> c (a b)", t(2, 3, 4), {}))
def einops_like(pattern, x, sizes):
    left, right = (side.strip() for side in pattern.split("->"))

    def parse(side):
        groups, current = [], None
        for token in side.replace("(", " ( ").replace(")", " ) ").split():
            if token == "(":
                current = []
            elif token == ")":
                groups.append(tuple(current))
                current = None
            elif current is not None:
                current.append(token)
            else:
                groups.append((token,))
        return groups

    lhs, rhs = parse(left), parse(right)
    known = dict(sizes)
    for group, size in zip(lhs, x.shape):
        unknown = [g for g in group if g not in known]
        rest = math.prod(known[g] for g in group if g in known)
        assert len(unknown) <= 1, pattern
        if unknown:
            known[unknown[0]] = size // rest
    names = list(itertools.chain(*lhs))
    y = x.reshape([known[n] for n in names])
    order = [names.index(n) for g in rhs for n in g]
    return y.permute(order).reshape([math.prod(known[n] for n in g) for g in rhs])


@program(lambda: (t(5, 3), 2), lambda: (t(5, 3), 3))
def kmeans_with_scatter(x, k):
    centres = x[:k].clone()
    for _ in range(3):
        d = torch.cdist(x, centres)
        assign = d.argmin(1)
        sums = torch.zeros_like(centres).scatter_add_(0, assign[:, None].expand_as(x), x)
        counts = torch.zeros(k).scatter_add_(0, assign, torch.ones(len(x)))
        centres = torch.where(counts[:, None] > 0, sums / counts.clamp(min=1)[:, None], centres)
    return centres, assign


class Registry(dict):
    def register(self, name=None, **meta):
        def wrap(obj):
            self[name or obj.__name__] = (obj, meta)
            return obj
        return wrap

    def build(self, spec):
        spec = dict(spec)
        obj, meta = self[spec.pop("type")]
        return obj(**{**meta, **spec})


LOSSES = Registry()


@LOSSES.register("focal", gamma=2.0)
@dataclasses.dataclass
class Focal:
    gamma: float
    weight: float = 1.0

    def __call__(self, logits, y):
        p = logits.sigmoid()
        pt = torch.where(y > 0, p, 1 - p)
        return self.weight * -((1 - pt) ** self.gamma * pt.log()).mean()


@LOSSES.register()
class Dice:
    def __init__(self, eps=1.0, **kw):
        self.eps = eps
        self.kw = kw

    def __call__(self, logits, y):
        p = logits.sigmoid()
        return 1 - (2 * (p * y).sum() + self.eps) / (p.sum() + y.sum() + self.eps)


@program(lambda: (t(4), torch.tensor([1.0, 0, 1, 0]), [{"type": "focal"}, {"type": "Dice", "eps": 0.5, "z": 1}]), lambda: (t(4), torch.tensor([1.0, 0, 1, 0]), [{"type": "focal", "gamma": 1.0, "weight": 0.5}]))
def losses_of_a_registry(logits, y, specs):
    parts = {spec["type"]: LOSSES.build(spec)(logits, y) for spec in specs}
    return sum(parts.values()), parts


@program(lambda: (t(2, 5, 3), torch.tensor([5, 2])), lambda: (t(3, 4, 3), torch.tensor([1, 4, 3])))
def masked_pooling(x, lengths):
    mask = torch.arange(x.size(1))[None] < lengths[:, None]
    mean = (x * mask.unsqueeze(-1)).sum(1) / lengths[:, None]
    top = x.masked_fill(~mask[..., None], float("-inf")).amax(1)
    last = x[torch.arange(len(lengths)), lengths - 1]
    return mean, top, last, mask.sum()


@program(lambda: (t(6),), lambda: (t(8),))
def early_stopping(losses):
    best, patience, history = math.inf, 2, []
    for i, v in enumerate(losses.tolist()):
        if v < best - 1e-3:
            best, patience = v, 2
        else:
            patience -= 1
        history.append((i, round(best, 3)))
        if patience == 0:
            break
    return losses.mean(), history


@program(lambda: (t(4, 6), torch.tensor([0, 2, 1, 5])),)
def metrics_of_a_batch(logits, y):
    pred = logits.argmax(-1)
    acc = (pred == y).float().mean().item()
    _, top = logits.topk(3)
    top3 = (top == y[:, None]).any(-1).sum().item() / len(y)
    cm = torch.zeros(6, 6, dtype=torch.long)
    for a, b in zip(y, pred):
        cm[a, b] += 1
    report = {"acc": round(acc, 4), "top3": f"{top3:.1%}", "n": len(y)}
    return cm.diag().sum(), report


class Trie:
    def __init__(self):
        self.children = {}
        self.end = None

    def insert(self, word, value):
        node = self
        for ch in word:
            node = node.children.setdefault(ch, Trie())
        node.end = value

    def find(self, word):
        node = self
        for ch in word:
            if (node := node.children.get(ch)) is None:
                return None
        return node.end


@program(lambda: (t(3), ["ab", "abc", "b"]), lambda: (t(3), ["b"]))
def tries_of_tensors(x, words):
    trie = Trie()
    for i, w in enumerate(words):
        trie.insert(w, x * (i + 1))
    return [trie.find(w) for w in ("ab", "b", "zz", "a")]


class RunningStats(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n))
        self.register_buffer("var", torch.ones(n))
        self.register_buffer("count", torch.tensor(1e-4))

    def forward(self, x):
        if self.training:
            bm, bv, n = x.mean(0), x.var(0, unbiased=False), x.shape[0]
            delta = bm - self.mean
            tot = self.count + n
            self.mean = self.mean + delta * n / tot
            self.var = (self.var * self.count + bv * n + delta ** 2 * self.count * n / tot) / tot
            self.count = tot
        return ((x - self.mean) / torch.sqrt(self.var + 1e-8)).clamp(-5, 5)


@program(lambda: (RunningStats(3), t(4, 3)), lambda: (RunningStats(3), t(6, 3)), lambda: (RunningStats(3).eval(), t(4, 3)))
def observations_normalised(m, x):
    a = m(x)
    return a, m(a), m.count
