# Programs as they stand in training scripts, libraries and notebooks: longer ones, that mix what the other files try alone.
import asyncio
import collections
import contextlib
import copy
import dataclasses
import functools
import io
import itertools
import math
import operator
import random
import sys
import threading
import types
import typing
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from types import MappingProxyType, SimpleNamespace


class LRU(MutableMapping):
    def __init__(self, size):
        self.size = size
        self.data = collections.OrderedDict()

    def __getitem__(self, key):
        self.data.move_to_end(key)
        return self.data[key]

    def __setitem__(self, key, value):
        self.data[key] = value
        while len(self.data) > self.size:
            self.data.popitem(last=False)

    def __delitem__(self, key):
        del self.data[key]

    def __iter__(self):
        return iter(self.data)

    def __len__(self):
        return len(self.data)


@program(lambda: (t(3), LRU(2)),)
def mutable_mappings(x, cache):
    cache["a"] = x
    cache["b"] = x * 2
    cache["a"]
    cache["c"] = x * 3
    cache.update(d=1)
    return list(cache), cache.get("b"), cache.pop("d"), "a" in cache, cache.setdefault("e", 5), dict(cache), len(cache)


class Frames(Sequence):
    def __init__(self, *items):
        self._items = items

    def __getitem__(self, i):
        return Frames(*self._items[i]) if isinstance(i, slice) else self._items[i]

    def __len__(self):
        return len(self._items)


@program(lambda: (t(3),),)
def abstract_sequences(x):
    f = Frames(x, x + 1, 3)
    return list(f[1:]), 3 in f[2:], list(reversed(f)), f[2:].index(3), f[2:].count(3), isinstance(f, Iterable)


def tree_map(function, nest):
    if isinstance(nest, Mapping):
        return type(nest)((k, tree_map(function, v)) for k, v in nest.items())
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*(tree_map(function, v) for v in nest))
    if isinstance(nest, (list, tuple)):
        return type(nest)(tree_map(function, v) for v in nest)
    return function(nest) if torch.is_tensor(nest) else nest


class Pair(typing.NamedTuple):
    a: typing.Any
    b: typing.Any


@program(lambda: ({"p": Pair(t(2), [t(3), 4]), "q": (t(1), "s")},),)
def trees_by_hand(nest):
    return tree_map(lambda v: v * 2, nest)


