# What suites of tests for compilers try with tensors, modes, functions with a backward, hooks, transforms and the library's state.
import collections
import contextlib
import copy
import dataclasses
import functools
import itertools
import math
import operator
import random
import typing
from contextlib import contextmanager
from functools import partial


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k, flag=None):
        ctx.k = k
        ctx.save_for_backward(x)
        ctx.flag = flag
        return x * k

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.k + 0 * x, None, None


@program(lambda: (t(3, grad=True), 2.0), lambda: (t(3, grad=True), 3.0), lambda: (t(3), 3.0))
def function_of_ones_own(x, k):
    y = Scale.apply(x, k)
    z = Scale.apply(y, 2, "flag")
    return z.sum(), z.requires_grad


class TwoOut(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(x, y)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, ga, gb):
        x, y = ctx.saved_tensors
        gx = gy = None
        if ga is not None:
            gx, gy = ga * y, ga * x
        if gb is not None:
            gx = gb if gx is None else gx + gb
            gy = gb if gy is None else gy + gb
        return gx, gy


@program(lambda: (t(3, grad=True), t(3, grad=True)),)
def function_with_two_results(x, y):
    a, b = TwoOut.apply(x, y)
    (a.sum() + (b * b).sum()).backward()
    return a.detach(), x.grad, y.grad


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


class Quantiser(nn.Module):
    def __init__(self, bits):
        super().__init__()
        self.levels = 2 ** bits - 1
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        if self.training:
            self.seen += 1
        q = Round.apply((x / self.scale).clamp(-1, 1) * self.levels) / self.levels
        return q * self.scale


@program(lambda: (Quantiser(2), t(4, grad=True)), lambda: (Quantiser(3).eval(), t(4, grad=True)))
def quantised_with_gradients(q, x):
    y = q(x)
    y.pow(2).sum().backward()
    return y.detach(), x.grad, q.scale.grad, q.seen


@program(lambda: (t(3, grad=True),))
def hooks_on_intermediate(x):
    seen = []
    y = x * 2
    y.register_hook(lambda g: g * 3)
    z = y.sum()
    z.backward()
    return z.detach(), x.grad, seen


@program(lambda: (t(2, 3, grad=True), t(3)),)
def grads_of_many_forms(x, w):
    y = (x @ w).tanh()
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    gg = torch.autograd.grad(g.pow(2).sum(), [x, w], allow_unused=True)
    v = torch.autograd.grad([y], [x], grad_outputs=[torch.ones_like(y)], retain_graph=False, materialize_grads=True)
    return y.detach(), g.detach(), gg[0], gg[1] is None, v[0]


@program(lambda: (t(2, 3),))
def memory_formats(x):
    img = x.reshape(1, 2, 3, 1).contiguous(memory_format=torch.channels_last)
    y = img.to(memory_format=torch.contiguous_format)
    z = torch.empty_like(img, memory_format=torch.preserve_format).fill_(1)
    return img.is_contiguous(memory_format=torch.channels_last), y.is_contiguous(), y.stride(), z.stride(), img.stride(), img + 1


@program(lambda: (t(3),), lambda: (t(3).double(),))
def default_dtypes(x):
    old = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        y = torch.ones(2) + torch.tensor(1.5)
        z = torch.arange(3.0)
    finally:
        torch.set_default_dtype(old)
    return y, z + x, torch.tensor(2.0), old


@program(lambda: (t(3),))
def random_state_forked(x):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        a = torch.rand(2)
    b = torch.rand(2)
    torch.manual_seed(3)
    c = torch.rand(2)
    return x, a, b, torch.equal(a, c)


@program(lambda: (t(3),))
def generator_state(x):
    g = torch.Generator().manual_seed(5)
    a = torch.rand(2, generator=g)
    state = torch.get_rng_state()
    b = torch.rand(2)
    torch.set_rng_state(state)
    c = torch.rand(2)
    return a, torch.equal(b, c), x * 2


