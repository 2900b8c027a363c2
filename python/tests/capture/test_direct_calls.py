"""Calls of compiled functions that take the direct way: guards, loops, result (compiled_object.cpp, dense_tape.h), and modules whose
weights are constants of plans (frozen_inputs.h). Each answer is compared with eager's, bit by bit, before and after something changes."""
import threading
import unittest

import sconce as torch
from sconce import nn


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)


class DirectCalls(unittest.TestCase):
    def check(self, f, *calls):
        """Calls that follow each other, each four times: interpreted, recorded, by the direct way."""
        compiled = torch.compile(f)
        for args in calls:
            for _ in range(4):
                self.assertTrue(same(compiled(*args), f(*args)))
        return compiled

    def test_answers_are_eagers(self):
        x, y = torch.randn(3, 5), torch.randn(3, 5)
        self.check(lambda x: x + 1, (x,), (y,), (torch.arange(4),), (torch.randn(2, 3, 4),), (x.double(),), (x.t(),), (x[1:],), (x > 0,))
        self.check(lambda x, y: torch.relu(x + y) * 2 - x / 3, (x, y), (y, x), (x, x), (x, torch.randn(5)), (x, y.t().contiguous().t()))
        self.check(lambda x: x // 2, (torch.arange(6),), (x,))
        self.check(lambda x: x.sigmoid().exp().neg().abs().sqrt().mul(x).add(1).sub(x), (x,), (torch.randn(512),), (torch.randn(4096),))

    def test_results_are_new_tensors(self):
        f = torch.compile(lambda x: x + 1)
        x = torch.zeros(8)
        made = [f(x) for _ in range(6)]
        made[-1].add_(1)
        self.assertEqual([m[0].item() for m in made], [1, 1, 1, 1, 1, 2])
        self.assertEqual(x.sum().item(), 0)

    def test_several_results(self):
        f = torch.compile(lambda x: {"sum": x + 1, "both": (x * 2, [x - 1])})
        for _ in range(5):
            made = f(torch.ones(3))
        self.assertEqual((made["sum"].tolist(), made["both"][0].tolist(), made["both"][1][0].tolist()), ([2] * 3, [2] * 3, [0] * 3))

    def test_gradients_are_recorded(self):
        f = torch.compile(lambda x: (x * 2 + 1).relu())
        for _ in range(4):
            f(torch.ones(3))
        x = torch.ones(3, requires_grad=True)
        for _ in range(4):
            made = f(x)
            self.assertTrue(made.requires_grad)
            x.grad = None
            made.sum().backward()
            self.assertEqual(x.grad.tolist(), [2, 2, 2])
        with torch.no_grad():
            for _ in range(4):
                self.assertFalse(f(x).requires_grad)
        with torch.inference_mode():
            for _ in range(4):
                self.assertTrue(f(x).is_inference())
        self.assertFalse(f(torch.ones(3)).is_inference())

    def test_modes_and_stances(self):
        f = torch.compile(lambda x: x + 1)
        x = torch.ones(3)
        for _ in range(4):
            f(x)
        with torch.compiler.set_stance("force_eager"):
            self.assertEqual(f(x).tolist(), [2, 2, 2])
        with torch.compiler.set_stance("fail_on_recompile"):
            self.assertEqual(f(x).tolist(), [2, 2, 2])
            with self.assertRaises(RuntimeError):
                f(torch.ones(3, dtype=torch.float64))
        self.assertEqual(f(x).tolist(), [2, 2, 2])

    def test_code_that_is_exchanged(self):
        def f(x):
            return x + 1

        def g(x):
            return x - 1

        compiled = torch.compile(f)
        for _ in range(4):
            self.assertEqual(compiled(torch.ones(2)).tolist(), [2, 2])
        f.__code__ = g.__code__
        for _ in range(4):
            self.assertEqual(compiled(torch.ones(2)).tolist(), [0, 0])

    def test_errors_are_eagers(self):
        f = torch.compile(lambda x, y: x + y)
        for _ in range(4):
            f(torch.ones(3), torch.ones(3))
        with self.assertRaisesRegex(RuntimeError, "must match the size"):
            f(torch.ones(3), torch.ones(4))
        with self.assertRaises(TypeError):
            f(torch.ones(3))

    def test_threads(self):
        f = torch.compile(lambda x: x * 2 + 1)
        wrong = []

        def run(number):
            x = torch.full((number,), float(number))
            for _ in range(300):
                if f(x).tolist() != [2.0 * number + 1] * number:
                    wrong.append(number)

        threads = [threading.Thread(target=run, args=(n,)) for n in range(2, 8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


class FrozenWeights(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        layers = []
        for _ in range(6):
            layers += [nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU()]
        self.net = nn.Sequential(*layers).eval()
        self.compiled = torch.compile(self.net)
        self.x = torch.randn(4, 16)
        self.answers(8)

    def answers(self, times=8):
        with torch.no_grad():
            for _ in range(times):
                self.assertTrue(same(self.compiled(self.x), self.net(self.x)))

    def test_weights_that_are_written(self):
        with torch.no_grad():
            self.net[0].weight.mul_(0.5)
        self.answers()
        self.net[3].bias.data.add_(1)
        self.answers()
        self.net[1].running_mean.add_(1)
        self.answers()

    def test_weights_that_are_written_between_calls(self):
        with torch.no_grad():
            for _ in range(20):
                self.net[0].weight.add_(0.01)
                self.answers(1)

    def test_weights_that_are_others(self):
        self.net[0].weight = nn.Parameter(torch.randn(16, 16))
        self.answers()
        self.net[3].weight.data = torch.randn(16, 16)
        self.answers()
        self.net[0].bias = None
        self.answers()

    def test_training_between_calls(self):
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        for _ in range(4):
            self.net.train()
            self.compiled(self.x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            self.net.eval()
            self.answers(4)

    def test_weights_of_all_kinds(self):
        class Mixed(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.tensor(1.5))
                self.register_buffer("wide", torch.tensor(0.1, dtype=torch.float64))
                self.register_buffer("count", torch.tensor(3))
                self.register_buffer("order", torch.tensor([2, 0, 1]))
                self.register_buffer("mask", torch.tensor([True, False, True]))
                self.register_buffer("short", torch.randn(3).to(torch.bfloat16))
                self.table = nn.Embedding(5, 3)

            def forward(self, x, k):
                y = self.table(k) * self.scale + x[:, self.order] * self.wide
                y = torch.where(self.mask, y / self.count, y - self.short)
                return y.softmax(-1), k * self.wide, k + self.count, (k * self.scale).dtype == torch.float32

        net = Mixed().eval()
        compiled = torch.compile(net)
        x, k = torch.randn(4, 3), torch.arange(4)
        with torch.no_grad():
            for step in range(24):
                made, expected = compiled(x, k), net(x, k)
                for a, b in zip(made[:3], expected[:3]):
                    self.assertTrue(same(a, b))
                self.assertEqual(made[3], expected[3])
                if step == 12:
                    net.scale.add_(1)
                    net.order.copy_(torch.tensor([1, 2, 0]))

    def test_other_batches(self):
        for n in (2, 3, 5, 4, 2):
            self.x = torch.randn(n, 16)
            self.answers(4)


if __name__ == "__main__":
    unittest.main()
