"""Loops that break take their items from an iterator that was made before the break: eager's answers, and no break for the iterator."""

import unittest

import sconce as torch

counters = torch._dynamo.utils.counters
LARGE = 10_000  # elements from which on the rounds of a loop with a break are captured


def each_turn(x, items):
    for item in items:
        torch._dynamo.graph_break()
        x = x + item
    return x


def rest_of(x, iterator):
    taken = []
    for item in iterator:
        x = x * 2
        taken.append(item)
        if len(taken) == 2:
            break
    return x, taken


class ItemsAhead(unittest.TestCase):
    def breaks(self, f, *args):
        torch.compiler.reset()
        counters.clear()
        result = torch.compile(f)(*args)
        return result, sum(counters["graph_break"].values())

    def same(self, f, *args):
        expected = f(*[list(a) if isinstance(a, list) else a for a in args])
        found, breaks = self.breaks(f, *args)
        self.assertEqual(str(found), str(expected))
        return breaks

    def test_one_break_for_each_turn(self):
        x = torch.ones(LARGE)
        for items in ([1, 2, 3], (1, 2, 3), range(3), {1: 0, 2: 0, 3: 0}, {1, 2, 3}, [torch.ones(LARGE)] * 3):
            self.assertLessEqual(self.same(each_turn, x, items), 3, items)

    def test_enumerate_zip_reversed(self):
        def f(x, a, b):
            for i, (v, (k, w)) in enumerate(zip(reversed(a), b.items()), 5):
                torch._dynamo.graph_break()
                x = x * v + i + w + len(k)
            return x
        self.assertEqual(self.same(f, torch.ones(LARGE), [1, 2, 3], {"a": 1, "bb": 2}), 2)

    def test_nested_loops(self):
        def f(x):
            for i in range(2):
                for j in (10, 20):
                    torch._dynamo.graph_break()
                    x = x + i * j
                x = x * 2
            return x
        self.assertEqual(self.same(f, torch.ones(LARGE)), 4)

    def test_numbers_become_free(self):
        def f(x, n):
            for i in range(n):
                torch._dynamo.graph_break()
                x = x + i
            return x
        torch.compiler.reset()
        compiled = torch.compile(f)
        compiled(torch.zeros(LARGE), 50)
        counters.clear()
        self.assertEqual(compiled(torch.zeros(LARGE), 50)[0].item(), sum(range(50)))
        self.assertEqual(sum(counters["graph_break"].values()), 0)

    def test_the_iterator_moves(self):
        compiled = torch.compile(rest_of)
        for make in (lambda: iter([1, 2, 3, 4, 5]), lambda: enumerate("abcde"), lambda: zip(range(9), "abc"), lambda: iter({1: 2, 3: 4, 5: 6})):
            a, b = make(), make()
            self.assertEqual(str(rest_of(torch.ones(1), a)), str(compiled(torch.ones(1), b)))
            self.assertEqual(list(a), list(b))

    def test_end_is_seen_again(self):
        def f(x, iterator, items):
            for _ in iterator:
                x = x + 1
            items.append(3)
            return x, list(iterator)
        a, b = [1, 2], [1, 2]
        self.assertEqual(str(f(torch.ones(1), iter(a), a)), str(torch.compile(f)(torch.ones(1), iter(b), b)))

    def test_list_written_in_the_loop(self):
        def f(x, items):
            for item in items:
                torch._dynamo.graph_break()
                if item < 3:
                    items.append(item + 2)
                x = x + item
            return x, items
        self.assertGreater(self.same(f, torch.ones(LARGE), [1, 2]), 0)

    def test_one_iterator_twice(self):
        def f(x, pairs, iterator):
            out = []
            for a, b in pairs:
                out.append((a, b, next(iterator, None)))
                x = x + 1
            return x, out
        compiled = torch.compile(f)
        for shared in (False, True, False):
            for g in (f, compiled):
                i = iter(range(9))
                j = i if shared else iter(range(9))
                found = str(g(torch.ones(1), zip(i, j), i if shared else iter("xyz")))
                if g is f:
                    expected = found
            self.assertEqual(found, expected)

    def test_dict_that_grew_raises(self):
        def f(x, iterator):
            for _ in iterator:
                x = x + 1
            return x
        compiled = torch.compile(f)
        compiled(torch.ones(1), iter({1: 1, 2: 2}))
        d = {1: 1, 2: 2}
        iterator = iter(d)
        d[3] = 3
        with self.assertRaisesRegex(RuntimeError, "changed size"):
            compiled(torch.ones(1), iterator)


if __name__ == "__main__":
    unittest.main()
