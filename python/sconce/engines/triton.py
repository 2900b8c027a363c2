"""Triton: a model file served by NVIDIA's Triton Inference Server, through PyTriton.

Triton gives the protocol's HTTP and gRPC, queues, dynamic batching and metrics. PyTriton calls each instance from a thread of
the process that binds it; Sconce computes there, outside of Python's lock, or in worker processes.

Note [What may die]
- A worker: its requests are run again by another, and it is started anew (WorkerPool).
- A stub, the process by which Triton calls an instance. Triton (since 24.06) neither starts it anew nor says that the model is not ready: every
  request that the instance gets fails. The first instance's stub holds memory that all of them share, so that all fail. Supervisor
  binds the model once more, beside the old one, whose place it takes. Requests meanwhile fail; Client asks again for these.
- Triton itself, or the program: that is for whoever started it."""

import atexit
import logging
import os
import pathlib
import select
import signal
import socket
import struct
import threading
import time

import numpy

from pytriton.client import ModelClient
from pytriton.client.exceptions import (PyTritonClientInferenceServerError, PyTritonClientModelUnavailableError, PyTritonClientQueueFullError,
                                        PyTritonClientTimeoutError)
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import RemoteTriton

from .array_model import ArrayModel
from .worker_pool import WorkerPool

_log = logging.getLogger(__name__)
_LOOK = 0.5  # seconds between looks whether the server stops
_START = 5.0  # seconds from a stub's start to its socket
_DRAIN = 10.0  # seconds that stubs of a replaced model have for what they run


class ModelError(RuntimeError):
    """What a model raised for a request: the same happens when it is asked again."""


class _Infer:
    """What PyTriton calls with requests: arrays by name to arrays by name. It has no answer for one request that fails beside
    others: all of the batch get its error."""

    def __init__(self, model):
        self.model = model

    def __call__(self, requests):
        answers = self.model.run_together([[request[name] for name in self.model.inputs] for request in requests])
        for answer in answers:
            if isinstance(answer, Exception):
                raise ModelError(f"{type(answer).__name__}: {answer}") from answer
        return [dict(zip(self.model.output_names(len(answer)), answer)) for answer in answers]


def _described(names, arrays):
    return [Tensor(name=name, dtype=a.dtype.type, shape=tuple(-1 for _ in a.shape[1:])) for name, a in zip(names, arrays)]


class Supervisor:
    """Watches the stubs of a model that `bind` has bound, and binds it again when one dies. It ends with its server.

    Attributes:
        replaced: how often that was.
        pool: the WorkerPool, if there is one."""

    def __init__(self, server, name, instances, bind_to, pool):
        self.server, self.name, self.pool, self.replaced = server, name, pool, 0
        self._instances, self._bind_to = instances, bind_to
        self._bound = server  # the server or, once a stub has died, our connection to it
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"sconce-supervisor-{name}")
        self._thread.start()

    @property
    def stubs(self):
        """Process ids of the stubs, by their sockets; None for one that has gone."""
        return [self._pid(self._bound._workspace.path / f"{self.name}_0_{i}-server.sock") for i in range(self._instances)]

    @staticmethod
    def _pid(path):
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(str(path))
            except OSError:
                return None
            return struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def _wait_for_death(self, pids):
        """True when one of the processes has ended, False when the server stops."""
        poll, files = select.poll(), []
        try:
            for pid in pids:
                files.append(os.pidfd_open(pid))
                poll.register(files[-1], select.POLLIN)
            while self.server.is_connected():
                if poll.poll(1000 * _LOOK):
                    return self.server.is_connected()
            return False
        except ProcessLookupError:
            return self.server.is_connected()
        finally:
            for file in files:
                os.close(file)

    def _run(self):
        while not self.server.is_connected():  # bound before the server runs
            time.sleep(_LOOK)
        while self.server.is_connected():
            pids = self._all_stubs()
            if None not in pids and not self._wait_for_death(pids):
                continue
            try:
                self._replace(pids)
            except Exception:
                if self.server.is_connected():
                    _log.exception("model '%s' cannot be bound again", self.name)
                    time.sleep(_LOOK)
        if self._bound is not self.server:
            self._bound.stop()  # Triton has ended: its threads
        if self.pool:
            self.pool.close()

    def _all_stubs(self):
        """The stubs, which may be about to open their sockets."""
        end = time.monotonic() + _START
        while None in (pids := self.stubs) and time.monotonic() < end and self.server.is_connected():
            time.sleep(0.05)
        return pids

    def _replace(self, pids):
        _log.warning("a stub of model '%s' has died; the model is bound again", self.name)
        token = self.server.get_access_token() if hasattr(self.server, "get_access_token") else self.server._access_token
        new = RemoteTriton(self.server._url, access_token=token)
        new.connect()
        self._bind_to(new)
        old, self._bound = self._bound, new
        self.replaced += 1
        threading.Thread(target=self._end, args=(old, pids), daemon=True, name=f"sconce-supervisor-{self.name}-end").start()

    def _end(self, old, pids):
        """What is left of a model that was replaced. Triton waits for ever for stubs beside one that has died."""
        end = time.monotonic() + _DRAIN
        for pid in pids:
            try:
                file = os.pidfd_open(pid) if pid else None
            except ProcessLookupError:
                file = None
            if file is None:
                continue
            try:
                poll = select.poll()
                poll.register(file, select.POLLIN)
                if not poll.poll(1000 * max(0.0, end - time.monotonic())):
                    signal.pidfd_send_signal(file, signal.SIGKILL)
            except ProcessLookupError:
                pass
            finally:
                os.close(file)
        if old is not self.server:  # the server counts on its own threads
            for model in old._model_manager.models:
                model.clean()
            old._workspace.clean()
            atexit.unregister(old.stop)  # would unload the model that took its place


