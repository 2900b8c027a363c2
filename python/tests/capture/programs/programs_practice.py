# What people write around models: configurations, registries, masks, caches, metrics, containers of layers, loops over stages.
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
import typing
from typing import NamedTuple, Optional


@dataclasses.dataclass(frozen=True)
class Shape:
    rows: int
    columns: int = 2

    @property
    def size(self):
        return self.rows * self.columns

    @classmethod
    def square(cls, n):
        return cls(n, n)


@program(lambda: (t(6), {}), lambda: (t(6), {Shape(3): 4}))
def frozen_keys(x, cache):
    key = Shape(3)
    if key not in cache:
        cache[key] = key.size
    seen = {Shape(1), Shape(1, 2), Shape.square(2)}
    return x.reshape(key.rows, key.columns) * cache[key], len(seen), dataclasses.replace(key, rows=1) in seen


class Point:
    def __init__(self, name, scale):
        self.name = name
        self.scale = scale

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return isinstance(other, Point) and self.name == other.name


@program(lambda: (t(3),))
def keys_with_hash_of_python(x):
    table = {Point("a", 1): x, Point("b", 2): x * 2}
    table[Point("a", 5)] = x + 3
    groups = collections.defaultdict(list)
    for p in (Point("c", 1), Point("c", 2)):
        groups[p].append(p.scale)
    return [(k.name, k.scale, v) for k, v in table.items()], [v for v in groups.values()], Point("b", 0) in table


class Version:
    def __init__(self, *parts):
        self.parts = parts

    def __lt__(self, other):
        return self.parts < other.parts

    def __eq__(self, other):
        return self.parts == other.parts

    def __repr__(self):
        return "v" + ".".join(map(str, self.parts))


@program(lambda: (t(3),))
def ordered_objects(x):
    versions = [Version(1, 2), Version(1, 0), Version(0, 9)]
    versions.sort()
    best = max(versions)
    return x * best.parts[1], str(sorted(versions, reverse=True)), versions.index(Version(1, 0)), f"{best!r:>6}", min(versions) == Version(0, 9)


class Vec:
    def __init__(self, *v):
        self.v = v

    def __add__(self, other):
        return Vec(*(a + b for a, b in zip(self.v, other.v)))

    def __radd__(self, other):
        return self if other == 0 else NotImplemented

    def __iter__(self):
        return iter(self.v)

    def __len__(self):
        return len(self.v)

    def __getitem__(self, i):
        return self.v[i]


@program(lambda: (t(3),))
def sums_of_objects(x):
    total = sum([Vec(x, 1), Vec(x * 2, 2), Vec(x, 3)])
    first, second = total
    return first, second, len(total), total[-1], list(total)[1], dict(zip("ab", total))["b"], tuple(map(type, total))


class Metric:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.count, self.history = 0.0, 0, []

    def update(self, value, n=1):
        self.total = self.total + value * n
        self.count += n
        self.history.append(n)
        return self

    @property
    def average(self):
        return self.total / max(self.count, 1)


@program(lambda: (t(4), Metric()), lambda: (t(4), Metric().update(2.0, 3)))
def running_metric(x, metric):
    for part in x.split(2):
        metric.update(part.mean(), n=part.shape[0])
    return metric.average, metric.history[-1]


REGISTRY = {}


def register(name):
    def wrap(function):
        REGISTRY[name] = function
        return function
    return wrap


@register("relu")
def _relu(x, **options):
    return torch.relu(x) * options.get("scale", 1)


@register("tanh")
def _tanh(x, **options):
    return torch.tanh(x)


@program(lambda: (t(3), "relu"), lambda: (t(3), "tanh"), lambda: (t(3), "none"))
def registry_lookup(x, name):
    try:
        function = REGISTRY[name]
    except KeyError as error:
        return x, f"unknown: {error}", sorted(REGISTRY)
    return function(x, scale=3), function.__name__, name.upper().ljust(6, ".")


class Mode(enum.Enum):
    FAST = "fast"
    EXACT = "exact"

    @classmethod
    def parse(cls, text):
        return cls(text.lower())

    @property
    def scale(self):
        return {Mode.FAST: 1, Mode.EXACT: 2}[self]


