# Programs as documentation and tutorials of compilers show them: small functions, fallbacks, fine-grained switches, custom operators.
import collections
import contextlib
import dataclasses
import functools
import itertools
import logging
import math
import operator
import typing
import warnings


@program(lambda: (t(10, 10), t(10, 10)), lambda: (t(3, 10), t(3, 10)))
def first_steps(x, y):
    a = torch.sin(x)
    b = torch.cos(y)
    return a + b


class FirstModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3, bias=False)
        with torch.no_grad():
            self.lin.weight.copy_(t(3, 3))

    def forward(self, x):
        return F.relu(self.lin(x))


@program(lambda: (FirstModule(), t(2, 3)), lambda: (FirstModule(), t(5, 3)))
def module_compiled_in_place(mod, x):
    inner = mod.forward
    first = mod(x)
    mod.extra = lambda z: z * 2
    return mod.extra(first), inner(x), mod.extra.__name__


def nested_helper(x):
    if x.sum() < 0:
        return -x
    return x


@program(lambda: (t(4), t(4)), lambda: (t(4) + 5, t(4)))
def nested_calls_that_branch(x, y):
    z = x + y
    z = nested_helper(z)
    return z.relu() + 1


@program(lambda: (t(5),), lambda: (t(5) + 3,))
def branch_with_two_sides(x):
    y = x * 2
    if y.mean() > 1:
        z = y - 1
        flag = "high"
    else:
        z = y + 1
        flag = "low"
    return z.sin(), flag


@program(lambda: (t(3), 3, "sum"), lambda: (t(3), 4, "sum"), lambda: (t(3), 4, "mean"))
def options_by_name(x, n, reduction):
    out = x.new_zeros(())
    for k in range(n):
        out = out + getattr(x * k, reduction)()
    return out / n


@torch.compiler.disable
def helper_not_compiled(x):
    return x.tolist()


@program(lambda: (t(3),), lambda: (t(3),))
def disabled_parts(x):
    x = x.sin()
    values = helper_not_compiled(x)
    return torch.tensor(values).cos(), len(values)


@torch.compiler.disable(recursive=False)
def shallow(x):
    return deeper(x) + 1


def deeper(x):
    return x.cos() * 2


@program(lambda: (t(3),))
def disabled_without_callees(x):
    return shallow(x.sin()) * 3


@program(lambda: (t(3),))
def breaks_by_hand(x):
    x = x + 1
    torch._dynamo.graph_break()
    x = x * 2
    torch._dynamo.graph_break()
    return x - 3


@program(lambda: (t(3),))
def asks_whether_compiling(x):
    if torch.compiler.is_compiling() or torch._dynamo.is_compiling():
        return x * 1
    return x * 1.0


@program(lambda: (t(2, 3), 0.5), lambda: (t(4, 3), 0.5), lambda: (t(8, 3), 0.25))
def sizes_marked(x, p):
    torch._dynamo.mark_static(x, 1)
    n = x.shape[0]
    if n > 3:
        x = x[: n // 2]
    return x * p, n


@program(lambda: (t(6),), lambda: (t(6) - 10,))
def cond_from_the_docs(x):
    def true_fn(x):
        return x.cos()

    def false_fn(x):
        return x.sin()

    return torch.cond(x.sum() > 0, true_fn, false_fn, (x,))


@program(lambda: (t(4, 3),), lambda: (t(6, 3),))
def cond_by_shape(x):
    return torch.cond(x.shape[0] > 4, lambda x: x.cos() + 1, lambda x: x.sin() - 1, (x,))


class CondModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)
        for p in self.parameters():
            nn.init.constant_(p, 0.25)

    def forward(self, x, flag):
        return torch.cond(flag, self.a, self.b, (x,))


@program(lambda: (CondModule(), t(2, 3), torch.tensor(True)), lambda: (CondModule(), t(2, 3), torch.tensor(False)))
def cond_of_layers(mod, x, flag):
    return mod(x, flag) * 2


@program(lambda: (t(3),))
def logging_at_levels(x):
    log = logging.getLogger("capture.programs")
    log.debug("shape %s", x.shape)
    y = x * 2
    if log.isEnabledFor(logging.DEBUG):
        y = y + 1
    log.info("nothing")
    return y


@program(lambda: (t(3),))
def warns_once(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("old", DeprecationWarning)
        return x + 1


@program(lambda: (t(8, 3),), lambda: (t(12, 3),))
def microbatches(x):
    outs = []
    for chunk in x.chunk(4):
        outs.append(chunk.mean(0))
    for part in torch.split(x, [2, x.shape[0] - 2]):
        outs.append(part.sum(0))
    return torch.stack(outs)


@program(lambda: (t(4, 4),))
def fused_pointwise(x):
    def gelu(v):
        return 0.5 * v * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (v + 0.044715 * torch.pow(v, 3.0))))

    return torch.nn.functional.dropout(gelu(x), p=0.0, training=True)


