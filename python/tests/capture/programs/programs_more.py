# Values that come out of tensors, objects that C code calls back, training helpers, and state that lives across calls.
import collections
import contextlib
import dataclasses
import datetime
import decimal
import functools
import heapq
import itertools
import math
import random
import types
import typing


@program(lambda: (t(4),), lambda: (t(6),))
def items_in_metrics(x):
    metrics = {"sum": x.sum().item(), "max": float(x.max()), "n": x.numel()}
    return x * 2, metrics, [round(metrics["sum"], 3)]


@program(lambda: ([t(3), t(3) + 1, t(3) * 2],))
def loss_accumulates(xs):
    total = 0.0
    for x in xs:
        loss = (x * x).mean()
        total += loss.item()
    return total / len(xs), f"{total:.4f}"


@program(lambda: (t(3),))
def item_scales_tensor(x):
    k = x.abs().max().item()
    return x / (k + 1e-6), x * k - k


@program(lambda: (t(3),))
def item_before_write(x):
    y = x.clone()
    before = y[0].item()
    y.add_(1)
    after = y[0].item()
    return y, before, after


@program(lambda: (t(3),))
def text_before_write(x):
    y = x.clone()
    text = f"{y}"
    y.mul_(2)
    return y, text, str(y.sum())


@program(lambda: (t(2, 2),))
def texts_of_many_kinds(x):
    s = x.sum()
    return x + 1, "%.2f and %s" % (s, x.shape), "{:.1f} {}".format(s, 3), "sum=" + str(s), f"{s!r:>12}|{float(s):8.3f}"


@program(lambda: (t(3),))
def log_lines(x):
    lines = []
    for step in range(2):
        x = x * 2
        lines.append(f"step {step}: norm {x.norm():.3f}")
    return x, "\n".join(lines)


@program(lambda: (t(3),), lambda: (-t(3),))
def truth_kept(x):
    flags = {"any": bool(x.any()), "neg": not (x > 0).all()}
    return x + 1, flags


@program(lambda: (t(3),))
def item_compared(x):
    best = x.max().item() > 0.5
    return x * 2, best, x.argmax().item()


@program(lambda: (t(3), [1.0]))
def item_appended(x, history):
    history.append(x.sum().item())
    return x * 2, len(history)


class Tracker:
    def __init__(self):
        self.best = None
        self.values = []

    def note(self, value):
        self.values.append(value)
        return self


@program(lambda: (t(3), Tracker()), lambda: (t(3), Tracker()))
def tracker_of_losses(x, tracker):
    tracker.note((x ** 2).sum().item()).note(x.mean().item())
    return x - 1, len(tracker.values)


@program(lambda: (t(3),))
def tolist_returned(x):
    return x.tolist(), (x * 2).sum().tolist(), x + 1


@program(lambda: (t(3), 5), lambda: (t(3), 6))
def dates(x, n):
    start = datetime.datetime(2024, 2, 28, 12) + datetime.timedelta(days=n)
    delta = start - datetime.datetime(2024, 1, 1)
    return x * delta.days, start.isoformat(), start.weekday(), datetime.date(2024, 1, 1) < start.date(), delta.total_seconds()


@program(lambda: (t(3), datetime.date(2024, 5, 6)), lambda: (t(3), datetime.date(2025, 5, 6)))
def date_argument(x, day):
    return x + day.year - 2000, day.replace(day=1), f"{day.isoformat()}", day + datetime.timedelta(weeks=1)


@program(lambda: (t(3), decimal.Decimal("1.10")), lambda: (t(3), decimal.Decimal("1.1")))
def decimal_argument(x, price):
    total = price * 3 + decimal.Decimal("0.05")
    return x * float(total), total, str(price), total > price


@program(lambda: (t(3),))
def decimal_rounds(x):
    third = decimal.Decimal(1) / decimal.Decimal(3)
    return x + 1, str(third)[:6]


class Key:
    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, Key) and self.parts == other.parts

    def __hash__(self):
        return hash(self.parts)

    def __repr__(self):
        return f"Key{self.parts}"


