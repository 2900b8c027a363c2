"""Loops with a break in them: Python runs those that are not worth a break in each round, and all answers are eager's."""

import gc
import sys
import unittest
import weakref

import sconce as torch
from sconce.compiler._watch import listening

LARGE = 10_000  # elements from which on rounds are captured


def noted(x, log):
    log.append(x.sum().item())
    return x


class LoopsLeft(unittest.TestCase):
    def run_once(self, f, *args):
        """What a first call gives, its breaks, its graphs and the functions they are of."""
        torch.compiler.reset()
        heard = []
        with listening(lambda event, facts: heard.append(facts) if event == "compiled" else None):
            found = torch.compile(f)(*args)
        breaks = sum(len(facts["breaks"]) for facts in heard)
        return found, breaks, [facts["code"].co_name for facts in heard if facts["nodes"] and facts["graph"] is not None]

    def check(self, f, make, breaks, names):
        expected = str(f(*make()))
        found, met, graphs = self.run_once(f, *make())
        self.assertEqual(str(found), expected)
        self.assertEqual((met, graphs), (breaks, names))
        compiled = torch.compile(f)
        for _ in range(4):
            self.assertEqual(str(compiled(*make())), expected)

    def test_small_rounds_are_left(self):
        def f(x):
            out = []
            for i in range(3):
                x = x * 2 + i
                out.append(x.sum().item())
                if out[-1] > 100:
                    break
            return x, out
        self.check(f, lambda: (torch.ones(3),), 0, [])

    def test_while_loop(self):
        def f(x):
            rounds = 0
            while (x < 50).any():
                x = x * 3
                rounds += 1
            return x, rounds
        self.check(f, lambda: (torch.arange(4.0) + 1,), 1, ["f"])  # compilers put the first test in front of the loop

    def test_large_rounds_are_captured(self):
        def f(x, log):
            for i in range(2):
                x = x * 2 + i
                torch._dynamo.graph_break()
            return x.sum(), log
        self.check(f, lambda: (torch.ones(LARGE), []), 2, ["f", "f", "f"])

    def test_large_rounds_behind_the_break(self):
        def f(x):
            for i in range(2):
                torch._dynamo.graph_break()
                x = x * 2 + i
            return x
        self.assertGreater(self.run_once(f, torch.ones(LARGE))[1], 0)
        self.assertEqual(self.run_once(f, torch.ones(2))[1], 0)

    def test_large_work_before_the_loop(self):
        def f(xs, log):
            y = (torch.sin(xs[0]) * torch.cos(xs[0]) + xs[0] * xs[0]).sum()
            for v in (1.0, 2.0):
                if y.item() > v:
                    log.append(v)
            return y > 0, log
        self.check(f, lambda: ([torch.ones(LARGE)], []), 1, ["f"])

    def test_called_functions_are_captured(self):
        def layer(x):
            return torch.relu(x @ x) + 1

        def f(x):
            for i in range(3):
                x = layer(x)
                if x.sum() > 1e6:
                    return x, i
            return x, -1
        self.check(f, lambda: (torch.eye(2),), 0, ["layer"])

    def test_loop_of_a_called_function(self):
        def inner(x, log):
            x = x + 1
            for _ in range(2):
                if x.sum() > 3:
                    log.append("large")
                x = x * 2
            return x

        def f(x, log):
            y = inner(x * 2, log)
            return y + 1, log
        self.check(f, lambda: (torch.ones(2), []), 1, ["f", "f"])

    def test_call_that_breaks_in_a_loop(self):
        def f(x, log):
            for _ in range(2):
                x = noted(x * 2, log)
                if log[-1] > 100:
                    x = x - 1
            return x, log
        self.check(f, lambda: (torch.ones(2), []), 0, ["noted", "noted"])

    def test_comprehension(self):
        def f(x, n):
            return x + 1, [x[: int(i)].sum() for i in n]
        expected = str(f(torch.ones(4), torch.tensor([1, 3])))
        found, breaks, _ = self.run_once(f, torch.ones(4), torch.tensor([1, 3]))
        self.assertEqual(str(found), expected)
        self.assertLessEqual(breaks, 1)

    def test_closures_handlers_and_contexts(self):
        class Held:
            def __init__(self, log):
                self.log = log

            def __enter__(self):
                self.log.append("in")

            def __exit__(self, *error):
                self.log.append(error[0])
                return True

        def f(x, log):
            scale = 2.0

            def scaled(v):
                return v * scale
            y = torch.sin(x) * torch.cos(x) + x
            with Held(log):
                for i in range(4):
                    try:
                        if y.sum() > 1e9:
                            raise ValueError(i)
                        y = scaled(y)
                        scale = scale + 1
                        if i == 2:
                            raise KeyError(i)
                    except KeyError as error:
                        log.append(error.args)
                    finally:
                        log.append(i)
                y = y.reshape(7, 11)
            return y.sum(), log, scale
        for size in (3, LARGE):
            expected = str(f(torch.ones(size), []))
            compiled = torch.compile(f)
            for _ in range(3):
                self.assertEqual(str(compiled(torch.ones(size), [])), expected)

    def test_exception_leaves_the_loop(self):
        def f(x, log):
            x = torch.sin(x) + torch.cos(x) * x + 1
            for i in range(3):
                log.append(x[0].item() > 0)
                if i == 1 and log[0]:
                    raise LookupError(i)
            return x
        for size in (3, LARGE):
            log = []
            with self.assertRaisesRegex(LookupError, "1"):
                torch.compile(f)(torch.ones(size), log)
            self.assertEqual(log, [True, True])

    def test_generators(self):
        def items(x):
            for i in range(3):
                yield x * i

        def f(x):
            total = x
            for item in items(x):
                if item.sum() > 1:
                    total = total + item
            return total
        expected = str(f(torch.ones(2)))
        for _ in range(2):
            self.assertEqual(str(torch.compile(f)(torch.ones(2))), expected)

    def test_nothing_is_kept(self):
        class Box:
            pass

        def f(x, boxes):
            x = torch.sin(x) + torch.cos(x) * x + 1
            while boxes:
                if x[0] > 0:
                    boxes.pop()
            return x
        for size in (2, LARGE):
            box = Box()
            seen = weakref.ref(box)
            boxes = [box]
            del box
            torch.compile(f)(torch.ones(size), boxes)
            gc.collect()
            self.assertIsNone(seen())

    def test_steps_of_the_library_in_a_loop(self):
        def f(w, optimizer, x):
            history = []
            for _ in range(3):
                optimizer.zero_grad()
                loss = ((w - x) ** 2).sum()
                loss.backward()
                optimizer.step()
                history.append(loss.item())
                if history[-1] > 1e6:
                    break
            return history

        def make():
            w = torch.ones(2, requires_grad=True)
            return w, torch.optim.SGD([w], lr=0.1, momentum=0.5), torch.zeros(2)
        self.check(f, make, 0, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
