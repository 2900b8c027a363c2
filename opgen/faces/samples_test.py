"""Tests of the samples that are made from schemas."""

import unittest

from .. import schema, table
from . import samples


def entry(text, kind="leaf", **data):
    parsed = schema.parse(text)
    return table.Entry("test", "test.toml", 1, parsed.key, {"kind": kind, **data}, {}, parsed)


class Samples(unittest.TestCase):
    def texts(self, *args, **data):
        return samples.of_entry(entry(*args, **data))[0]

    def test_made_from_the_schema(self):
        self.assertEqual(self.texts("f(Tensor self, int dim, *, Scalar alpha, bool keepdim=False) -> Tensor"), ["f64[2,3], 0, alpha=1.7"])
        self.assertEqual(self.texts("f(Tensor[] tensors, Tensor? weight, int? n) -> Tensor"), ["[f64[2,3], f64[2,3]], None, None"])

    def test_none_where_a_value_is_not_plausible(self):
        self.assertEqual(self.texts("f(Tensor self, int[] size) -> Tensor"), [])
        self.assertEqual(self.texts("f(str equation, Tensor self) -> Tensor"), [])

    def test_loops_broadcast(self):
        self.assertEqual(self.texts("f(Tensor self, Tensor other) -> Tensor", kind="pointwise"),
                         ["f64[2,3], f64[2,3]", "f64[], f64[]", "f64[0,3], f64[0,3]", "f64[2,3], f64[3]"])

    def test_stated_ones_come_first(self):
        text = "f(Tensor self) -> Tensor"
        self.assertEqual(self.texts(text, samples=["f32[2]"]), ["f32[2]"])
        self.assertEqual(self.texts(text, samples=[]), [])
        self.assertEqual(self.texts(text, kind="reduce", samples=["f32[2]"]), ["f32[2]", "f64[2,3]", "f64[]"])
        self.assertEqual(self.texts(text, kind="pointwise", samples=["f64[2] 0..1"]), ["f64[2] 0..1"])


if __name__ == "__main__":
    unittest.main()
