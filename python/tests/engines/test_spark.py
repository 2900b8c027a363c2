"""Spark: a model file over a DataFrame, with two workers' processes."""

import os
import sys
import tempfile
import unittest

import numpy

import model_file


class Engine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from pyspark.sql import SparkSession
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ["PYSPARK_PYTHON"] = sys.executable  # of workers
        cls.spark = (SparkSession.builder.master("local[2]").appName("sconce").config("spark.ui.enabled", "false")
                     .config("spark.sql.shuffle.partitions", "2").getOrCreate())
        cls.folder = tempfile.TemporaryDirectory()
        cls.path, cls.expected = model_file.write(cls.folder.name)
        cls.expected = staticmethod(cls.expected)

    @classmethod
    def tearDownClass(cls):
        cls.spark.stop()
        cls.folder.cleanup()

    def test_rows_of_a_data_frame(self):
        from pyspark.sql.types import ArrayType, FloatType
        from sconce.engines.spark import predict_batch_udf
        x = numpy.random.default_rng(0).standard_normal((500, 4)).astype(numpy.float32)
        frame = self.spark.createDataFrame([(i, row.tolist()) for i, row in enumerate(x)], "i int, x array<float>").repartition(2)
        model = predict_batch_udf(self.path, return_type=ArrayType(FloatType()), batch_size=64, input_tensor_shapes=[[4]])
        found = sorted(frame.select("i", model("x").alias("y")).collect())
        self.assertEqual([row.i for row in found], list(range(500)))
        numpy.testing.assert_allclose([row.y for row in found], self.expected(x), rtol=1e-5, atol=1e-6)

    def test_errors_name_the_file(self):
        from pyspark.sql.types import FloatType
        from sconce.engines.spark import predict_batch_udf
        frame = self.spark.createDataFrame([([1.0],)], "x array<float>")
        with self.assertRaisesRegex(Exception, "absent.pt does not exist"):
            frame.select(predict_batch_udf("absent.pt", return_type=FloatType(), input_tensor_shapes=[[1]])("x")).collect()


if __name__ == "__main__":
    model_file.main("pyspark", "there is no PySpark (make test-engines installs it)")
