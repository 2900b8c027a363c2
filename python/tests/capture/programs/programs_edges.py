# Small programs around the edges: sizes that change, effects in order, aliases, protocols, numbers, errors, training.
import abc
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
import re
import types
import typing


@program(lambda: (t(2, 3),), lambda: (t(4, 3),), lambda: (t(5, 3),), lambda: (t(1, 3),))
def sizes_in_many_places(x):
    b = x.shape[0]
    mask = torch.arange(b).unsqueeze(1) < torch.arange(3)
    padded = F.pad(x, (0, 0, 0, 8 - b))
    if b > 3:
        padded = padded * 2
    return padded.sum(), mask, x.view(b * 3), x.new_zeros(b, b), f"{b}", [b] * 2, {b: "b"}[b], b / 2, b // 2, -b, max(b, 3)


@program(lambda: (t(4), t(4)), lambda: (t(6), t(6)), lambda: (t(6), t(1)))
def sizes_compared(a, b):
    if a.shape == b.shape:
        return a + b
    if a.numel() > b.numel():
        return a - b.expand_as(a)
    return a


@program(lambda: (t(3, 4), 2), lambda: (t(3, 4), 3), lambda: (t(3, 6), 2))
def chunks_by_number(x, n):
    parts = torch.chunk(x, n, dim=1)
    return [p.sum(1) for p in parts], len(parts), torch.cat(parts[::-1], 1), x.unfold(1, n, 1).shape


@program(lambda: (t(5), 0.5), lambda: (t(5), 0.25), lambda: (t(5), 2), lambda: (t(5), True))
def scalars_of_many_kinds(x, s):
    return x * s, x ** 2 * s, s + 1, s > 0.3, torch.full((2,), s), x.clamp(max=float(s)), type(s).__name__


@program(lambda: (t(3), 1), lambda: (t(3), 2), lambda: (t(3), 3), lambda: (t(3), 12))
def ints_that_decide(x, n):
    if n == 1:
        return x
    if n % 2 == 0:
        x = x * n
    for _ in range(min(n, 4)):
        x = x + 1
    return x, n.bit_length(), n in (2, 3), [0] * n


class Counter2:
    def __init__(self):
        self.n = 0
        self.seen = []

    def tick(self, x):
        self.n += 1
        self.seen.append(x.shape[0])
        return x * self.n


counter2 = Counter2()


@program(lambda: (t(2),), lambda: (t(3),), lambda: (t(4),), lambda: (t(5),))
def object_counts(x):
    return counter2.tick(x), counter2.n, len(counter2.seen)


@program(lambda: ([t(2), t(3)],), lambda: ([t(2)],), lambda: ([],))
def lists_of_any_length(xs):
    if not xs:
        return None
    total = xs[0].sum()
    for x in xs[1:]:
        total = total + x.sum()
    first, *rest = xs
    return total, len(rest), xs[-1], [x.shape for x in xs]


@program(lambda: ({"a": t(2)},), lambda: ({"a": t(2), "b": t(3)},), lambda: ({},))
def dicts_of_any_keys(d):
    out = {}
    for k, v in d.items():
        out[k.upper()] = v * 2
    out.setdefault("Z", 0)
    return out, sorted(out), "b" in d, d.get("c", "none")


@program(lambda: (t(3), None), lambda: (t(3), t(3)), lambda: (t(3), 2.0))
def kinds_that_change(x, y):
    if y is None:
        return x
    if isinstance(y, torch.Tensor):
        return x + y
    return x * y


@program(lambda: (t(4),))
def effects_in_their_order(x):
    log = []

    class_log = log.append
    class_log("a")
    y = x + 1
    class_log(y.shape)
    log += ["b"]
    log[0] = "c"
    del log[-1]
    log.insert(0, y)
    return y, log, log.pop(0) is y


class Tracked:
    log = []

    def __init__(self, name):
        self.name = name

    def __setattr__(self, key, value):
        Tracked.log.append((key, value if not torch.is_tensor(value) else "tensor"))
        object.__setattr__(self, key, value)


