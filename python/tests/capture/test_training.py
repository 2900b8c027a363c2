"""Training inside of compiled functions: gradients, optimisers, schedules and Functions give eager's numbers, without a break."""

import copy
import unittest

import sconce
from sconce import nn
from sconce.nn import functional as F


def net():
    sconce.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def state(model):
    return [(p.tolist(), None if p.grad is None else p.grad.tolist()) for p in model.parameters()]


class Square(sconce.autograd.Function):
    @staticmethod
    def forward(ctx, x, power=2):
        ctx.save_for_backward(x)
        ctx.power = power
        return x**power

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.power * x ** (ctx.power - 1), None


class TwoResults(sconce.autograd.Function):
    @staticmethod
    def forward(x, y=3.0):
        return x * y, (x > 0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.factor, None


class TrainingTest(unittest.TestCase):
    def breaks(self, function, *args):
        sconce.compiler.reset()
        return len(sconce._dynamo.explain(function)(*args).break_reasons)

    def agrees(self, step, make, times=3, breaks=0):
        """Calls of step(*make()) over and over: results and all that was trained, after each, eagerly and compiled."""
        eager, ours = make(), make()
        compiled = sconce.compile(step)
        for i in range(times):
            wanted, got = step(*eager), compiled(*ours)
            self.assertEqual(self.shown(got), self.shown(wanted), f"result of call {i}")
            for a, b in zip(eager, ours):
                if isinstance(a, nn.Module):
                    self.assertEqual(state(b), state(a), f"after call {i}")
                elif isinstance(a, sconce.Tensor):
                    self.assertEqual((self.shown(a), self.shown(a.grad)), (self.shown(b), self.shown(b.grad)))
                elif hasattr(a, "param_groups"):
                    self.assertEqual([{k: v for k, v in g.items() if k != "params"} for g in b.param_groups],
                                     [{k: v for k, v in g.items() if k != "params"} for g in a.param_groups])
        if breaks is not None:
            self.assertEqual(self.breaks(step, *make()), breaks)

    def shown(self, value):
        if isinstance(value, sconce.Tensor):
            return value.tolist(), value.requires_grad, value.is_leaf
        return [self.shown(v) for v in value] if isinstance(value, (tuple, list)) else value

    def data(self):
        sconce.manual_seed(1)
        return sconce.randn(5, 3), sconce.randn(5, 2)

    def test_backward_and_grad(self):
        def step(model, x, y):
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss.detach(), model[0].weight.grad * 2, model[0].weight.grad is model[0].weight.grad

        self.agrees(step, lambda: (net(), *self.data()))

    def test_gradients_add_up_in_place(self):
        def step(model, x):
            model(x).sum().backward()
            first = model[2].bias.grad
            before = first.clone()
            model(x * 2).sum().backward()
            return first is model[2].bias.grad, before, first

        self.agrees(step, lambda: (net(), self.data()[0]))

    def test_gradients_that_are_set(self):
        def step(model, x):
            for p in model.parameters():
                p.grad = sconce.ones_like(p)
            model(x).sum().backward()
            model[0].bias.grad = None
            return model[0].bias.grad, model[2].bias.grad

        self.agrees(step, lambda: (net(), self.data()[0]))

    def test_zero_grad(self):
        def step(model, x, to_none):
            model.zero_grad(set_to_none=to_none)
            model(x).sum().backward()
            return [p.grad for p in model.parameters()]

        self.agrees(step, lambda: (net(), self.data()[0], True))
        self.agrees(step, lambda: (net(), self.data()[0], False))

    def test_grad_function(self):
        def step(model, x):
            parameters = list(model.parameters())
            found = sconce.autograd.grad(model(x).pow(2).sum(), parameters, create_graph=True)
            return sconce.autograd.grad(sum(g.pow(2).sum() for g in found), parameters, allow_unused=True)

        # A plan's derivatives of derivatives are rounded otherwise: by the last digit.
        compiled, model, x = sconce.compile(step), net(), self.data()[0]
        for _ in range(3):
            for got, wanted in zip(compiled(model, x), step(model, x), strict=True):
                sconce.testing.assert_close(got, wanted)
        self.assertEqual(self.breaks(step, model, x), 0)

    def test_numbers_and_sizes_that_change(self):
        """A Function with a number that is another one each time, and batches of all sizes."""
        def power(x, n):
            return Square.apply(x, n).sum()

        compiled = sconce.compile(power)
        x = sconce.arange(1.0, 4.0, requires_grad=True)
        for n in (2, 3, 4, 5):
            self.assertEqual(sconce.autograd.grad(compiled(x, n), x)[0].tolist(), sconce.autograd.grad(power(x, n), x)[0].tolist())

        def step(model, optimizer, x):
            optimizer.zero_grad()
            loss = model(x).pow(2).mean() * x.shape[0]
            loss.backward()
            optimizer.step()
            return loss.detach()

        counter = sconce._dynamo.testing.CompileCounter()
        compiled, model, twin = sconce.compile(step, backend=counter), net(), net()
        mine, theirs = (sconce.optim.Adam(m.parameters(), lr=0.1) for m in (model, twin))
        for n in (5, 4, 7, 3, 8, 9):
            x = sconce.arange(3.0 * n).reshape(n, 3) / n
            self.assertEqual(compiled(model, mine, x).tolist(), step(twin, theirs, x).tolist())
            self.assertEqual(state(model), state(twin))
        self.assertEqual(counter.frame_count, 2)

    def test_leaves_made_inside(self):
        def step(x):
            leaf = x.detach().clone().requires_grad_()
            before = leaf.grad
            (leaf**2).sum().backward()
            return before, leaf.grad

        self.agrees(step, lambda: (self.data()[0],))

    def test_history_from_outside(self):
        """backward reaches a leaf that the function reads only afterwards."""
        def step(model, x):
            loss = model(x).sum()

            @sconce.compile
            def inner(loss, model):
                loss.backward()
                return model[0].weight.grad

            return inner(loss, model)

        self.agrees(sconce.compiler.disable(step), lambda: (net(), self.data()[0]), breaks=None)

    def test_history_from_outside_after_zero_grad(self):
        def step(model, optimizer, x):
            scores = model(x)
            sconce._dynamo.graph_break()
            loss = scores.pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return norm

        def make():
            model = net()
            return model, sconce.optim.SGD(model.parameters(), lr=0.1), self.data()[0]

        self.agrees(step, make, breaks=None)

    def test_backward_twice_raises(self):
        def step(model, x):
            loss = model(x).pow(2).sum()
            loss.backward()
            try:
                loss.backward()
            except RuntimeError:
                return "raised"
            return "not raised"

        self.agrees(step, lambda: (net(), self.data()[0]), breaks=None)

    def test_weights_that_a_step_wrote_are_noticed(self):
        def step(model, optimizer, x):
            loss = model(x).pow(2).sum()
            loss.backward(retain_graph=True)
            optimizer.step()
            try:
                loss.backward()
            except RuntimeError:
                return "raised"
            return "not raised"

        def make():
            model = net()
            return model, sconce.optim.SGD(model.parameters(), lr=0.1), self.data()[0]

        self.agrees(step, make, breaks=None)

    def test_optimizers(self):
        def step(model, optimizer, x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        kinds = {"SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"lr": 0.1}, "AdamW": {"lr": 0.1}, "RMSprop": {}, "Adagrad": {},
                 "Adadelta": {}, "Adamax": {}, "NAdam": {}, "RAdam": {}, "Rprop": {}, "ASGD": {}}
        for kind, options in kinds.items():
            with self.subTest(kind):
                def make(kind=kind, options=options):
                    model = net()
                    return model, getattr(sconce.optim, kind)(model.parameters(), **options), *self.data()

                self.agrees(step, make)

    def test_a_loop_of_steps(self):
        def train(model, optimizer, x, y):
            losses = []
            for _ in range(3):
                optimizer.zero_grad()
                loss = F.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
            return losses

        def make():
            model = net()
            return model, sconce.optim.Adam(model.parameters(), lr=0.1), *self.data()

        self.agrees(train, make)

    def test_stages(self):
        """So many operators before and behind the calls that they run by plans: batch norm, dropout, gradients that are changed."""
        def deep():
            sconce.manual_seed(0)
            layers = [part for _ in range(4) for part in (nn.Linear(3, 3), nn.BatchNorm1d(3), nn.GELU(), nn.Dropout(0.2))]
            return nn.Sequential(*layers, nn.Linear(3, 2))

        def step(model, optimizer, x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            with sconce.no_grad():
                norm = sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt()
                for p in model.parameters():
                    p.grad.mul_((1.0 / (norm + 1e-6)).clamp(max=1.0))
            optimizer.step()
            again = F.mse_loss(model(x), y)
            return loss.detach(), norm, again, again.requires_grad, [b.clone() for b in model.buffers()]

        def make():
            model = deep()
            return model, sconce.optim.AdamW(model.parameters(), lr=0.1), *self.data()

        eager, ours = make(), make()
        compiled = sconce.compile(step)
        for i in range(5):
            sconce.manual_seed(i)
            wanted = step(*eager)
            sconce.manual_seed(i)
            got = compiled(*ours)
            self.assertEqual(self.shown(got), self.shown(wanted), f"result of call {i}")
            self.assertEqual(state(ours[0]), state(eager[0]), f"after call {i}")
        self.assertEqual(self.breaks(step, *make()), 0)

    def test_options_that_change_between_calls(self):
        def step(model, optimizer, x):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
            return 0

        model, twin = net(), net()
        mine, theirs = (sconce.optim.SGD(m.parameters(), lr=0.1) for m in (model, twin))
        counter = sconce._dynamo.testing.CompileCounter()
        compiled = sconce.compile(step, backend=counter)
        x = self.data()[0]
        for rate in (0.1, 0.2, 0.3, 0.4):
            for optimizer in (mine, theirs):
                optimizer.param_groups[0]["lr"] = rate
            compiled(model, mine, x)
            step(twin, theirs, x)
            self.assertEqual(state(model), state(twin))
        self.assertEqual(counter.frame_count, 1)

    def test_options_that_change_inside(self):
        def step(model, optimizer, x):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
            optimizer.param_groups[0]["lr"] *= 0.5
            optimizer.step()
            return optimizer.param_groups[0]["lr"]

        def make():
            model = net()
            return model, sconce.optim.SGD(model.parameters(), lr=0.1), self.data()[0]

        self.agrees(step, make, breaks=None)

    def test_schedules(self):
        def step(model, optimizer, schedule, x):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
            schedule.step()
            return 0

        def with_rate(model, optimizer, schedule, x):
            step(model, optimizer, schedule, x)
            return optimizer.param_groups[0]["lr"], schedule.get_last_lr()

        of = sconce.optim.lr_scheduler
        schedules = (lambda o: of.StepLR(o, 2), lambda o: of.CosineAnnealingLR(o, 10), lambda o: of.OneCycleLR(o, 0.1, 10))
        for make_schedule in schedules:
            def make(make_schedule=make_schedule):
                model = net()
                optimizer = sconce.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
                return model, optimizer, make_schedule(optimizer), self.data()[0]

            self.agrees(step, make, times=5)
            self.agrees(with_rate, make, times=5, breaks=None)

    def test_a_schedule_of_python(self):
        def step(model, optimizer, schedule, x):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
            schedule.step()
            return optimizer.param_groups[0]["lr"]

        def make():
            model = net()
            optimizer = sconce.optim.SGD(model.parameters(), lr=0.1)
            return model, optimizer, sconce.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 0.9**n), self.data()[0]

        self.agrees(step, make, times=5, breaks=None)

    def test_plateau(self):
        def step(model, optimizer, schedule, x):
            loss = model(x).pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step(loss)
            return 0

        def make():
            model = net()
            optimizer = sconce.optim.SGD(model.parameters(), lr=0.5)
            return model, optimizer, sconce.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1), self.data()[0]

        self.agrees(step, make, times=6)

    def test_clipping(self):
        def step(model, x):
            model.zero_grad()
            model(x).pow(2).sum().backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            nn.utils.clip_grad_value_(model.parameters(), 0.1)
            return norm, model[0].weight.grad + 0

        self.agrees(step, lambda: (net(), self.data()[0]))

    def test_hooks_of_optimizers_run(self):
        def step(model, optimizer, x):
            model(x).sum().backward()
            optimizer.step()
            return 0

        seen = []

        def make():
            model = net()
            optimizer = sconce.optim.SGD(model.parameters(), lr=0.1)
            optimizer.register_step_pre_hook(lambda *_: seen.append(1))
            return model, optimizer, self.data()[0]

        self.agrees(step, make, breaks=None)
        self.assertEqual(len(seen), 6)

    def test_an_optimizer_of_python(self):
        class Plain(sconce.optim.Optimizer):
            def __init__(self, parameters, lr):
                super().__init__(parameters, {"lr": lr})

            @sconce.no_grad()
            def step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is not None:
                            p.add_(p.grad, alpha=-group["lr"])

        def step(model, optimizer, x):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
            return 0

        def make():
            model = net()
            return model, Plain(model.parameters(), 0.1), self.data()[0]

        self.agrees(step, make)

    def test_functions(self):
        def one(x):
            return Square.apply(x * 2) + 1

        def keywords(x):
            return Square.apply(x, 3).sum()

        def two(x):
            y, positive = TwoResults.apply(x)
            return y * positive, positive

        def through(x):
            Square.apply(x).sum().backward()
            return x.grad

        x = sconce.randn(3, requires_grad=True)
        for function, breaks in ((one, 0), (keywords, 0), (two, 0), (through, 1)):
            with self.subTest(function.__name__):
                self.agrees(function, lambda: (x.detach().clone().requires_grad_(),), breaks=breaks)

        def gradient(x):
            return sconce.autograd.grad(one(x).sum() + two(x)[0].sum(), x)[0]

        compiled = sconce.compile(lambda x: one(x).sum() + two(x)[0].sum())
        (got,) = sconce.autograd.grad(compiled(x), x)
        self.assertEqual(got.tolist(), gradient(x).tolist())

    def test_effects_of_forward(self):
        log = []

        class Logged(sconce.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                log.append(len(log))
                return x * len(log)

            @staticmethod
            def backward(ctx, grad):
                return grad

        def step(x):
            log.append("before")
            return Logged.apply(x) + len(log)

        compiled = sconce.compile(step)
        x = sconce.ones(2, requires_grad=True)
        got, logged = [compiled(x).tolist() for _ in range(3)], copy.copy(log)
        log.clear()
        self.assertEqual(got, [step(x).tolist() for _ in range(3)])
        self.assertEqual(logged, log)

    def test_effects_of_backward(self):
        """Code of the program that backward runs comes where it comes eagerly, among the effects of the function."""
        log = []

        class Logged(sconce.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                log.append("backward")
                return grad * 2

        def by_function(x):
            log.append("before")
            Logged.apply(x).sum().backward()
            log.append(len(log))
            return x.grad

        def by_hook(x):
            log.append("before")
            (x * 2).sum().backward()
            log.append(len(log))
            return x.grad

        hooked = sconce.ones(2, requires_grad=True)
        hooked.register_hook(lambda grad: log.append("hook"))
        late = sconce.ones(2, requires_grad=True)
        for function, leaf in ((by_function, sconce.ones(2, requires_grad=True)), (by_hook, hooked), (by_hook, late)):
            with self.subTest(function.__name__):
                compiled = sconce.compile(function)
                got, wanted = [], []
                for i in range(3):
                    if leaf is late and i == 1:
                        leaf.register_post_accumulate_grad_hook(lambda leaf: log.append("late"))
                    for run, seen in ((compiled, got), (function, wanted)):
                        log.clear()
                        leaf.grad = None
                        seen.append((run(leaf).tolist(), list(log)))
                self.assertEqual(got, wanted)

    def test_caches_are_warned_of(self):
        import functools
        import warnings

        @functools.lru_cache
        def factor(n):
            return n + 1

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled = sconce.compile(lambda x: x * factor(2))
            self.assertEqual(compiled(sconce.ones(1)).tolist(), [3])
        self.assertEqual(len([w for w in caught if "lru_cache" in str(w.message)]), 1)

    def test_checkpoints(self):
        def step(model, x):
            y = sconce.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
            y.pow(2).sum().backward()
            return y.detach()

        self.agrees(step, lambda: (net(), self.data()[0]))

    def test_a_view_of_a_temporary_is_written(self):
        """linear of three dimensions is a view of a product that the program never sees."""
        def make(*shape):
            sconce.manual_seed(0)
            return [sconce.randn(*size, requires_grad=True) for size in (shape, (4, 4), (4,))]

        def inside(x, w, b):
            return F.linear((x.exp() + x).sin() * x, w, b).relu_()

        def behind(x, w, b):
            return F.linear((x.exp() + x).sin() * x, w, b)

        def dropped(x, w, b):
            return F.linear(F.dropout((x.exp() + x).sin(), 0.5, True), w, b).relu_()

        for step in (inside, behind, dropped):
            for shape in ((3, 4), (2, 3, 4)):
                eager, ours = make(*shape), make(*shape)
                compiled = sconce.compile(step, fullgraph=True)
                for i in range(3):
                    with self.subTest(step=step.__name__, shape=shape, call=i):
                        results = []
                        for call, tensors in ((step, eager), (compiled, ours)):
                            sconce.manual_seed(1)
                            y = call(*tensors)
                            if step is behind:
                                y.mul_(3)
                            results.append((y, *sconce.autograd.grad(y.square().sum(), tensors)))
                        for got, wanted in zip(results[1], results[0]):
                            sconce.testing.assert_close(got, wanted)

    def test_other_backends_get_the_calls(self):
        def step(model, optimizer, x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        graphs = []

        def backend(graph, inputs):
            graphs.append(graph)
            return graph.forward

        model, twin = net(), net()
        mine, theirs = (sconce.optim.SGD(m.parameters(), lr=0.1) for m in (model, twin))
        compiled = sconce.compile(step, backend=backend)
        for _ in range(3):
            self.assertEqual(compiled(model, mine, *self.data()).tolist(), step(twin, theirs, *self.data()).tolist())
            self.assertEqual(state(model), state(twin))
        self.assertEqual(len(graphs), 1)
        self.assertIn("backward", graphs[0].code)
        self.assertIn("step", graphs[0].code)

    def test_buffers_made_inside(self):
        def made(x):
            shared, own = nn.Buffer(x), nn.Buffer(x * 2, persistent=False)
            shared.add_(1)
            return shared, own, type(own), isinstance(shared, nn.Buffer), shared.persistent, own.persistent, shared + own, x

        def without_history(x):
            y = x * 3
            buffer = nn.Buffer(y)
            (y * 2).sum().backward()
            return buffer.requires_grad, buffer.grad_fn, buffer, x.grad

        class Keeping(nn.Module):
            def forward(self, x):
                self.kept = nn.Buffer(x + 1)
                return self.kept * 2, list(self.state_dict())

        for f, arg in ((made, sconce.ones(2)), (without_history, sconce.ones(2, requires_grad=True)), (Keeping(), sconce.ones(2))):
            a, b = copy.deepcopy(arg), copy.deepcopy(arg)
            self.assertEqual(str(sconce.compile(f, fullgraph=True)(a)), str(f(b)))
        x = sconce.ones(2)
        shared = sconce.compile(made)(x)[0]
        self.assertIs(type(shared), nn.Buffer)
        shared.mul_(5)
        self.assertEqual(x.tolist(), [10, 10])

    def test_buffer_at_a_break(self):
        def f(x):
            buffer = nn.Buffer(x + 1)
            sconce._dynamo.graph_break()
            return buffer, [buffer, buffer * 2]
        found = sconce.compile(f)(sconce.ones(2))
        self.assertIs(type(found[0]), nn.Buffer)
        self.assertIs(found[0], found[1][0])
        self.assertEqual(str(found), str(f(sconce.ones(2))))

    def test_hook_on_a_leaf_registered_inside(self):
        def f(x):
            w.register_hook(lambda g: g * 2)
            y = (w * x).sum()
            y.backward()
            return y.detach(), w.grad.clone()
        for compiled in (f, sconce.compile(f)):
            w = sconce.ones(2, requires_grad=True)
            found = [str(compiled(sconce.ones(2))) for _ in range(3)]
            if compiled is f:
                expected = found
        self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
