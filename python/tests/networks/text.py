"""Language: BERT, GPT-2, Llama, T5, a mixture of experts, a selective scan."""

import math

from layers import Attention, Block, Feed, kept_scale, wide
from library import F, nn, torch
from registry import network
from start import kept


class Bert(nn.Module):
    def __init__(self, words=8192, width=768, depth=2):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.order, self.parts = nn.Embedding(512, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        layer = nn.TransformerEncoderLayer(width, 12, 4 * width, 0.0, "gelu", batch_first=True, layer_norm_eps=1e-12)
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.feed, self.last, self.bias = nn.Linear(width, width), nn.LayerNorm(width), nn.Parameter(torch.zeros(words))
        self.pool, self.follows = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, text, parts, labels, follows):
        x = self.norm(self.words(text) + self.order(torch.arange(text.shape[1])) + self.parts(parts))
        x = self.layers(x, src_key_padding_mask=text == 0)
        scores = F.linear(self.last(F.gelu(self.feed(x))), self.words.weight, self.bias)
        next_one = self.follows(torch.tanh(self.pool(x[:, 0])))
        hidden = F.cross_entropy(wide(scores).flatten(0, 1), labels.flatten(), ignore_index=-100)
        return hidden + F.cross_entropy(wide(next_one), follows)


@network("AdamW", lr=1e-4, weight_decay=0.01)
def bert(draws):
    text = draws.integers(1, 8192, 2, 128)
    text[1, 100:] = 0
    labels = torch.where(draws.positive(2, 128) < 0.15, text, torch.tensor(-100))
    labels[1, 100:] = -100
    return Bert(), (text, draws.integers(0, 2, 2, 128), labels, torch.tensor([0, 1]))


class Gpt2(nn.Module):
    def __init__(self, words=8192, width=768, depth=2):
        super().__init__()
        self.words, self.order = nn.Embedding(words, width), nn.Embedding(1024, width)
        self.blocks = nn.ModuleList(Block(width, 12, plain=i == 0, causal=True) for i in range(depth))
        for block in self.blocks:
            block.feed.act = nn.GELU("tanh")
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, text):
        x = self.words(text[:, :-1]) + self.order.weight[:text.shape[1] - 1]
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(wide(self.head(self.norm(x))).flatten(0, 1), text[:, 1:].flatten())


@network("AdamW", lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)
def gpt2(draws):
    return Gpt2(), (draws.integers(0, 8192, 1, 257),)