@program(lambda: (t(3),), lambda: (t(3),))
def writes_are_tracked(x):
    o = Tracked("n")
    o.value = x * 2
    o.name = "m"
    return o.value, len(Tracked.log), Tracked.log[-1]


@program(lambda: (t(4),))
def views_and_bases(x):
    base = x.clone()
    view = base[1:3]
    view += 10
    other = base.view(2, 2)
    other[0] = 0
    flat = other.reshape(-1)
    flat[3] = 7
    return base, view, other, flat.is_contiguous()


@program(lambda: (t(4),))
def argument_written_through_view(x):
    row = x[:2]
    row.mul_(3)
    x[3] = 5
    x.add_(1)
    y = x
    y -= 1
    return row, y is x


@program(lambda: (t(3), [1, 2]), lambda: (t(3), [1, 2]))
def argument_list_grows(x, log):
    for i in range(3):
        log.append(i)
        x = x + len(log)
    log.sort(reverse=True)
    return x


@program(lambda: (t(3),))
def nonlocal_state(x):
    total = 0
    history = {}

    def add(name, v):
        nonlocal total
        total = total + v.sum()
        history[name] = history.get(name, 0) + 1
        return total

    a = add("x", x)
    b = add("x", x * 2)
    return a, b, total, history


def gen_with_cleanup(log, xs):
    log.append("open")
    try:
        for x in xs:
            yield x * 2
    except ValueError as error:
        log.append(str(error))
        yield torch.zeros(1)
    finally:
        log.append("close")


@program(lambda: (t(3),))
def generators_cleaned_up(x):
    log = []
    g = gen_with_cleanup(log, [x, x + 1, x + 2])
    first = next(g)
    thrown = g.throw(ValueError("stop"))
    rest = list(g)
    h = gen_with_cleanup(log, [x])
    next(h)
    h.close()
    return first, thrown, rest, log


@program(lambda: (t(4),))
def generators_zipped(x):
    def evens():
        n = 0
        while True:
            yield n
            n += 2

    def letters():
        yield from "abc"
        return "done"

    pairs = list(zip(letters(), evens()))
    taken = list(itertools.takewhile(lambda v: v < 6, evens()))
    return x + len(taken), pairs, dict(zip(letters(), x.unbind())), list(map(lambda a, b: a * b, x.unbind(), evens()))


@program(lambda: (t(3),))
def contexts_nested(x):
    log = []

    class Ctx:
        def __init__(self, name, swallow=False):
            self.name, self.swallow = name, swallow

        def __enter__(self):
            log.append(f"+{self.name}")
            return self

        def __exit__(self, kind, value, tb):
            log.append(f"-{self.name}:{kind.__name__ if kind else None}")
            return self.swallow

    with Ctx("a"), Ctx("b", swallow=True) as b, Ctx("c"):
        x = x + 1
        raise KeyError("inside")
    return x, log, b.name


@program(lambda: (t(3),))
def errors_of_all_kinds(x):
    out = []
    for f in (lambda: 1 / 0, lambda: [][1], lambda: {}["k"], lambda: int("x"), lambda: None.attr, lambda: x + "a",
              lambda: len(3), lambda: "a" + 1, lambda: undefined_name, lambda: (1, 2)[5], lambda: next(iter([]))):
        try:
            f()
        except Exception as error:
            out.append(type(error).__name__)
    return x + len(out), out


@program(lambda: (t(3), 3), lambda: (t(3), 0))
def errors_with_values(x, n):
    class Limit(ValueError):
        def __init__(self, limit):
            super().__init__(f"limit {limit}")
            self.limit = limit

    try:
        if n > 2:
            raise Limit(n)
        if n == 0:
            raise KeyError("zero") from ValueError("cause")
    except Limit as error:
        return x * error.limit, error.args
    except KeyError as error:
        return x, repr(error.__cause__), str(error)
    return x


