"""_GraphBuilder: graphs of programs made call by call, as fx and the torch.compile backend make them; operators in Python."""

import unittest

import sconce as torch
from sconce import _sconce


class Builder(unittest.TestCase):
    def setUp(self):
        self.b = _sconce._GraphBuilder()

    def test_function(self):
        x, n = self.b.input("x", "Tensor"), self.b.input("n", "int")
        y = self.b.call("aten::add", "Tensor", (x, x), {"alpha": 2})
        size = self.b.call("aten::mul", None, (n, 2), {})
        self.assertEqual((y.type, size.type), ("Tensor", "int"))
        f = self.b.finish("f", (self.b.call("aten::reshape", "", (y, [size, -1]), {}), size, None, 1.5))
        found = f(torch.arange(4.0), 1)
        self.assertEqual(found[0].tolist(), [[0.0, 3.0], [6.0, 9.0]])
        self.assertEqual(found[1:], (2, None, 1.5))
        self.assertEqual(f.name, "f")
        self.assertIn("aten::reshape", str(f.graph))
        del f
        self.assertEqual(y.type, "Tensor")
        with self.assertRaisesRegex(RuntimeError, "the graph is finished"):
            self.b.input("z", "Tensor")

    def test_numbers_for_tensors(self):
        x = self.b.input("x", "Tensor")
        a = self.b.call("aten::add", "Tensor", (x, 2), {})
        c = self.b.call("aten::sub", "Tensor", (2, x), {})
        d = self.b.call("aten::mul", "Tensor", (a, 0.5), {})
        f = self.b.finish("f", (a, c, d))
        self.assertEqual([t.tolist() for t in f(torch.tensor([1, 2]))], [[3, 4], [1, 0], [1.5, 2.0]])

    def test_several_results_and_lists(self):
        x = self.b.input("x", "Tensor")
        values, indices = self.b.call("aten::max", "dim", (x, 1), {})
        parts = self.b.call("aten::split", "Tensor", (x, 1), {})
        self.assertEqual(parts.type, "List[Tensor]")
        first = self.b.call("aten::__getitem__", None, (parts, 0), {})
        joined = self.b.call("aten::cat", "", ([first, x],), {"dim": 0})
        picked = self.b.call("aten::index", "Tensor", (x, [None, indices]), {})
        f = self.b.finish("f", (values, joined, picked))
        x = torch.tensor([[1.0, 3.0], [4.0, 2.0]])
        self.assertEqual([t.tolist() for t in f(x)], [[3, 4], [[1, 3], [1, 3], [4, 2]], [[3, 1], [2, 4]]])

    def test_sizes(self):
        x, n = self.b.input("x", "Tensor"), self.b.input("n", "int")
        pooled = self.b.call("aten::avg_pool2d", "", (x, n), {})
        made = self.b.call("aten::full", "", ([n, 2], n), {"dtype": torch.float32, "device": torch.device("cpu")})
        f = self.b.finish("f", (pooled, made))
        pooled, made = f(torch.ones(1, 1, 4, 4), 2)
        self.assertEqual((tuple(pooled.shape), made.tolist()), ((1, 1, 2, 2), [[2.0, 2.0], [2.0, 2.0]]))

    def test_constants(self):
        kept = torch.ones(2)
        x = self.b.input("x", "Tensor")
        f = self.b.finish("f", self.b.call("aten::add", "Tensor", (x, self.b.constant(kept)), {}))
        self.assertEqual(f(torch.ones(2)).tolist(), [2, 2])

    def test_errors(self):
        x = self.b.input("x", "Tensor")
        other = _sconce._GraphBuilder().input("x", "Tensor")
        for error, text, args in ((ValueError, "there is no operator aten::nothing", ("aten::nothing", "", (x,), {})),
                                  (TypeError, "has no argument 'self'", ("aten::relu", "", (), {})),
                                  (TypeError, "keywords that the operator does not", ("aten::relu", "", (x,), {"n": 1})),
                                  (TypeError, "is called with 3 arguments", ("aten::relu", "", (x, x, x), {})),
                                  (TypeError, "is called with", ("aten::relu", "", ("a",), {})),
                                  (ValueError, "a value of another graph", ("aten::relu", "", (other,), {}))):
            with self.subTest(text=text), self.assertRaisesRegex(error, text):
                self.b.call(*args)

    def test_inputs_stay_as_they_are(self):
        x = self.b.input("x", "Tensor")
        f = self.b.finish("f", self.b.call("aten::exp", "", (self.b.call("aten::neg", "", (x,), {}),), {}))
        x = torch.ones(1000)
        f(x)
        self.assertEqual(x.sum().item(), 1000)


class PythonOperators(unittest.TestCase):
    def test_call(self):
        seen = []

        def run(x, n, sizes):
            seen.append((type(x), n, sizes))
            return x * n, n + 1

        _sconce._define_python_op("test_graph_builder::scaled(Tensor x, int n, int[] sizes) -> (Tensor, int)", run)
        b = _sconce._GraphBuilder()
        x = b.input("x", "Tensor")
        f = b.finish("f", b.call("test_graph_builder::scaled", "", (x, 3, [1, 2]), {}))
        y, n = f(torch.ones(2))
        self.assertEqual((y.tolist(), n, seen), ([3, 3], 4, [(torch.Tensor, 3, [1, 2])]))

    def test_errors(self):
        def run(x):
            raise KeyError("inside")

        _sconce._define_python_op("test_graph_builder::fails(Tensor x) -> Tensor", run)
        b = _sconce._GraphBuilder()
        f = b.finish("f", b.call("test_graph_builder::fails", "", (b.input("x", "Tensor"),), {}))
        with self.assertRaisesRegex(RuntimeError, "KeyError: 'inside'"):
            f(torch.ones(1))

    def test_wrong_result(self):
        _sconce._define_python_op("test_graph_builder::wrong(Tensor x) -> Tensor", lambda x: "text")
        b = _sconce._GraphBuilder()
        f = b.finish("f", b.call("test_graph_builder::wrong", "", (b.input("x", "Tensor"),), {}))
        with self.assertRaisesRegex(RuntimeError, "wrong returned a str"):
            f(torch.ones(1))

    def test_find(self):
        schema, is_core, is_random = _sconce._find_operator("aten::relu", "")
        self.assertEqual((schema, is_core, is_random), ("aten::relu(Tensor self) -> Tensor", True, False))
        self.assertTrue(_sconce._find_operator("aten::rand", "")[2])
        self.assertIsNone(_sconce._find_operator("aten::relu", "nothing"))


if __name__ == "__main__":
    unittest.main()
