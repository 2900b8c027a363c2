"""The frame hook: other code in the same frame, and everything else as if it were not there."""

import sys
import threading
import unittest

from sconce import _sconce


def double(a, b=3, *rest, key=5, **more):
    """What runs in place of `original`."""
    spare = [a, b]
    for item in rest:
        spare.append(item)
    other = [x * 2 for x in spare]
    return other, key, sorted(more), sys._getframe().f_code.co_name, sys._getframe(1).f_code.co_name


def original(a, b=3, *rest, key=5, **more):
    return "original"


def hooked(function, *arguments, **keywords):
    return _sconce._capture_hooked(lambda: function(*arguments, **keywords))


class Entry:
    """An entry of a code object, for a `with` block."""

    def __init__(self, function, asked):
        self.code, self.asked = function.__code__, asked

    def __enter__(self):
        _sconce._capture_set_entry(self.code, self.asked)

    def __exit__(self, *_):
        _sconce._capture_set_entry(self.code, None)


class Replaced(unittest.TestCase):
    def test_other_code_with_the_arguments_of_the_call(self):
        seen = []

        def ask(function, arguments):
            seen.append((function, arguments))
            return double.__code__

        with Entry(original, ask):
            self.assertEqual(original(1), "original")  # the hook is not in
            result = hooked(original, 1, 2, 7, key="k", z=0)
        self.assertEqual(result, ([2, 4, 14], "k", ["z"], "double", "<lambda>"))
        self.assertEqual(seen, [(original, (1, 2, "k", (7,), {"z": 0}))])
        self.assertEqual(hooked(original, 1), "original")

    def test_none_runs_the_function_itself(self):
        with Entry(original, lambda function, arguments: None):
            self.assertEqual(hooked(original, 1), "original")

    def test_exception_of_an_entry_is_seen_by_the_caller(self):
        def refuse(function, arguments):
            raise KeyError("no entry")

        with Entry(original, refuse):
            for _ in range(3):
                with self.assertRaisesRegex(KeyError, "no entry"):
                    hooked(original, 1)

    def test_closures_keep_their_cells(self):
        def make(n):
            def f(x):
                nonlocal n
                n += x
                return n

            def g(x):
                nonlocal n
                spare = lambda: (n, x)
                n = n * x
                return spare()

            return f, g

        f, g = make(10)
        with Entry(f, lambda function, arguments: g.__code__):
            self.assertEqual(hooked(f, 3), (30, 3))
        self.assertEqual(f(1), 31)

    def test_larger_frames_in_recursion(self):
        def small(n):
            return 0 if n == 0 else 1 + small(n - 1)

        def large(n):
            a = b = c = d = e = f = g = h = n
            return [a, b, c, d, e, f, g, h, [0 if n == 0 else 1 + small(n - 1)]][-1][0]

        large_code = large.__code__.replace(co_stacksize=large.__code__.co_stacksize + 100)
        small.__globals__["small"] = small
        try:
            code = large_code.replace(co_freevars=small.__code__.co_freevars)
            with Entry(small, lambda function, arguments: code):
                self.assertEqual(hooked(small, 300), 300)
        finally:
            del small.__globals__["small"]

    def test_tracebacks_name_the_frame(self):
        def fails(a, b=3, *rest, key=5, **more):
            return a // 0

        with Entry(original, lambda function, arguments: fails.__code__):
            try:
                hooked(original, 1)
            except ZeroDivisionError as e:
                trace = e.__traceback__
                while trace.tb_next:
                    trace = trace.tb_next
                self.assertEqual(trace.tb_frame.f_code, fails.__code__)
                self.assertEqual(trace.tb_lineno, fails.__code__.co_firstlineno + 1)
                self.assertEqual(trace.tb_frame.f_locals["a"], 1)

    def test_code_that_does_not_fit_is_refused(self):
        def other(a):
            return a

        def generator(a, b=3, *rest, key=5, **more):
            yield a

        with Entry(original, lambda function, arguments: other.__code__):
            with self.assertRaisesRegex(ValueError, "other code of original has other arguments or free variables"):
                hooked(original, 1)
        with Entry(original, lambda function, arguments: generator.__code__):
            with self.assertRaisesRegex(ValueError, "frames of generators cannot run other code"):
                hooked(original, 1)

    def test_replaced_frames_leave_no_references(self):
        value = object()
        with Entry(original, lambda function, arguments: double.__code__):
            def call():
                for _ in range(100):
                    hooked(original, 1, key=value)

            call()
            before = sys.getrefcount(value), sys.getrefcount(double.__code__), sys.getrefcount(original.__code__)
            call()
            after = sys.getrefcount(value), sys.getrefcount(double.__code__), sys.getrefcount(original.__code__)
        self.assertEqual(before, after)


