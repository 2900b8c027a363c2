# Training as scripts have it: steps, groups of parameters, schedules, metrics, callbacks, containers of modules, state that moves.
import collections
import contextlib
import copy
import dataclasses
import functools
import itertools
import math
import types
import typing


def fill(module, value=0.05):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_((torch.arange(p.numel(), dtype=torch.float32).reshape(p.shape) % 5 - 2) * value + 0.01 * i)
    return module


def net(*sizes):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return fill(nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1])))


def make_step(kind, **options):
    model = net(3, 4, 2)
    return model, kind(model.parameters(), **options)


sgd_model, sgd_optimizer = make_step(optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)


@program(lambda: (t(4, 3), t(4, 2)), lambda: (t(4, 3), t(4, 2)), lambda: (t(4, 3), t(4, 2)))
def step_of_sgd(x, y):
    sgd_optimizer.zero_grad()
    loss = F.mse_loss(sgd_model(x), y)
    loss.backward()
    sgd_optimizer.step()
    return loss.detach(), sgd_model[0].weight.detach().clone()


adam_model, adam_optimizer = make_step(optim.AdamW, lr=0.01, betas=(0.9, 0.99))


@program(lambda: (t(4, 3), t(4, 2)), lambda: (t(4, 3), t(4, 2)))
def step_of_adamw(x, y):
    loss = F.smooth_l1_loss(adam_model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(adam_model.parameters(), 0.5)
    adam_optimizer.step()
    adam_optimizer.zero_grad(set_to_none=True)
    return loss.detach(), norm.detach(), all(p.grad is None for p in adam_model.parameters())


grouped_model = net(3, 4, 2)
decay = [p for n, p in grouped_model.named_parameters() if n.endswith("weight")]
no_decay = [p for n, p in grouped_model.named_parameters() if n.endswith("bias")]
grouped_optimizer = optim.Adam([{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "lr": 0.05}], lr=0.01)


@program(lambda: (t(4, 3), 0.5), lambda: (t(4, 3), 0.25))
def groups_of_parameters(x, factor):
    loss = grouped_model(x).pow(2).mean()
    loss.backward()
    for group in grouped_optimizer.param_groups:
        group["lr"] = group["lr"] * factor
    grouped_optimizer.step()
    grouped_optimizer.zero_grad()
    return loss.detach(), [g["lr"] for g in grouped_optimizer.param_groups], len(grouped_optimizer.state)


accumulating = net(3, 2)


@program(lambda: (t(6, 3), 3), lambda: (t(6, 3), 2))
def gradients_accumulated(x, parts):
    total = 0.0
    for p in accumulating.parameters():
        p.grad = None
    for chunk in x.chunk(parts):
        loss = accumulating(chunk).square().mean() / parts
        loss.backward()
        total = total + loss.detach()
    with torch.no_grad():
        for p in accumulating.parameters():
            p -= 0.1 * p.grad
    return total


class ExponentialMoving:
    def __init__(self, beta):
        self.beta, self.value, self.count = beta, None, 0

    def update(self, x):
        self.count += 1
        self.value = x if self.value is None else self.beta * self.value + (1 - self.beta) * x
        return self.value / (1 - self.beta ** self.count)


@program(lambda: (t(3), ExponentialMoving(0.9)),)
def metrics_smoothed(x, meter):
    values = [meter.update((x * i).mean()) for i in range(3)]
    return torch.stack(values), meter.count


class MeanMetric(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(()), persistent=False)
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def update(self, values, weight=None):
        values = torch.as_tensor(values, dtype=torch.float32)
        weight = torch.ones_like(values) if weight is None else torch.broadcast_to(weight, values.shape)
        self.total += (values * weight).sum()
        self.count += values.numel()

    def compute(self):
        return self.total / self.count.clamp(min=1)

    def reset(self):
        self.total.zero_()
        self.count.zero_()


mean_metric = MeanMetric()


@program(lambda: (t(4), None), lambda: (t(4), torch.tensor(2.0)), lambda: (t(4), None))
def metrics_with_buffers(x, weight):
    mean_metric.update(x, weight)
    return mean_metric.compute(), list(mean_metric.state_dict())


@program(lambda: (torch.tensor([0, 1, 2, 1]), torch.tensor([0, 2, 2, 1]), 3),)
def confusions_counted(predicted, target, n):
    index = target * n + predicted
    matrix = torch.bincount(index, minlength=n * n).reshape(n, n)
    diagonal = matrix.diagonal()
    precision = diagonal / matrix.sum(0).clamp(min=1)
    recall = diagonal / matrix.sum(1).clamp(min=1)
    f1 = 2 * precision * recall / (precision + recall).clamp(min=1e-9)
    return matrix, f1.mean(), diagonal.sum() / matrix.sum()


@dataclasses.dataclass
class TrainState:
    step: int = 0
    best: float = math.inf
    history: list = dataclasses.field(default_factory=list)
    flags: set = dataclasses.field(default_factory=set)
    meta: dict = dataclasses.field(default_factory=lambda: {"name": "run"})


@program(lambda: (t(3), TrainState()), lambda: (t(3), TrainState(step=5, best=1.0)))
def state_in_a_dataclass(x, state):
    state.step += 1
    loss = x.square().sum()
    state.history.append((state.step, loss))
    state.flags.add("trained")
    state.meta["last"] = loss * 2
    copied = dataclasses.replace(state, step=0)
    return loss * state.step, copied.step, [f.name for f in dataclasses.fields(state)], copied.history is state.history


class Callback:
    def on_begin(self, trainer):
        pass

    def on_step(self, trainer, loss):
        pass


class Recorder(Callback):
    def __init__(self):
        self.losses = []

    def on_step(self, trainer, loss):
        self.losses.append(loss.detach())


class StopAt(Callback):
    def __init__(self, steps):
        self.steps = steps

    def on_step(self, trainer, loss):
        trainer.should_stop = trainer.steps >= self.steps


class Trainer:
    def __init__(self, callbacks=()):
        self.callbacks, self.steps, self.should_stop = list(callbacks), 0, False

    def call(self, hook, *args):
        for callback in self.callbacks:
            getattr(callback, f"on_{hook}")(self, *args)

    def fit(self, x, function):
        self.call("begin")
        while not self.should_stop:
            loss = function(x).mean()
            x = x - 0.1 * loss
            self.steps += 1
            self.call("step", loss)
        return x


@program(lambda: (t(3), Trainer([Recorder(), StopAt(3)])),)
def trainers_with_callbacks(x, trainer):
    out = trainer.fit(x, torch.sin)
    return out, trainer.steps, len(trainer.callbacks[0].losses)


@program(lambda: (0,), lambda: (5,), lambda: (50,), lambda: (500,))
def schedule_of_warmup(step):
    warmup, total = 10, 100
    x = torch.ones(2)
    if step < warmup:
        scale = (step + 1) / warmup
    else:
        progress = min((step - warmup) / (total - warmup), 1.0)
        scale = 0.5 * (1 + math.cos(math.pi * progress))
    return x * scale, scale


scheduled_model, scheduled_optimizer = make_step(optim.SGD, lr=0.1)
scheduler = optim.lr_scheduler.StepLR(scheduled_optimizer, step_size=1, gamma=0.5)


@program(lambda: (t(4, 3),), lambda: (t(4, 3),))
def schedule_steps(x):
    loss = scheduled_model(x).mean()
    loss.backward()
    scheduled_optimizer.step()
    scheduler.step()
    scheduled_optimizer.zero_grad()
    return loss.detach(), scheduler.get_last_lr()


scaler_model, scaler_optimizer = make_step(optim.SGD, lr=0.1)


@program(lambda: (t(4, 3), t(4, 2)), lambda: (t(4, 3), t(4, 2)))
def step_in_mixed_precision(x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = scaler_model(x)
        loss = F.mse_loss(out.float(), y)
    loss.backward()
    scaler_optimizer.step()
    scaler_optimizer.zero_grad()
    return out.dtype, loss.detach()


gan_g, gan_d = net(2, 4, 3), net(3, 4, 1)
gan_og, gan_od = optim.Adam(gan_g.parameters(), lr=0.01), optim.Adam(gan_d.parameters(), lr=0.01)


@program(lambda: (t(4, 3), t(4, 2)), lambda: (t(4, 3), t(4, 2)))
def step_of_two_nets(real, z):
    gan_od.zero_grad()
    fake = gan_g(z)
    loss_d = F.binary_cross_entropy_with_logits(gan_d(real), torch.ones(4, 1)) + F.binary_cross_entropy_with_logits(
        gan_d(fake.detach()), torch.zeros(4, 1))
    loss_d.backward()
    gan_od.step()
    gan_og.zero_grad()
    loss_g = F.binary_cross_entropy_with_logits(gan_d(fake), torch.ones(4, 1))
    loss_g.backward()
    gan_og.step()
    return loss_d.detach(), loss_g.detach()


teacher, student = net(3, 4), net(3, 4)
for _p in teacher.parameters():
    _p.requires_grad_(False)


@program(lambda: (t(4, 3), 2.0), lambda: (t(4, 3), 4.0))
def knowledge_distilled(x, temperature):
    with torch.no_grad():
        target = F.softmax(teacher(x) / temperature, dim=-1)
    logp = F.log_softmax(student(x) / temperature, dim=-1)
    loss = F.kl_div(logp, target, reduction="batchmean") * temperature ** 2
    grads = torch.autograd.grad(loss, list(student.parameters()))
    return loss.detach(), [g.norm() for g in grads]


@program(lambda: (t(4, 3), torch.tensor([0, 1, 2, 1]), 0.4),)
def batches_mixed_up(x, y, lam):
    index = torch.tensor([2, 0, 3, 1])
    mixed = lam * x + (1 - lam) * x[index]
    onehot = F.one_hot(y, 3).float()
    target = lam * onehot + (1 - lam) * onehot[index]
    return (-(target * F.log_softmax(mixed, -1)).sum(-1)).mean()


@program(lambda: (t(3, grad=True),),)
def perturbed_inputs(x):
    loss = (x ** 2).sum()
    grad, = torch.autograd.grad(loss, x)
    adversarial = (x + 0.1 * grad.sign()).clamp(-1, 1).detach()
    return (adversarial ** 2).sum(), adversarial


sam_model = net(3, 2)


@program(lambda: (t(4, 3),), lambda: (t(4, 3),))
def step_with_lookahead(x):
    params = list(sam_model.parameters())
    grads = torch.autograd.grad(sam_model(x).square().mean(), params)
    norm = torch.sqrt(sum(g.pow(2).sum() for g in grads))
    with torch.no_grad():
        moves = [g * 0.05 / (norm + 1e-12) for g in grads]
        for p, e in zip(params, moves):
            p.add_(e)
    grads = torch.autograd.grad(sam_model(x).square().mean(), params)
    with torch.no_grad():
        for p, e, g in zip(params, moves, grads):
            p.sub_(e).sub_(g, alpha=0.1)
    return norm, params[0].detach().clone()


# Containers of modules.


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.branches = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Sequential(nn.Linear(2, 2), nn.ReLU())})
        self.order = ["b", "a"]
        self.weights = nn.ParameterDict({k: nn.Parameter(torch.tensor(float(i + 1))) for i, k in enumerate("ab")})
        self.extra = nn.ModuleList()

    def forward(self, x, only=None):
        outputs = {}
        for name in self.order:
            if only is not None and name not in only:
                continue
            outputs[name] = self.branches[name](x) * self.weights[name]
        for module in self.extra:
            x = module(x)
        return sum(outputs.values(), torch.zeros_like(x)), outputs


