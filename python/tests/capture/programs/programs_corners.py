# Corners that people meet: subclasses of tensors, functions of the compiler, views and writes, numbers that change, texts of errors, many results.
import collections
import contextlib
import dataclasses
import functools
import itertools
import math
import random
import types
import typing


def delegated(log, n):
    try:
        for i in range(n):
            yield i
    finally:
        log.append("closed")


def outer(log, n):
    yield "first"
    yield from delegated(log, n)


@program(lambda: (t(3), 4), lambda: (t(3), 0))
def generators_left_early(x, n):
    log = []
    for item in outer(log, n):
        if item == 2:
            break
        x = x + (item if isinstance(item, int) else 10)
    log.append("behind")
    first = next(outer(log, n))
    g = outer(log, n)
    next(g), next(g, None)
    g.close()
    return x, log, first


@program(lambda: (t(4),), lambda: (t(4),))
def writes_through_views(x):
    y = x.clone()
    y[1:3] += 1
    y[0], y[-1] = y[-1].clone(), y[0].clone()
    v = y.view(2, 2)
    v[:, 0].mul_(2)
    w = y[::2]
    w.zero_()
    z = v.t()
    z[1, 0] = 5
    return y, v, w, z, y.data_ptr() == v.data_ptr()


@program(lambda: (t(3), t(3)),)
def arguments_swapped(a, b):
    a, b = b, a
    a.add_(1)
    c = a
    c *= 2
    return a, b, c is a, a is b


@program(lambda: (t(2, 3), torch.tensor([True, False])),)
def masks_written(x, mask):
    y = x.clone()
    y[mask] = 0
    y[:, 1][~mask] = 7
    x.masked_fill_(mask[:, None], -1)
    y[..., -1] = x[..., 0]
    y[[0, 1], [1, 2]] = torch.tensor([3.0, 4.0])
    return y, torch.where(mask[:, None], x, y)


@program(lambda: (t(3),), lambda: (t(5),), lambda: (t(7),))
def lengths_in_python(x):
    n = len(x)
    half = n // 2
    pairs = [(i, n - 1 - i) for i in range(half)]
    out = x.clone()
    for i, j in pairs:
        out[i], out[j] = x[j], x[i]
    return out, torch.equal(out, x.flip(0)), n % 2 == 0, math.sqrt(n)


@program(lambda: (t(2, 4), 2), lambda: (t(3, 4), 2), lambda: (t(5, 4), 4))
def heads_divided(x, heads):
    b, d = x.shape
    if d % heads != 0:
        raise ValueError(f"{d} is not divisible by {heads}")
    size = d // heads
    q = x.view(b, heads, size)
    out = torch.einsum("bhd,bgd->bhg", q, q) / size ** 0.5
    return out.softmax(-1).reshape(b, -1), (b * heads, size), f"{b}x{d}"


@program(lambda: (t(3), 0.1), lambda: (t(3), 0.2), lambda: (t(3), 0.3), lambda: (t(3), 0))
def rates_that_change(x, rate):
    y = x * rate
    if rate:
        y = y / rate
    return y, rate * 2, int(rate * 10), -rate


@program(lambda: (t(3), 1), lambda: (t(3), 2), lambda: (t(3), 3), lambda: (t(3), True))
def ints_that_change(x, k):
    acc = x
    for _ in range(k):
        acc = acc + k
    return acc, k + 1, k % 2, [k] * 2, str(k), k is True


@program(lambda: (t(3),),)
def constants_of_the_library(x):
    info = torch.finfo(x.dtype)
    whole = torch.iinfo(torch.int8)
    return x.clamp(min=-info.eps, max=info.max), whole.max + whole.min, torch.pi, math.tau, torch.inf, x.dtype.is_floating_point, x.element_size(), info.bits


