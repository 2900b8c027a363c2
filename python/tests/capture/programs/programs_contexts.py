# Contexts: managers of every kind, modes of the library, generators as managers, what leaves them early.
import contextlib
import functools
import warnings


class Timer:
    def __init__(self, name, log):
        self.name, self.log, self.depth = name, log, 0

    def __enter__(self):
        self.depth += 1
        self.log.append(("enter", self.name, self.depth))
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append(("exit", self.name, None if kind is None else kind.__name__))
        self.depth -= 1
        return False


@program(lambda: (t(3), []),)
def contexts_reentered(x, log):
    timer = Timer("t", log)
    with timer as a, timer as b:
        x = x + a.depth
        with timer:
            x = x * b.depth
    return x, timer.depth


class Tracked(contextlib.ContextDecorator):
    count = 0

    def __enter__(self):
        type(self).count += 1
        return self

    def __exit__(self, *error):
        type(self).count -= 1
        return False


@Tracked()
def tracked_function(x):
    return x * 2 + Tracked.count


@program(lambda: (t(3),), lambda: (t(3),))
def contexts_as_decorators(x):
    with Tracked():
        y = tracked_function(x)
    return y, Tracked.count


@contextlib.contextmanager
def scaled(state, by):
    old = state["scale"]
    state["scale"] = old * by
    try:
        yield state["scale"]
    finally:
        state["scale"] = old


@program(lambda: (t(3), {"scale": 1.0}), lambda: (t(3), {"scale": 2.0}))
def contexts_of_generators(x, state):
    with scaled(state, 2) as a:
        x = x * a
        with scaled(state, 3) as b:
            x = x + b
    return x, state["scale"]


@program(lambda: (t(3), {"scale": 1.0}),)
def context_left_by_return(x, state):
    def inner():
        for i in range(5):
            with scaled(state, 2) as s:
                if i == 2:
                    return x * s + i
    return inner(), state


@program(lambda: (t(3), {"scale": 1.0}),)
def context_left_by_break(x, state):
    for i in range(5):
        with scaled(state, 2) as s:
            if i == 1:
                continue
            x = x + s
            if i == 3:
                break
    else:
        x = x * 100
    return x, state


@program(lambda: (t(3), {"scale": 1.0}),)
def context_left_by_error(x, state):
    try:
        with scaled(state, 5) as s:
            x = x * s
            raise KeyError("inside")
    except KeyError as error:
        return x, state["scale"], error.args


@program(lambda: (t(3), {"scale": 1.0}),)
def context_with_break_inside(x, state):
    with scaled(state, 5) as s:
        x = x * s
        torch._dynamo.graph_break()
        x = x + state["scale"]
    return x, state["scale"]


@program(lambda: (t(3), 3), lambda: (t(3), 1), lambda: (t(3), 0))
def contexts_on_stacks(x, n):
    log = []
    with contextlib.ExitStack() as stack:
        for i in range(n):
            timer = stack.enter_context(Timer(str(i), log))
            x = x + timer.depth
        stack.callback(log.append, "callback")
        stack.push(lambda *error: log.append(error[0]))
    return x, log


@program(lambda: (t(3), True), lambda: (t(3), False))
def context_chosen(x, flag):
    manager = torch.no_grad() if flag else contextlib.nullcontext()
    x = x.clone().requires_grad_()
    with manager:
        y = x * 2
    return y.requires_grad, y.detach()


class Swallows:
    def __enter__(self):
        return "inside"

    def __exit__(self, kind, value, traceback):
        return kind is ValueError


@program(lambda: (t(3), ValueError), lambda: (t(3), TypeError), lambda: (t(3), None))
def context_swallows(x, kind):
    with Swallows() as text:
        x = x + len(text)
        if kind is not None:
            raise kind("no")
        x = x * 2
    return x + 1


# Modes of the library.


@program(lambda: (t(3, 3),),)
def autocast_casts(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        z = torch.softmax(y, -1)
        with torch.autocast("cpu", enabled=False):
            w = x @ x
    return y.dtype, z.dtype, w.dtype, (x @ x).dtype, y.float().sum()


@torch.autocast("cpu", dtype=torch.bfloat16)
def cast_function(x, y):
    return F.linear(x, y)


@program(lambda: (t(2, 3), t(4, 3)),)
def autocast_decorates(x, y):
    return cast_function(x, y).dtype, cast_function(x, y).float() + 1, F.linear(x, y).dtype


@program(lambda: (t(3, 3), True), lambda: (t(3, 3), False))
def autocast_by_argument(x, use):
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16, enabled=use):
        out = torch.mm(x, x)
    return out.dtype, torch.is_autocast_enabled("cpu"), out.float()