branches = fill(Branches())


@program(lambda: (t(3, 2), None), lambda: (t(3, 2), {"a"}), lambda: (t(3, 2), ["b"]))
def modules_in_dicts(x, only):
    total, outputs = branches(x, only)
    return total, sorted(outputs), "a" in branches.branches, len(branches.extra), list(branches.branches.keys())


sliced = fill(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2), nn.Sigmoid()))


@program(lambda: (t(3, 2), 2), lambda: (t(3, 2), 3))
def sequences_sliced(x, n):
    features = []
    for i, layer in enumerate(sliced[:n]):
        x = layer(x)
        if isinstance(layer, nn.Linear):
            features.append(x)
    return sliced[n:](x), features, sliced[-1] is sliced[3], len(sliced[1:])


class Freezable(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(2, 2), nn.Linear(2, 1)

    def freeze(self, *names):
        for name, p in self.named_parameters():
            p.requires_grad = not any(name.startswith(n) for n in names)
        return self

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


freezable = fill(Freezable())


@program(lambda: (t(3, 2),),)
def parameters_counted(x):
    y = freezable(x)
    total = sum(p.numel() for p in freezable.parameters())
    trained = sum(p.numel() for p in freezable.parameters() if p.requires_grad)
    shapes = {n: tuple(p.shape) for n, p in freezable.named_parameters()}
    return y, total, trained, shapes


class Wrapper(nn.Module):
    def __init__(self, module, prefix="wrapped"):
        super().__init__()
        self.prefix = prefix
        self.add_module(prefix, module)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(self.__dict__["prefix"]), name)

    def forward(self, *args, **kwargs):
        return self.get_submodule(self.prefix)(*args, **kwargs)