@program(lambda: (t(3), {Key(1): 10, Key(2, 3): 20}), lambda: (t(3), {Key(1): 11}))
def object_keys_from_outside(x, table):
    found = table.get(Key(1), 0)
    missing = table.get(Key(9), -1)
    table[Key(4)] = found
    return x * found, missing, sorted(map(repr, table)), Key(2, 3) in table


@program(lambda: (t(3),))
def sets_of_objects(x):
    a = {Key(1), Key(2), Key(1)}
    b = frozenset([Key(2), Key(3)])
    return x * len(a), len(a & b), len(a | b), len(a - b), Key(2) in b, [Key(1), Key(2)].index(Key(2)), [Key(1)].count(Key(1))


class Counting:
    made = 0

    def __init__(self, n):
        self.n = n

    def __hash__(self):
        Counting.made += 1
        return self.n

    def __eq__(self, other):
        return self.n == other.n


@program(lambda: (t(3),), lambda: (t(3),))
def hash_with_effects(x):
    d = {Counting(1): "a", Counting(2): "b"}
    return x * len(d), d[Counting(2)], Counting.made


@dataclasses.dataclass(order=True)
class Task:
    priority: int
    name: str = dataclasses.field(compare=False, default="")


@program(lambda: (t(3),))
def heap_of_objects(x):
    heap = []
    for p, n in ((3, "c"), (1, "a"), (2, "b")):
        heapq.heappush(heap, Task(p, n))
    order = [heapq.heappop(heap).name for _ in range(3)]
    return x * len(order), order, max(Task(1), Task(5)).priority, sorted([Task(2), Task(1)])[0] == Task(1)


class Money:
    def __init__(self, cents):
        self.cents = cents

    def __add__(self, other):
        return Money(self.cents + (other.cents if isinstance(other, Money) else other))

    __radd__ = __add__

    def __format__(self, spec):
        return f"{self.cents / 100:{spec or '.2f'}}"

    def __bool__(self):
        return self.cents != 0

    def __index__(self):
        return self.cents

    def __call__(self, x):
        return x * self.cents


@program(lambda: (t(3),))
def protocols_of_objects(x):
    total = sum([Money(150), Money(250)])
    return total(x), f"{total}", f"{total:.1f}", bool(Money(0)), [0, 1, 2][Money(1)], all([Money(1), Money(2)]), list(range(3))[Money(2)]


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]

    def __reversed__(self):
        return iter(self.rows[::-1])

    def __contains__(self, v):
        return any(v is r for r in self.rows)


@program(lambda: ([t(2), t(2) + 1],))
def sequences_of_objects(rows):
    r = Rows(rows)
    return torch.stack([*r]).sum(), [v.sum() for v in reversed(r)], len(r), rows[0] in r, list(zip(r, "ab"))[1][1], dict(enumerate(r))[0]


@program(lambda: (t(3),))
def coroutines_of_python(x):
    @types.coroutine
    def pause(v):
        got = yield v
        return got

    class Awaitable:
        def __init__(self, v):
            self.v = v

        def __await__(self):
            return (yield self.v) or 1

    async def run(v):
        a = await pause(v + 1)
        b = await Awaitable(v + 2)
        return a, b

    c = run(x)
    first = c.send(None)
    second = c.send(5)
    try:
        c.send(None)
    except StopIteration as stop:
        return first, second, stop.value


class Session:
    def __init__(self):
        self.log = []

    async def __aenter__(self):
        self.log.append("in")
        return self

    async def __aexit__(self, *exc):
        self.log.append("out")


@program(lambda: (t(3), Session()))
def async_with(x, session):
    async def run():
        async with session as s:
            y = x * len(s.log)
        return y

    try:
        run().send(None)
    except StopIteration as stop:
        return stop.value, session.log


@program(lambda: (t(3),), lambda: (t(3),))
def random_in_branches(x):
    k = random.randint(1, 3)
    noise = random.gauss(0, 1)
    return x + noise, k, random.choice(["a", "b", "c"]), random.uniform(1, 2)


@program(lambda: (t(3),))
def random_decides(x):
    if random.random() < 2:
        x = x * 2
    return x + random.random()


@program(lambda: (t(4),))
def numpy_round_trip(x):
    import numpy as np
    a = x.numpy() * 2 + 1
    b = np.concatenate([a, np.zeros(2, dtype=np.float32)])
    return torch.from_numpy(b).sum(), b.shape, torch.tensor(a.mean()), a.ndim


