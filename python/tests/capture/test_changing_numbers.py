"""Numbers and sizes that change between calls: inputs of the graph from their second value on, and as eagerly for each value."""

import unittest
import warnings

import sconce
import sconce as torch
from sconce._dynamo.testing import CompileCounter

ones = torch.ones
steps = 0


def outcome(function, args):
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape and bool(((a == b) | (a != a) & (b != b)).all())
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or a != a) and str(a) == str(b)


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        return x * 2, self.steps


class Scheduled(Counting):
    def forward(self, x):
        self.steps += 1
        scale = 0.1 * 0.9 ** self.steps
        return x * scale if self.steps % 4 else x * scale + self.steps


class InList:
    def __init__(self):
        self.counts = [0]

    def __call__(self, x):
        self.counts[0] += 1
        return x * self.counts[0]


def of_global(x):
    global steps
    steps += 1
    return x + (steps - steps)


def attention(x):
    b, t, c = x.shape
    q = x.view(b, t, 2, c // 2).transpose(1, 2)
    weights = torch.softmax(q @ q.transpose(-1, -2) / (c // 2) ** 0.5, -1)
    weights = weights.masked_fill(torch.tril(torch.ones(t, t)) == 0, 0.0)
    return (weights @ q).transpose(1, 2).reshape(b, t, c)


class Counted(unittest.TestCase):
    def check(self, make, calls, most, **options):
        """As eagerly, by the library's own graphs and by a backend's; with at most so many graphs."""
        for backend in (CompileCounter(), "sconce"):
            torch._dynamo.reset()
            compiled, eager = torch.compile(make(), backend=backend, **options), make()
            for args in calls:
                got, wanted = outcome(compiled, args), outcome(eager, args)
                self.assertTrue(same(got, wanted), f"{args}: {got}, eagerly {wanted}")
            if backend != "sconce":
                self.assertLessEqual(backend.frame_count, most)
                count = backend.frame_count
        return count

    def function(self, f, calls, most, **options):
        return self.check(lambda: f, calls, most, **options)


class ChangingNumbers(Counted):
    def test_an_int_argument(self):
        self.assertEqual(self.function(lambda x, n: x * n + n, [(ones(3), n) for n in range(100)], 2), 2)
        self.function(lambda x, n: (x + torch.ones(n, 3).sum(0)) * n, [(ones(3), n) for n in range(1, 60)], 2)
        self.function(lambda n: torch.arange(n).sum(), [(n,) for n in range(1, 60)], 2)
        self.function(lambda x, n: x[:n].sum() + n, [(torch.arange(50.0), n) for n in range(1, 49)], 2)
        self.function(lambda x, n: torch.tensor(n) + x, [(ones(3), n) for n in range(60)], 2)
        self.function(lambda x, n: x * -n + abs(n) - n // 3 + n % 3 + n ** 2, [(ones(3), n) for n in range(60)], 2)

    def test_a_float_argument(self):
        self.assertEqual(self.function(lambda x, lr: x * lr, [(ones(3), n / 7) for n in range(1, 100)], 2), 2)
        self.function(lambda x, lr: (x * (1 - lr * 0.9) / (lr + 1) - lr, lr / 2), [(ones(3), n / 7) for n in range(1, 100)], 2)
        calls = [(ones(1), v) for v in (1.0, 2.0, 0.0, -0.0, float("inf"), float("nan"), 3.0)]
        self.function(lambda x, v: (x * v, v * 2, str(v)), calls, 7)

    def test_a_counter(self):
        self.assertEqual(self.check(Counting, [(ones(3),)] * 100, 2), 2)
        self.check(Scheduled, [(ones(3),)] * 40, 3)
        self.check(InList, [(ones(3),)] * 40, 2)
        self.function(of_global, [(ones(3),)] * 40, 2)

    def test_modules_that_differ_in_a_number_do_not_change_it(self):
        class Power(torch.nn.Module):
            def __init__(self, n):
                super().__init__()
                self.n = n

            def forward(self, x):
                return x * self.n

        torch._dynamo.reset()
        counter = CompileCounter()
        for n in (2, 3, 4):
            compiled = torch.compile(Power(n), backend=counter)
            self.assertTrue(torch.equal(compiled(ones(2)), ones(2) * n))
        self.assertEqual(counter.frame_count, 3)

    def test_numbers_of_a_loop_on_the_stack_of_resumed_code(self):
        def loop(x):
            for i in range(20):
                x = x + i
                torch._dynamo.graph_break()
            return x

        self.function(loop, [(ones(3),)] * 3, 3)

    def test_batch_sizes_and_sequence_lengths(self):
        linear = torch.nn.Linear(4, 4)
        for f in (lambda x: (x * x.shape[0]).sum(0), lambda x: x.reshape(-1) / x.shape[0], lambda x: x.view(x.shape[0] * 4).sum(),
                  lambda x: x[: x.shape[0] // 2], lambda x: torch.relu(linear(x)).mean(0)):
            self.assertEqual(self.function(f, [(ones(n, 4),) for n in range(1, 101)], 2), 2)
        self.assertEqual(self.function(attention, [(ones(2, n, 4),) for n in range(1, 101)], 2), 2)

    def test_what_needs_the_number_gets_it(self):
        def uses(x, n):
            return (x + 1, f"{n:3d}", str(n), repr(n), "%d" % n, hash(n), {n: 1}, {(n, 1)}, n in (1, 2), [1] * n, list(range(n)),
                    "ab"[n % 2], type(n), isinstance(n, int), n.bit_length(), ~n, round(n), n is None, n is 3, divmod(n, 3),
                    max(n, 3), min(n, 3), sum([n, n]), float(n), int(n), n / 4, bool(n), n.__class__, [10, 20, 30, 40, 50, 60, 70][n])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.function(uses, [(ones(3), n) for n in range(7)], 7)
        self.function(lambda x, n: x.sum(n), [(ones(3, 3, 3), n) for n in (0, 1, 2, 0, 1, 2)], 3)
        self.function(lambda x, n: x + 1 if n > 5 else x - 1, [(ones(3), n) for n in range(40)], 3)
        self.function(lambda x, n, m: (x, n // m, n % m, n / m), [(ones(1), 7 + n, n % 5) for n in range(40)], 3)
        self.function(lambda x, n: (x + 1, n * n * n), [(ones(1), 7 ** n) for n in range(7)], 7)  # not in 64 bits

    def test_errors_name_the_class_of_the_number(self):
        for use in (lambda n: n + "a", lambda n: len(n), lambda n: n(), lambda n: n.missing, lambda n: n < "a", lambda n: list(n),
                    lambda n: n[0], lambda n: n // (n - n), lambda n: [*n], lambda n: 1 in n):
            def f(x, n, use=use):
                y = x + 1
                try:
                    use(n)
                except Exception as error:  # noqa: BLE001
                    return y, str(error)
            self.function(f, [(ones(2), n) for n in range(4)], 4)

    def test_dynamic_decides(self):
        self.assertEqual(self.function(lambda x, n: x * n, [(ones(3), n) for n in range(6)], 6, dynamic=False), 6)
        self.assertEqual(self.function(lambda x, n, v: x * n * v, [(ones(3), n, n + 0.5) for n in range(6)], 1, dynamic=True), 1)

    def test_backends_get_numbers_that_the_graph_uses(self):
        graphs = []

        def backend(graph, inputs):
            graphs.append((graph.code, [type(i) for i in inputs]))
            return graph.forward

        torch._dynamo.reset()
        compiled = torch.compile(lambda x, n, m: (x * (n + 1), m + 1), backend=backend)
        for n in (2, 3, 4):
            self.assertEqual(compiled(ones(2), n, n)[1], n + 1)
        self.assertEqual(len(graphs), 2)
        self.assertEqual(graphs[1][1], [sconce.Tensor, int])
        self.assertNotIn("L_m_", graphs[1][0])


class GuessedSizes(Counted):
    """Sizes of results are guessed from a few sizes: a call with other ones finds out before it runs."""

    def test_sizes_that_are_not_linear(self):
        def steps_of_seven(x):
            y = x[::7].reshape(-1, 1)
            return y.shape[0] * x.sum(), y.shape

        def few_or_many(x):
            y = x[::50]
            return y * 2 if y.shape[0] == 1 else y * 3

        self.function(steps_of_seven, [(ones(n),) for n in range(2, 60)], 60)
        self.function(few_or_many, [(ones(n),) for n in range(2, 200)], 3)

    def test_ranks_lists_and_layouts(self):
        self.function(lambda x: (x[1:].squeeze().dim(), x.sum()), [(ones(n),) for n in range(2, 12)], 3)
        self.function(lambda x: (x[1:].squeeze().ndim, x.sum()), [(ones(n),) for n in range(2, 12)], 3)
        self.function(lambda x: len(x.chunk(4)), [(ones(n),) for n in range(2, 30)], 8)
        self.function(lambda x: [c * 2 for c in x.chunk(4)], [(ones(n),) for n in range(2, 30)], 8)
        self.function(lambda x: (x * 2).t()[:2].is_contiguous(), [(ones(n, 2),) for n in range(2, 12)], 8)


if __name__ == "__main__":
    unittest.main()