wrapper = Wrapper(Freezable(), "inner")
fill(wrapper)


@program(lambda: (t(3, 2),),)
def modules_wrapped(x):
    return wrapper(x), wrapper.head.weight.shape, wrapper.head is wrapper.inner.head


class Stateful(nn.Module):
    steps: torch.Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.register_buffer("mean", None)
        self.cache = {}

    def forward(self, x):
        self.steps += 1
        if self.mean is None:
            self.mean = x.mean(0)
        else:
            self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        key = tuple(x.shape)
        if key not in self.cache:
            self.cache[key] = torch.ones(key) * len(self.cache)
        return x - self.mean + self.cache[key]


stateful = Stateful()


@program(lambda: (t(3, 2),), lambda: (t(3, 2),), lambda: (t(4, 2),))
def modules_with_changing_state(x):
    return stateful(x), stateful.steps.clone(), len(stateful.cache)


class Parametrised(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = nn.Parameter(torch.tensor([0.5, -0.5]))

    @property
    def scale(self):
        return F.softplus(self.raw)

    @scale.setter
    def scale(self, value):
        with torch.no_grad():
            self.raw.copy_(torch.log(torch.expm1(value)))

    def forward(self, x):
        return x * self.scale


parametrised = Parametrised()


@program(lambda: (t(3, 2), None), lambda: (t(3, 2), torch.tensor([1.0, 2.0])), lambda: (t(3, 2), None))
def properties_of_parameters(x, new):
    if new is not None:
        parametrised.scale = new
    return parametrised(x), parametrised.scale


@program(lambda: (t(2, 3),),)
def functions_applied_to_modules(x):
    model = copy.deepcopy(applied)

    def init(module):
        if isinstance(module, nn.Linear):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
    with torch.no_grad():
        model.apply(init)
    return model(x)


applied = fill(nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2)))