class Foo:
    scale = 2

    def __init__(self, bias):
        self.bias = bias

    @torch.no_grad()
    def __call__(self, x):
        return x * self.scale + self.bias


@program(lambda: (Foo(1), t(3)), lambda: (Foo(2), t(3)))
def decorated_call_methods(foo, x):
    return foo(x), foo.bias


@program(lambda: (t(3, grad=True),), lambda: (t(3),))
def grad_mode_toggled(x):
    before = torch.is_grad_enabled()
    prev = torch.set_grad_enabled(False)
    y = x * 2
    mid = torch.is_grad_enabled()
    torch.set_grad_enabled(before)
    z = x * 3
    return y, z, before, mid, y.requires_grad, z.requires_grad, type(prev).__name__


@program(lambda: (t(3),))
def stance_and_config(x):
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        y = x * 2
    return y + 1


@program(lambda: (t(2, 3),))
def profiler_names(x):
    with torch.profiler.record_function("mine"):
        y = x.sum(1)
    with torch.autograd.profiler.record_function("other"):
        return y.softmax(0)


@program(lambda: (t(3), {"lr": 0.1, "name": "a"}), lambda: (t(3), {"lr": 0.2, "name": "a"}), lambda: (t(3), {"name": "b", "lr": 0.2}))
def configs_as_keywords(x, config):
    def run(x, *, lr, name="z", **rest):
        return x * lr if name == "a" else x + lr, sorted(rest)

    return run(x, **config), run(x, **{**config, "more": 1}), run(x, **dict(config, lr=1))


@program(lambda: (t(5),), lambda: (t(5),))
def numpy_program_compiled(x):
    import numpy as np
    a = np.asarray(x)
    b = np.sum(a, axis=0) + np.exp(a)
    return torch.from_numpy(b)


@program(lambda: (t(6, 2), t(3, 2)),)
def numpy_kmeans_step(points, centres):
    import numpy as np
    p, c = points.numpy(), centres.numpy()
    d = np.linalg.norm(p[:, None, :] - c[None, :, :], axis=2)
    return torch.as_tensor(np.argmin(d, axis=1))


class Attr:
    def __init__(self):
        self.shapes = []
        self.last = None


@program(lambda: (Attr(), t(2, 2)), lambda: (Attr(), t(3, 2)))
def state_recorded_on_objects(state, x):
    state.shapes.append(tuple(x.shape))
    state.last = x.detach()
    state.count = getattr(state, "count", 0) + 1
    del state.shapes[0]
    return x @ x.T


@program(lambda: (t(3),), lambda: (t(4),))
def comptime_left_out(x):
    from functools import partial
    half = partial(torch.mul, other=0.5)
    return half(x), half(input=x), partial(torch.add, x, alpha=3)(x)


@program(lambda: (t(4),))
def exception_tells_shape(x):
    try:
        return x @ torch.ones(3)
    except RuntimeError as e:
        return x, type(e).__name__


@program(lambda: (t(2, 2), [t(2), t(2)]), lambda: (t(2, 2), [t(2), t(2), t(2)]))
def list_grows_between_calls(w, xs):
    out = [w @ x for x in xs]
    xs.append(out[-1])
    return torch.stack(out), len(xs)


class Position(typing.NamedTuple):
    x: torch.Tensor
    y: torch.Tensor
    z: float = 0.5

    def moved(self, d):
        return self._replace(x=self.x + d)

    @property
    def norm(self):
        return (self.x ** 2 + self.y ** 2).sqrt()


@program(lambda: (Position(t(2), t(2)),), lambda: (Position(t(2), t(2), 1.5),))
def positions_moved(p):
    q = p.moved(1)
    x, y, *rest = q
    return q, q.norm, rest, q._asdict()["z"], Position._fields, p == p._replace(), Position._make([x, y, 1])


@program(lambda: (t(6),))
def unpacking_tensors(x):
    a, b, *c = x
    (d, e), f = x[:4].reshape(2, 2), x[5]
    first, *_, last = x.tolist()
    return a + b, c, d * e, f, last - first


GLOBAL_SCALE = 2.0


@program(lambda: (t(3), 2.0), lambda: (t(3), 3.0), lambda: (t(3), 4.0))
def globals_written_then_read(x, s):
    global GLOBAL_SCALE
    GLOBAL_SCALE = s
    y = x * GLOBAL_SCALE
    GLOBAL_SCALE += 1
    return y + GLOBAL_SCALE


@program(lambda: (t(3), torch.float16), lambda: (t(3), torch.float64), lambda: (t(3), torch.int32))
def dtype_tables(x, dtype):
    table = {torch.float16: 1, torch.float64: 2}
    names = {torch.float16: "half", torch.float64: "double"}
    y = x.to(dtype)
    k = table.get(dtype, 0)
    return y + k, names.get(y.dtype, str(y.dtype)), dtype in table, dtype.itemsize, dtype.is_floating_point
