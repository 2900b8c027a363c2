"""Expressions to steps."""

import unittest

from opgen.loops.steps import Steps, functions

ARGUMENTS = {"self": ("argument", 0), "other": ("argument", 1), "alpha": ("argument", 2)}


def fail(message):
    raise ValueError(message)


def steps(text, operands=ARGUMENTS):
    """As `argument 0; exp %0`."""
    made = Steps(text, operands, fail)
    leaves = ("argument", "accumulator", "left", "right")
    shown = []
    for kind, *rest in made.rows:
        if kind == "constant":
            shown.append(f"constant {made.constants[rest[0]]}")
        else:
            shown.append(" ".join([kind] + [str(r) if kind in leaves else f"%{r}" for r in rest]))
    return "; ".join(shown)


class Translation(unittest.TestCase):
    def test_operators_and_calls(self):
        self.assertEqual(steps("fma(alpha, other, self)"), "argument 2; argument 1; argument 0; fma %0 %1 %2")
        self.assertEqual(steps("self // other % 2"), "argument 0; argument 1; floor_div %0 %1; constant 2; remainder %2 %3")
        self.assertEqual(steps("float(self)"), "argument 0; to_float %0")

    def test_parts_are_computed_once(self):
        self.assertEqual(steps("e = exp(self); e / (1 + e)"), "argument 0; exp %0; constant 1; add %2 %1; div %1 %3")
        self.assertEqual(steps("self * self"), "argument 0; mul %0 %0")

    def test_what_nothing_uses_is_no_step(self):
        self.assertEqual(steps("e = exp(self); other"), "argument 1")

    def test_literals(self):
        self.assertEqual(steps("-(1 / 4) * self"), "constant -0.25; argument 0; mul %0 %1")
        self.assertEqual(steps("1.0 + self * 1"), "constant 1; argument 0; mul %1 %0; add %0 %2")
        self.assertEqual(steps("-9223372036854775808"), "constant -9223372036854775808")
        self.assertEqual(steps("-inf"), "constant -inf")

    def test_conditions(self):
        self.assertEqual(steps("0 < self <= other"),
                         "constant 0; argument 0; lt %0 %1; argument 1; le %1 %3; and_ %2 %4")
        self.assertEqual(steps("self if not other else alpha"), steps("where(not other, self, alpha)"))

    def test_reductions(self):
        pair = {"a": ("left", 0), "b": ("right", 0)}
        self.assertEqual(steps("maximum(a, b)", pair), "left 0; right 0; maximum %0 %1")

    def test_names(self):
        with self.assertRaisesRegex(ValueError, "unknown name 'wrong'"):
            steps("self + wrong")

    def test_functions_are_identifiers_of_cpp(self):
        names = dict(functions())
        self.assertEqual((names["exp"], names["fma"], names["to_int"], names["range_length"]), (1, 3, 1, 3))
        self.assertTrue(all(name.isidentifier() for name in names) and "int" not in names)


if __name__ == "__main__":
    unittest.main()
