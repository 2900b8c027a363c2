"""Bytecode of capture: decoded, assembled, and the same code again, for the standard library of the running Python."""

import pathlib
import sysconfig
import types
import unittest

from sconce import _sconce


def nested_codes(code):
    """The code object and all that lie in its constants."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested_codes(constant)


def library_codes():
    """Code objects of all functions of the standard library."""
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    for path in sorted(folder.rglob("*.py")):
        if {"site-packages", "test", "tests", "lib2to3"} & set(path.parts):
            continue
        try:
            code = compile(path.read_bytes(), str(path), "exec")
        except (SyntaxError, ValueError):
            continue
        for found in nested_codes(code):
            if found.co_flags & 3 == 3:  # optimised, with locals of its own: functions
                yield found


class RoundTrip(unittest.TestCase):
    def test_standard_library(self):
        count = 0
        for code in library_codes():
            again = _sconce._capture_round_trip(code)
            count += 1
            where = f"{code.co_filename}:{code.co_firstlineno} {code.co_qualname}"
            self.assertEqual(again.co_code, code.co_code, where)
            self.assertEqual(again.co_exceptiontable, code.co_exceptiontable, where)
            self.assertEqual(again.co_linetable, code.co_linetable, where)
            self.assertEqual(list(again.co_positions()), list(code.co_positions()), where)
            self.assertEqual(again, code, where)
            computed, given = _sconce._capture_stack_sizes(code)
            self.assertLessEqual(computed, max(given, 1), where)  # 3.12 returns a constant without a stack
            self.assertGreaterEqual(computed, given - 1, where)
        self.assertGreater(count, 5000)

    def test_every_opcode_is_known(self):
        for code in library_codes():
            for name, arg, *_ in _sconce._capture_decode(code):
                self.assertNotEqual(name, "unknown", f"opcode {arg & 255} in {code}")


class Normalised(unittest.TestCase):
    """One instruction set for all versions: these rows are the same on each."""

    def rows(self, function):
        return [(name, arg) for name, arg, *_ in _sconce._capture_decode(function)]

    def names(self, function):
        skipped = {"to_bool", "end_for", "nop", "push_null"}
        return [name for name, _ in self.rows(function) if name not in skipped]

    def test_straight_line(self):
        def f(a, b):
            return a + b * 2

        self.assertEqual(self.rows(f), [("resume", 0), ("load_fast", 0), ("load_fast", 1), ("load_const", 1), ("binary_op", 5),
                                        ("binary_op", 0), ("return_value", 0)])

    def test_calls_name_their_keywords(self):
        def f(g, x):
            return g(x, scale=2)

        call = [row for row in _sconce._capture_decode(f) if row[0] == "call"]
        self.assertEqual([(call[0][1], call[0][5])], [(2, ("scale",))])

    def test_methods_and_slices(self):
        def f(x):
            return x.view(1)[1:2]

        self.assertEqual(self.names(f), ["resume", "load_fast", "load_method", "load_const", "call", "load_const", "load_const",
                                         "build_slice", "subscript", "return_value"])

    def test_jumps_lead_to_instructions(self):
        def f(xs):
            for x in xs:
                if x:
                    return x
            return None

        rows = _sconce._capture_decode(f)
        loop = next(row for row in rows if row[0] == "for_iter")
        self.assertEqual(rows[loop[2]][0], "load_const")
        test = next(row for row in rows if row[0].startswith("jump_if"))
        self.assertIn(rows[test[2]][0], ("load_fast", "jump"))

    def test_constants_are_returned_by_two(self):
        def f():
            return 3

        self.assertEqual(self.names(f)[-2:], ["load_const", "return_value"])

    def test_what_is_no_code_is_refused(self):
        with self.assertRaisesRegex(TypeError, "a function or code object was expected, but got int"):
            _sconce._capture_decode(3)


if __name__ == "__main__":
    unittest.main()