@program(lambda: (t(2, 3),),)
def metadata_asked(x):
    facts = (x.dim(), x.size(), x.size(-1), x.stride(), x.numel(), x.is_contiguous(), x.storage_offset(), x.layout, x.requires_grad,
             x.is_floating_point(), x.device.type, x.ndim, x.T.is_contiguous(), torch.is_tensor(x), torch.is_complex(x), x.nbytes, x.itemsize)
    return x + x.ndim, [str(f) for f in facts], x.shape[:1] + (4,), x.shape.numel(), x.new_zeros(2).shape, x.type() if hasattr(x, "type") else None


@program(lambda: (t(3), t(3, dtype=torch.float64), torch.tensor([1, 2, 3])),)
def dtypes_promoted(a, b, c):
    return (a + b).dtype, (a + c).dtype, (c / 2).dtype, torch.result_type(a, c), torch.promote_types(torch.int32, torch.float16), (c + 1.5).dtype, a.to(b).dtype, (a > 0).dtype, torch.can_cast(torch.float32, torch.int32), a.double().sum() + b.sum()


@torch.compiler.disable
def left_alone(x):
    return x * 3


@torch._dynamo.disable(recursive=False)
def left_alone_itself(x):
    return plain_helper(x) + 1


def plain_helper(x):
    return x - 1


@program(lambda: (t(3),),)
def functions_left_alone(x):
    y = left_alone(x + 1)
    return left_alone_itself(y) * 2


@torch.compiler.assume_constant_result
def expensive_constant():
    return 3 * 7


@program(lambda: (t(3),),)
def constants_assumed(x):
    return x * expensive_constant(), torch.compiler.is_compiling() or True


def nested_compiled(x):
    return x.sin() + 1


@program(lambda: (t(3),),)
def compiled_inside(x):
    inner = torch.compile(nested_compiled, backend="eager") if hasattr(torch, "_inductor") else torch.compile(nested_compiled)
    return inner(x) * 2


@program(lambda: (t(3), [t(3), t(3) + 1], {"a": t(2)}),)
def results_of_many_kinds(x, items, table):
    gen = (i for i in items)
    return {"x": x, "items": items, "again": [x, x], "nested": {"t": (x + 1, None, 3, "s", True)}, "table": table, 3: next(gen),
            "slice": slice(1, 2), "range": range(3), "size": x.shape, "dtype": x.dtype, "set": {1, 2}, "fn": len}


@program(lambda: (t(3),), lambda: (t(3),))
def same_results_shared(x):
    y = x + 1
    holder = [y, y, (y,)]
    holder.append(holder[2])
    return holder, y, holder[2] is holder[3]


counts = collections.Counter()
cache = {}
settings = types.SimpleNamespace(scale=2.0, steps=0, log=[])


@program(lambda: (t(3), "a"), lambda: (t(3), "b"), lambda: (t(3), "a"))
def module_state_kept(x, key):
    counts[key] += 1
    settings.steps += 1
    settings.log.append(key)
    if key not in cache:
        cache[key] = x * settings.scale
    return cache[key] + counts[key], settings.steps


@program(lambda: (t(3), True), lambda: (t(3), False), lambda: (t(3), True))
def functions_replaced(x, flag):
    global activation
    activation = torch.tanh if flag else torch.relu
    return activation(x) + globals()["offset"]


activation, offset = torch.sin, 3


@program(lambda: (t(3), t(3)), lambda: (t(3), t(4)), lambda: (t(3), 2.0), lambda: (t(3), None))
def operands_that_fail(x, y):
    try:
        return x + y
    except (RuntimeError, TypeError) as error:
        return type(error).__name__, x * 2
    finally:
        x.add_(1)


@program(lambda: (t(3), torch.tensor([0, 5])), lambda: (t(3), torch.tensor([0, 2])))
def indices_that_fail(x, index):
    before = x.clone()
    x.add_(1)
    try:
        y = x[index]
    except IndexError:
        y = before
        x.zero_()
    return y, x