@program(lambda: (t(2, 2),), lambda: (t(2, 3),))
def errors_of_operators(x):
    try:
        y = x @ x
    except RuntimeError as error:
        return "shapes" in str(error) or "multiplied" in str(error) or "size" in str(error), x.sum()
    return y


@program(lambda: (t(3),))
def texts_of_numbers(x):
    n = x.shape[0]
    return x + n, f"{n:>5}|{n:<5}|{n:^5}|{n:05d}|{n:+}|{n:b}|{n:x}|{n:e}|{n:,}|{n / 7:.3g}|{n / 7:10.4f}|{True:d}|{'t':*^7}", \
        "%d %5.2f %s %r" % (n, n / 3, "s", "r"), str(n) * 2, repr(n / 3), "{:>{w}}".format(n, w=6), "{a}-{b[0]}".format(a=n, b=[1])


@program(lambda: (t(3), "Hello, World"), lambda: (t(3), ""))
def texts_taken_apart(x, s):
    words = s.split(", ")
    return x * len(words), s.lower().swapcase(), s[::-1], s.find("W"), s.replace("l", "L", 1), s.startswith(("He", "X")), \
        [c for c in s if c.isupper()], s.center(20, "."), s.rsplit(maxsplit=1), ",".join(sorted(set(s))), s.strip("Hd"), s.zfill(15), \
        s.encode("utf-8")[:3], "o" in s, s.count("l"), s.title(), s.casefold() == s.lower(), s.splitlines(), s.partition(",")[0]


@program(lambda: (t(3), ["b", "a", "C"]))
def sorting_of_many_kinds(x, names):
    by_lower = sorted(names, key=str.lower)
    pairs = sorted(zip([3, 1, 2], names), key=operator.itemgetter(0), reverse=True)
    names.sort(key=lambda s: (s.isupper(), s))
    tensors = sorted([x, x[:2], x[:1]], key=len)
    ordered = sorted(range(3), key=lambda i: -i)
    return by_lower, pairs, tensors, ordered, min(names, key=len), max([1, 5, 3], key=lambda v: -v), sorted({"b": 1, "a": 2}.items())


@program(lambda: (t(3),))
def numbers_of_python(x):
    a, b = divmod(17, 5)
    big = 2 ** 70
    return x * a, b, big % 1000, -7 // 2, -7 % 3, round(2.5), round(-1.5), round(3.14159, 2), int(-3.7), math.ceil(-0.5), 0.1 + 0.2, \
        1e308 * 10, float("nan") != float("nan"), (1 + 2j) * 1j, abs(-3), 7 & 3 | 8, ~5, 1 << 10, True + True, 10 ** -2, 5 .real, \
        math.trunc(2.9), math.fmod(-7, 3), math.copysign(1, -0.0), sum([0.1] * 3), math.fsum([0.1] * 3), int("0b101", 0)


class Temperature:
    def __init__(self, celsius):
        self._celsius = celsius

    @property
    def fahrenheit(self):
        return self._celsius * 9 / 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, value):
        self._celsius = (value - 32) * 5 / 9

    @classmethod
    def boiling(cls):
        return cls(100)

    @staticmethod
    def is_hot(value):
        return value > 30

    def __eq__(self, other):
        return isinstance(other, Temperature) and self._celsius == other._celsius

    def __hash__(self):
        return hash(self._celsius)


@program(lambda: (t(3), Temperature(20)), lambda: (t(3), Temperature(40)))
def methods_of_all_kinds(x, temperature):
    temperature.fahrenheit = temperature.fahrenheit + 9
    return x * temperature.fahrenheit, temperature.is_hot(temperature._celsius), Temperature.boiling() == Temperature(100), \
        len({Temperature(1), Temperature(1), Temperature(2)}), temperature in [Temperature(25)]


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, key):
        if isinstance(key, tuple):
            i, j = key
            return self.rows[i][j]
        return self.rows[key]

    def __setitem__(self, key, value):
        i, j = key
        self.rows[i][j] = value

    def __delitem__(self, i):
        del self.rows[i]

    def __len__(self):
        return len(self.rows)

    def __contains__(self, value):
        return any(value in row for row in self.rows)

    def __iter__(self):
        return (row for row in self.rows)

    def __matmul__(self, other):
        return Matrix([[sum(a * b for a, b in zip(row, col)) for col in zip(*other.rows)] for row in self.rows])

    def __repr__(self):
        return f"Matrix({self.rows})"