@program(lambda: (t(2, 3),),)
def dtypes_of_modules(x):
    return half_model(x.to(torch.bfloat16)).float(), next(half_model.parameters()).dtype, {p.dtype for p in half_model.parameters()}


half_model = fill(nn.Linear(3, 2)).to(torch.bfloat16)


class Lazily(nn.Module):
    def __init__(self):
        super().__init__()
        self.made = False

    def forward(self, x):
        if not self.made:
            self.weight = torch.ones(x.shape[-1]) * 2
            self.made = True
        return x * self.weight


lazily = Lazily()


@program(lambda: (t(2, 3),), lambda: (t(2, 3),))
def attributes_made_in_forward(x):
    return lazily(x), lazily.made


class Tuples(nn.Module):
    class Output(typing.NamedTuple):
        value: typing.Any
        norm: typing.Any
        name: str = "tuples"

    def forward(self, x):
        return self.Output(x * 2, x.norm())


tuples = Tuples()


@program(lambda: (t(3),),)
def outputs_of_named_tuples(x):
    out = tuples(x)
    value, norm, name = out
    return out, value + norm, out._replace(name="other"), out._asdict()["name"], out[:2]


@program(lambda: (t(2, 3, 4),),)
def rnn_with_states(x):
    out, (h, c) = lstm(x)
    out2, _ = lstm(out[..., :4], (h, c))
    return out2, h.shape, gru(x)[1]


