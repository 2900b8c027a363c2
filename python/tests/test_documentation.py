"""Docstrings of functions and methods: signatures, what they do, and examples that run."""

import doctest
import unittest

import sconce
from sconce import _documentation, _sconce


class Documentation(unittest.TestCase):
    def test_help_of_add(self):
        text = sconce.add.__doc__
        self.assertIn("add(input: Tensor, other: Tensor, *, alpha: Number = 1) -> Tensor", text)
        self.assertIn("self + alpha * other, element by element.", text)
        self.assertIn("    >>> sconce.add(", text)
        self.assertIn("Tensor.add(other: Tensor, *, alpha: Number = 1) -> Tensor", sconce.Tensor.add.__doc__)

    def test_signatures(self):
        shown = {
            "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor":
                "f(input: Tensor, dim: int[1]?, keepdim: bool = False, *, dtype: dtype? = None) -> Tensor",
            "aten::sort(Tensor self, int dim=-1) -> (Tensor values, Tensor indices)":
                "f(input: Tensor, dim: int = -1) -> (Tensor values, Tensor indices)",
            "aten::t_(Tensor(a!) self) -> Tensor(a!)": "f(input: Tensor) -> Tensor",
            "aten::pad(Tensor self, SymInt[] pad, str mode=\"a, b\") -> Tensor":
                "f(input: Tensor, pad: int[], mode: str = \"a, b\") -> Tensor",
            "aten::backward(Tensor self) -> ()": "f(input: Tensor) -> None",
            "aten::unsafe_split(Tensor(a -> *) self, int[2] sizes=[1, 2]) -> Tensor(a)[]":
                "f(input: Tensor, sizes: int[2] = [1, 2]) -> Tensor[]",
        }
        for schema, expected in shown.items():
            self.assertEqual(_documentation.signature("f", schema), expected)

    def test_every_function_has_one(self):
        for name in _sconce._function_names():
            self.assertIn(f"{name}(", _sconce._function(name).__doc__, name)

    def test_most_have_an_example(self):
        names = [name for name in _sconce._function_names() if not name.startswith("_")]
        without = [name for name in names if "Example:" not in _sconce._function(name).__doc__]
        self.assertLess(len(without), len(names) * 0.08, " ".join(without))

    def test_examples_run(self):
        parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
        for i, (name, text) in enumerate(sorted(_documentation._examples().items())):
            if i % 5 == 0:
                test = parser.get_doctest(text, {"sconce": sconce}, name, None, 0)
                # A docstring has no empty lines inside of what is printed.
                for example in test.examples:
                    example.want = text.partition("\n")[2] + "\n" if "\n" in text else ""
                runner.run(test, out=lambda printed: self.fail(printed))


if __name__ == "__main__":
    unittest.main()
