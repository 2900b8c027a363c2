"""WorkerPool: a model in several processes. One that dies is started anew, and what it ran is run again by another."""

import logging
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection

_log = logging.getLogger(__name__)
_LONGEST_PAUSE = 10.0  # seconds between attempts to start a worker


class WorkerDied(RuntimeError):
    """A request whose workers died, each time that it was tried."""


class _Worker:
    """A process with the model loaded. Raises RuntimeError where it cannot be, and EOFError or OSError where the process has died."""

    def __init__(self, model):
        ours, theirs = socket.socketpair()
        with theirs:
            paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
            self.process = subprocess.Popen([sys.executable, "-m", "sconce.engines.worker", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                                            stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": paths})
        self.connection = Connection(ours.detach())
        try:
            self.connection.send(model)
            self.inputs, wrong = self.connection.recv()
        except BaseException:
            self.close()
            raise
        if wrong:
            self.close()
            raise RuntimeError(f"{model.path}: {wrong}")

    def run_together(self, requests):
        self.connection.send(requests)
        return self.connection.recv()

    def close(self):
        self.connection.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class WorkerPool:
    """Looks like an ArrayModel to engines: `inputs`, `output_names`, `run_together`. A crash of native code ends a worker, not the program.

    Args:
        model: an ArrayModel; each worker loads its file.
        workers: how many processes.
        retries: how often a request is tried again whose worker died. Requests that ran together are tried one by one then, so that one
            that kills workers fails alone.
        start_timeout: seconds to wait for a worker when there is none."""

    def __init__(self, model, workers, *, retries=3, start_timeout=120):
        if workers < 1:
            raise ValueError(f"WorkerPool: workers is {workers}")
        self._model, self._retries, self._start_timeout = model, retries, start_timeout
        self._idle, self._all, self._lock, self._closed = queue.Queue(), set(), threading.Lock(), False
        try:
            for _ in range(workers):
                self._add()
        except BaseException:
            self.close()
            raise
        self.inputs = next(iter(self._all)).inputs

    def output_names(self, count):
        return self._model.output_names(count)

    @property
    def processes(self):
        """Process ids of the workers there are."""
        with self._lock:
            return [worker.process.pid for worker in self._all]

    def _add(self):
        worker = _Worker(self._model)
        with self._lock:
            if not self._closed:
                self._all.add(worker)
                self._idle.put(worker)
                return
        worker.close()

    def _replace(self, worker):
        with self._lock:
            self._all.discard(worker)
        worker.process.kill()  # it may live with its socket closed
        worker.close()
        _log.warning("worker %d of %s has died (%s); another one is started", worker.process.pid, self._model.path, worker.process.returncode)
        threading.Thread(target=self._start_again, daemon=True, name="sconce-worker-start").start()

    def _start_again(self):
        pause = 0.1
        while not self._closed:
            try:
                return self._add()
            except (RuntimeError, EOFError, OSError) as error:
                _log.error("a worker cannot be started: %s", error)
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _try(self, requests):
        """Answers, or None where the worker died."""
        try:
            worker = self._idle.get(timeout=self._start_timeout)
        except queue.Empty:
            return [WorkerDied(f"{self._model.path}: no worker could be started in {self._start_timeout} s") for _ in requests]
        try:
            answers = worker.run_together(requests)
        except (EOFError, OSError):
            self._replace(worker)
            return None
        except BaseException:  # half a message may be on the way
            self._replace(worker)
            raise
        self._idle.put(worker)
        return answers

    def run_together(self, requests):
        """As ArrayModel.run_together, by one worker: of each request its results, or an exception."""
        if self._closed:
            raise RuntimeError("WorkerPool: it is closed")
        answers = self._try(requests)
        if answers is not None:
            return answers
        return [self._alone(request) for request in requests]

    def _alone(self, request):
        for _ in range(self._retries):
            answers = self._try([request])
            if answers is not None:
                return answers[0]
        return WorkerDied(f"{self._model.path}: {1 + self._retries} workers died while they ran this request")

    def close(self):
        """Ends the workers."""
        with self._lock:
            self._closed = True
            workers, self._all = self._all, set()
        for worker in workers:
            worker.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
