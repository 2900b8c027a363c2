# Functions of functions: torch.func, control-flow operators, Functions with a backward of their own, hooks, checkpoints.
import contextlib
import functools


# torch.func.


@program(lambda: (t(3),), lambda: (t(4),))
def func_grad(x):
    return torch.func.grad(lambda v: (v.sin() * v).sum())(x), x * 2


@program(lambda: (t(3), t(3)),)
def func_grad_argnums(x, y):
    def loss(a, b, scale):
        return (a * b * scale).sum() + b.pow(2).sum()
    first, second = torch.func.grad(loss, argnums=(0, 1))(x, y, 3.0)
    return first, second, torch.func.grad(loss, argnums=1)(x, y, 2.0)


@program(lambda: (t(3),))
def func_grad_with_aux(x):
    def loss(v):
        y = v.exp()
        return y.sum(), {"y": y, "n": v.shape[0]}
    g, aux = torch.func.grad(loss, has_aux=True)(x)
    return g, aux["y"], aux["n"]


@program(lambda: (t(3),))
def func_grad_and_value(x):
    g, v = torch.func.grad_and_value(lambda v: (v * v).sum())(x)
    return g + 1, v


@program(lambda: (t(3),))
def func_grad_twice(x):
    f = lambda v: (v ** 3).sum()
    return torch.func.grad(lambda v: torch.func.grad(f)(v).sum())(x)


@program(lambda: (t(4, 3), t(3)), lambda: (t(5, 3), t(3)))
def func_per_sample_gradients(xs, w):
    def loss(w, x):
        return torch.tanh((w * x).sum())
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, xs)


@program(lambda: (t(3),))
def func_jacobians(x):
    f = lambda v: torch.stack([v.sum(), v.prod(), (v * v).sum()])
    return torch.func.jacrev(f)(x), torch.func.jacfwd(f)(x)


@program(lambda: (t(3),))
def func_hessian(x):
    return torch.func.hessian(lambda v: (v ** 2 * v.flip(0)).sum())(x)


@program(lambda: (t(3), t(3)))
def func_vjp(x, v):
    out, pull = torch.func.vjp(lambda a: a.sin() * 2, x)
    return out, pull(v)


@program(lambda: (t(3), t(3)))
def func_jvp(x, v):
    return torch.func.jvp(lambda a: a.sin() * a, (x,), (v,))


@program(lambda: (t(4, 3), t(4, 3)), lambda: (t(2, 3), t(2, 3)))
def func_vmap_pairs(a, b):
    return torch.func.vmap(torch.dot)(a, b), torch.vmap(lambda u, v: u * v.sum())(a, b)


@program(lambda: (t(4, 3), t(3, 4)))
def func_vmap_dims(a, b):
    return (torch.vmap(lambda u, v: u + v, in_dims=(0, 1))(a, b), torch.vmap(lambda u: u * 2, in_dims=1, out_dims=1)(a),
            torch.vmap(lambda u: {"s": u.sum(), "d": u * 2})(a))


@program(lambda: (t(2, 4, 3),))
def func_vmap_nested(x):
    return torch.vmap(torch.vmap(lambda row: row / (1 + row.abs().sum())))(x)


@program(lambda: (t(4, 3), 2.0), lambda: (t(4, 3), 3.0))
def func_vmap_closure(x, scale):
    bias = torch.ones(3) * scale

    def one(row):
        return (row * scale + bias).softmax(0)
    return torch.vmap(one)(x)


functional_net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
for _p in functional_net.parameters():
    nn.init.constant_(_p, 0.1)


@program(lambda: (t(2, 3),))
def func_functional_call(x):
    params = {name: p * 2 for name, p in functional_net.named_parameters()}
    return torch.func.functional_call(functional_net, params, (x,)), functional_net(x)


@program(lambda: (t(2, 3), t(2, 2)),)
def func_training(x, y):
    params = {name: p.detach() for name, p in functional_net.named_parameters()}

    def loss(params):
        out = torch.func.functional_call(functional_net, params, (x,))
        return ((out - y) ** 2).mean()
    grads = torch.func.grad(loss)(params)
    return {name: params[name] - 0.1 * grads[name] for name in params}


@program(lambda: (t(3),))
def func_linearised(x):
    f = lambda v: v.exp().sum()
    value = f(x)
    slope = torch.func.grad(f)(x)
    return value + (slope * 0.1).sum(), functools.reduce(lambda a, g: g(a), [torch.sin, torch.func.grad(f)], x)


