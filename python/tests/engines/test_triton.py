"""Triton: a model file behind the real server, through PyTriton."""

import concurrent.futures
import tempfile
import unittest

import numpy

import model_file


class Engine(unittest.TestCase):
    def test_the_real_server(self):
        from pytriton.client import ModelClient
        from pytriton.triton import Triton, TritonConfig
        from sconce.engines.triton import bind
        with tempfile.TemporaryDirectory() as folder:
            path, expected = model_file.write(folder)
            config = TritonConfig(http_port=18500, grpc_port=18501, metrics_port=18502, http_address="127.0.0.1")
            with Triton(config=config) as server:
                bind(server, path, [numpy.zeros((1, 4), numpy.float32)], max_batch_size=8, instances=2)
                server.run()
                for url in ("http://127.0.0.1:18500", "grpc://127.0.0.1:18501"):
                    def ask(x, url=url):
                        with ModelClient(url, "layer", init_timeout_s=60) as client:
                            return client.infer_batch(x)["output_0"]

                    batches = [numpy.random.default_rng(i).standard_normal((1 + i % 4, 4)).astype(numpy.float32) for i in range(12)]
                    with concurrent.futures.ThreadPoolExecutor(4) as threads:
                        for x, y in zip(batches, threads.map(ask, batches)):
                            numpy.testing.assert_allclose(y, expected(x), rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    model_file.main("pytriton.triton", "there is no PyTriton (make test-engines installs it)")
