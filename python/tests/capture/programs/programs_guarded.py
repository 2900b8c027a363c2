# Facts that change between calls: arguments, attributes, globals, closures, lengths, kinds, modes, and objects that are shared.
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import math
import operator
import types
import typing


class Options(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


@program(lambda: (t(3), Options(a=1, b="x")), lambda: (t(3), Options(a=2, b="x")), lambda: (t(3), Options(a=2, b="y", c=None)))
def attribute_dict_changes(x, o):
    y = x * o.a
    if o.b == "y" and "c" in o:
        y = y - 1
    o.seen = o.get("seen", 0) + 1
    return y, len(o)


CONFIG = {"depth": 1, "act": "relu"}


@program(lambda: (t(3), 1, "relu"), lambda: (t(3), 2, "relu"), lambda: (t(3), 2, "tanh"), lambda: (t(3), 2, "tanh"))
def global_dict_changes(x, depth, act):
    y = x
    for _ in range(CONFIG["depth"]):
        y = getattr(torch, CONFIG["act"])(y)
    CONFIG.update(depth=depth, act=act)
    return y


def stepper(start):
    state = [start]

    def step(x, by):
        state[0] += by
        return x * state[0]

    step.state = state
    return step


STEP = stepper(1)


@program(lambda: (t(3), 1), lambda: (t(3), 1), lambda: (t(3), 5))
def closures_with_state_of_lists(x, by):
    return STEP(x, by), STEP.state[0]


class Switch:
    mode = "train"

    def run(self, x):
        if self.mode == "train":
            return x * 2
        return x + 100


@program(lambda: (t(3), Switch(), "eval"), lambda: (t(3), Switch(), "train"), lambda: (t(3), Switch(), "eval"))
def class_attribute_switched(x, s, then):
    y = s.run(x)
    Switch.mode = then
    return y, s.run(x), s.mode


@program(lambda: (t(3), t(3)), lambda: (lambda a: (a, a))(t(3)), lambda: (t(3), t(3)))
def same_tensor_twice(a, b):
    a.add_(1)
    return a + b, a is b


@program(lambda: (lambda a: (a, a[1:]))(t(4)), lambda: (t(4), t(3)))
def overlapping_arguments(a, b):
    b.mul_(2)
    return a.sum(), b


@program(lambda: (t(3), [1, 2]), lambda: (t(3), (1, 2)), lambda: (t(3), {1: 2}), lambda: (t(3), range(1, 3)), lambda: (t(3), "ab"), lambda: (t(3), None))
def kinds_of_iterables(x, items):
    if items is None:
        return x
    n = 0
    for item in items:
        n += item if isinstance(item, int) else ord(item)
    return x + n, type(items).__name__, len(items)


@program(lambda: (t(3), lambda v: v + 1), lambda: (t(3), lambda v: v * 2), lambda: (t(3), torch.relu), lambda: (t(3), nn.Tanh()), lambda: (t(3), functools.partial(torch.add, other=3)), lambda: (t(3), [].append))
def callables_change(x, f):
    y = f(x)
    return x if y is None else y


@program(lambda: (t(3), 3), lambda: (t(3), 3.0), lambda: (t(3), True), lambda: (t(3), 3 + 0j), lambda: (t(3), torch.tensor(3)), lambda: (t(3), None))
def numbers_of_kinds(x, n):
    if isinstance(n, bool):
        return x if n else -x
    if n is None:
        return x * 0
    return x * n, type(n).__name__


@program(lambda: (t(2, 3),), lambda: (t(2, 3).t().contiguous().t(),), lambda: (t(2, 3)[:, :2],), lambda: (t(4, 3)[::2],), lambda: (t(2, 3).expand(2, 2, 3)[0],))
def layouts_change(x):
    if x.is_contiguous():
        y = x.view(-1)
    else:
        y = x.reshape(-1)
    return y, x.stride(), x.is_contiguous()


@program(lambda: (t(3, grad=True),), lambda: (t(3),), lambda: (t(3, grad=True).detach(),), lambda: (t(3, grad=True) * 2,))
def requires_grad_changes(x):
    if x.requires_grad:
        y = (x * x).sum()
        return y, y.requires_grad, x.is_leaf
    return x + 1, x.is_leaf


@program(lambda: (t(2),), lambda: (t(0),), lambda: (t(1),), lambda: (t(5),))
def empty_and_single(x):
    if x.numel() == 0:
        return x.new_zeros(1)
    if len(x) == 1:
        return x.squeeze(0)
    return x.cumsum(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2
        self.layers = nn.ModuleList([nn.Identity()])
        self.flags = {"on": True}
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        if self.flags["on"] and not self.training:
            x = x + 1
        return self.drop(x) * self.scale


NET = Net()


@program(lambda: (t(3), {}), lambda: (t(3), {"scale": 5}), lambda: (t(3), {"flag": False}), lambda: (t(3), {"layer": nn.ReLU()}), lambda: (t(3), {"eval": True}), lambda: (t(3), {"flag": True}))
def module_facts_change(x, change):
    if "scale" in change:
        NET.scale = change["scale"]
    if "flag" in change:
        NET.flags["on"] = change["flag"]
    if "layer" in change:
        NET.layers.append(change["layer"])
    if "eval" in change:
        NET.eval()
    return NET(x), NET.training, len(NET.layers)


@program(lambda: (t(3), Net()), lambda: (t(3), nn.Sequential(nn.ReLU())), lambda: (t(3), nn.Identity()))
def modules_of_kinds(x, m):
    return m(x), m.__class__.__name__, isinstance(m, nn.Sequential), [n for n, _ in m.named_children()]


class Point(typing.NamedTuple):
    x: typing.Any
    y: typing.Any = 1


@program(lambda: (Point(t(2)),), lambda: (Point(t(2), 2),), lambda: ((t(2), 2),), lambda: (Point(3, t(2)),))
def tuples_of_kinds(p):
    if isinstance(p, Point) and torch.is_tensor(p.y):
        return p.y * p.x
    a, b = p
    return a * b, hasattr(p, "_fields")


@program(lambda: (t(3), "cpu"), lambda: (t(3), torch.device("cpu")), lambda: (t(3), None), lambda: (t(3), "meta"))
def devices_of_kinds(x, device):
    y = torch.ones(3, device=device)
    if y.device == x.device:
        y = y + x
    return y.shape, y.device, str(device)


@program(lambda: (t(3), 0.1, 1e-8), lambda: (t(3), 0.01, 1e-8), lambda: (t(3), float("inf"), 1e-8), lambda: (t(3), float("nan"), 1e-8), lambda: (t(3), -0.0, 0.0))
def floats_of_kinds(x, lr, eps):
    if math.isinf(lr):
        return x
    if lr != lr:
        return x - x
    if lr == 0:
        return x, math.copysign(1, lr)
    return x - lr * x / (x.abs() + eps), f"{lr:.2e}"


@program(lambda: (t(3), collections.OrderedDict(a=1, b=2)), lambda: (t(3), collections.OrderedDict(b=2, a=1)), lambda: (t(3), {"a": 1, "b": 2}), lambda: (t(3), collections.defaultdict(int, a=1)), lambda: (t(3), collections.Counter("aab")), lambda: (t(3), types.MappingProxyType({"a": 4, "b": 5})))
def mappings_of_kinds(x, m):
    first = next(iter(m))
    return x * m[first] + m.get("b", 0), list(m.items()), isinstance(m, dict)


class Weird:
    def __init__(self, n):
        self.n = n

    def __bool__(self):
        return self.n > 1

    def __len__(self):
        return 0

    def __eq__(self, other):
        return self.n == getattr(other, "n", other)

    def __hash__(self):
        return 7


@program(lambda: (t(3), Weird(1), Weird(1)), lambda: (t(3), Weird(2), Weird(1)), lambda: (t(3), Weird(2), 2))
def truth_and_equality_of_objects(x, a, b):
    y = x + 1 if a else x - 1
    return y, a == b, a != b, a in [b], b in {a: 1}, not a, a and 5, [a, b].count(a), len(a)


@program(lambda: (t(3), slice(0, 2)), lambda: (t(3), slice(1, None)), lambda: (t(3), 1), lambda: (t(3), [0, 2]), lambda: (t(3), torch.tensor([True, False, True])), lambda: (t(3), ...), lambda: (t(3), None), lambda: (t(3), torch.tensor([2, 0])))
def indices_of_kinds(x, i):
    return x[i]


@program(lambda: (t(3), True), lambda: (t(3), False))
def modes_at_entry(x, on):
    with torch.set_grad_enabled(on):
        y = x.clone().requires_grad_()
        z = y * 2
    return z.requires_grad, y.requires_grad, torch.is_grad_enabled()


@program(lambda: (t(4), 2), lambda: (t(6), 3), lambda: (t(8), 2), lambda: (t(9), 3))
def size_relations(x, k):
    n = x.shape[0]
    assert n % k == 0, "does not divide"
    y = x.view(k, n // k)
    if n > 2 * k:
        y = y.flip(1)
    return y, divmod(n, k), n == k * 2, max(n, 7), [i for i in range(0, n, k)]


@program(lambda: (t(2, 3), t(3, 2)), lambda: (t(4, 3), t(3, 5)), lambda: (t(7, 3), t(3, 8)))
def products_of_sizes(a, b):
    c = a @ b
    m, n = c.shape
    return c, c.numel() == m * n, torch.arange(n) + m, c.new_empty(m, 0).shape, torch.zeros(m + 1, n - 1).sum(), (m, n) == tuple(c.size())


@program(lambda: ([t(2), t(3)],), lambda: ([t(2), t(3), t(4)],), lambda: ([],))
def lists_of_tensors(xs):
    total = sum(x.sum() for x in xs)
    longest = max(xs, key=len, default=None)
    lens = [len(x) for x in xs]
    if xs:
        pad = nn.utils.rnn.pad_sequence(xs, batch_first=True, padding_value=-1.0)
    else:
        pad = None
    return total, longest, lens, pad


@program(lambda: ({"a": t(2), "b": {"c": [t(3), None]}},), lambda: ({"a": t(2), "b": {"c": [t(3), 5]}},), lambda: ({"a": t(2), "b": {}},))
def nests_change(nest):
    inner = nest["b"].get("c") or []
    out = [v * 2 if torch.is_tensor(v) else v for v in inner]
    nest["b"]["out"] = len(out)
    return nest["a"] + len(inner), out


class Counter:
    total = 0

    def __init__(self):
        type(self).total += 1
        self.id = Counter.total

    def __repr__(self):
        return f"<{self.id}>"


@program(lambda: (t(3),), lambda: (t(3),))
def class_counters(x):
    a, b = Counter(), Counter()
    return x + a.id, repr(b), Counter.total


@program(lambda: (t(3), "x = {:.2f}", 1), lambda: (t(3), "n = {:5d}|", 2), lambda: (t(3), "{!r:>6}", "z"))
def formats_change(x, form, value):
    return x * 2, form.format(value), "%s-%s" % (form[:1], value), f"{value!s:*^9}", f"{x.shape[0]=}", f"{form:{10}.{4}}"


def deco(f):
    @functools.wraps(f)
    def inner(*args, **kw):
        inner.calls += 1
        return f(*args, **kw)
    inner.calls = 0
    return inner


@deco
def counted(x, k=1):
    return x + k


@program(lambda: (t(3), 1), lambda: (t(3), 2), lambda: (t(3), 3))
def calls_counted_on_functions(x, k):
    y = counted(counted(x, k=k))
    return y, counted.calls, counted.__wrapped__(x, 5), counted.__name__


@program(lambda: (t(3), types.SimpleNamespace(a=1, b=t(3))), lambda: (t(3), types.SimpleNamespace(a=2, b=t(3))), lambda: (t(3), types.SimpleNamespace(a=2, b=None)))
def namespaces_change(x, ns):
    if ns.b is not None:
        x = x + ns.b
    ns.a += 1
    ns.c = x
    return x * ns.a, vars(ns).keys(), ns == types.SimpleNamespace(a=0)


LATE = None


@program(lambda: (t(3), 5), lambda: (t(3), t(3)), lambda: (t(3), None))
def global_of_many_kinds(x, nxt):
    global LATE
    now = LATE
    LATE = nxt
    if now is None:
        return x
    return x + now


@program(lambda: (t(3, dtype=torch.float32), t(3, dtype=torch.float64)), lambda: (t(3, dtype=torch.int32), t(3, dtype=torch.bool)), lambda: (t(3, dtype=torch.bfloat16), t(3, dtype=torch.int64)), lambda: (t(3, dtype=torch.complex64), t(3)))
def dtypes_change(a, b):
    c = a + b
    return c, torch.result_type(a, b), torch.promote_types(a.dtype, b.dtype), c.dtype.is_complex, torch.can_cast(a.dtype, b.dtype), a.is_floating_point()