class Bits(enum.IntFlag):
    A = 1
    B = 2
    AB = A | B


@program(lambda: (t(3), "FAST", Bits.A), lambda: (t(3), "Exact", Bits.AB))
def enums_of_options(x, text, bits):
    mode = Mode.parse(text)
    names = [m.name for m in Mode]
    if bits & Bits.B:
        x = x * 2
    match mode:
        case Mode.FAST:
            y = x + 1
        case Mode.EXACT:
            y = x - 1
    return y * mode.scale, names, mode is Mode.FAST, Mode["EXACT"].value, int(bits), Bits.B in bits


class Config(NamedTuple):
    width: int = 2
    rate: float = 0.5
    name: Optional[str] = None

    def scaled(self, k):
        return self._replace(width=self.width * k)


@program(lambda: (t(4), Config()), lambda: (t(4), Config(4, 0.25, "big")))
def named_tuple_options(x, config):
    width, rate, name = config
    bigger = config.scaled(2)
    return x.view(-1, width) * rate, bigger, bigger._asdict(), name or "none", config._fields, config == (2, 0.5, None)


@program(lambda: (t(2, 4, 6),), lambda: (t(3, 4, 6),))
def heads_split_and_merged(x):
    b, n, c = x.shape
    heads, size = 2, c // 2
    y = x.reshape(b, n, heads, size).transpose(1, 2)
    scores = (y @ y.transpose(-2, -1)) / math.sqrt(size)
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    scores = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return (scores @ y).transpose(1, 2).reshape(b, n, c), tuple(y.shape), x.movedim(0, -1).shape, x.flatten(1).unflatten(1, (n, c)).shape


def rearrange(x, pattern):
    left, right = (side.split() for side in pattern.split("->"))
    order = [left.index(name) for name in right]
    return x.permute(*order)


@program(lambda: (t(2, 3, 4),))
def named_axes(x):
    return rearrange(x, "b c h -> h b c"), rearrange(x, "a b c -> c a b").shape, torch.einsum("bch,bdh->bcd", x, x)


@program(lambda: (t(2, 3), [t(2, 3), t(2, 3)]), lambda: (t(2, 3), []))
def cache_grows(x, cache):
    cache.append(x.detach())
    if len(cache) > 2:
        cache.pop(0)
    return torch.cat(cache).mean(0), len(cache)


@program(lambda: ({"a": t(2), "b": [t(2), {"c": t(2)}]},))
def tree_mapped(tree):
    def walk(node, function, path=()):
        if isinstance(node, dict):
            return {k: walk(v, function, path + (k,)) for k, v in node.items()}
        if isinstance(node, (list, tuple)):
            return type(node)(walk(v, function, (*path, i)) for i, v in enumerate(node))
        return function(node, path)

    names = []

    def double(leaf, path):
        names.append("/".join(map(str, path)))
        return leaf * 2

    return walk(tree, double), names


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        ctx.save_for_backward(x)
        return x * k

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.k * 10, None


@program(lambda: (t(3, grad=True), 2), lambda: (t(3, grad=True), 3))
def function_with_options(x, k):
    y = Scale.apply(x, k)
    return (y * y).sum(), y.requires_grad


@program(lambda: (t(3),))
def try_finally_nested(x):
    log = []
    for i in range(3):
        try:
            log.append(f"try {i}")
            if i == 1:
                continue
            if i == 2:
                raise ValueError(i)
            x = x + i
        except ValueError as error:
            log.append(repr(error))
            x = x * 2
        else:
            log.append("else")
        finally:
            log.append("finally")
    return x, log


class Timer(contextlib.ContextDecorator):
    calls = 0

    def __enter__(self):
        Timer.calls += 1
        return self

    def __exit__(self, *exc):
        return False


@Timer()
def timed(x):
    return x + 1


@program(lambda: (t(3),), lambda: (t(3),))
def context_decorator(x):
    with Timer() as timer, contextlib.nullcontext(5) as five:
        x = timed(x) * five
    return x, Timer.calls, isinstance(timer, Timer)


