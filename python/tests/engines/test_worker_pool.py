"""WorkerPool: workers that die, files that cannot be loaded, requests that are wrong."""

import os
import signal
import tempfile
import threading
import time
import unittest

import numpy

import model_file
from sconce.engines import ArrayModel
from sconce.engines.worker_pool import WorkerDied, WorkerPool

import sconce


class Long(sconce.nn.Module):
    """Runs until n is reached: time enough to be killed."""

    def forward(self, n):
        i = 0
        while i < int(n):
            i += 1
        return n + i


class Pool(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path, self.expected = model_file.write(folder.name)
        self.long = os.path.join(folder.name, "long.pt")
        sconce.jit.script(Long()).save(self.long)

    def pool(self, path, workers=1, **options):
        pool = WorkerPool(ArrayModel(path), workers, **options)
        self.addCleanup(pool.close)
        return pool

    def kill_soon(self, pool, times):
        """Kills the pool's only worker up to that often, each 0.2 s after it is there. Gives the set of those."""
        killed, over = set(), threading.Event()

        def run():
            while len(killed) < times and not over.wait(0.2):
                for pid in set(pool.processes) - killed:
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(over.set)
        return killed

    def test_answers_and_errors(self):
        pool = self.pool(self.path, 2)
        self.assertEqual(pool.inputs, ["x"])
        x = numpy.random.default_rng(0).standard_normal((3, 4)).astype(numpy.float32)
        good, bad = pool.run_together([[x], [numpy.zeros((1, 5), numpy.float32)]])
        numpy.testing.assert_allclose(good[0], self.expected(x), rtol=1e-5, atol=1e-6)
        self.assertIsInstance(bad, RuntimeError)
        self.assertEqual(len(pool.processes), 2)

    def test_a_request_is_run_again(self):
        pool = self.pool(self.long)
        killed = self.kill_soon(pool, 2)
        n = 500_000_000  # a second and more: it has to run longer than a kill takes to come
        [answer] = pool.run_together([[numpy.array([n])]])
        self.assertEqual(answer[0].tolist(), [2 * n])
        self.assertGreater(len(killed), 0)

    def test_a_request_that_kills_workers_fails_alone(self):
        pool = self.pool(self.long, retries=1)
        self.kill_soon(pool, 2)  # while both run, and while the first runs again
        first, second = pool.run_together([[numpy.array([10**15])], [numpy.array([[1]])]])
        self.assertIsInstance(first, WorkerDied)
        self.assertEqual(second[0].tolist(), [[2]])

    def test_what_cannot_be_loaded(self):
        with self.assertRaisesRegex(RuntimeError, "none.pt"):
            WorkerPool(ArrayModel("none.pt"), 1)
        with self.assertRaisesRegex(ValueError, "workers is 0"):
            WorkerPool(ArrayModel(self.path), 0)

    def test_workers_end_with_the_pool(self):
        pool = self.pool(self.path, 2)
        pids = pool.processes
        pool.close()
        for pid in pids:
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)
        with self.assertRaisesRegex(RuntimeError, "closed"):
            pool.run_together([])


if __name__ == "__main__":
    unittest.main()
