# A last round in the manner of suites and tutorials: layers of the library, functions with a backward, distributions, devices, loaders.
import collections
import contextlib
import copy
import dataclasses
import functools
import itertools
import math
import operator
import types
import typing


def fill(m, scale=0.1):
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(t(*p.shape) * scale)
    return m


@program(lambda: (fill(nn.MultiheadAttention(4, 2, batch_first=True)).eval(), t(1, 3, 4)), lambda: (fill(nn.MultiheadAttention(4, 2, batch_first=True)).eval(), t(2, 5, 4)))
def attention_of_the_library(m, x):
    mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
    y, w = m(x, x, x, attn_mask=mask)
    z, none = m(x, x, x, need_weights=False)
    return y.detach(), w.detach(), z.detach(), none


@program(lambda: (fill(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), 2)), t(2, 3, 4)),)
def encoders_of_the_library(m, x):
    pad = torch.tensor([[False, False, True], [False, False, False]])
    return m(x, src_key_padding_mask=pad).detach()


@program(lambda: (fill(nn.GRU(2, 3, num_layers=2, bidirectional=True)), t(4, 2, 2)), lambda: (fill(nn.GRU(2, 3, num_layers=2, bidirectional=True)), t(5, 2, 2)))
def recurrences_of_the_library(m, x):
    out, h = m(x)
    return out.detach(), h.detach()


@program(lambda: (nn.LazyLinear(3), t(2, 4)),)
def lazy_layers(m, x):
    with torch.no_grad():
        m(x)
        for p in m.parameters():
            p.fill_(0.5)
    return m(x).detach(), tuple(m.weight.shape)


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(collections.OrderedDict(conv=nn.Conv2d(1, 2, 3, padding="same"), norm=nn.GroupNorm(1, 2), act=nn.SiLU(), pool=nn.AdaptiveAvgPool2d((2, 2))))
        self.up = nn.ConvTranspose2d(2, 1, 2, stride=2)

    def forward(self, x):
        y = self.body(x)
        return F.interpolate(self.up(y), size=x.shape[-2:], mode="bilinear", align_corners=False) + F.pad(x, (1, 1))[..., 1:-1]


@program(lambda: (fill(Conv()), t(1, 1, 6, 6)), lambda: (fill(Conv()), t(2, 1, 8, 6)))
def convolutions_of_many_kinds(m, x):
    return m(x).detach(), m.body.conv.padding, [n for n, _ in m.body.named_children()]


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lo, hi):
        ctx.save_for_backward((x >= lo) & (x <= hi))
        ctx.mark_non_differentiable()
        return x.clamp(lo, hi)

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g * mask, None, None


@program(lambda: (t(4, grad=True), -0.5, 0.5), lambda: (t(4, grad=True), -0.9, 0.1))
def functions_that_clip(x, lo, hi):
    y = Clip.apply(x, lo, hi)
    (g,) = torch.autograd.grad(y.sum() + (y ** 2).sum(), x)
    return y.detach(), g


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.alpha * g, None