@program(lambda: (t(3, 3),),)
def autocast_of_modules(x):
    layer = autocast_layer
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        y = layer(x)
    return y.dtype, layer.weight.dtype, layer(x).dtype, y.float()


autocast_layer = nn.Linear(3, 2)
nn.init.constant_(autocast_layer.weight, 0.25)
nn.init.zeros_(autocast_layer.bias)


@program(lambda: (t(3),),)
def device_contexts(x):
    with torch.device("cpu"):
        a = torch.ones(3)
        b = torch.arange(3)
    return x + a + b, a.device, b.device.type


@program(lambda: (t(3),),)
def devices_compared(x):
    device = x.device
    y = torch.zeros(3, device=device)
    z = y.to(device, non_blocking=True).to(x)
    return y + x, z.device == device, device.type == "cpu", str(device), torch.device("cpu") == device


@program(lambda: (t(3),),)
def records_of_profilers(x):
    with torch.profiler.record_function("part"):
        y = x * 2
    return y + 1


@program(lambda: (t(3),),)
def generators_kept(x):
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    b = torch.rand(3)
    return x + a, torch.equal(a, b)


@program(lambda: (t(3, grad=True),),)
def modes_inside_out(x):
    with torch.inference_mode(False):
        a = x * 2
    with torch.no_grad():
        with torch.enable_grad():
            b = x * 3
        c = x * 4
    return a.requires_grad, b.requires_grad, c.requires_grad, (a + b + c).detach()


@program(lambda: (t(3),),)
def warnings_caught(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x + 1
    return y * 2


@program(lambda: (t(3, grad=True),),)
def no_grad_around_generators(x):
    def parts():
        for i in range(3):
            yield x * i
    with torch.no_grad():
        made = [p for p in parts()]
    return [p.requires_grad for p in made], sum(p.sum() for p in parts())


@program(lambda: (t(3), 4), lambda: (t(3), 0))
def managers_of_options(x, n):
    class Options:
        current = {"dropout": 0.0, "depth": 1}

        @classmethod
        @contextlib.contextmanager
        def override(cls, **new):
            old = cls.current
            cls.current = {**old, **new}
            try:
                yield cls.current
            finally:
                cls.current = old
    with Options.override(depth=n) as o:
        for _ in range(o["depth"]):
            x = x + Options.current["depth"]
    return x, Options.current


@program(lambda: (t(3),),)
def closing_contexts(x):
    class Resource:
        def __init__(self):
            self.open, self.values = True, []

        def close(self):
            self.open = False
    with contextlib.closing(Resource()) as r:
        r.values.append(x * 2)
    with contextlib.suppress(ZeroDivisionError, KeyError):
        1 / 0
    return r.values[0], r.open


@program(lambda: (t(3),),)
def context_value_is_tensor(x):
    @contextlib.contextmanager
    def centred(v):
        mean = v.mean()
        yield v - mean, mean
    with centred(x) as (y, mean):
        z = y * 2
    return z + mean


@program(lambda: (t(3), []),)
def contexts_chained_errors(x, log):
    @contextlib.contextmanager
    def translate():
        try:
            yield
        except KeyError as error:
            raise ValueError(f"missing {error.args[0]}") from error
    try:
        with translate():
            x = x + 1
            {}["a"]
    except ValueError as error:
        log.append((str(error), type(error.__cause__).__name__))
    return x


@program(lambda: (t(3),),)
def async_stack_of_contexts(x):
    import asyncio

    class Async:
        async def __aenter__(self):
            return x * 2

        async def __aexit__(self, *error):
            return False

    async def main():
        async with Async() as v:
            return v + 1
    coroutine = main()
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


@program(lambda: (t(3), t(3)),)
def in_eval_mode_for_a_while(x, y):
    @contextlib.contextmanager
    def evaluating(module):
        was = module.training
        module.eval()
        try:
            yield module
        finally:
            module.train(was)
    with evaluating(drop) as d:
        a = d(x)
    return a, drop.training, drop(y).shape


drop = nn.Dropout(0.5)
