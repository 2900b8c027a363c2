"""The decompiler: sources that are compiled again do what the bytecode does, for functions and for their resume code."""

import sys
import types
import unittest

import break_corpus
import library_corpus
from sconce import _sconce
from test_breaks import outcome


def rebuilt(function):
    """The function as its source says, with the cells of the original; None when it has no source."""
    text, objects, closure, structured = _sconce._capture_source(function)
    if not structured:
        return None
    text = "def ___rebuilt" + text[text.index("("):]
    lines = [f"def ___make({', '.join(closure)}):"] + [f"    {line}" for line in text.splitlines()] + ["    return ___rebuilt"]
    space = {**function.__globals__, **objects}
    exec(compile("\n".join(lines), "<source>", "exec"), space)
    made = space["___make"](*closure)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    made = types.FunctionType(made.__code__, space, function.__name__, function.__defaults__,
                              tuple(cells[n] for n in made.__code__.co_freevars))
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def without_lines(result):
    """An outcome but for lines, which sources have of their own."""
    return (result[0][:-1] if result[0][0] == "raised" else result[0], *result[1:])


class Sources(unittest.TestCase):
    def test_functions(self):
        shown = 0
        for function, arguments in break_corpus.CASES + library_corpus.CASES:
            if "global" in function.__name__:
                continue  # writes to globals, of which the copy has its own
            other = rebuilt(function)
            if other is None:
                continue
            shown += 1
            self.assertEqual(without_lines(outcome(other, arguments)), without_lines(outcome(function, arguments)),
                             _sconce._capture_source(function)[0])
        self.assertGreater(shown, 160)

    def test_resume_code(self):
        shown = 0

        def instead(function, *arguments):
            nonlocal shown
            handling = sys.exc_info()[0] is not None  # the end of which is in the frame, not in the text
            other = None if handling or "global" in function.__name__ else rebuilt(function)
            shown += other is not None
            return (other or function)(*arguments)

        for function, arguments in break_corpus.CASES:
            if function.__name__ == "sees_locals":
                continue
            plain = without_lines(outcome(function, arguments))
            for index in range(0, len(_sconce._capture_decode(function)), 3):
                broken = _sconce._capture_break(function, index, instead)
                if broken:
                    self.assertEqual(without_lines(outcome(broken, arguments)), plain, f"{function.__name__} at {index}")
        self.assertGreater(shown, 500)

    def test_text(self):
        def f(model, xs, *, scale=2):
            if xs is None:
                xs = model.inputs
            total = 0
            for i, x in enumerate(xs):
                total += model(x, mask=None)[i].sum() * scale
            model.calls = total
            return total, [*xs, -1]

        self.assertEqual(_sconce._capture_source(f)[0], """\
def f(model, xs, *, scale):
    if xs is None:
        xs = model.inputs
    total = 0
    for i, x in enumerate(xs):
        total += model(x, mask=None)[i].sum() * scale
    model.calls = total
    return (total, [*xs, -1])
""")

    def test_objects_have_names(self):
        def graph(*inputs):
            return inputs

        def f(a):
            return "call"(a, 1)

        code = f.__code__.replace(co_consts=tuple(graph if c == "call" else c for c in f.__code__.co_consts))
        text, objects, closure, structured = _sconce._capture_source(code)
        self.assertEqual((text, objects, closure, structured), ("def f(a):\n    return graph(a, 1)\n", {"graph": graph}, [], True))

    def test_what_has_no_source_is_listed(self):
        def f(x):
            match x:
                case {"k": v}:
                    return v

        text, _, _, structured = _sconce._capture_source(f)
        self.assertFalse(structured)
        self.assertTrue(all(line.startswith("# ") for line in text.splitlines()))
        self.assertIn("match_mapping", text)

    def test_listing(self):
        def f(x):
            return x.weight + 1

        rows = _sconce._capture_listing(f).splitlines()
        self.assertEqual([row.split("#")[0].split() for row in rows],
                         [["0", "resume"], ["1", "load_fast", "x"], ["2", "load_attr", "weight"], ["3", "load_const", "1"],
                          ["4", "binary_op", "+"], ["5", "return_value"]])
        self.assertIn(f"# line {f.__code__.co_firstlineno + 1}", rows[1])


if __name__ == "__main__":
    unittest.main()