@program(lambda: (t(3),))
def matrices_of_a_class(x):
    m = Matrix([[1, 2], [3, 4]])
    m[0, 1] = 5
    product = m @ m
    del m[1]
    scaled = Matrix([[x, x + 1], [x * 2, x]])
    return product.rows, len(m), 5 in m, [len(r) for r in scaled], (scaled @ scaled)[0, 0], repr(product), m[0]


class Stack(list):
    def push(self, item):
        self.append(item)
        return self

    def peek(self):
        return self[-1]

    @property
    def is_empty(self):
        return not self


@program(lambda: (t(3), Stack()))
def list_subclasses(x, stack):
    stack.push(x).push(x * 2)
    top = stack.pop()
    mine = Stack([1, 2])
    mine.extend([3])
    return top, stack.peek(), stack.is_empty, mine, mine[1:], len(stack), Stack(mine) == mine


class Ordered(collections.OrderedDict):
    def last(self):
        return next(reversed(self))


class Defaults(collections.defaultdict):
    pass


@program(lambda: (t(3),))
def dict_subclasses(x):
    o = Ordered(a=1)
    o["b"] = x
    o.move_to_end("a")
    d = Defaults(list)
    d["k"].append(x)
    c = collections.Counter(a=2)
    c["a"] += 1
    c["z"] -= 1
    return o.last(), list(o), d, c, c.total(), c.most_common(1), isinstance(o, dict)


@dataclasses.dataclass(frozen=True, eq=True)
class Key2:
    name: str
    index: int = 0

    def next(self):
        return dataclasses.replace(self, index=self.index + 1)


@program(lambda: (t(3), {}), lambda: (t(3), {Key2("a"): 5}))
def frozen_dataclasses(x, table):
    k = Key2("a")
    table.setdefault(k, len(table))
    table[k.next()] = x
    try:
        k.index = 3
    except dataclasses.FrozenInstanceError as error:
        return table[Key2("a")], len(table), str(error), hash(k) == hash(Key2("a")), k < Key2("b") if False else None


@dataclasses.dataclass
class Config3:
    width: int = 4
    layers: tuple = (1, 2)
    extra: dict = dataclasses.field(default_factory=dict)
    inner: typing.Optional["Config3"] = None

    def __post_init__(self):
        if self.width < 0:
            raise ValueError("negative")
        self.area = self.width * len(self.layers)


@program(lambda: (t(3), Config3(inner=Config3(2))), lambda: (t(3), Config3(width=5)))
def dataclasses_nested(x, config):
    depth = 0
    at = config
    while at is not None:
        x = x * at.width + at.area
        at = at.inner
        depth += 1
    made = Config3(width=depth, extra={"k": x})
    return x, made, dataclasses.asdict(Config3(layers=(3,)))["layers"], config == Config3(inner=Config3(2)), dataclasses.is_dataclass(made)


class Level2(enum.IntEnum):
    LOW = 1
    HIGH = 5

    @classmethod
    def of(cls, value):
        return cls.HIGH if value > 3 else cls.LOW


class Mode2(enum.StrEnum if hasattr(enum, "StrEnum") else str):
    TRAIN = "train"
    EVAL = "eval"


@program(lambda: (t(3), 2, "train"), lambda: (t(3), 7, "eval"))
def enums_decide(x, value, mode):
    level = Level2.of(value)
    table = {Mode2.TRAIN: x * 2, Mode2.EVAL: x}
    return table[Mode2(mode)] * level, level + 1, level > Level2.LOW, level.name, [m.value for m in Mode2], f"{Mode2.EVAL}", Level2(5) is Level2.HIGH, \
        isinstance(level, int), {Level2.LOW: "l"}.get(1), mode == Mode2.TRAIN