@program(lambda: (t(2, 3),))
def numpy_shapes(x):
    import numpy as np
    a = np.sqrt(np.abs(x.numpy()))
    return torch.from_numpy(a.T.copy()) + 1, a.sum(axis=0).shape, float(a.max()) >= 0, str(a.dtype)


@program(lambda: (t(3),))
def numpy_constant_arrays(x):
    import numpy as np
    window = np.hanning(3).astype(np.float32)
    return x * torch.from_numpy(window), window.shape


@program(lambda: (t(3, grad=True), t(3)))
def gradient_step(w, x):
    loss = ((w * x) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
    return loss.detach(), w.grad.sum()


@program(lambda: (t(3, grad=True),))
def grads_with_create_graph(x):
    (g,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    penalty = (g.norm() - 1) ** 2
    return penalty, g.detach()


@program(lambda: (t(3),), lambda: (-t(3),))
def assert_with_texts(x):
    assert x.dim() == 1, f"wrong rank {x.dim()}"
    assert (x.abs() < 100).all(), f"too large: {x.shape}"
    assert x.sum() > -100
    return x * 2


@program(lambda: (t(3),), lambda: (t(3) + 100,))
def assert_caught(x):
    try:
        assert (x < 50).all(), "large"
    except AssertionError as error:
        return x * 0, str(error)
    return x, "fine"


@program(lambda: (t(3), [0]), lambda: (t(3) + 100, [0]))
def assert_after_effect(x, log):
    log.append(1)
    assert (x < 50).all()
    return x * 2


@functools.cache
def table_of(n):
    return [i * i for i in range(n)]


@program(lambda: (t(3), 3), lambda: (t(3), 4))
def cached_table(x, n):
    return x * sum(table_of(n)), table_of(n)[-1]


@program(lambda: (t(3), types.SimpleNamespace(a=1, b=[2])))
def namespace_argument(x, options):
    options.a += 1
    options.b.append(3)
    options.c = "new"
    return x * options.a, vars(options)


@program(lambda: (t(3),))
def chained_context(x):
    with contextlib.ExitStack() as stack:
        out = []
        stack.callback(out.append, "last")
        v = stack.enter_context(contextlib.closing(types.SimpleNamespace(close=lambda: out.append("closed"))))
        x = x + len(out)
    return x, out, hasattr(v, "close")


@program(lambda: (t(4, 2),))
def batches_by_islice(x):
    it = iter(x)
    sizes = []
    while batch := list(itertools.islice(it, 3)):
        sizes.append(len(batch))
        x = x + torch.stack(batch).sum()
    return x, sizes


@program(lambda: (t(3),))
def typed_dicts(x):
    class_of = typing.NamedTuple("Pair", [("a", int), ("b", float)])
    return x + 1, class_of._fields if False else ("a", "b")


@program(lambda: (t(3), 2), lambda: (t(3), 3))
def counter_arithmetic(x, n):
    c = collections.Counter("abracadabra")
    c.update({"z": n})
    c.subtract("ab")
    return x * c["a"], c.most_common(2), sum(c.values()), (c & collections.Counter("aaz"))["z"], sorted(c.elements())[:3]


@program(lambda: (t(3),))
def exceptions_in_loops(x):
    errors = []
    for v in (1, 0, "a", None):
        try:
            x = x + 1 / v
        except (ZeroDivisionError, TypeError) as e:
            errors.append(type(e).__name__)
        else:
            errors.append("ok")
    return x, errors


@program(lambda: (t(2, 3),), lambda: (t(4, 3),))
def sizes_as_keys(x):
    cache = {}
    for n in (x.shape[0], x.shape[1], x.shape[0]):
        if n not in cache:
            cache[n] = torch.ones(n).sum()
    return sum(cache.values()) + x.sum(), len(cache), math.prod(x.shape)


@program(lambda: (t(3),))
def environment_read(x):
    import os
    scale = int(os.environ.get("CAPTURE_SCALE", "2"))
    return x * scale, os.getenv("CAPTURE_ABSENT") is None, "CAPTURE_ABSENT" in os.environ
