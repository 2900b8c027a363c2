"""Triton: a model file behind the real server, through PyTriton; processes that are killed under load."""

import concurrent.futures
import os
import signal
import tempfile
import threading
import time
import unittest

import numpy

import model_file


class Load:
    """Clients that ask without a pause, and what became of it."""

    def __init__(self, client, model, expected, url, count=4):
        self.client, self.model, self.expected, self.url = client, model, expected, url
        self.stop, self.answers, self.failed, self.again = threading.Event(), 0, [], 0
        self.lock, self.threads = threading.Lock(), [threading.Thread(target=self.ask, args=(i,)) for i in range(count)]

    def ask(self, number):
        x = numpy.random.default_rng(number).standard_normal((1, 4)).astype(numpy.float32)
        with self.client(self.url, self.model, init_timeout_s=60, inference_timeout_s=20) as client:
            while not self.stop.is_set():
                try:
                    numpy.testing.assert_allclose(client.infer_batch(x)["output_0"], self.expected(x), rtol=1e-5, atol=1e-6)
                    with self.lock:
                        self.answers += 1
                except Exception as error:
                    with self.lock:
                        self.failed.append(error)
                    time.sleep(0.05)
            with self.lock:
                self.again += getattr(client, "asked_again", 0)

    def more(self, count, seconds=60):
        """Waits for that many further answers."""
        end, wanted = time.monotonic() + seconds, self.answers + count
        while self.answers < wanted and time.monotonic() < end:
            time.sleep(0.02)
        return self.answers >= wanted

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


class Engine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from pytriton.triton import Triton, TritonConfig
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path, cls.expected = model_file.write(cls.folder.name)
        cls.expected = staticmethod(cls.expected)
        cls.url = "http://127.0.0.1:18500"
        # Triton waits that long for models of which a stub was killed.
        config = TritonConfig(http_port=18500, grpc_port=18501, metrics_port=18502, http_address="127.0.0.1", exit_timeout_secs=5)
        cls.server = Triton(config=config)
        cls.addClassCleanup(cls.server.stop)
        cls.server.run()

    def bind(self, **options):
        from sconce.engines.triton import bind
        return bind(self.server, self.path, [numpy.zeros((1, 4), numpy.float32)], max_batch_size=8, name=self.id().rpartition(".")[2], **options)

    def test_http_and_grpc(self):
        from pytriton.client import ModelClient
        name = self.bind(instances=2).name
        for url in (self.url, "grpc://127.0.0.1:18501"):
            def ask(x, url=url):
                with ModelClient(url, name, init_timeout_s=60) as client:
                    return client.infer_batch(x)["output_0"]

            batches = [numpy.random.default_rng(i).standard_normal((1 + i % 4, 4)).astype(numpy.float32) for i in range(12)]
            with concurrent.futures.ThreadPoolExecutor(4) as threads:
                for x, y in zip(batches, threads.map(ask, batches)):
                    numpy.testing.assert_allclose(y, self.expected(x), rtol=1e-5, atol=1e-6)

    def test_killed_workers_lose_no_request(self):
        """Whatever the client: requests of a worker that dies are run by another."""
        from pytriton.client import ModelClient
        bound = self.bind(workers=2)
        with Load(ModelClient, bound.name, self.expected, self.url) as load:
            self.assertTrue(load.more(50))
            for count in (1, 1, 1, 2):  # the last time all at once
                end, killed = time.monotonic() + 60, bound.pool.processes[:count]
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)
                while (len(there := bound.pool.processes) < 2 or set(there) & set(killed)) and time.monotonic() < end:
                    time.sleep(0.02)
                self.assertEqual((len(there), set(there) & set(killed)), (2, set()))
                self.assertTrue(load.more(50))
        self.assertEqual(load.failed, [])
        self.assertEqual(bound.replaced, 0)

    def test_killed_stubs_are_replaced(self):
        """Every stub in turn: Client sees no failure, and requests without it are answered afterwards."""
        from pytriton.client import ModelClient
        from sconce.engines.triton import Client
        bound = self.bind(instances=2)
        with Load(Client, bound.name, self.expected, self.url) as load:
            for number in (1, 0):
                self.assertTrue(load.more(50))
                os.kill(bound._all_stubs()[number], signal.SIGKILL)
                end = time.monotonic() + 60
                while bound.replaced < 2 - number and time.monotonic() < end:
                    time.sleep(0.05)
                self.assertEqual(bound.replaced, 2 - number)
                self.assertTrue(load.more(200))
        self.assertEqual(load.failed, [])
        self.assertGreater(load.again, 0)
        with Load(ModelClient, bound.name, self.expected, self.url) as load:
            self.assertTrue(load.more(500))
        self.assertEqual(load.failed, [])

    def test_errors_of_the_model_are_not_asked_for_again(self):
        from pytriton.client.exceptions import PyTritonClientInferenceServerError
        from sconce.engines.triton import Client
        bound = self.bind()
        for url in (self.url, "grpc://127.0.0.1:18501"):
            with Client(url, bound.name, init_timeout_s=60) as client:
                with self.assertRaisesRegex(PyTritonClientInferenceServerError, "ModelError"):
                    client.infer_batch(numpy.zeros((1, 5), numpy.float32))  # of another size than the layer's
                with self.assertRaisesRegex(PyTritonClientInferenceServerError, "unexpected|expected"):
                    client.infer_batch(numpy.zeros((1, 4, 1), numpy.float32))
                self.assertEqual(client.asked_again, 0)


if __name__ == "__main__":
    model_file.main("pytriton.triton", "there is no PyTriton (make test-engines installs it)")