@contextlib.contextmanager
def switched(holder, value):
    before, holder["on"] = holder["on"], value
    try:
        yield holder
    finally:
        holder["on"] = before


@program(lambda: (t(3), {"on": False}))
def switched_option(x, holder):
    with switched(holder, True) as h:
        y = x * 2 if h["on"] else x
    return y, dict(holder)


def batches(xs, size):
    it = iter(xs)
    while chunk := list(itertools.islice(it, size)):
        yield chunk


@program(lambda: ([t(2), t(2) + 1, t(2) + 2],))
def batches_of_generator(xs):
    return [torch.stack(chunk).sum(0) for chunk in batches(xs, 2)], [len(c) for c in batches(xs, 2)]


@program(lambda: (t(4),))
def itertools_tables(x):
    pairs = list(itertools.product([1, 2], "ab"))
    grouped = {k: [v for _, v in g] for k, g in itertools.groupby(sorted(pairs), key=operator.itemgetter(0))}
    windows = [sum(w) for w in zip(*(range(i, 5 + i) for i in range(3)))]
    total = functools.reduce(operator.add, (x * w for w in windows))
    return total, grouped, list(itertools.starmap(pow, [(2, 3), (3, 2)])), list(itertools.accumulate([1, 2, 3], operator.mul))


@program(lambda: (t(3), 7), lambda: (t(3), 8))
def number_texts(x, n):
    table = f"{n:>4}|{n / 3:.2f}|{n:#x}|{'even' if n % 2 == 0 else 'odd'!r}"
    words = "a-b_c".replace("-", "_").split("_")
    return x * len(table), table, words, "%05.1f %s" % (n / 2, words), "{0}{k}".format(n, k=1), "x".join(reversed(words)), str(x.shape), n.bit_length()


@program(lambda: (t(3),))
def shape_texts(x):
    return x + 1, f"{x.shape} {x.dtype} {tuple(x.shape)} {x.dim()}d {list(x.size())}", repr(x.dtype), str(x.device)


class Block(nn.Module):
    def __init__(self, width, drop=0.0):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.net = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Dropout(drop))

    def forward(self, x, *, residual=True):
        y = self.net(self.norm(x))
        return x + y if residual else y