# Control-flow operators.


@program(lambda: (t(3), t(3)), lambda: (-t(3) - 5, t(3)))
def cond_of_trees(x, y):
    out = torch.cond(x.sum() > 0, lambda a, b: (a + b, a - b), lambda a, b: (a * b, a / 2), (x, y))
    return out[0] * out[1]


@program(lambda: (t(3),), lambda: (t(3) + 10,))
def cond_nested(x):
    def positive(v):
        return torch.cond(v.max() > 5, lambda w: w.sin(), lambda w: w.cos(), (v,))
    return torch.cond(x.sum() > 0, positive, lambda v: v - 1, (x,))


class Chooser(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.large = nn.Linear(3, 3), nn.Linear(3, 3)
        for p in self.parameters():
            nn.init.constant_(p, 0.2)

    def forward(self, x):
        return torch.cond(x.norm() > 3, self.large, self.small, (x,))


chooser = Chooser()


@program(lambda: (t(2, 3),), lambda: (t(2, 3) * 10,))
def cond_of_modules(x):
    with torch.no_grad():
        return chooser(x)


@program(lambda: (t(3), True), lambda: (t(3), False))
def cond_of_a_bool(x, flag):
    return torch.cond(flag, lambda v: v + 1, lambda v: v - 1, (x,))


@program(lambda: (t(3, grad=True),), lambda: ((-t(3) - 3).requires_grad_(),))
def cond_with_gradients(x):
    y = torch.cond(x.sum() > 0, lambda v: v * 3, lambda v: v * v, (x,))
    y.sum().backward()
    return y, x.grad


# Functions with a backward of their own.


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, name=None):
        ctx.scale, ctx.name = scale, name
        ctx.save_for_backward(x)
        return x * scale

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * ctx.scale + x * 0, None, None


@program(lambda: (t(3, grad=True), 2.0), lambda: (t(3, grad=True), 3.0))
def function_with_numbers(x, scale):
    return Scaled.apply(x, scale, "a") + Scaled.apply(x, 0.5)


class TwoOutputs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.set_materialize_grads(True)
        return x * y, x + y

    @staticmethod
    def backward(ctx, gp, gs):
        x, y = ctx.saved_tensors
        return gp * y + gs, gp * x + gs


@program(lambda: (t(3, grad=True), t(3)),)
def function_with_two_outputs(x, y):
    p, s = TwoOutputs.apply(x, y)
    return p * s


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx, grad):
        return grad


class Quantiser(nn.Module):
    def __init__(self, levels):
        super().__init__()
        self.levels = levels
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        return Rounded.apply(x / self.scale).clamp(-self.levels, self.levels) * self.scale


quantiser = Quantiser(4)


@program(lambda: (t(2, 3),), lambda: (t(3, 3),))
def function_in_a_module(x):
    return quantiser(x)


class NeedsAsked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.needs = ctx.needs_input_grad
        return a * b + float(ctx.needs_input_grad[0]) * 10 + float(ctx.needs_input_grad[1])

    @staticmethod
    def backward(ctx, grad):
        return (grad if ctx.needs[0] else None), (grad if ctx.needs[1] else None)


@program(lambda: (t(3, grad=True), t(3)), lambda: (t(3), t(3, grad=True)), lambda: (t(3), t(3)))
def function_asks_for_needs(a, b):
    return NeedsAsked.apply(a, b)


class ClampedGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad.clamp(-1, 1)


@program(lambda: (t(3, grad=True),),)
def function_identity(x):
    return ClampedGrad.apply(x * 2) * 3


class Inplace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, grad):
        return grad


@program(lambda: (t(3),),)
def function_marks_dirty(x):
    y = x * 2
    z = Inplace.apply(y)
    return z, y


class NonDifferentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        values, order = x.sort()
        ctx.mark_non_differentiable(order)
        ctx.save_for_backward(order)
        return values, order

    @staticmethod
    def backward(ctx, gv, go):
        order, = ctx.saved_tensors
        return torch.zeros_like(gv).scatter(0, order, gv)


@program(lambda: (t(5, grad=True),),)
def function_marks_outputs(x):
    values, order = NonDifferentiable.apply(x)
    return values * 2, order, order.requires_grad


# Hooks.