@program(lambda: (t(2, 2),), lambda: (-torch.eye(2),))
def factors_after_writes(m):
    m.mul_(2)
    noise = torch.rand(2)
    try:
        return torch.linalg.cholesky(m @ m.T + torch.eye(2) if m[0, 0] > 0 else m), noise
    except RuntimeError:
        return m, noise


@program(lambda: (t(4, 2),),)
def tensors_as_sequences(x):
    first, *rest = x
    rows = [row.sum() for row in x]
    a, b = x.T
    d = dict(enumerate(x[:, 0]))
    s = sum(x)
    m = max(rows, key=lambda r: r.abs().sum().item() if False else 0)
    return first, len(rest), torch.stack(rows), a - b, d[1], s, m, list(reversed(x))[0], list(zip(x, x[1:]))[0][1]


@program(lambda: (t(3, 3),),)
def reductions_with_names(x):
    top = torch.topk(x, 2)
    low = x.min(dim=1)
    u = torch.unique(torch.tensor([1, 2, 2]), return_counts=False).shape if False else None
    values, indices = x.sort(dim=0, descending=True)
    mean, std = torch.std_mean(x)
    return top.values, top.indices, low.values + low[0], low.indices, values, indices, mean - std, x.aminmax(), torch.var_mean(x, dim=0)[1], u


@program(lambda: (t(3, 4), t(4, 5), t(5)), lambda: (t(2, 4), t(4, 3), t(3)))
def products_of_many_kinds(a, b, c):
    return (a @ b + c, torch.addmm(c, a, b, beta=0.5), torch.einsum("ij,jk->ki", a, b), torch.tensordot(a, b, dims=1), F.linear(a, b.T, c),
            torch.bmm(a[None], b[None])[0], torch.matmul(a, b).mul_(2), torch.outer(c, c), torch.kron(c[:2], c[:2]), torch.linalg.multi_dot([a, b, c]))