class Plugin(abc.ABC):
    registry = []

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Plugin.registry.append(cls)

    @abc.abstractmethod
    def run(self, x):
        ...


class Doubler(Plugin):
    def run(self, x):
        return x * 2


class Shifter(Plugin):
    def __init__(self, by=1):
        self.by = by

    def run(self, x):
        return x + self.by


@program(lambda: (t(3),))
def plugins_of_a_registry(x):
    for kind in Plugin.registry:
        x = kind().run(x)
    try:
        Plugin()
    except TypeError as error:
        return x, [k.__name__ for k in Plugin.registry], "abstract" in str(error), issubclass(Doubler, Plugin)


def cached(function):
    store = {}

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        key = (args, tuple(sorted(kwargs.items())))
        if key not in store:
            store[key] = function(*args, **kwargs)
        return store[key]

    wrapper.store = store
    return wrapper


@cached
def table_of(n, *, scale=1):
    return [i * scale for i in range(n)]


@program(lambda: (t(3), 3), lambda: (t(3), 3), lambda: (t(3), 4))
def caches_of_functions(x, n):
    a = table_of(n, scale=2)
    b = table_of(n, scale=2)
    return x * sum(a), a is b, len(table_of.store), table_of.__wrapped__(2)


def curry(f, *args):
    return lambda *more: f(*args, *more)


@program(lambda: (t(3),))
def functions_of_functions(x):
    add = curry(lambda a, b, c: a + b * c, x)
    twice = lambda f: lambda v: f(f(v))
    ops = {"+": operator.add, "*": operator.mul, "max": torch.maximum}
    out = functools.reduce(lambda acc, op: ops[op](acc, x), ["+", "*", "max"], x)
    return add(2, 3), twice(lambda v: v * 2)(x), out, (lambda *a, k=1, **kw: (a, k, kw))(1, 2, k=3, z=4), list(map(len, ["a", "bb"]))


@program(lambda: (t(3), 1, 2), lambda: ((t(3), 1), {"c": 5}), lambda: ((t(3), 1, 2, 3), {"z": 9}))
def signatures_of_all_kinds(x, a, b=10, *args, c=20, **kw):
    def inner(p, /, q, *, r=3):
        return p + q + r

    return x * a, b, args, c, kw, inner(1, q=2), inner(1, 2, r=a)


class Linear2(nn.Module):
    def __init__(self, i, o, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(float(i * o)).reshape(o, i) / 10)
        if bias:
            self.bias = nn.Parameter(torch.zeros(o))
        else:
            self.register_parameter("bias", None)
        self.register_buffer("steps", torch.tensor(0), persistent=False)

    def forward(self, x):
        if self.training:
            self.steps += 1
        return F.linear(x, self.weight, self.bias)


linear2 = Linear2(3, 2)
plain2 = Linear2(3, 2, bias=False)


@program(lambda: (t(2, 3),), lambda: (t(2, 3),), lambda: (t(5, 3),))
def modules_with_buffers(x):
    return linear2(x) + plain2(x), linear2.steps, plain2.bias is None, dict(linear2.named_buffers()).keys(), list(linear2.state_dict())


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleDict({name: Linear2(3, 3) for name in ("a", "b")})
        self.order = ["b", "a"]
        self.acts = {"relu": F.relu, "none": lambda v: v}

    def forward(self, x, skip=(), act="relu"):
        outputs = []
        for name in self.order:
            if name in skip:
                continue
            outputs.append(self.acts[act](self.experts[name](x)))
        return torch.stack(outputs).mean(0) if outputs else x


experts = Experts()


@program(lambda: (t(2, 3),), lambda: ((t(2, 3),), {"skip": ("a",)}), lambda: ((t(2, 3),), {"skip": ["a", "b"]}), lambda: (t(2, 3), (), "none"))
def modules_chosen_by_name(x, skip=(), act="relu"):
    return experts(x, skip=skip, act=act)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(2, 3)
        with torch.no_grad():
            for p in self.cell.parameters():
                p.fill_(0.1)

    def forward(self, xs, state=None):
        state = xs.new_zeros(xs.size(1), 3) if state is None else state
        outputs = []
        for x in xs:
            state = self.cell(x, state)
            outputs.append(state)
        return torch.stack(outputs), state