@program(lambda: (t(3, 3), t(3, 3)), lambda: (t(2, 2), t(2, 2)))
def autocast_inside(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        c = a @ b
        with torch.autocast("cpu", enabled=False):
            d = a @ b
        e = c.float().softmax(-1)
    return c.dtype, d.dtype, e.dtype, torch.is_autocast_enabled("cpu"), d


@program(lambda: (t(3),))
def inference_and_back(x):
    with torch.inference_mode():
        y = x * 2
        inside = y.is_inference(), torch.is_inference_mode_enabled()
    return y.clone(), inside, torch.is_inference_mode_enabled()


@program(lambda: (t(4, 3),))
def vmap_of_many_kinds(x):
    def f(row, k):
        return (row * k).sum(), row.max()

    a, b = torch.vmap(f, in_dims=(0, None))(x, 2.0)
    c = torch.func.vmap(lambda u: torch.func.vmap(lambda v: v * 2)(u), in_dims=1, out_dims=1)(x)
    d = torch.vmap(torch.dot)(x, x)
    e = torch.vmap(lambda d: d["a"] + 1, in_dims=({"a": 0},))({"a": x})
    return a, b, c, d, e


@program(lambda: (t(3),))
def transforms_composed(x):
    f = lambda v: (v.sin() * v).sum()
    g = torch.func.grad(f)(x)
    h = torch.func.jacrev(torch.func.grad(f))(x)
    v, aux = torch.func.grad(lambda v: (f(v), v * 2), has_aux=True)(x)
    out, vjp = torch.func.vjp(torch.sin, x)
    primal, tangent = torch.func.jvp(torch.cos, (x,), (torch.ones_like(x),))
    return g, h, v, aux, out, vjp(torch.ones_like(x))[0], primal, tangent


class Mlp(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.a = nn.Linear(n, n)
        self.b = nn.Linear(n, 1)
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(t(*p.shape) * 0.3)

    def forward(self, x, *, act=torch.relu):
        return self.b(act(self.a(x)))


@program(lambda: (Mlp(), t(4, 3), t(4, 1)),)
def functional_calls_with_gradients(m, x, y):
    params = {k: v.detach() for k, v in m.named_parameters()}
    buffers = dict(m.named_buffers())

    def loss(params, x, y):
        out = torch.func.functional_call(m, (params, buffers), (x,), {"act": torch.tanh})
        return F.mse_loss(out, y)

    grads = torch.func.grad(loss)(params, x, y)
    per = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(params, x, y)
    return {k: params[k] - 0.1 * grads[k] for k in params}, per["b.bias"]


@program(lambda: (t(3), t(3)), lambda: (t(3) + 1, t(3)))
def while_loop_operator(x, y):
    while_loop = torch._higher_order_ops.while_loop

    def cond_fn(i, v):
        return i < 3

    def body_fn(i, v):
        return i + 1, v * 2 + y

    return while_loop(cond_fn, body_fn, (torch.tensor(0), x))


@program(lambda: (t(4, 3),))
def scans_associative(x):
    scan = torch._higher_order_ops.scan

    def step(carry, v):
        nxt = carry * 0.5 + v
        return nxt, nxt * 2

    last, all_ = scan(step, torch.zeros(3), x)
    return last, all_


class operators:
    @torch.library.custom_op("suites::scaled", mutates_args=())
    def scaled(x: torch.Tensor, k: float) -> torch.Tensor:
        return x * k

    @torch.library.custom_op("suites::bump", mutates_args={"x"})
    def bump(x: torch.Tensor, by: int = 1) -> None:
        x.add_(by)


@operators.scaled.register_fake
def scaled_without_memory(x, k):
    return torch.empty_like(x)


def scaled_keeps(ctx, inputs, output):
    ctx.k = inputs[1]


def scaled_backward(ctx, g):
    return g * ctx.k, None


operators.scaled.register_autograd(scaled_backward, setup_context=scaled_keeps)


@program(lambda: (t(3, grad=True), 2.0), lambda: (t(3), 3.0))
def custom_operator_used(x, k):
    y = operators.scaled(x, k) + 1
    z = torch.ops.suites.scaled(y, 0.5)
    return z.sum(), z.requires_grad


@program(lambda: (t(3),))
def custom_operator_mutates(x):
    y = x * 2
    operators.bump(y)
    operators.bump(x, by=3)
    return y, x + y


@program(lambda: (t(3),))
def complex_numbers(x):
    z = torch.complex(x, x * 2)
    w = torch.view_as_real(z * z.conj())
    p = torch.polar(x.abs(), x)
    return z.abs(), w, z.real, z.imag, p.angle(), torch.fft.fft(x).abs(), torch.view_as_complex(w).conj().resolve_conj()


@program(lambda: (nn.Linear(2, 2), 1), lambda: (nn.Linear(2, 2), 2))
def parameters_touched(m, n):
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            p.fill_(n).add_(i)
    x = torch.ones(1, 2, requires_grad=True)
    out = m(x)
    return out.detach(), [p.requires_grad for p in m.parameters()], sum(p.numel() for p in m.parameters()), dict(m.named_parameters()).keys()


def make_optim(cls, **kw):
    m = nn.Linear(2, 1)
    with torch.no_grad():
        m.weight.copy_(torch.tensor([[0.5, -0.5]]))
        m.bias.zero_()
    return m, cls(m.parameters(), **kw)


@program(lambda: make_optim(optim.SGD, lr=0.1, momentum=0.9, nesterov=True), lambda: make_optim(optim.Adam, lr=0.1), lambda: make_optim(optim.RMSprop, lr=0.01))
def optimiser_steps(m, opt):
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    losses = []
    for i in range(3):
        opt.zero_grad(set_to_none=i % 2 == 0)
        loss = (m(torch.ones(3, 2)) - 1).pow(2).mean()
        loss.backward()
        opt.step()
        sched.step()
        losses.append(loss.detach())
    return torch.stack(losses), m.weight.detach().clone()


@program(lambda: make_optim(optim.LBFGS, lr=0.5, max_iter=3),)
def closures_for_lbfgs(m, opt):
    x = torch.ones(2, 2)

    def closure():
        opt.zero_grad()
        loss = (m(x) - 2).pow(2).sum()
        loss.backward()
        return loss

    loss = opt.step(closure)
    return loss.detach(), m.bias.detach()


@program(lambda: (nn.LSTM(2, 3, batch_first=True), t(2, 4, 2)),)
def packed_recurrences(rnn, x):
    with torch.no_grad():
        for p in rnn.parameters():
            p.fill_(0.1)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4, 2]), batch_first=True)
    out, (h, c) = rnn(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    return padded.detach(), lengths, h.detach()


class Positive(nn.Module):
    def forward(self, w):
        return w.abs()

    def right_inverse(self, w):
        return w


def parametrized():
    m = nn.Linear(3, 2, bias=False)
    with torch.no_grad():
        m.weight.copy_(t(2, 3))
    nn.utils.parametrize.register_parametrization(m, "weight", Positive())
    return m


@program(lambda: (parametrized(), t(3)),)
def parametrized_layers(m, x):
    y = m(x)
    with nn.utils.parametrize.cached():
        z = m(x) + m(x)
    y.sum().backward()
    return y.detach(), z.detach(), nn.utils.parametrize.is_parametrized(m), m.parametrizations.weight.original.grad


def normed():
    m = nn.Linear(3, 2)
    with torch.no_grad():
        m.weight.copy_(t(2, 3))
        m.bias.zero_()
    return nn.utils.parametrizations.weight_norm(m)


@program(lambda: (normed(), t(3)),)
def weight_normed(m, x):
    y = m(x)
    return y.detach(), m.weight.detach().norm(dim=1)


@program(lambda: (t(3),))
def attributes_on_tensors(x):
    x.tag = "a"
    x.meta = {"k": 1}
    y = x * 2
    y.tag = x.tag + "b"
    return y, y.tag, hasattr(y, "meta"), getattr(x, "meta")["k"]


@program(lambda: (t(2, 2),), lambda: (t(3, 3),))
def data_replaced(x):
    y = x.clone()
    y.add_(1)
    y.data.mul_(2)
    y.data = torch.zeros(2)
    return y, x.storage_offset(), x.is_leaf, x.untyped_storage().nbytes()


@program(lambda: (t(3, grad=True),))
def tensor_kinds_made(x):
    p = nn.Parameter(x.detach() * 2)
    b = torch.tensor([1.0, 2.0], requires_grad=True)
    c = x.new_tensor([3.0]), x.new_full((2,), 4), x.new_ones(1), torch.empty(0).numel(), torch.full_like(x, 2).requires_grad
    (p.sum() * b.sum() + x.sum()).backward()
    return p.grad, b.grad, x.grad, c, isinstance(p, nn.Parameter), p.is_leaf