class Rows(torch.utils.data.Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(i)
        return self.x[i], i


@program(lambda: (Rows(t(4, 2)),),)
def datasets_gone_through(data):
    total, order = 0, []
    for row, i in data:
        total = total + row * (i + 1)
        order.append(i)
    return total, order, len(data), data[2][1]


@program(lambda: (t(3),),)
def lists_of_functions(x):
    steps = [torch.sin, lambda v: v * 2, functools.partial(torch.clamp, min=0), nn.ReLU(), F.softplus, torch.Tensor.exp, x.add]
    out = x
    for step in steps:
        out = step(out)
    names = [getattr(s, "__name__", type(s).__name__) for s in steps]
    return out, names[0], names[1], len(names)


@program(lambda: (t(3), "max"), lambda: (t(3), "mean"), lambda: (t(3), "sum"), lambda: (t(3), "other"))
def reductions_chosen(x, how):
    table = {"max": torch.max, "mean": torch.mean, "sum": torch.sum}
    reduce = table.get(how)
    if reduce is None:
        raise ValueError(f"unknown reduction {how!r}: one of {', '.join(sorted(table))}")
    return reduce(x), getattr(x, how)()


@program(lambda: (t(6),), lambda: (t(8),))
def windows_of_signals(x):
    frames = x.unfold(0, 4, 2)
    window = torch.hann_window(4)
    spectrum = torch.fft.rfft(frames * window)
    return spectrum.abs(), frames.shape, torch.fft.irfft(spectrum, n=4), torch.nn.functional.pad(x, (2, 2), mode="constant")


@program(lambda: (t(1, 1, 4, 4),),)
def pictures_changed(x):
    kernel = torch.tensor([[1.0, 0, -1]] * 3)[None, None]
    edges = F.conv2d(x, kernel, padding=1)
    small = F.avg_pool2d(x, 2)
    large = F.interpolate(small, scale_factor=2, mode="bilinear", align_corners=False)
    grid = F.affine_grid(torch.eye(2, 3)[None], (1, 1, 4, 4), align_corners=False)
    return edges, large, F.grid_sample(x, grid, align_corners=False), F.pixel_unshuffle(x, 2).shape, F.unfold(x, 2).shape


@program(lambda: (t(3), 2), lambda: (t(3), 3))
def recursion_over_tensors(x, depth):
    def build(v, d):
        if d == 0:
            return v
        return {"left": build(v * 2, d - 1), "right": build(v + 1, d - 1)}

    def total(node):
        return sum(total(child) for child in node.values()) if isinstance(node, dict) else node.sum()
    tree = build(x, depth)
    return total(tree), tree


class Accumulator:
    def __init__(self):
        self.parts = []

    def __iadd__(self, other):
        self.parts.append(other)
        return self

    def __enter__(self):
        self.parts.append("in")
        return self.parts

    def __exit__(self, kind, error, trace):
        self.parts.append(kind.__name__ if kind else "out")
        return kind is KeyError

    def __contains__(self, x):
        return any(x is p for p in self.parts)

    def __call__(self, *args, **kwargs):
        self += sum(args)
        return len(kwargs)


@program(lambda: (t(3), Accumulator()),)
def objects_that_accumulate(x, acc):
    acc += x
    n = acc(x, x, a=1, b=2)
    with acc as parts:
        parts.append(x * 2)
        raise KeyError
    with acc:
        pass
    return acc.parts[1], n, x in acc, len(parts)


@dataclasses.dataclass
class Batch:
    inputs: typing.Any
    labels: typing.Any = None
    extra: dict = dataclasses.field(default_factory=dict)

    def to(self, dtype):
        return dataclasses.replace(self, **{f.name: v.to(dtype) for f in dataclasses.fields(self) if isinstance(v := getattr(self, f.name), torch.Tensor)})

    def __len__(self):
        return len(self.inputs)

    def __iter__(self):
        return iter((self.inputs, self.labels))

    @classmethod
    def collate(cls, items):
        xs, ys = zip(*items)
        return cls(torch.stack(xs), torch.tensor(ys))


@program(lambda: ([(t(2), 1), (t(2) + 1, 0)],), lambda: ([(t(2), 2), (t(2), 0), (t(2), 1)],))
def batches_collated(items):
    batch = Batch.collate(items).to(torch.float64)
    inputs, labels = batch
    return inputs * 2, labels, len(batch), batch.extra, batch.inputs.dtype


@program(lambda: (t(3), 5), lambda: (t(3), 1))
def random_augmentations(x, n):
    for _ in range(n):
        x = x + random.random()
    noise = torch.randn(3) * 0.1 + torch.rand_like(x)
    order = torch.randperm(3)
    return x + noise, order, random.uniform(0, 1) < 2, torch.empty(2).uniform_(1, 2), F.dropout(x, 0.5), torch.bernoulli(torch.full((3,), 0.5))


@program(lambda: (t(3), [t(3), t(3)]),)
def aliases_among_results(x, items):
    y = x.view(3, 1)
    z = x.detach()
    x += 1
    items[0] = items[1]
    return y, z, x, items, items[0] is items[1]


@program(lambda: (t(3),), lambda: (t(3, grad=True),))
def histories_asked(x):
    y = x * 2
    z = y.detach()
    return y.requires_grad, y.is_leaf, z.is_leaf, y.grad_fn is None, x.is_leaf, torch.is_grad_enabled(), y


@program(lambda: (t(3, grad=True), t(3, grad=True)),)
def two_losses(x, y):
    a = (x * y).sum()
    b = (x + y).pow(2).sum()
    a.backward(retain_graph=True)
    first = x.grad.clone()
    b.backward()
    return first, x.grad, y.grad


@program(lambda: (t(3, grad=True),),)
def gradients_zeroed(x):
    for i in range(3):
        loss = (x * (i + 1)).sum()
        loss.backward()
        if i < 2:
            x.grad.zero_()
    g = x.grad
    x.grad = None
    return g, x.grad