recurrent = Recurrent()


@program(lambda: (t(3, 2, 2),), lambda: (t(5, 2, 2),), lambda: (t(3, 2, 2), t(2, 3)))
def recurrent_by_hand(xs, state=None):
    return recurrent(xs, state)


@program(lambda: (nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)), t(4, 2)))
def gradients_collected(model, x):
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(0.3)
    loss = model(x).pow(2).mean()
    loss.backward()
    norms = {name: p.grad.norm() for name, p in model.named_parameters() if p.grad is not None}
    total = torch.sqrt(sum(n ** 2 for n in norms.values()))
    model.zero_grad()
    return loss.detach(), norms, total, all(p.grad is None for p in model.parameters())


@program(lambda: (t(3, grad=True), t(3)))
def losses_weighted(w, x):
    parts = {"fit": (w * x - 1).pow(2).mean(), "size": w.abs().sum()}
    weights = {"fit": 1.0, "size": 0.1}
    loss = sum(weights[k] * v for k, v in parts.items())
    loss.backward()
    return loss.detach(), w.grad, {k: v.item() for k, v in parts.items()}


def _sgd(lr=0.1, **kw):
    w = torch.ones(2, requires_grad=True)
    return t(2), w, optim.SGD([w], lr=lr, **kw)


@program(lambda: _sgd(), lambda: _sgd(momentum=0.5), lambda: _sgd(weight_decay=0.1))
def steps_in_a_loop(x, w, opt):
    history = []
    for epoch in range(3):
        opt.zero_grad()
        loss = ((w - x) ** 2).sum()
        loss.backward()
        opt.step()
        history.append(loss.item())
        if history[-1] > 100:
            break
    return w.detach(), history, opt.state_dict()["param_groups"][0]["lr"]


@program(lambda: _sgd(), lambda: _sgd(lr=0.5))
def schedules_of_the_library(x, w, opt):
    schedule = optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    rates = []
    for _ in range(2):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        schedule.step()
        rates.append(opt.param_groups[0]["lr"])
    return w.detach(), rates


@program(lambda: (t(4, 3), torch.tensor([0, 1, 2, 1])))
def losses_of_the_library(x, target):
    return F.cross_entropy(x, target), F.nll_loss(F.log_softmax(x, -1), target), F.one_hot(target, 3).float().mean(0), F.l1_loss(x, x * 2), \
        F.kl_div(F.log_softmax(x, 1), F.softmax(x * 2, 1), reduction="batchmean"), F.cosine_similarity(x, x + 1), F.huber_loss(x, x + 2)


@program(lambda: (t(2, 3, 4),))
def shapes_of_many_operators(x):
    return x.mean((0, 2)), x.amax(-1), x.argsort(2)[0, 0], x.transpose(0, 2).contiguous().shape, x.movedim(0, -1).shape, x.squeeze().dim(), \
        torch.stack((x, x), 1).shape, torch.cat([x, x], -1).shape, x.split([1, 3], 2)[1].shape, x.masked_fill(x > 0, 0.0).sum(), \
        x.gather(2, torch.zeros(2, 3, 1, dtype=torch.long)).shape, x.cumprod(1)[0, -1], x.norm(dim=-1), x.prod(), x.any(), x.all(dim=0)[0]


@program(lambda: (t(3), t(3)), lambda: (t(3), t(3) * 2))
def branches_on_items(a, b):
    if torch.equal(a, b):
        return "equal", a
    if a.sum().item() < b.sum().item():
        return "less", b - a
    return "more", a - b


@program(lambda: (t(5),))
def tensors_gone_through(x):
    total, biggest = 0.0, None
    for i, v in enumerate(x):
        total = total + v * i
        biggest = v if biggest is None else torch.maximum(biggest, v)
    a, b, *rest = x
    return total, biggest, a + b, len(rest), [float(v) > 0 for v in x], list(reversed(x.tolist())), sum(x), max(x.tolist()), min(x)