def bind(server, path, example, *, name=None, max_batch_size=8, max_queue_delay_microseconds=1000, instances=None, workers=0, retries=3, model=None):
    """Adds a model file to a pytriton.triton.Triton, and gives its Supervisor.

    Args:
        example: one array per argument, with a dimension for the batch in front: dtypes and ranks of inputs and outputs are
            taken from a call with it.
        instances: batches that run at a time; as many as workers, or 1.
        workers: processes that run the model; 0: threads of this process do.
        retries: how often a request is tried again whose worker died.
        model: the options of ArrayModel."""
    name, instances = name or pathlib.Path(path).stem, instances or max(workers, 1)
    array_model = ArrayModel(path, **(model or {}))
    pool = WorkerPool(array_model, workers, retries=retries) if workers else None
    models = [pool] * instances if pool else [array_model, *(ArrayModel(path, **(model or {})) for _ in range(instances - 1))]
    arrays = [numpy.asarray(a) for a in example]
    [results] = models[0].run_together([arrays])
    if isinstance(results, Exception):
        raise results

    def bind_to(triton):
        triton.bind(model_name=name, infer_func=[_Infer(m) for m in models], inputs=_described(models[0].inputs, arrays),
                    outputs=_described(models[0].output_names(len(results)), results),
                    config=ModelConfig(max_batch_size=max_batch_size,
                                       batcher=DynamicBatcher(max_queue_delay_microseconds=max_queue_delay_microseconds)), strict=True)

    bind_to(server)
    return Supervisor(server, name, instances, bind_to, pool)


class Client(ModelClient):
    """PyTriton's ModelClient that asks again, for up to `retry_for` seconds, where the server failed and not the model. A call of a model
    may be repeated. Wrong requests, and what the model raises, are not asked for again."""

    _PAUSE = 0.05

    def __init__(self, url, model_name, *, retry_for=30.0, **options):
        super().__init__(url, model_name, **options)
        self.retry_for, self.asked_again = retry_for, 0

    @staticmethod
    def _may_pass(error):
        if not isinstance(error, PyTritonClientInferenceServerError):
            return True  # not there, not ready, or too late
        status = getattr(error.__cause__, "status", lambda: None)()
        if "ModelError" in str(error) or status in ("400", "404", "StatusCode.INVALID_ARGUMENT", "StatusCode.NOT_FOUND"):
            return False
        return True

    def _retried(self, ask):
        end = time.monotonic() + self.retry_for
        while True:
            try:
                return ask()
            except (PyTritonClientInferenceServerError, PyTritonClientModelUnavailableError, PyTritonClientQueueFullError,
                    PyTritonClientTimeoutError) as error:
                if not self._may_pass(error) or time.monotonic() > end:
                    raise
                self.asked_again += 1
                time.sleep(self._PAUSE)

    def infer_batch(self, *inputs, **options):
        return self._retried(lambda: ModelClient.infer_batch(self, *inputs, **options))

    def infer_sample(self, *inputs, **options):
        return self._retried(lambda: ModelClient.infer_sample(self, *inputs, **options))


__all__ = ["Client", "ModelError", "Supervisor", "bind"]