lstm, gru = fill(nn.LSTM(4, 4, num_layers=2, batch_first=True)), fill(nn.GRU(4, 3, bidirectional=True))


@program(lambda: (t(5, 4), [3, 2]), lambda: (t(6, 4), [1, 2, 3]))
def sequences_padded(x, lengths):
    parts = torch.split(x, lengths)
    padded = nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=-1.0)
    mask = torch.arange(padded.shape[1])[None, :] < torch.tensor(lengths)[:, None]
    return padded, mask, (padded * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


@program(lambda: (t(3, 4), t(3, 4)),)
def losses_of_modules(x, y):
    criteria = {"mse": nn.MSELoss(), "l1": nn.L1Loss(reduction="sum"), "huber": nn.HuberLoss(delta=0.5),
                "cos": lambda a, b: 1 - F.cosine_similarity(a, b).mean()}
    weights = collections.defaultdict(lambda: 1.0, mse=2.0)
    parts = {name: weights[name] * criterion(x, y) for name, criterion in criteria.items()}
    return sum(parts.values()), {k: v.detach() for k, v in parts.items()}


@program(lambda: (t(4, 3), torch.tensor([0, 2, 1, 2])),)
def losses_of_classes(logits, target):
    weight = torch.tensor([1.0, 2.0, 0.5])
    a = F.cross_entropy(logits, target, weight=weight, label_smoothing=0.1)
    b = F.nll_loss(F.log_softmax(logits, 1), target, reduction="none")
    pt = torch.exp(-b)
    return a, ((1 - pt) ** 2 * b).mean(), F.multi_margin_loss(logits, target)


@program(lambda: (t(3), 4), lambda: (t(3), 2))
def solvers_iterated(x, steps):
    def f(v):
        return v ** 3 - 2 * v + 1

    def derivative(v):
        return 3 * v ** 2 - 2
    trace = []
    for _ in range(steps):
        x = x - f(x) / (derivative(x) + 1e-6)
        trace.append(x.abs().max())
    return x, torch.stack(trace)


@program(lambda: (t(2),), lambda: (t(2) + 1,))
def integrated_by_runge_kutta(y):
    def f(time, v):
        return torch.stack([v[1], -v[0] * math.cos(time)])
    h, time = 0.1, 0.0
    for _ in range(3):
        k1 = f(time, y)
        k2 = f(time + h / 2, y + h / 2 * k1)
        k3 = f(time + h / 2, y + h / 2 * k2)
        k4 = f(time + h, y + h * k3)
        y, time = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), time + h
    return y, round(time, 3)


@program(lambda: (t(4, 4),),)
def matrices_inverted(m):
    m = m @ m.T + 4 * torch.eye(4)
    x = torch.eye(4) / m.diagonal().sum()
    for _ in range(5):
        x = x @ (2 * torch.eye(4) - m @ x)
    return torch.dist(x @ m, torch.eye(4)) < 10, torch.linalg.inv(m), torch.linalg.slogdet(m).logabsdet


@program(lambda: (t(5, 2), 2), lambda: (t(6, 2), 3))
def neighbours_found(points, k):
    distance = torch.cdist(points, points) + torch.eye(len(points)) * 1e6
    values, index = distance.topk(k, largest=False)
    return points[index].mean(1), index, values.shape


@program(lambda: (t(3, 3), {"lr": 0.1, "steps": 2}), lambda: (t(3, 3), {"lr": 0.2, "steps": 2}))
def inner_loops(w, options):
    lr, steps = options["lr"], options["steps"]
    fast = w
    for _ in range(steps):
        loss = (fast ** 2).sum()
        fast = fast - lr * 2 * fast
    return fast, loss
