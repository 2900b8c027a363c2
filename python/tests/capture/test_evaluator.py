"""The evaluator alone: functions are evaluated and their traces run once, without guards and cache, and compared with Python."""

import unittest

import sconce
from sconce import _sconce, nn


class Scaled:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by

    @property
    def twice(self):
        return self.by * 2


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.linear(x).relu()


def noisy(x, log):
    doubled = x * 2
    log.write("inside")
    return doubled + 1


class Evaluator(unittest.TestCase):
    def setUp(self):
        self.x = sconce.arange(12.0).reshape(3, 4)

    def same(self, a, b):
        self.assertIs(type(a), type(b))
        if isinstance(a, sconce.Tensor):
            self.assertTrue(sconce.equal(a, b))
        elif isinstance(a, (tuple, list)):
            self.assertEqual(len(a), len(b))
            for one, other in zip(a, b):
                self.same(one, other)
        elif isinstance(a, dict):
            self.assertEqual(list(a), list(b))
            for key in a:
                self.same(a[key], b[key])
        else:
            self.assertEqual(a, b)

    def agree(self, function, *args, breaks=0):
        self.same(function(*args), _sconce._capture_run(function, args))
        trace = _sconce._capture_evaluate(function, args)
        self.assertEqual(len(trace["breaks"]), breaks, trace["breaks"])
        return trace

    def test_straight_line_is_a_recipe(self):
        trace = self.agree(lambda a: (a * 2 + 1, {"a": a}), self.x)
        self.assertTrue(trace["direct"])
        self.assertEqual(trace["nodes"], 2)

    def test_loops_closures_generators(self):
        def f(a):
            def scaled():
                for i in range(3):
                    yield a * i
            return list(scaled()), sum(scaled()), [v + 1 for v in scaled()]
        self.agree(f, self.x)

    def test_instances(self):
        def f(a):
            s = Scaled(3)
            s.by += 1
            return s(a) + s.twice
        self.agree(f, self.x)

    def test_operators_errors_are_caught(self):
        def f(a):
            try:
                return a @ a
            except RuntimeError:
                return a + 1
        self.agree(f, self.x)

    def test_effects_come_after_the_graph(self):
        def f(a, log, settings):
            log.append(a + 1)
            settings["n"] += 1
            settings["new"] = a * 2
            del settings["old"]
            return len(log)
        for run in (lambda *args: f(*args), lambda *args: _sconce._capture_run(f, args)):
            log, settings = [0], {"old": 1, "n": 5}
            self.assertEqual(run(self.x, log, settings), 2)
            self.assertEqual(list(settings), ["n", "new"])
            self.assertEqual(settings["n"], 6)
            self.same(log[1], self.x + 1)

    def test_evaluating_changes_nothing(self):
        def f(a, log):
            log.append(a)
            log[0].by = 7
            return a * log[0].by
        log = [Scaled(2)]
        _sconce._capture_evaluate(f, (self.x, log))
        self.assertEqual(len(log), 1)
        self.assertEqual(log[0].by, 2)

    def test_modules_write_attributes(self):
        module = Counting()
        expected = module(self.x)
        got = _sconce._capture_run(lambda a: module(a), (self.x,))
        self.same(expected, got)
        self.assertEqual(module.calls, 2)

    def test_identity_of_results(self):
        def f(a):
            row = [a + 1]
            return row, row, (row, a)
        one, other, (third, a) = _sconce._capture_run(f, (self.x,))
        self.assertIs(one, other)
        self.assertIs(one, third)
        self.assertIs(a, self.x)

    def test_absence_is_guarded(self):
        def f(a, d):
            return a * 2 if "k" in d else a
        trace = self.agree(f, self.x, {})
        self.assertTrue(any("'k'" in guard for guard in trace["guards"]), trace["guards"])

    def test_truth_of_a_tensor_breaks(self):
        def f(a, b):
            x = a / (sconce.abs(a) + 1)
            if b.sum() < 0:
                b = b * -1
            return x * b
        trace = self.agree(f, self.x, self.x - 100, breaks=1)
        self.assertEqual(trace["breaks"][0][0], "SC0001")
        self.agree(f, self.x, self.x, breaks=1)

    def test_break_inside_of_a_loop_and_a_call(self):
        def f(a, out):
            total = a
            for i in range(3):
                total = noisy(total, out) + i
            return total

        class Out:
            def __init__(self):
                self.seen = []

            def write(self, text):
                sconce._dynamo.graph_break()
                self.seen.append(text)
        self.agree(f, sconce.arange(10_000.0), Out(), breaks=1)
        self.agree(f, self.x, Out(), breaks=0)  # not worth it: Python runs the loop

    def test_break_inside_of_handlers(self):
        def f(a):
            try:
                y = a * 2
                raise ValueError("q")
            except ValueError as error:
                sconce._dynamo.graph_break()
                try:
                    raise
                except ValueError as again:
                    return y + len(str(again)), str(error)
        self.agree(f, self.x)  # Python itself raises what is alive at a break, so that it breaks there and not here

    def test_exceptions_leave_with_their_effects(self):
        def f(a, log):
            log.append(a + 1)
            raise KeyError("gone")
        log = []
        with self.assertRaisesRegex(KeyError, "gone"):
            _sconce._capture_run(f, (self.x, log))
        self.same(log[0], self.x + 1)

    def test_forced_breaks_give_the_same_answers(self):
        def helper(a, k=2, *rest, **named):
            return [a * k, *rest, *named.values()]

        def f(a):
            parts = helper(a, 3, a + 1, last=a - 1)
            try:
                with sconce.no_grad():
                    for i, part in enumerate(parts):
                        parts[i] = part * i
            finally:
                parts.append(sum(parts))
            return {str(i): p for i, p in enumerate(parts)}
        expected = f(self.x)
        steps = 0
        for at in range(1, 400):
            trace = _sconce._capture_evaluate(f, (self.x,), break_at=at)
            steps += bool(trace["breaks"])
            self.same(expected, _sconce._capture_run(f, (self.x,), break_at=at))
        self.assertGreater(steps, 100)


if __name__ == "__main__":
    unittest.main()