@program(lambda: (t(3, grad=True),),)
def hook_scales(x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    return (y * y).sum()


hooked = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
for _p in hooked.parameters():
    nn.init.constant_(_p, 0.3)
activations = {}


def keep(name):
    def hook(module, args, output):
        activations[name] = output.detach()
    return hook


for _name, _module in hooked.named_children():
    _module.register_forward_hook(keep(_name))


@program(lambda: (t(2, 3),), lambda: (t(4, 3),))
def hooks_keep_activations(x):
    y = hooked(x)
    return y, sorted(activations), activations["1"].mean()


class WithKeywords(nn.Module):
    def forward(self, x, *, scale=1.0):
        return x * scale


with_keywords = WithKeywords()
with_keywords.register_forward_pre_hook(lambda m, args, kwargs: ((args[0] + 1,), {"scale": kwargs.get("scale", 1.0) * 2}), with_kwargs=True)
with_keywords.register_forward_hook(lambda m, args, kwargs, out: out + kwargs["scale"], with_kwargs=True)


@program(lambda: (t(3),), lambda: (t(3), 3.0))
def hooks_with_keywords(x, scale=None):
    return with_keywords(x) if scale is None else with_keywords(x, scale=scale)


plain_linear = nn.Linear(3, 2)
nn.init.constant_(plain_linear.weight, 0.5)
nn.init.zeros_(plain_linear.bias)


@program(lambda: (t(2, 3),), lambda: (t(2, 3),))
def hooks_registered_and_removed(x):
    seen = []
    handle = plain_linear.register_forward_hook(lambda m, a, out: seen.append(out.shape) or out * 2)
    a = plain_linear(x)
    handle.remove()
    b = plain_linear(x)
    return a, b, seen


@program(lambda: (t(3, grad=True),),)
def gradient_retained(x):
    y = x * 3
    y.retain_grad()
    z = (y * y).sum()
    z.backward()
    return y.grad, x.grad


# Gradients.


@program(lambda: (t(3, grad=True), t(3, grad=True)),)
def gradients_unused(x, y):
    loss = (x * 2).sum()
    gx, gy = torch.autograd.grad(loss, [x, y], allow_unused=True)
    return gx, gy is None


@program(lambda: (t(3, grad=True),),)
def gradients_with_outputs(x):
    y = x * x
    g, = torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y) * 2, create_graph=True)
    return (g * x).sum()


@program(lambda: (t(3, grad=True), True), lambda: (t(3, grad=True), False))
def grad_mode_by_argument(x, training):
    with torch.set_grad_enabled(training):
        y = x * 2
    return y, y.requires_grad, torch.is_grad_enabled()


@program(lambda: (t(3, grad=True),),)
def detached_parts(x):
    y = x * 2
    target = y.detach()
    z = (y - target * 0.5).pow(2)
    return z.sum(), target.requires_grad, y.data * 2


@program(lambda: (t(3, grad=True),),)
def grad_mode_functions(x):
    @torch.no_grad()
    def frozen(v):
        return v * 2

    @torch.enable_grad()
    def live(v):
        return v * 3
    with torch.no_grad():
        a = live(x)
    return frozen(x).requires_grad, a.requires_grad, frozen(x) + a


# Checkpoints.


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        for p in self.parameters():
            nn.init.constant_(p, 0.1)

    def forward(self, x, scale=1.0):
        return x + self.b(torch.relu(self.a(x))) * scale


class Tower(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block(3) for _ in range(depth))
        self.gradient_checkpointing = True

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            if self.gradient_checkpointing and self.training:
                x = torch.utils.checkpoint.checkpoint(block, x, 1.0 + i, use_reentrant=False)
            else:
                x = block(x)
        return x


tower = Tower(2)


@program(lambda: (t(2, 3, grad=True), True), lambda: (t(2, 3), False))
def checkpointed_tower(x, training):
    tower.train(training)
    return tower(x)


@program(lambda: (t(2, 3, grad=True),),)
def checkpointed_partial(x):
    return torch.utils.checkpoint.checkpoint(functools.partial(lambda v, k: (v * k).sin(), k=2), x, use_reentrant=False)


@program(lambda: (t(4, 3, grad=True),),)
def checkpointed_sequence(x):
    body = [torch.sin, torch.cos, lambda v: v * 2]
    for f in body:
        x = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)
    return x
