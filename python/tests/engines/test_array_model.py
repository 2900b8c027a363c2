"""ArrayModel and the JSON of the Open Inference Protocol: what all engines share."""

import pickle
import tempfile
import unittest

import numpy

import sconce
from sconce.engines import ArrayModel
from sconce.engines.array_model import _arguments
from sconce.engines.inference_protocol import decode_request, encode_response

import model_file


class ArrayModels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path, self.expected = model_file.write(folder.name)

    def test_arrays_in_and_out(self):
        x = numpy.linspace(-1, 1, 8, dtype=numpy.float32).reshape(2, 4)
        [y] = ArrayModel(self.path)(x)
        numpy.testing.assert_allclose(y, self.expected(x), rtol=1e-6)
        [y] = ArrayModel(self.path)(x.T.copy().T)  # strides of its own
        numpy.testing.assert_allclose(y, self.expected(x), rtol=1e-6)

    def test_names(self):
        model = ArrayModel(self.path, outputs=["y"])
        x = numpy.ones((1, 4), numpy.float32)
        self.assertEqual(model.inputs, ["x"])
        self.assertEqual(list(model.by_name({"x": x, "other": x})), ["y"])
        with self.assertRaisesRegex(KeyError, "takes x; absent: x .given: z"):
            model.by_name({"z": x})
        with self.assertRaisesRegex(ValueError, "gives 1 results; names for 2"):
            ArrayModel(self.path, outputs=["y", "z"]).by_name({"x": x})

    def test_pickled_as_path_and_options(self):
        model = ArrayModel(self.path, threads=2).load()
        text = pickle.dumps(model)
        self.assertLess(len(text), 400)
        again = pickle.loads(text)
        self.assertEqual((again.path, again.threads), (self.path, 2))
        numpy.testing.assert_array_equal(again(numpy.ones((1, 4), numpy.float32))[0], model(numpy.ones((1, 4), numpy.float32))[0])

    def test_what_is_not_there(self):
        with self.assertRaisesRegex(AttributeError, "has no method 'encode'"):
            ArrayModel(self.path, method="encode").load()
        with self.assertRaisesRegex(ValueError, "does not exist"):
            ArrayModel(self.folder + "/absent.pt").load()

    def test_requests_run_together(self):
        class Rows(sconce.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = sconce.nn.Embedding(10, 2)

            def forward(self, x):
                return self.table(x)

        path = self.folder + "/rows.pt"
        sconce.jit.script(Rows()).save(path)
        model = ArrayModel(path)
        ones, three, wrong, wide = (numpy.array(rows) for rows in ([[1]], [[3], [4], [5]], [[10]], [[1, 2]]))
        answers = model.run_together([[ones], [wide], [three]])
        for x, [y] in zip((ones, wide, three), answers):
            numpy.testing.assert_array_equal(y, model(x)[0])
        answers = model.run_together([[ones], [wrong], [three]])  # an index out of range is the error of its own request
        self.assertIn("out of range", str(answers[1]))
        for x, [y] in zip((ones, three), answers[::2]):
            numpy.testing.assert_array_equal(y, model(x)[0])

    def test_results_that_are_no_tensors(self):
        class Counts(sconce.nn.Module):
            def forward(self, x):
                return x.size(0)

        path = self.folder + "/counts.pt"
        sconce.jit.script(Counts()).save(path)
        with self.assertRaisesRegex(TypeError, "returns int; engines take tensors"):
            ArrayModel(path)(numpy.ones(2))

    def test_arguments_of_a_schema(self):
        self.assertEqual(_arguments("forward(C self, Tensor x, (Tensor, int[]) y=None, *, Dict(str, Tensor) z) -> Tensor"), ["x", "y", "z"])
        self.assertEqual(_arguments("forward(C self) -> ()"), [])


class Protocol(unittest.TestCase):
    def test_both_ways(self):
        arrays = {"x": numpy.arange(6, dtype=numpy.int32).reshape(2, 3), "m": numpy.array([True, False])}
        body = encode_response("model", arrays)
        again = decode_request({"inputs": body["outputs"]})
        for name, array in arrays.items():
            numpy.testing.assert_array_equal(again[name], array)
            self.assertEqual(again[name].dtype, array.dtype)

    def test_wrong_requests(self):
        good = {"name": "x", "shape": [2], "datatype": "FP32", "data": [1, 2]}
        for body, message in ([], "a list"), ({"inputs": {}}, "a list"), ({"inputs": [{"name": "x"}]}, "lacks shape"), \
                ({"inputs": [{**good, "datatype": "FP8"}]}, "known: BOOL"), ({"inputs": [{**good, "shape": [3]}]}, "2 elements for"):
            with self.assertRaisesRegex(ValueError, message):
                decode_request(body)


if __name__ == "__main__":
    unittest.main()
