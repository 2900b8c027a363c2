"""Resume code: functions that break at any of their instructions, with any stack, do what they do unbroken."""

import copy
import sys
import traceback
import types
import unittest

import break_corpus
import library_corpus
from sconce import _sconce


def outcome(function, arguments):
    """What a call returned or raised, said, and left of its arguments."""
    arguments = copy.deepcopy(arguments)
    del break_corpus.said[:]
    try:
        result = ("returned", repr_of(function(*arguments)))
    except Exception as e:
        lines = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.name == function.__name__]
        result = ("raised", type(e).__name__, str(e), repr(e.__context__), repr(e.__cause__), lines[-1:])
    return result, [repr_of(said) for said in break_corpus.said], repr_of(arguments)


def repr_of(value):
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "(" + ", ".join(map(repr_of, value)) + ")"
    if isinstance(value, types.FunctionType):
        return value.__qualname__
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return f"{type(value).__name__}{sorted((k, repr_of(v)) for k, v in vars(value).items())}"
    return repr(value)


class Breaks(unittest.TestCase):
    def check(self, cases):
        broken = 0
        for function, arguments in cases:
            plain = outcome(function, arguments)
            self.assertEqual(outcome(function, arguments), plain, f"{function.__qualname__} differs from call to call")
            for index in range(len(_sconce._capture_decode(function))):
                other = _sconce._capture_break(function, index)
                if other is None:
                    continue
                broken += 1
                other.__name__ = function.__name__
                self.assertEqual(outcome(other, arguments), plain,
                                 f"{function.__qualname__} broken at {index}: {_sconce._capture_decode(function)[index]}")
        return broken

    def test_at_every_instruction_of_the_corpus(self):
        self.assertGreater(self.check(break_corpus.CASES), 3000)

    def test_at_every_instruction_of_the_library(self):
        self.assertGreater(self.check(library_corpus.CASES), 4000)

    def test_argument_of_super_that_is_a_cell(self):
        class A:
            def f(self):
                return "A"

        class B(A):
            def f(self):
                g = lambda: self
                return super().f(), g() is self

        for index in range(len(_sconce._capture_decode(B.f))):
            other = _sconce._capture_break(B.f, index)
            if other:
                self.assertEqual(other(B()), ("A", True))

    def test_counts(self):
        """Neither values nor code objects are left over."""
        def f(x, y):
            try:
                with_both = [x, y]
                for z in with_both:
                    if z is y:
                        raise KeyError(z)
            except KeyError as e:
                return e.args[0]

        x, y = object(), object()
        others = [_sconce._capture_break(f, i) for i in range(len(_sconce._capture_decode(f)))]
        for _ in range(3):
            before = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(None)
            for other in others:
                if other:
                    self.assertIs(other(x, y), y)
            after = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(None)
        self.assertEqual(before[:2], after[:2])
        self.assertLess(abs(before[2] - after[2]), 20)

    def test_generators_are_refused(self):
        def f():
            yield 1

        with self.assertRaisesRegex(ValueError, "generators keep their frame"):
            _sconce._capture_break(f, 4)


if __name__ == "__main__":
    unittest.main()