@program(lambda: (t(3),), lambda: (t(3).double(),), lambda: (t(3).to(torch.int32),))
def kinds_of_tensors(x):
    if x.dtype in (torch.float32, torch.float64):
        y = x.exp()
    elif not x.is_floating_point():
        y = x.float() / 2
    return y, y.dtype, x.type(torch.float16).dtype, (x + 1.5).dtype, x.to(y).dtype, torch.zeros(1, dtype=x.dtype).dtype


matched_re = re.compile(r"(\w+)=(\d+)")


@program(lambda: (t(3), "a=1,b=22"), lambda: (t(3), "none"))
def expressions_matched(x, s):
    found = dict(matched_re.findall(s))
    m = matched_re.search(s)
    return x + len(found), found, m.group(2) if m else None, re.sub(r"\d", "#", s), re.match("[a-z]+", s).group(), bool(re.fullmatch("none", s))


@program(lambda: (t(3),))
def copies_of_many_kinds(x):
    nested = {"a": [x, {"b": x}], "c": (1, [2])}
    shallow = copy.copy(nested)
    shallow["a"].append(3)
    mine = dict(nested)
    mine["d"] = 1
    part = nested["a"][:]
    part[0] = None
    return nested, shallow["a"] is nested["a"], "d" in nested, part, list(nested["c"]), {**nested, "e": 0}.keys()


@program(lambda: (t(3),))
def deep_copies_of_objects(x):
    c = Config3(extra={"list": [1]})
    d = copy.deepcopy(c)
    d.extra["list"].append(2)
    return c.extra, d.extra, d is not c, x + len(d.extra["list"])


@program(lambda: (t(4), 2), lambda: (t(4), 5))
def recursion_of_many_kinds(x, n):
    def split(v):
        if v.shape[0] == 1:
            return [v]
        half = v.shape[0] // 2
        return split(v[:half]) + split(v[half:])

    def hanoi(k, a="a", b="b", c="c"):
        return 0 if k == 0 else hanoi(k - 1, a, c, b) + 1 + hanoi(k - 1, c, b, a)

    return split(x), hanoi(n), (lambda f: f(f, n))(lambda f, k: 1 if k < 2 else k * f(f, k - 1))


@program(lambda: (t(3), 2), lambda: (t(3), -1))
def assertions(x, n):
    assert n > 0, f"n must be positive: {n}"
    assert x.dim() == 1
    return x / n


@program(lambda: (t(3),), lambda: (t(3),))
def random_state_kept(x):
    random.seed(3)
    torch.manual_seed(3)
    a = random.random()
    state = torch.get_rng_state()
    b = torch.rand(2)
    torch.set_rng_state(state)
    return x * a, b, torch.rand(2), random.randint(0, 9), random.sample([1, 2, 3], 2)


@program(lambda: (t(3),))
def deleted_things(x):
    d = {"a": 1, "b": x}
    del d["a"]
    items = [1, 2, 3]
    del items[0], items[-1]
    o = types.SimpleNamespace(a=1)
    del o.a
    y = x + 1
    del x
    try:
        x
    except UnboundLocalError as error:
        return y, d, items, o, "x" in str(error)


@program(lambda: (t(2, 2),))
def functions_of_linear_algebra(x):
    m = x @ x.T + torch.eye(2) * 3
    values, vectors = torch.linalg.eigh(m)
    l = torch.linalg.cholesky(m)
    return torch.linalg.det(m), torch.linalg.inv(m) @ m, values, l @ l.T, torch.linalg.solve(m, x), torch.linalg.norm(x), torch.trace(m)


@program(lambda: (-torch.eye(2),), lambda: (torch.eye(2),))
def factor_with_jitter(m):
    for k in range(3):
        try:
            return torch.linalg.cholesky(m + k * 2 * torch.eye(2)), k
        except RuntimeError:
            continue
    return None
