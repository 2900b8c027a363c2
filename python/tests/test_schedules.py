"""Schedules over functions and schedules, optimisers written in Python, hooks of optimisers. Rates are those of PyTorch 2.13."""

import copy
import unittest
import warnings

import sconce as torch
from sconce import optim
from sconce.optim import lr_scheduler as S


class Plain(optim.Optimizer):
    """Gradient descent, written in Python."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.state[p].setdefault("step", 0)
                    self.state[p]["step"] += 1
                    p.add_(p.grad, alpha=-group["lr"])


def rates(make, steps, optimizer=None):
    optimizer = optimizer or optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    scheduler = make(optimizer)
    found = []
    for _ in range(steps):
        found.append(round(optimizer.param_groups[0]["lr"], 8))
        optimizer.step()
        scheduler.step()
    return found


class Schedules(unittest.TestCase):
    def test_functions(self):
        self.assertEqual(rates(lambda o: S.LambdaLR(o, lambda e: 1 / (e + 1)), 4), [1.0, 0.5, 0.33333333, 0.25])
        self.assertEqual(rates(lambda o: S.MultiplicativeLR(o, lambda e: 0.5), 4), [1.0, 0.5, 0.25, 0.125])

    def test_sequential(self):
        def make(o):
            return S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [3])

        self.assertEqual(rates(make, 6), [0.1, 0.1, 1.0, 1.0, 0.9, 0.81])

        def warm(o):
            return S.SequentialLR(o, [S.LinearLR(o, 0.25, total_iters=3), S.CosineAnnealingLR(o, 4), S.LambdaLR(o, lambda e: 0.01)], [3, 6])

        self.assertEqual(rates(warm, 8), [0.25, 0.5, 0.75, 1.0, 0.85355339, 0.5, 0.01, 0.01])

    def test_chained(self):
        self.assertEqual(rates(lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.5, 2), S.ExponentialLR(o, 0.9)]), 4),
                         [0.5, 0.45, 0.81, 0.729])

    def test_optimizers_in_python(self):
        for make in (lambda o: S.StepLR(o, 2, 0.5), lambda o: S.OneCycleLR(o, 2.0, total_steps=8, cycle_momentum=False),
                     lambda o: S.CosineAnnealingWarmRestarts(o, 3)):
            self.assertEqual(rates(make, 6, Plain([torch.zeros(1, requires_grad=True)], 1.0)), rates(make, 6))

    def test_own_class(self):
        class Halves(S.LRScheduler):
            def get_lr(self):
                return [group["lr"] * (1.0 if self.last_epoch == 0 else 0.5) for group in self.optimizer.param_groups]

        self.assertEqual(rates(Halves, 3), [1.0, 0.5, 0.25])

    def test_state(self):
        o = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        a = S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.LambdaLR(o, lambda e: 0.5)], [2])
        o.step()
        a.step()
        b = S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.LambdaLR(o, lambda e: 0.5)], [2])
        b.load_state_dict(copy.deepcopy(a.state_dict()))
        self.assertEqual((b.last_epoch, b._schedulers[0].last_epoch), (1, 1))
        b.step()
        self.assertEqual(b.get_last_lr(), [0.5])

    def test_errors(self):
        o = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        with self.assertRaisesRegex(ValueError, "Expected 1 lr_lambdas, but got 2"):
            S.LambdaLR(o, [abs, abs])
        with self.assertRaisesRegex(TypeError, "int is not an Optimizer"):
            S.StepLR(3, 1)
        with self.assertRaisesRegex(ValueError, "at least one scheduler to be chained"):
            S.ChainedScheduler([])
        with self.assertRaisesRegex(ValueError, "one more than the number of milestone"):
            S.SequentialLR(o, [S.StepLR(o, 1)], [1])
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            S.StepLR(o, 1).step()
        self.assertIn("before `optimizer.step()`", str(seen[0].message))

    def test_plateau(self):
        o = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        s = S.ReduceLROnPlateau(o, patience=1, factor=0.5)
        for value in (1.0, 1.0, 1.0, 1.0, torch.tensor(1.0)):
            s.step(value)
        self.assertEqual((o.param_groups[0]["lr"], s.num_bad_epochs), (0.25, 0))


class Optimizers(unittest.TestCase):
    def test_written_in_python(self):
        p = torch.ones(2, requires_grad=True)
        o = Plain([p], lr=0.5)
        p.sum().backward()
        o.step()
        self.assertEqual((p.tolist(), o.state[p]["step"]), ([0.5, 0.5], 1))
        o.zero_grad()
        self.assertIsNone(p.grad)
        state = o.state_dict()
        self.assertEqual(state, {"state": {0: {"step": 1}}, "param_groups": [{"lr": 0.5, "params": [0]}]})
        other = Plain([p], lr=0.1)
        other.load_state_dict(state)
        self.assertEqual((other.param_groups[0]["lr"], other.state[p]["step"]), (0.5, 1))

    def test_hooks(self):
        for kind in (Plain, optim.SGD):
            p, seen = torch.ones(1, requires_grad=True), []
            o = kind([p], lr=0.5)
            h = o.register_step_pre_hook(lambda opt, args, kwargs: seen.append("before"))
            o.register_step_post_hook(lambda opt, args, kwargs: seen.append("after"))
            o.register_state_dict_post_hook(lambda opt, state: {**state, "more": 1})
            o.register_load_state_dict_pre_hook(lambda opt, state: seen.append(state["more"]))
            o.step()
            o.load_state_dict(o.state_dict())
            h.remove()
            o.step()
            self.assertEqual(seen, ["before", "after", 1, "after"])

    def test_groups(self):
        p, q = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        o = optim.SGD([("p", p)], lr=0.5)
        self.assertEqual(o.param_groups[0]["param_names"], ["p"])
        with self.assertRaisesRegex(ValueError, "cannot add param group without names to the optimizer"):
            o.add_param_group({"params": q})
        for make, text in ((lambda: optim.SGD([p, p * 2], lr=1.0), "can't optimize a non-leaf Tensor"),
                           (lambda: optim.SGD([{"params": p}, {"params": p}], lr=1.0), "some parameters appear in more than one")):
            with self.assertRaisesRegex(ValueError, text):
                make()
        with self.assertRaisesRegex(TypeError, "optimizer can only optimize Tensors, but one of the params is int"):
            optim.SGD([3], lr=1.0)

    def test_copies(self):
        p = torch.ones(1, requires_grad=True)
        o = optim.Adam([p], lr=0.5)
        p.sum().backward()
        o.step()
        twin = copy.deepcopy(o)
        self.assertEqual(twin.param_groups[0]["lr"], 0.5)
        self.assertIsNot(twin.param_groups[0]["params"][0], p)
        self.assertEqual(float(twin.state_dict()["state"][0]["step"]), 1)


if __name__ == "__main__":
    unittest.main()