class LeftAlone(unittest.TestCase):
    def test_generators_and_coroutines(self):
        def generator(n):
            got = yield n
            yield got

        async def coroutine(n):
            return n

        asked = []
        with Entry(generator, lambda *given: asked.append(given)), Entry(coroutine, lambda *given: asked.append(given)):
            def run():
                g = generator(1)
                values = [next(g), g.send(5)]
                c = coroutine(2)
                try:
                    c.send(None)
                except StopIteration as e:
                    values.append(e.value)
                with self.assertRaises(KeyError):
                    h = generator(3)
                    next(h)
                    h.throw(KeyError)
                return values

            self.assertEqual(_sconce._capture_hooked(run), [1, 5, 2])
        self.assertEqual(asked, [])

    def test_traced_and_profiled_frames(self):
        for switch in (sys.settrace, sys.setprofile):
            with Entry(original, lambda function, arguments: double.__code__):
                def run():
                    switch(lambda *given: None)
                    try:
                        return original(1)
                    finally:
                        switch(None)

                self.assertEqual(_sconce._capture_hooked(run), "original")

    def test_frames_inside_of_an_entry(self):
        inside = []

        def ask(function, arguments):
            inside.append(original(2))
            return double.__code__

        with Entry(original, ask):
            self.assertEqual(hooked(original, 1)[0], [2, 6])
        self.assertEqual(inside, ["original"])

    def test_recursion_goes_as_deep_as_without(self):
        def deep(n):
            return 0 if n == 0 else 1 + deep(n - 1)

        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(60000)
        try:
            self.assertEqual(hooked(deep, 50000), 50000)
            with self.assertRaises(RecursionError):
                hooked(deep, 70000)
        finally:
            sys.setrecursionlimit(limit)

    def test_the_hook_nests_and_goes(self):
        with Entry(original, lambda function, arguments: double.__code__):
            def outer():
                inner = hooked(original, 1)
                return inner, original(2)

            inner, after = _sconce._capture_hooked(outer)
            self.assertEqual((inner[0], after[0]), ([2, 6], [4, 6]))
            self.assertEqual(original(3), "original")
            with self.assertRaises(ZeroDivisionError):
                _sconce._capture_hooked(lambda: 1 // 0)
            self.assertEqual(original(3), "original")

    def test_threads(self):
        failures = []
        with Entry(original, lambda function, arguments: double.__code__):
            def work(n):
                for i in range(2000):
                    if hooked(original, n)[0] != [2 * n, 6]:
                        failures.append(n)

            threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(original(3), "original")
        self.assertEqual(failures, [])

    def test_code_objects_die(self):
        import weakref

        for _ in range(3):
            space = {}
            exec("def f(a): return a", space)
            function = space.pop("f")
            entry = lambda function, arguments: None
            watched = weakref.ref(entry)
            _sconce._capture_set_entry(function.__code__, entry)
            del entry
            self.assertIsNotNone(watched())
            del function
            self.assertIsNone(watched())


if __name__ == "__main__":
    unittest.main()