class RootNorm(nn.Module):
    """Rows over the root of their mean square."""

    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        wider = wide(x)
        return (wider * torch.rsqrt(wider.square().mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight


def turned(x, cos, sin):
    """Pairs of channels, turned by their place."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class LlamaLayer(nn.Module):
    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups, self.each = heads, groups, width // heads
        self.norm1, self.norm2 = RootNorm(width), nn.RMSNorm(width, eps=1e-5)
        self.q, self.k = nn.Linear(width, width, bias=False), nn.Linear(width, groups * self.each, bias=False)
        self.v, self.o = nn.Linear(width, groups * self.each, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = (nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False),
                                         nn.Linear(hidden, width, bias=False))

    def forward(self, x, cos, sin):
        n, length, width = x.shape
        y = self.norm1(x)
        q = turned(self.q(y).view(n, length, self.heads, self.each).transpose(1, 2), cos, sin)
        k = turned(self.k(y).view(n, length, self.groups, self.each).transpose(1, 2), cos, sin)
        v = self.v(y).view(n, length, self.groups, self.each).transpose(1, 2)
        k, v = (t.repeat_interleave(self.heads // self.groups, dim=1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(n, length, width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, words=8192, width=768, heads=12, groups=4, hidden=2048, depth=2, length=192):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(LlamaLayer(width, heads, groups, hidden) for _ in range(depth))
        self.norm, self.head = RootNorm(width), nn.Linear(width, words, bias=False)
        each = width // heads
        rates = 10000.0 ** (-torch.arange(0, each, 2).float() / each)
        angles = torch.outer(torch.arange(length).float(), rates)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, text):
        x = self.words(text[:, :-1])
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return F.cross_entropy(wide(self.head(self.norm(x))).flatten(0, 1), text[:, 1:].flatten())


@network("AdamW", lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)
def llama(draws):
    return Llama(), (draws.integers(0, 8192, 1, 193),)


class T5Attention(nn.Module):
    """Scores without a scale, and with a bias for how far two places are apart."""

    def __init__(self, width, heads, buckets=0, both=True):
        super().__init__()
        self.heads, self.buckets, self.both = heads, buckets, both
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.far = nn.Embedding(buckets, heads) if buckets else None

    def bias(self, rows, columns):
        away = torch.arange(columns)[None] - torch.arange(rows)[:, None]
        count, start = self.buckets, torch.zeros_like(away)
        if self.both:
            count //= 2
            start = (away > 0).long() * count
            away = away.abs()
        else:
            away = (-away).clamp(min=0)
        exact = count // 2
        far = exact + (torch.log(away.clamp(min=1).float() / exact) / math.log(128 / exact) * (count - exact)).long()
        return self.far(start + torch.where(away < exact, away, far.clamp(max=count - 1))).permute(2, 0, 1)

    def forward(self, x, other=None, bias=None):
        other = x if other is None else other

        def heads(layer, t):
            return layer(t).unflatten(-1, (self.heads, -1)).transpose(1, 2)

        q, k, v = heads(self.q, x), heads(self.k, other), heads(self.v, other)
        scores = torch.matmul(q, k.transpose(2, 3))
        if bias is not None:
            scores = scores + bias
        return self.o((F.softmax(wide(scores), -1).to(v.dtype) @ v).transpose(1, 2).flatten(2))


class T5Layer(nn.Module):
    def __init__(self, width, heads, crossed, first):
        super().__init__()
        self.norm1, self.own = RootNorm(width), T5Attention(width, heads, 32 if first else 0, not crossed)
        self.norm2, self.cross = (RootNorm(width), T5Attention(width, heads)) if crossed else (None, None)
        self.norm3 = RootNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x, bias, seen=None):
        x = x + self.own(self.norm1(x), bias=bias)
        if seen is not None:
            x = x + self.cross(self.norm2(x), seen)
        return x + self.down(F.relu(self.up(self.norm3(x))))


class T5(nn.Module):
    def __init__(self, words=4096, width=512, heads=8, depth=2):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.encoder = nn.ModuleList(T5Layer(width, heads, False, i == 0) for i in range(depth))
        self.decoder = nn.ModuleList(T5Layer(width, heads, True, i == 0) for i in range(depth))
        self.norm1, self.norm2 = RootNorm(width), RootNorm(width)

    def forward(self, text, answer):
        x, y = self.words(text), self.words(F.pad(answer[:, :-1], (1, 0)))
        bias = self.encoder[0].own.bias(x.shape[1], x.shape[1])
        for layer in self.encoder:
            x = layer(x, bias)
        x = self.norm1(x)
        length = y.shape[1]
        bias = self.decoder[0].own.bias(length, length).masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -1e4)
        for layer in self.decoder:
            y = layer(y, bias, x)
        return F.cross_entropy(wide(F.linear(self.norm2(y) * 512 ** -0.5, self.words.weight)).flatten(0, 1), answer.flatten())


@network("Adafactor", lr=1e-2)
def t5(draws):
    return T5(), (draws.integers(1, 4096, 2, 96), draws.integers(1, 4096, 2, 40))


class Experts(nn.Module):
    """Every place goes to the two experts that score highest."""

    def __init__(self, width, hidden, count):
        super().__init__()
        self.route = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList(Feed(width, hidden) for _ in range(count))

    def forward(self, x):
        flat = x.flatten(0, 1)
        chances = wide(self.route(flat)).softmax(-1)
        best, which = chances.topk(2, -1)
        best = (best / best.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            rows, slot = torch.where(which == i)
            out.index_add_(0, rows, expert(flat[rows]) * best[rows, slot, None])
        share = F.one_hot(which[:, 0], len(self.experts)).to(chances.dtype).mean(0)
        return out.view_as(x), len(self.experts) * (share * chances.mean(0)).sum()


class Mixture(nn.Module):
    def __init__(self, words=4096, width=512, depth=2):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.attend = nn.ModuleList(Attention(width, 8, bias=False, causal=True) for _ in range(depth))
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2 * depth + 1))
        self.experts = nn.ModuleList(Experts(width, 1024, 8) for _ in range(depth))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, text):
        x, balance = self.words(text[:, :-1]), 0.0
        for i, (attend, experts) in enumerate(zip(self.attend, self.experts)):
            x = x + attend(self.norms[2 * i](x))
            y, extra = experts(self.norms[2 * i + 1](x))
            x, balance = x + y, balance + extra
        return F.cross_entropy(wide(self.head(self.norms[-1](x))).flatten(0, 1), text[:, 1:].flatten()) + 0.01 * balance


@network("AdamW", lr=1e-4)
def mixture_of_experts(draws):
    return Mixture(), (draws.integers(0, 4096, 2, 129),)


class Scan(nn.Module):
    """A state per channel that is kept and written as the input says (Mamba), step by step."""

    def __init__(self, width, state=16):
        super().__init__()
        inner, rank = 2 * width, width // 16
        self.inner, self.state, self.rank = inner, state, rank
        self.norm, self.enter = nn.RMSNorm(width, eps=1e-5), nn.Linear(width, 2 * inner, bias=False)
        self.window = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.choose, self.step = nn.Linear(inner, rank + 2 * state, bias=False), nn.Linear(rank, inner)
        self.rates = kept(nn.Parameter(torch.arange(1, state + 1).float().log().repeat(inner, 1)))
        self.past, self.leave = kept_scale(inner, 1.0), nn.Linear(inner, width, bias=False)

    def forward(self, x):
        u, gate = self.enter(self.norm(x)).chunk(2, -1)
        u = F.silu(self.window(u.mT)[..., :u.shape[1]].mT)
        step, write, read = self.choose(u).split([self.rank, self.state, self.state], -1)
        step = F.softplus(self.step(step))
        keep = torch.exp(step[..., None] * -self.rates.exp())
        put = (step * u)[..., None] * write[:, :, None]
        state, rows = torch.zeros_like(keep[:, 0]), []
        for t in range(u.shape[1]):
            state = keep[:, t] * state + put[:, t]
            rows.append((state * read[:, t, None]).sum(-1))
        y = (torch.stack(rows, 1) + u * self.past) * F.silu(gate)
        return x + self.leave(y)


class Mamba(nn.Module):
    def __init__(self, words=4096, width=256, depth=2):
        super().__init__()
        self.words, self.layers = nn.Embedding(words, width), nn.Sequential(*[Scan(width) for _ in range(depth)])
        self.norm = nn.RMSNorm(width, eps=1e-5)

    def forward(self, text):
        x = self.norm(self.layers(self.words(text[:, :-1])))
        return F.cross_entropy(wide(F.linear(x, self.words.weight)).flatten(0, 1), text[:, 1:].flatten())


@network("AdamW", lr=1e-3)
def mamba(draws):
    return Mamba(), (draws.integers(0, 4096, 2, 65),)
