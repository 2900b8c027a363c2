"""What a program can see of breaks: objects that it deletes are gone, tracebacks and sys._getframe show each function once, and a loop
with breaks in it needs no recursion."""

import sys
import traceback
import unittest
import weakref

import sconce


class Thing:
    pass



class TailCalls(unittest.TestCase):
    def both(self, function, *args):
        expected = function(*args)
        compiled = sconce.compile(function)
        for _ in range(2):
            self.assertEqual(compiled(*args), expected)
        return expected

    def test_deleted_objects_are_gone(self):
        def f(x):
            thing = Thing()
            seen = weakref.ref(thing)
            y = x + 1
            first = seen() is thing
            del thing
            y = y * 2
            return y.tolist(), first, seen() is None

        self.assertEqual(self.both(f, sconce.ones(2)), ([4.0, 4.0], True, True))

    def test_deleted_objects_in_cells_are_gone(self):
        def f(x):
            thing = Thing()
            seen = weakref.ref(thing)

            def inner():
                return thing

            y = x + 1
            first = inner() is seen()
            del thing, inner
            y = y * 2
            return y.tolist(), first, seen() is None

        self.assertEqual(self.both(f, sconce.ones(2)), ([4.0, 4.0], True, True))

    def test_tracebacks_show_a_function_once(self):
        def inner(x):
            weakref.ref(Thing)
            weakref.ref(Thing)
            raise ValueError(weakref.ref(Thing)().__name__)

        def f(x):
            weakref.ref(Thing)
            x = x + 1
            weakref.ref(Thing)
            return inner(x)

        def names(function):
            try:
                function(sconce.ones(2))
            except ValueError as error:
                return [(frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)][1:]
            return None

        expected = names(f)
        self.assertEqual([name for name, _ in expected], ["f", "inner"])
        compiled = sconce.compile(f)
        self.assertEqual(names(compiled), expected)
        self.assertEqual(names(compiled), expected)

    def test_callers_frame(self):
        def f(x):
            weakref.ref(Thing)
            x = x + 1
            weakref.ref(Thing)
            return sys._getframe(1).f_code.co_name

        self.assertEqual(sconce.compile(f)(sconce.ones(2)), "test_callers_frame")

    def test_loops_need_no_recursion(self):
        def f(x, n):
            for _ in range(n):
                weakref.ref(Thing)
                x = x + 1
            return x.tolist()

        self.assertEqual(sconce.compile(f)(sconce.zeros(1), 3000), [3000.0])

    def test_a_resume_function_with_a_closure(self):
        def f(x, n):
            total = 0

            def add(k):
                nonlocal total
                total += k

            for i in range(n):
                weakref.ref(Thing)
                add(i)
                x = x + total
            return x.tolist(), total

        self.both(f, sconce.zeros(1), 2000)


if __name__ == "__main__":
    unittest.main()