class Adversary(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature, self.label, self.domain = fill(nn.Linear(2, 2)), fill(nn.Linear(2, 1)), fill(nn.Linear(2, 1))

    def forward(self, x, alpha):
        f = self.feature(x)
        return self.label(f), self.domain(Reverse.apply(f, alpha))


@program(lambda: (Adversary(), t(3, 2), 0.5), lambda: (Adversary(), t(3, 2), 1.0))
def gradients_reversed(m, x, alpha):
    a, b = m(x, alpha)
    (a.mean() + b.mean()).backward()
    return a.detach(), m.feature.weight.grad, m.domain.weight.grad


@program(lambda: (t(3), t(3).abs() + 0.5), lambda: (t(2), t(2).abs() + 0.5))
def distributions_sampled(mu, sigma):
    p = torch.distributions.Normal(mu, sigma)
    q = torch.distributions.Normal(torch.zeros_like(mu), torch.ones_like(sigma))
    z = p.rsample()
    u = torch.distributions.Uniform(0.0, 1.0).sample((2,))
    b = torch.distributions.Bernoulli(logits=mu)
    i = torch.distributions.Independent(p, 1)
    return z, p.log_prob(z).sum(), torch.distributions.kl_divergence(p, q), u.shape, b.probs, b.entropy(), i.log_prob(z), i.event_shape, p.mean, p.stddev, p.cdf(mu)


class Set(torch.utils.data.Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], i


@program(lambda: (t(5, 2),))
def loaders_in_the_loop(x):
    total = torch.zeros(2)
    seen = []
    for batch, index in torch.utils.data.DataLoader(Set(x), batch_size=2):
        total = total + batch.sum(0)
        seen.append(index.tolist())
    return total, seen


@program(lambda: (t(3),))
def devices_by_context(x):
    with torch.device("meta"):
        m = torch.ones(2, 3)
    with torch.device("cpu"):
        y = torch.zeros(3)
    return m.is_meta, m.shape, y + x, torch.get_default_device()


@program(lambda: (t(3),))
def scripting_asked(x):
    if torch.jit.is_scripting() or torch.jit.is_tracing():
        return x
    if not torch.cuda.is_available() and x.device.type == "cpu":
        x = x + 1
    return x.to(x.device), torch.backends.cuda.matmul.allow_tf32 in (True, False), torch.get_num_threads() > 0, torch.is_floating_point(x)


class Ensemble(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.members = nn.ModuleList(fill(nn.Linear(2, 2), 0.1 * (i + 1)) for i in range(n))
        self.weights = nn.ParameterDict({"a": nn.Parameter(torch.tensor(0.5)), "b": nn.Parameter(torch.tensor(2.0))})

    def forward(self, x, which=None):
        outs = torch.stack([m(x) for i, m in enumerate(self.members) if which is None or i in which])
        return outs.mean(0) * self.weights["a"] + self.weights["b"]


@program(lambda: (Ensemble(3), t(2, 2), None), lambda: (Ensemble(3), t(2, 2), {0, 2}), lambda: (Ensemble(3), t(2, 2), [1]))
def ensembles_chosen(m, x, which):
    return m(x, which).detach(), sorted(m.weights.keys()), m.members[-1].bias.detach()


class Surgeon(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = fill(nn.Linear(2, 2))

    def forward(self, x):
        return self.layer(x)


@program(lambda: (Surgeon(), t(1, 2)),)
def modules_changed_between(m, x):
    a = m(x)
    m.layer = nn.Sequential(m.layer, nn.ReLU())
    b = m(x)
    m.add_module("extra", nn.Identity())
    m.register_buffer("table", torch.arange(2.0))
    del m.extra
    return a.detach(), b.detach(), list(m._modules), m.get_submodule("layer.0") is m.layer[0], m.table


@program(lambda: (fill(nn.Linear(2, 2)), t(1, 2)),)
def states_copied(m, x):
    twin = copy.deepcopy(m)
    with torch.no_grad():
        twin.weight.mul_(2)
    state = {k: v + 1 for k, v in m.state_dict().items()}
    m.load_state_dict(state)
    return m(x).detach(), twin(x).detach(), [k for k in state]


def backward_hooked():
    m = fill(nn.Linear(2, 2))
    m.grads = []
    m.register_full_backward_hook(lambda mod, gi, go: mod.grads.append(go[0].sum().item()))
    return m, t(3, 2)


@program(backward_hooked)
def hooks_of_backward(m, x):
    m(x).pow(2).sum().backward()
    return m.weight.grad, m.grads


@program(lambda: (fill(nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))), t(3, 2)),)
def checkpoints_of_parts(m, x):
    x = x.clone().requires_grad_()
    y = torch.utils.checkpoint.checkpoint(m, x, use_reentrant=False)
    y.sum().backward()
    return y.detach(), x.grad, m[0].weight.grad


@program(lambda: (t(4, 3), torch.tensor([0, 2, 1, 2])), lambda: (t(6, 3), torch.tensor([0, 2, 1, 2, 0, 1])))
def losses_of_every_kind(x, y):
    p = x.softmax(-1)
    one = F.one_hot(y, 3).float()
    return {"ce": F.cross_entropy(x, y, weight=torch.tensor([1.0, 2.0, 0.5])), "nll": F.nll_loss(x.log_softmax(-1), y, reduction="none"), "bce": F.binary_cross_entropy(p, one),
            "kl": F.kl_div(p.log(), one, reduction="batchmean"), "huber": F.huber_loss(x, one), "l1": F.l1_loss(x, one), "cos": F.cosine_embedding_loss(x, one, torch.ones(len(x))),
            "tri": F.triplet_margin_loss(x, one, p), "mm": F.multi_margin_loss(x, y), "soft": F.soft_margin_loss(x, one * 2 - 1), "pois": F.poisson_nll_loss(x, one), "gauss": F.gaussian_nll_loss(x, one, p)}


@program(lambda: (t(3, 4),), lambda: (t(5, 4),))
def activations_of_every_kind(x):
    return [f(x) for f in (F.relu6, F.elu, F.selu, F.celu, F.gelu, F.silu, F.mish, F.hardswish, F.hardsigmoid, F.softplus, F.softsign, F.tanhshrink, F.logsigmoid, functools.partial(F.leaky_relu, negative_slope=0.2), functools.partial(F.glu, dim=-1), functools.partial(F.normalize, dim=0), functools.partial(F.gumbel_softmax, hard=True))][:16]


class Rotary(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.register_buffer("inv", 1.0 / base ** (torch.arange(0, dim, 2).float() / dim), persistent=False)
        self._len, self._cos, self._sin = 0, None, None

    def _update(self, n):
        if n > self._len:
            self._len = n
            freqs = torch.outer(torch.arange(n).float(), self.inv)
            emb = torch.cat((freqs, freqs), -1)
            self._cos, self._sin = emb.cos(), emb.sin()

    def forward(self, x):
        n = x.shape[-2]
        self._update(n)
        half = x.shape[-1] // 2
        rotated = torch.cat((-x[..., half:], x[..., :half]), -1)
        return x * self._cos[:n] + rotated * self._sin[:n]


ROTARY = Rotary(4)


@program(lambda: (t(1, 3, 4),), lambda: (t(1, 5, 4),), lambda: (t(1, 2, 4),), lambda: (t(1, 6, 4),))
def rotary_tables_grow(x):
    return ROTARY(x), ROTARY._len


class Sparse:
    """A graph as lists of edges."""

    def __init__(self, edges, n):
        self.src, self.dst = (torch.tensor(v) for v in zip(*edges))
        self.n = n

    def propagate(self, x, reduce="sum"):
        out = x.new_zeros(self.n, x.shape[1])
        out = out.index_add(0, self.dst, x[self.src]) if reduce == "sum" else out.scatter_reduce(0, self.dst[:, None].expand(-1, x.shape[1]), x[self.src], reduce, include_self=False)
        degree = torch.bincount(self.dst, minlength=self.n).clamp(min=1)
        return out / degree[:, None] if reduce == "sum" else out


@program(lambda: (Sparse([(0, 1), (1, 2), (2, 0), (0, 2)], 3), t(3, 2), "sum"), lambda: (Sparse([(0, 1), (1, 2)], 3), t(3, 2), "amax"))
def graphs_propagated(g, x, reduce):
    for _ in range(2):
        x = g.propagate(x, reduce).relu() + x
    return x


@program(lambda: (t(2, 8),), lambda: (t(3, 8),))
def signals_transformed(x):
    f = torch.fft.rfft(x)
    p = f.abs() ** 2
    w = torch.hann_window(8)
    frames = x.unfold(-1, 4, 2) * torch.hamming_window(4)
    return torch.fft.irfft(f * (torch.arange(f.shape[-1]) < 3), n=8), p.argmax(-1), (x * w).sum(-1), frames.shape, F.conv1d(x[:, None], torch.ones(1, 1, 3) / 3, padding=1)


@program(lambda: (t(3, 3),), lambda: (t(4, 4),))
def matrices_factored(x):
    a = x @ x.T + 3 * torch.eye(x.shape[0])
    l = torch.linalg.cholesky(a)
    q, r = torch.linalg.qr(a)
    b = torch.linalg.solve(a, x)
    return l @ l.T, (q @ r), b, torch.linalg.det(a), torch.linalg.inv(a) @ a, torch.linalg.matrix_norm(a), torch.logdet(a), torch.trace(a), torch.linalg.vector_norm(x, ord=1), torch.linalg.eigvalsh(a)


class Token(typing.NamedTuple):
    id: int
    text: str
    weight: float = 1.0


@program(lambda: (t(5, 2), "a b a c"), lambda: (t(5, 2), "c"))
def texts_embedded(table, text):
    vocabulary = {w: i for i, w in enumerate(["<unk>", "a", "b", "c"])}
    tokens = [Token(vocabulary.get(w, 0), w, 0.5 if w == "a" else 1.0) for w in text.split()]
    ids = torch.tensor([tok.id for tok in tokens])
    weights = torch.tensor([tok.weight for tok in tokens])
    counts = collections.Counter(tok.text for tok in tokens)
    return (table[ids] * weights[:, None]).sum(0), counts.most_common(1), F.embedding_bag(ids[None], table, mode="sum")
