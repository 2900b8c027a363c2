"""Shape rules: written ones, and those that follow from the kind."""

import unittest

from opgen import schema
from opgen.shapes import shape_of
from opgen.table import Entry


def rule(text, kind, **data):
    parsed = schema.parse(text)
    return shape_of(Entry("test", "test.toml", 1, parsed.key, {"kind": kind, **data}, {}, parsed))


class Rules(unittest.TestCase):
    def test_pointwise(self):
        self.assertEqual(rule("f(Tensor self) -> Tensor", "pointwise"), "return self.shape")
        self.assertEqual(rule("f(Tensor self, Tensor other, Scalar a) -> Tensor", "pointwise"),
                         "return broadcast_shapes(self.shape, other.shape)")
        self.assertEqual(rule("f(Tensor self, Tensor? w) -> Tensor", "pointwise"),
                         "shape = self.shape\nif w is not None:\n  shape = broadcast_shapes(shape, w.shape)\nreturn shape")

    def test_reductions(self):
        self.assertEqual(rule("f(Tensor self) -> Tensor", "reduce"), "return reduced_shape(self.shape, None, False)")
        self.assertEqual(rule("f(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)", "reduce"),
                         "return reduced_shape(self.shape, [dim], keepdim), reduced_shape(self.shape, [dim], keepdim)")
        self.assertEqual(rule("f(Tensor self, int[]? dim, bool keepdim=False) -> Tensor", "reduce", dims="none"),
                         "return reduced_shape(self.shape, dim, keepdim, False)")

    def test_written(self):
        leaf = "f(Tensor self) -> Tensor"
        self.assertEqual(rule(leaf, "leaf", shape="[self.size(0)]"), "return [self.size(0)]")
        self.assertEqual(rule(leaf, "leaf", shape="cpp"), None)
        self.assertEqual(rule(leaf, "leaf", shape="cpp", sizes="self.shape"), "return self.shape")
        self.assertEqual(rule(leaf, "compound", sizes="\nn = 1\nreturn [n]\n"), "n = 1\nreturn [n]")
        self.assertEqual(rule("f(Tensor self) -> (Tensor, Tensor)", "leaf", sizes=["self.shape", "[1]"]),
                         "return self.shape, [1]")
        self.assertEqual(rule("f(Tensor self) -> (Tensor, Tensor)", "leaf", shape="self.shape"),
                         "return self.shape, self.shape")


if __name__ == "__main__":
    unittest.main()