@program(lambda: ([t(2), {"a": t(3)}, (4, t(1))],),)
def trees_by_library(nest):
    flat, spec = torch.utils._pytree.tree_flatten(nest)
    doubled = [v * 2 if isinstance(v, torch.Tensor) else v for v in flat]
    return torch.utils._pytree.tree_unflatten(doubled, spec), torch.utils._pytree.tree_map(lambda v: v + 1, nest), len(flat)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.0), nn.Linear(2 * width, width))

    def attend(self, x, mask=None):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        return self.out(y.transpose(1, 2).reshape(b, n, c))

    def forward(self, x, mask=None):
        x = x + self.attend(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class Tiny(nn.Module):
    def __init__(self, vocab=11, width=4, depth=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.pos = nn.Parameter(torch.zeros(1, 16, width))
        self.blocks = nn.ModuleList(Block(width, 2) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        self.apply(self._init)

    @staticmethod
    def _init(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            with torch.no_grad():
                module.weight.copy_(torch.arange(module.weight.numel()).reshape(module.weight.shape) % 7 / 10 - 0.3)
            if getattr(module, "bias", None) is not None:
                nn.init.zeros_(module.bias)

    def forward(self, ids, targets=None):
        b, n = ids.shape
        assert n <= self.pos.shape[1], f"too long: {n}"
        x = self.tok(ids) + self.pos[:, :n]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss

    @torch.no_grad()
    def generate(self, ids, steps, temperature=1.0, top_k=None):
        for _ in range(steps):
            logits, _ = self(ids[:, -8:])
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("inf")
            ids = torch.cat((ids, logits.argmax(-1, keepdim=True)), dim=1)
        return ids

    def groups(self, decay):
        params = {n: p for n, p in self.named_parameters() if p.requires_grad}
        return [{"params": [p for p in params.values() if p.dim() >= 2], "weight_decay": decay},
                {"params": [p for p in params.values() if p.dim() < 2], "weight_decay": 0.0}]


tiny = Tiny()


@program(lambda: (torch.tensor([[1, 2, 3]]), None), lambda: (torch.tensor([[1, 2, 3, 4]]), torch.tensor([[2, 3, 4, -1]])))
def language_model(ids, targets):
    return tiny(ids, targets)


@program(lambda: (torch.tensor([[1, 2]]), 3),)
def language_model_generates(ids, steps):
    return tiny.generate(ids, steps, temperature=0.8, top_k=3)


@program(lambda: (torch.tensor([[1, 2, 3]]), Tiny()),)
def language_model_trains(ids, model):
    opt = optim.AdamW(model.groups(0.1), lr=0.01, betas=(0.9, 0.95))
    losses = []
    for _ in range(2):
        _, loss = model(ids[:, :-1], ids[:, 1:])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return losses, norm, len(opt.param_groups)


class Squeeze(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.fc = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, 1, 1), nn.ReLU(inplace=True), nn.Conv2d(1, c, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.fc(x)


class ConvBlock(nn.Module):
    expansion: int = 1

    def __init__(self, i, o, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.bn = nn.BatchNorm2d(o)
        self.act = nn.SiLU(inplace=True)
        self.down = nn.Conv2d(i, o, 1, stride) if stride != 1 or i != o else None
        self.se = Squeeze(o)

    def forward(self, x):
        identity = x if self.down is None else self.down(x)
        y = self.se(self.bn(self.conv(x)))
        y += identity
        return self.act(y)


def filled(module):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(((torch.arange(p.numel()) + i) % 5 / 10 - 0.2).reshape(p.shape))
    return module


resnet = filled(nn.Sequential(ConvBlock(3, 4, 2), ConvBlock(4, 4), nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(4, 2)))


@program(lambda: (t(2, 3, 8, 8), True), lambda: (t(2, 3, 8, 8), False), lambda: (t(1, 3, 6, 6), False))
def convolution_blocks(x, train):
    resnet.train(train)
    return resnet(x)


class Auto(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = filled(nn.Linear(4, 4))
        self.decoder = filled(nn.Linear(2, 4))

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=-1)
        if self.training:
            std = torch.exp(0.5 * logvar)
            z = mean + torch.randn_like(std) * std
        else:
            z = mean
        out = torch.sigmoid(self.decoder(z))
        kl = -0.5 * torch.mean(1 + logvar - mean.pow(2) - logvar.exp())
        return SimpleNamespace(out=out, kl=kl, z=z)


auto = Auto()


@program(lambda: (t(2, 4),), lambda: (t(2, 4),))
def variational(x):
    r = auto(x)
    auto.eval()
    s = auto(x)
    auto.train()
    return r.out, r.kl, s.z, F.binary_cross_entropy(s.out, torch.full_like(x, 0.5))


class Replay:
    def __init__(self, size):
        self.memory = collections.deque([], maxlen=size)

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, n):
        return [torch.stack(part) for part in zip(*random.sample(list(self.memory), n))]

    def __len__(self):
        return len(self.memory)


@program(lambda: (t(4, 2), Replay(3)),)
def replay_buffers(x, memory):
    for state, after in zip(x, x.roll(-1, 0)):
        memory.push(state, after, torch.tensor(1.0))
    states, nexts, rewards = memory.sample(2)
    target = rewards + 0.9 * nexts.max(1).values
    return F.smooth_l1_loss(states.max(1)[0], target), len(memory)


@program(lambda: (t(4), [1.0, 0.0, 2.0]),)
def returns_discounted(x, rewards):
    returns = collections.deque()
    total = 0.0
    for r in reversed(rewards):
        total = r + 0.5 * total
        returns.appendleft(total)
    values = torch.tensor(list(returns))
    values = (values - values.mean()) / (values.std() + 1e-8)
    return values, [-(x[i] * v) for i, v in enumerate(values)]


@program(lambda: (t(5, 2), t(2, 2)),)
def clusters(points, centers):
    for _ in range(3):
        distance = torch.cdist(points, centers)
        label = distance.argmin(1)
        one = F.one_hot(label, len(centers)).float()
        centers = (one.t() @ points) / one.sum(0).clamp(min=1).unsqueeze(1)
    return centers, label


@program(lambda: (t(3, 3),),)
def power_iteration(m):
    m = m @ m.T
    v = torch.ones(3)
    for i in range(4):
        w = m @ v
        v = w / w.norm()
    return v, v @ m @ v


@program(lambda: (t(4),), lambda: (t(4) - 5,))
def branches_with_effects(x):
    log = []
    if x.sum() > 0:
        log.append("positive")
        y = x * 2
    else:
        log.append("negative")
        y = x / 2
    log.append(y.shape[0])
    if y.mean().item() > 0.1:
        y = y + 1
    return y, log


@program(lambda: (t(3), 3), lambda: (t(3), 0))
def loops_with_else(x, n):
    for i in range(5):
        if i == n:
            x = x * 10
            break
        x = x + 1
    else:
        x = -x
    while True:
        n -= 1
        if n < 0:
            break
        if n % 2:
            continue
        x = x + n
    return x, n


@program(lambda: (t(3),),)
def generators_of_managers(x):
    log = []

    @contextlib.contextmanager
    def layer(name):
        log.append(f"+{name}")
        try:
            yield name
        finally:
            log.append(f"-{name}")

    def items():
        with layer("gen"):
            for i in range(3):
                with layer(i):
                    yield x * i

    total = 0
    for v in items():
        total = total + v
        if len(log) > 4:
            break
    return total, log[:5]


@program(lambda: (t(3),),)
def stacks_and_queues(x):
    stack, seen, order = ["root"], set(), []
    graph = {"root": ["a", "b"], "a": ["c"], "b": ["c", "d"], "c": [], "d": []}
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        order.append(node)
        stack.extend(n for n in graph[node] if n not in seen)
        x = x + len(stack)
    indegree = collections.defaultdict(int)
    for _, nexts in graph.items():
        for n in nexts:
            indegree[n] += 1
    return x, order, dict(indegree)


def parse(tokens):
    def expr():
        value = term()
        while tokens and tokens[0] in "+-":
            op = tokens.pop(0)
            right = term()
            value = value + right if op == "+" else value - right
        return value

    def term():
        value = factor()
        while tokens and tokens[0] == "*":
            tokens.pop(0)
            value = value * factor()
        return value

    def factor():
        token = tokens.pop(0)
        if token == "(":
            value = expr()
            tokens.pop(0)
            return value
        return names[token] if token in names else int(token)

    names = {"x": parse.x}
    return expr()


@program(lambda: (t(3), "x*(2+x)-3*x"),)
def parsers(x, text):
    parse.x = x
    try:
        return parse(list(text))
    finally:
        del parse.x


class Unit:
    table = {"m": 1.0, "km": 1000.0}

    def __init__(self, value, unit="m"):
        self.value, self.unit = value, unit

    def to(self, unit):
        return Unit(self.value * self.table[self.unit] / self.table[unit], unit)

    def __add__(self, other):
        if not isinstance(other, Unit):
            return NotImplemented
        return Unit(self.value + other.to(self.unit).value, self.unit)

    def __lt__(self, other):
        return self.to("m").value < other.to("m").value

    def __format__(self, spec):
        return f"{self.value:{spec or 'g'}}{self.unit}"

    def __index__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)


@program(lambda: (t(3),),)
def units(x):
    a, b = Unit(2), Unit(1, "km")
    try:
        a + 3
    except TypeError as error:
        text = str(error)
    total = a + b
    return x * total.value, f"{total:.1f} {a}", [1, 2, 3][Unit(1)], float(b), a < b, text, range(Unit(2))


class Proxy:
    def __init__(self, target):
        object.__setattr__(self, "_target", target)
        object.__setattr__(self, "_log", [])

    def __getattr__(self, name):
        self._log.append(name)
        return getattr(self._target, name)

    def __setattr__(self, name, value):
        self._log.append("set " + name)
        setattr(self._target, name, value)

    def __delattr__(self, name):
        delattr(self._target, name)

    def __call__(self, *args):
        return self._target(*args)

    def __dir__(self):
        return ["proxied"]


class Target:
    def __init__(self):
        self.scale = 2

    def __call__(self, x):
        return x * self.scale


@program(lambda: (t(3), Proxy(Target())),)
def proxies(x, proxy):
    proxy.scale = proxy.scale + 1
    y = proxy(x)
    proxy.extra = y
    del proxy.extra
    return y, proxy._log, dir(proxy), hasattr(proxy, "extra")


class Borg:
    _state = {}

    def __init__(self):
        self.__dict__ = self._state

    def add(self, key, value):
        setattr(self, key, value)
        return self


@program(lambda: (t(3),), lambda: (t(3),))
def shared_state(x):
    Borg().add("n", getattr(Borg(), "n", 0) + 1)
    return x * Borg().n


class A:
    def run(self, x):
        return [("A", x)]


class B(A):
    def run(self, x):
        return [("B", x)] + super().run(x * 2)


class C(A):
    def run(self, x):
        return [("C", x)] + super().run(x + 1)


class D(B, C):
    def run(self, x):
        return super().run(x)

    def __init_subclass__(cls):
        cls.made = True


@program(lambda: (t(3), D()),)
def diamonds(x, d):
    return d.run(x), [k.__name__ for k in D.__mro__], super(D, d).run(x)[0][0], isinstance(d, C), D.__bases__ == (B, C)


@program(lambda: (t(3),),)
def classes_made_by_type(x):
    Made = type("Made", (A,), {"k": 3, "twice": lambda self, v: v * 2})
    made = Made()
    made.z = 1
    return made.twice(x) * Made.k, Made.__name__, vars(made), issubclass(Made, A)


@program(lambda: (t(3),),)
def namespaces_and_views(x):
    frozen = MappingProxyType({"a": x, "b": 2})
    space = SimpleNamespace(**frozen)
    space.c = space.b + 1
    return frozen["a"], space, len(frozen), dict(frozen), space == SimpleNamespace(a=x, b=2, c=4)


async def _double(x):
    return x * 2


async def _work(x):
    a = await _double(x)
    b = await _double(a)
    return a + b


@program(lambda: (t(3),),)
def coroutines_driven(x):
    c = _work(x)
    try:
        c.send(None)
    except StopIteration as stop:
        return stop.value


@program(lambda: (t(3),),)
def walrus_and_friends(x):
    values = [y for v in range(5) if (y := v * v) > 3]
    if (n := len(values)) > 2:
        x = x * n
    *init, last = values
    (a, b), [c, *d] = (1, 2), (3, 4, 5)
    return x, values, init, last, a + b + c, d, [*init, *d], {**{"k": 1}, "m": n}, y


@program(lambda: (t(3),),)
def comprehensions_nested(x):
    grid = [[x[i] * j for j in range(3) if j != i] for i in range(3)]
    flat = [v for row in grid for v in row]
    table = {(i, j): v for i, row in enumerate(grid) for j, v in enumerate(row)}
    lazy = (v * 2 for v in flat if v.dim() == 0)
    return torch.stack(flat).sum(), len(table), next(lazy), {k for k in "abca"}, sum(v for v in lazy), [(lambda q: q + i)(1) for i in range(2)]


@program(lambda: (t(3), {"lr": 0.1, "layers": [1, 2]}),)
def configs_merged(x, config):
    def merge(a, b):
        out = copy.copy(a)
        for k, v in b.items():
            out[k] = merge(out[k], v) if isinstance(v, dict) and isinstance(out.get(k), dict) else copy.deepcopy(v)
        return out

    full = merge({"lr": 1.0, "opt": {"name": "sgd", "momentum": 0.9}}, {**config, "opt": {"name": "adam"}})
    full["layers"].append(3)
    return x * full["lr"], full, config["layers"]


@program(lambda: (t(3),),)
def streams_written(x):
    out = io.StringIO()
    out.write("a")
    print("b", x.shape[0], sep="-", end="!", file=out)
    with contextlib.redirect_stdout(io.StringIO()) as captured:
        print("inside")
    return x + 1, out.getvalue(), captured.getvalue()


@program(lambda: (t(3),),)
def locks_taken(x):
    lock = threading.Lock()
    with lock:
        y = x + 1
    local = threading.local()
    local.value = 3
    return y * local.value, lock.locked()


@dataclasses.dataclass
class TrainState:
    step: int = 0
    best: float = math.inf
    history: typing.List[float] = dataclasses.field(default_factory=list)
    params: typing.Dict[str, typing.Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        self.params.setdefault("w", torch.ones(3))


@program(lambda: (t(3), TrainState()), lambda: (t(3), TrainState(step=4, best=0.0)))
def functional_training(x, state):
    def loss_fn(params):
        return ((params["w"] * x) ** 2).mean()

    grads = torch.func.grad(loss_fn)(state.params)
    new = {k: p - 0.1 * grads[k] for k, p in state.params.items()}
    loss = loss_fn(new)
    state = dataclasses.replace(state, step=state.step + 1, params=new)
    state.history.append(loss)
    return state, loss


@program(lambda: (t(3),),)
def callbacks_in_order(x):
    events = []

    class Callback:
        def __init__(self, name, order):
            self.name, self.order = name, order

        def __call__(self, event, **info):
            events.append((event, self.name, sorted(info)))

    callbacks = sorted([Callback("b", 2), Callback("a", 1)], key=operator.attrgetter("order"))
    for event in ("begin", "end"):
        for callback in callbacks:
            callback(event, value=x)
    return x + len(events), events


@program(lambda: (t(2, 3), "mean"), lambda: (t(2, 3), "sum"), lambda: (t(2, 3), "none"), lambda: (t(2, 3), "other"))
def reductions_by_name(x, reduction):
    table = {"mean": torch.mean, "sum": torch.sum, "none": lambda v: v}
    if reduction not in table:
        raise NotImplementedError(f"reduction {reduction!r} is none of {', '.join(sorted(table))}")
    return table[reduction](x)


@program(lambda: (t(3, 4),), lambda: (t(2, 4),))
def normalisations(x):
    mean, var = x.mean(0), x.var(0, unbiased=False)
    std, m = torch.std_mean(x, dim=1)
    z = (x - mean) / torch.sqrt(var + 1e-5)
    return z, F.normalize(x, dim=1), std, m, (x - x.min()) / (x.max() - x.min()), torch.softmax(x, 1).log(), x / x.sum(1, keepdim=True).clamp_min(1e-3)


@program(lambda: (t(2, 3), torch.tensor([1, 2])), lambda: (t(2, 3), torch.tensor([0, 0])))
def metrics_of_batches(logits, target):
    predicted = logits.argmax(dim=1)
    correct = (predicted == target).sum().item()
    confusion = torch.zeros(3, 3, dtype=torch.long)
    confusion.index_put_((target, predicted), torch.ones(2, dtype=torch.long), accumulate=True)
    accuracy = correct / target.numel()
    return {"accuracy": accuracy, "correct": correct, "confusion": confusion}, f"{100 * accuracy:.1f}%"


@program(lambda: (t(4), t(4)),)
def tensors_compared(a, b):
    same = torch.equal(a, b)
    close = torch.allclose(a, b + 1e-9)
    if same and close:
        a = a + 1
    return a, same, (a > b).any(), (a == b).sum()


@program(lambda: (t(3, 3), 1), lambda: (t(3, 3), -1))
def diagonals(x, k):
    return x.diagonal(k), torch.tril(x, k), x.triu(k).sum(), torch.diag(x[0]), x.trace(), x.T, x.mT.shape, torch.eye(3)[k]


def _swap(d, *keys):
    return [d.pop(k) for k in keys]


@program(lambda: ({"x": t(2), "y": t(3), "z": 1},),)
def arguments_popped(batch):
    x, y = _swap(batch, "x", "y")
    extra = batch.popitem()
    batch["sum"] = x.sum() + y.sum()
    return batch, extra


@program(lambda: (t(3),),)
def exceptions_as_flow(x):
    def find(values, predicate):
        for v in values:
            if predicate(v):
                return v
        raise LookupError("none")

    results = []
    for limit in (1, 5):
        try:
            results.append(find(range(4), lambda v: v > limit))
        except LookupError as error:
            results.append(f"{error}")
        else:
            x = x + 1
    with contextlib.suppress(KeyError, IndexError):
        {}["k"]
        x = x * 100
    try:
        [].pop()
    except IndexError as error:
        results.append(error.args)
    return x, results


@program(lambda: (t(2, 2), [t(2, 2), t(2, 2)]),)
def tensors_shared(x, items):
    items[0] = x
    view = items[0][0]
    x += 1
    alias = [x] * 2
    alias[0].mul_(2)
    return view, alias, alias[0] is alias[1], items


@program(lambda: (t(3),),)
def global_rebinding(x):
    global THRESHOLD, made_here
    old = THRESHOLD
    THRESHOLD = old * 2
    made_here = x
    try:
        y = x + THRESHOLD
    finally:
        THRESHOLD = old
    del made_here
    return y, THRESHOLD


THRESHOLD = 0.5


class Subclass(torch.Tensor):
    pass


@program(lambda: (t(3),),)
def parameters_made(x):
    p = nn.Parameter(x.clone())
    b = torch.nn.Buffer(x) if hasattr(torch.nn, "Buffer") else x
    return p.requires_grad, isinstance(p, nn.Parameter), (p * 2).sum(), b + 1


@program(lambda: (t(3),), lambda: (t(3),))
def function_attributes_count(x):
    function_attributes_count.calls = getattr(function_attributes_count, "calls", 0) + 1
    return x * function_attributes_count.calls


@program(lambda: (t(3), lambda v: v * 2), lambda: (t(3), torch.neg), lambda: (t(3), A().run), lambda: (t(3), functools.partial(torch.add, other=1)))
def functions_given(x, f):
    return f(x), callable(f)


@program(lambda: (t(6),),)
def accumulators(x):
    total, hi, lo = 0, -math.inf, math.inf
    running = []
    for i, v in enumerate(x, start=1):
        total += v
        hi = max(hi, i)
        lo = min(lo, -i)
        running.append(total / i)
    return torch.stack(running), hi, lo


@program(lambda: (t(4, 4), 2), lambda: (t(6, 4), 3))
def patches(x, p):
    h, w = x.shape
    tiles = x.unfold(0, p, p).unfold(1, 2, 2).reshape(-1, p * 2)
    rows = [x[i:i + p].mean() for i in range(0, h, p)]
    return tiles, torch.stack(rows), F.pad(x, (1, 1)), x.repeat(2, 1).shape, x.tile(2).shape, x.repeat_interleave(2, 0)[:3], x.expand(2, *x.shape).shape


@program(lambda: (t(3),), lambda: (t(3).requires_grad_(),))
def detached_copies(x):
    y = x.detach().clone()
    y[0] = 9
    z = torch.tensor(2.5) * x
    w = torch.as_tensor([1, 2, 3]) + y
    return y, z, w, z.requires_grad, torch.zeros_like(x), torch.empty_like(x).shape, x.new_tensor([1.0]), torch.full((2,), 3.0)
