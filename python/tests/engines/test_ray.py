"""Ray: Serve deployments and Ray Data over a model file, with workers that are killed."""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import numpy

import model_file


def start_ray():
    # On a busy machine (load 17 on two processors) three checks of Serve's HTTP proxy failed in a row, and it ended that proxy with its
    # requests. Replicas, which the tests kill, have checks of their own.
    for what in ("READY", "HEALTH"):
        os.environ.setdefault(f"RAY_SERVE_PROXY_{what}_CHECK_TIMEOUT_S", "120")
    import ray
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False,
             runtime_env={"env_vars": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}})
    return ray


class Engine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ray = start_ray()
        cls.folder = tempfile.TemporaryDirectory()
        cls.path, cls.expected = model_file.write(cls.folder.name)
        cls.expected = staticmethod(cls.expected)

    @classmethod
    def tearDownClass(cls):
        from ray import serve
        serve.shutdown()
        cls.ray.shutdown()
        cls.folder.cleanup()

    def post(self, body):
        request = urllib.request.Request("http://127.0.0.1:8000/", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def request(self, x):
        [output] = self.post({"inputs": [{"name": "x", "shape": list(x.shape), "datatype": "FP32", "data": x.ravel().tolist()}]})["outputs"]
        return numpy.array(output["data"], numpy.float32).reshape(output["shape"])

    def test_a_deployment_of_two_replicas(self):
        from ray import serve
        from sconce.engines.ray import deployment
        serve.run(deployment(self.path, num_replicas=2, max_batch_size=4, ray_actor_options={"num_cpus": 0.5}), name="layer")
        batches = [numpy.random.default_rng(i).standard_normal((1 + i % 3, 4)).astype(numpy.float32) for i in range(40)]
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            for x, y in zip(batches, threads.map(self.request, batches)):
                numpy.testing.assert_allclose(y, self.expected(x), rtol=1e-5, atol=1e-6)
        with self.assertRaises(urllib.error.HTTPError) as raised:
            self.post({"inputs": [{"name": "x", "shape": [1, 5], "datatype": "FP32", "data": [0] * 5}]})
        self.assertEqual(raised.exception.code, 400)
        self.assertIn("mat1 and mat2", json.load(raised.exception)["error"])
        handle = serve.get_app_handle("layer")
        self.assertEqual(handle.infer.remote({"x": batches[0]}).result()["output_0"].shape, (1, 3))
        serve.delete("layer")

    def ask_until(self, stop, x):
        """Asks until it is told to stop: how many answers were right, and the others."""
        good, bad = 0, []
        while not stop.is_set():
            try:
                numpy.testing.assert_allclose(self.request(x), self.expected(x), rtol=1e-5, atol=1e-6)
                good += 1
            except Exception as error:
                bad.append(repr(error))
        return good, bad

    def replicas(self, application="layer", deployment="layer"):
        """Processes of a deployment's replicas: Ray names them."""
        title = re.compile(rf"ray::ServeReplica:{application}:{deployment}(?![\w-])".encode())
        found = set()
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if title.match((folder / "cmdline").read_bytes()):
                    found.add(int(folder.name))
            except OSError:
                pass  # it has ended
        return found

    def wait_for(self, true, seconds=90):
        ends = time.monotonic() + seconds
        while not true():
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.2)

    def test_a_killed_replica_loses_no_request(self):
        from ray import serve
        from sconce.engines.ray import deployment
        serve.run(deployment(self.path, num_replicas=2, retries=3, health_check_period_s=1, ray_actor_options={"num_cpus": 0.5}), name="layer")
        stop, x = threading.Event(), numpy.ones((1, 4), numpy.float32)
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            results = [threads.submit(self.ask_until, stop, x) for _ in range(8)]
            before = self.replicas()
            self.assertEqual(len(before), 2)
            try:
                for _ in range(3):
                    time.sleep(1)
                    old = self.replicas()
                    os.kill(min(old), signal.SIGKILL)
                    self.wait_for(lambda: len(self.replicas()) == 2 and self.replicas() != old)
            finally:
                stop.set()
        self.assertEqual([error for r in results for error in r.result()[1]], [])
        self.assertGreater(sum(r.result()[0] for r in results), 100)
        self.assertFalse(before & self.replicas() == before)
        serve.delete("layer")

    def test_replicas_follow_the_load(self):
        from ray import serve
        from sconce.engines.ray import deployment
        scaling = {"min_replicas": 1, "max_replicas": 2, "target_ongoing_requests": 1, "upscale_delay_s": 0.5, "downscale_delay_s": 2,
                   "metrics_interval_s": 0.2, "look_back_period_s": 1}
        serve.run(deployment(self.path, autoscaling_config=scaling, batch_wait_timeout_s=0.1, max_ongoing_requests=16,
                             ray_actor_options={"num_cpus": 0.5}), name="layer")
        self.assertEqual(len(self.replicas()), 1)
        stop, x = threading.Event(), numpy.ones((1, 4), numpy.float32)
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            results = [threads.submit(self.ask_until, stop, x) for _ in range(8)]
            try:
                self.wait_for(lambda: len(self.replicas()) == 2)
            finally:
                stop.set()
        self.assertEqual([error for r in results for error in r.result()[1]], [])
        self.wait_for(lambda: len(self.replicas()) == 1)
        serve.delete("layer")

    def test_several_models_in_one_replica(self):
        from ray import serve
        from sconce.engines.ray import multiplexed
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a", "b", "c"):
                model_file.write(folder, f"{name}.pt")
            handle = serve.run(multiplexed(folder, models_per_replica=2, ray_actor_options={"num_cpus": 0.5}), name="many", route_prefix="/many")
            x = numpy.ones((2, 4), numpy.float32)
            for name in ("a", "b", "c", "a"):
                result = handle.options(multiplexed_model_id=name).infer.remote({"x": x}).result()
                numpy.testing.assert_allclose(result["output_0"], self.expected(x), rtol=1e-5, atol=1e-6)
            with self.assertRaisesRegex(Exception, "there is no model '../a'"):
                handle.options(multiplexed_model_id="../a").infer.remote({"x": x}).result()
            serve.delete("many")

    def test_a_killed_worker_loses_no_row(self):
        from sconce.engines.ray import Predictor
        rows, marks = 4000, tempfile.mkdtemp()

        class Slow(Predictor):
            """Tells its process, and takes its time."""

            def __call__(self, batch):
                open(os.path.join(marks, str(os.getpid())), "a").close()
                time.sleep(0.05)
                return super().__call__(batch)

        x = numpy.random.default_rng(0).standard_normal((rows, 4)).astype(numpy.float32)
        data = self.ray.data.from_numpy([part for part in numpy.split(x, 40)])
        data = data.rename_columns({"data": "x"}).map_batches(Slow, fn_constructor_args=[self.path], concurrency=2, batch_size=50, num_cpus=0.5)
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            result = threads.submit(data.take_all)
            ends = time.monotonic() + 120
            while not os.listdir(marks) and time.monotonic() < ends:
                time.sleep(0.05)
            os.kill(int(os.listdir(marks)[0]), signal.SIGKILL)
            found = result.result(timeout=180)
        self.assertGreater(len(os.listdir(marks)), 1)
        self.assertEqual(len(found), rows)
        order = numpy.lexsort(numpy.array([row["x"] for row in found]).T)
        got = numpy.array([row["output_0"] for row in found])[order]
        numpy.testing.assert_allclose(got, self.expected(x)[numpy.lexsort(x.T)], rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    model_file.main("ray.serve", "there is no Ray (make test-engines installs it)")