class Stack(nn.Module):
    def __init__(self, width=4, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.heads = nn.ModuleDict({"a": nn.Linear(width, 2), "b": nn.Linear(width, 3)})
        self.gains = nn.ParameterList([nn.Parameter(torch.ones(width)) for _ in range(depth)])
        self.register_buffer("steps", torch.zeros(()))
        self.calls = 0

    def forward(self, x, keep=()):
        self.steps += 1
        self.calls += 1
        kept = {}
        for i, (block, gain) in enumerate(zip(self.blocks, self.gains)):
            x = block(x, residual=i % 2 == 0) * gain
            if i in keep:
                kept[i] = x
        return {name: head(x) for name, head in self.heads.items()}, kept


def _model(kind, **options):
    torch.manual_seed(0)
    return kind(**options)


@program(lambda: (t(2, 4), _model(Stack)), lambda: (t(3, 4), _model(Stack)))
def stack_of_blocks(x, m):
    out, kept = m(x, keep=(1,))
    return {k: v.sum() for k, v in out.items()}, sorted(kept), m.steps, m.calls


@program(lambda: (t(2, 4), _model(Stack)))
def parameters_walked(x, m):
    total = sum(p.numel() for p in m.parameters() if p.requires_grad)
    names = [name for name, _ in m.named_parameters() if name.endswith("bias")]
    norm = torch.stack([p.norm() for p in m.parameters()]).norm()
    kinds = collections.Counter(type(c).__name__ for c in m.modules())
    return m.blocks[0](x) / norm, total, names, kinds.most_common(1), len(list(m.children()))


@program(lambda: (t(2, 4), _model(Stack)))
def forward_hooks(x, m):
    seen = []
    handle = m.blocks[0].register_forward_hook(lambda module, args, out: seen.append(out.shape))
    y = m.blocks[0](x)
    handle.remove()
    return y + m.blocks[0](x), seen


class Parametrized(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = nn.Parameter(torch.tensor([0.5, -0.5, 1.0]))

    @property
    def weight(self):
        return F.softplus(self.raw)

    def extra_repr(self):
        return "three"

    def forward(self, x):
        return F.linear(x, self.weight[None])


@program(lambda: (t(2, 3), _model(Parametrized)))
def property_as_weight(x, m):
    return m(x), m.weight.sum(), isinstance(m, nn.Module), hasattr(m, "bias"), getattr(m, "bias", None)


class Ema:
    def __init__(self, module, decay=0.9):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in module.named_parameters()}

    @torch.no_grad()
    def update(self, module):
        for name, p in module.named_parameters():
            self.shadow[name].mul_(self.decay).add_(p, alpha=1 - self.decay)


@program(lambda: (lambda m: (t(2, 3), m, Ema(m)))(_model(Parametrized)))
def moving_average(x, m, ema):
    ema.update(m)
    return m(x).sum(), ema.shadow["raw"], sorted(ema.shadow)


@program(lambda: (t(5), 2.0), lambda: (t(5), -2.0))
def cond_with_closure(x, k):
    def yes(v):
        return v * k

    def no(v):
        return v - k

    return torch.cond(x.sum() > 0, yes, no, (x,))


@program(lambda: (t(6),))
def where_instead_of_branches(x):
    y = torch.where(x > 0, x, x.exp() - 1)
    y[y.abs() < 0.1] = 0
    return y.clamp(min=-0.5), (x > 0).sum(), torch.nn.functional.one_hot(x.argmax(), 6), x.masked_fill(x < 0, 0.0)


@program(lambda: (t(3), None, (1, 2)), lambda: (t(3), {"k": 2}, ()))
def optional_arguments(x, options, rest):
    options = {**{"k": 1, "b": 0}, **(options or {})}
    k, *others = (*rest, 5)
    return x * options["k"] + options["b"], k, others, {**options, "z": k}, [*rest, *others]


class Meta(type):
    made = []

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        Meta.made.append(cls.__name__)
        return made


class Tracked(metaclass=Meta):
    def __init__(self, k):
        self.k = k


@program(lambda: (t(3),), lambda: (t(3),))
def metaclass_call(x):
    return x * Tracked(3).k, list(Meta.made)


class Base:
    factor = 1

    def __init_subclass__(cls, factor=2, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.factor = factor

    def run(self, x):
        return self.step(x) * self.factor

    def step(self, x):
        return x + 1


class Left(Base, factor=3):
    def step(self, x):
        return super().step(x) * 2


class Right(Base):
    def step(self, x):
        return super().step(x) + 10


class Both(Left, Right, factor=5):
    def step(self, x):
        return super().step(x) - 1


@program(lambda: (t(3),))
def diamond(x):
    return Both().run(x), [c.__name__ for c in Both.__mro__], Left().run(x), Base.factor


class Lazy:
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = len(name)
        setattr(self, name, value)
        return value

    def __contains__(self, name):
        return name in self.__dict__


@program(lambda: (t(3), Lazy()))
def attributes_made_on_demand(x, lazy):
    before = "scale" in lazy
    y = x * lazy.scale
    return y, before, "scale" in lazy, vars(lazy), getattr(lazy, "_x", "no")


@program(lambda: (t(4), 3))
def recursion_with_memo(x, n):
    memo = {}

    def fib(k):
        if k not in memo:
            memo[k] = k if k < 2 else fib(k - 1) + fib(k - 2)
        return memo[k]

    def power(v, k):
        return v if k == 1 else v * power(v, k - 1)

    return power(x, n) + fib(10), len(memo)


@program(lambda: (t(4),), lambda: (t(6),))
def sizes_in_arithmetic(x):
    n = x.shape[0]
    half, odd = divmod(n, 2)
    pad = F.pad(x, (0, n - half))
    return pad, x[: n // 2], torch.arange(n), x.new_zeros(n, 2), math.ceil(n / 3), max(n, 5), [i for i in range(n) if i % 2]


@program(lambda: (t(3),))
def item_then_python(x):
    value = x.sum().item()
    if value > 0:
        return x * value, "positive"
    return x - value, f"{value:.2f}"


@program(lambda: (t(4),))
def values_to_lists(x):
    numbers = x.tolist()
    best = max(range(len(numbers)), key=numbers.__getitem__)
    return x * numbers[0], best, [round(v, 2) for v in numbers]


@program(lambda: (t(3),))
def numpy_functions(x):
    import numpy as np
    a = x.numpy()
    b = np.sin(a) + np.arange(3, dtype=np.float32)
    return torch.from_numpy(b) * 2, torch.as_tensor(a.reshape(1, 3)).shape, a.dtype == np.float32


@program(lambda: (t(3),))
def numpy_constants(x):
    import numpy as np
    grid = np.linspace(0, 1, 3)
    return x + torch.tensor(grid, dtype=torch.float32), float(grid[-1]), np.prod([2, 3]).item(), np.pi


@program(lambda: (t(3),), lambda: (t(3),))
def random_choices(x):
    k = random.random()
    return x * k + random.uniform(0, 1), x.shape


@program(lambda: (t(3),))
def random_generator_of_its_own(x):
    rng = random.Random(5)
    order = list(range(4))
    rng.shuffle(order)
    return x + rng.randint(1, 6), order


@program(lambda: (t(4),))
def random_tensor_draws(x):
    noise = torch.randn_like(x) * 0.1
    keep = (torch.rand(4) < 0.5).float()
    return x + noise, keep, torch.randperm(4), F.dropout(x, 0.5, True)


@program(lambda: (t(3),))
def asserts_in_helpers(x):
    def check(v, message="bad"):
        assert isinstance(v, torch.Tensor), message
        assert v.dim() == 1, f"got {v.dim()}"
        assert (v == v).all(), "nan"
        return v

    return check(x) * 2, check(x + 1)


@program(lambda: (t(3),), lambda: (t(3) * 0,))
def assert_fails(x):
    y = x + 1
    assert x.any(), "all zero"
    return y * 2


@program(lambda: (t(3), t(3)), lambda: (t(3), None))
def choice_by_none(x, mask):
    y = x if mask is None else x * mask
    return y, mask is not None and mask.shape[0], (mask if mask is None else mask.dtype)


@program(lambda: (t(3),))
def format_of_tensors(x):
    y = x + 1
    text = f"shape {tuple(y.shape)} sum {y.sum():.3f}"
    return y * 2, text


@program(lambda: (t(3),))
def print_of_numbers(x):
    y = x * 2
    print("rows", y.shape[0], end="!\n")
    return y + 1


class Halved(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


@program(lambda: (t(3),))
def tensor_attributes_and_data(x):
    y = x.detach().clone()
    y.data.mul_(2)
    y.requires_grad_()
    return (y * x).sum(), y.is_leaf, x.is_contiguous(), x.stride(), x.element_size(), x.is_floating_point(), y.grad is None


@program(lambda: (t(3, grad=True),))
def hooks_on_tensors(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y.sum()


@program(lambda: (t(3),))
def deep_copies(x):
    state = {"a": [1, 2], "t": x + 1, "s": Shape(1)}
    other = copy.deepcopy(state)
    shallow = copy.copy(state)
    other["a"].append(3)
    shallow["a"].append(4)
    return state, other, shallow["a"] is state["a"]


@program(lambda: (t(3), "b"))
def typing_and_generics(x, key: str):
    table: typing.Dict[str, typing.Callable] = {"a": torch.sin, "b": torch.cos}
    chosen: Optional[typing.Any] = table.get(key)
    Pair = typing.Tuple[int, str]
    return typing.cast(torch.Tensor, chosen(x)), Pair.__args__, typing.get_origin(typing.List[int])


@program(lambda: (t(3), [3, 1, 2]))
def sorting_by_many(x, items):
    rows = [{"n": n, "s": "abc"[n - 1]} for n in items]
    rows.sort(key=lambda r: (-r["n"], r["s"]))
    best = max(rows, key=lambda r: r["n"])
    return x * best["n"], rows, sorted(items, key=lambda v: -v), min(rows, key=operator.itemgetter("s"))["s"]


@program(lambda: (t(3),))
def while_with_break(x):
    n = 0
    while True:
        x = x * 2
        n += 1
        if n > 3:
            break
    else:
        n = -1
    return x, n


@program(lambda: (t(3),))
def while_until_large(x):
    steps = 0
    while x.abs().max() < 10:
        x = x * 3
        steps += 1
    return x, steps


@program(lambda: (t(4),))
def any_all_of_tensors(x):
    if x.isnan().any() or not (x < 100).all():
        return x * 0
    return x * 2


@program(lambda: (t(2),))
def coroutine_awaits(x):
    async def inner(v):
        return v * 2

    async def outer(v):
        y = await inner(v)
        return y + await inner(y)

    c = outer(x)
    try:
        c.send(None)
    except StopIteration as stop:
        return stop.value


@program(lambda: (t(4),))
def partial_methods(x):
    class_of = functools.partial(Shape, columns=4)
    scale = functools.partial(torch.mul, other=3)
    add = functools.partial(lambda a, b, *, c: a + b * c, c=2)
    return scale(x), class_of(1), add(x, x), add.keywords, [f(x) for f in (torch.sin, operator.neg, x.__add__)]


@program(lambda: (t(3, 4),))
def slices_of_all_kinds(x):
    rows, columns = x.shape
    last = slice(None, None, 2)
    x = x.clone()
    x[1:, last] = 0
    x[..., -1] += 1
    x[[0, 2], [1, 3]] *= 2
    return x, x[:, None].shape, x[torch.arange(rows) % 2 == 0].shape if False else x[-1], x[..., :columns // 2], x.T[::2]


@program(lambda: (t(3), {"a": 1}), lambda: (t(3), {"b": 2, "a": 1}))
def dict_of_many_uses(x, d):
    d.setdefault("n", 0)
    d["n"] += 1
    d |= {"new": d.pop("a", None)}
    first = next(iter(d))
    return x * d["n"], d, first, list(d.items())[-1], {v: k for k, v in d.items()}, "a" in d.keys(), d.keys() & {"n"}


class Node:
    def __init__(self, value, children=()):
        self.value = value
        self.children = list(children)
        self.parent = None
        for c in self.children:
            c.parent = self

    def total(self):
        return self.value + sum(c.total() for c in self.children)

    def walk(self):
        yield self
        for c in self.children:
            yield from c.walk()


@program(lambda: (t(3),))
def trees_with_parents(x):
    root = Node(x, [Node(x * 2), Node(x * 3, [Node(x)])])
    depth = [sum(1 for _ in n.walk()) for n in root.walk()]
    return root.total(), depth, root.children[1].children[0].parent.parent is root


@program(lambda: (t(3),))
def swap_and_chain(x):
    a, b, c = x, x + 1, x + 2
    a, b = b, a
    (c, [d, *e]) = (b, (a, c, x))
    return a, b, c, d, e, 0 < x.dim() <= 1 < 2, not e is None


@program(lambda: (t(2, 2),))
def linear_algebra_chain(x):
    a = x @ x.mT + torch.eye(2)
    return torch.linalg.solve(a, x), a.det(), torch.linalg.norm(a), a.diagonal().prod(), torch.trace(a), torch.outer(x[0], x[1])


@program(lambda: (t(3),))
def exceptions_with_notes(x):
    class_name = None
    try:
        try:
            raise KeyError("inner")
        except KeyError as e:
            raise RuntimeError("outer", 5) from e
    except RuntimeError as e:
        class_name = type(e.__cause__).__name__
        args = e.args
    with contextlib.suppress(IndexError, KeyError):
        [][1]
    return x + len(args), class_name, args


@program(lambda: (t(3), 4))
def local_functions_of_many_kinds(x, n):
    def outer(a, /, b, *rest, c=1, **more):
        nonlocal n
        n += len(rest)
        return a * b + c + sum(rest) + sum(more.values())

    counter = itertools.count(1)
    ids = [next(counter) for _ in range(3)]
    return outer(x, 2, 3, 4, c=5, d=6), n, ids, (lambda *a, k=2: [v * k for v in a])(1, 2)
