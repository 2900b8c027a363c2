"""DataLoader: batches of a dataset, fetched here or by worker processes."""

import itertools
import multiprocessing
import os
import queue
import time
import typing
import warnings

import sconce as torch

from . import worker as workers
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler

_POLL_SECONDS = 1.0  # how often a waiting iterator looks whether its workers live
_Batch = typing.TypeVar("_Batch", covariant=True)


class _Endless:
    """The sampler of an iterable dataset, which needs no indices."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader(typing.Generic[_Batch]):
    """Batches of a dataset. With num_workers, processes that are forked when an iterator is made fetch them ahead."""

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                             "multiprocessing, otherwise set prefetch_factor to None.")
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if multiprocessing_context is not None:
            if num_workers == 0:
                raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                                 f"num_workers={num_workers}")
            if getattr(multiprocessing_context, "_name", multiprocessing_context) != "fork":
                raise NotImplementedError(f"multiprocessing_context={multiprocessing_context!r} is not supported, only 'fork'")
        self.dataset, self.num_workers, self.timeout, self.worker_init_fn = dataset, num_workers, timeout, worker_init_fn
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.persistent_workers, self.generator = persistent_workers, generator
        self._iterable = isinstance(dataset, IterableDataset)
        self._choose_samplers(batch_size, bool(shuffle) if shuffle is not None else None, sampler, batch_sampler, drop_last)
        if collate_fn is None:
            collate_fn = default_convert if self.batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self._kept_iterator = None

    def _choose_samplers(self, batch_size, shuffle, sampler, batch_sampler, drop_last):
        if self._iterable:
            given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
            for name, value in given.items():
                if value is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._iterable:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = batch_size, drop_last, sampler, batch_sampler

    def __iter__(self):
        if not self.persistent_workers or self.num_workers == 0:
            return self._iterator()
        if self._kept_iterator is None:
            self._kept_iterator = self._iterator()
        else:
            self._kept_iterator.restart()
        return self._kept_iterator

    def _iterator(self):
        if self.pin_memory:
            warnings.warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
                          stacklevel=3)
        if self.num_workers == 0:
            return _Iterator(self)
        if (count := len(os.sched_getaffinity(0))) < self.num_workers:
            warnings.warn(f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of worker in "
                          f"current system is {count}, which is smaller than what this DataLoader is going to create.", stacklevel=3)
        return _WorkersIterator(self)

    @property
    def _index_sampler(self):
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def multiprocessing_context(self):
        """How workers are started: by fork."""
        return multiprocessing.get_context("fork") if self.num_workers > 0 else None

    def _fetcher(self):
        return workers.Fetcher(self.dataset, self._iterable, self.batch_sampler is not None, self.collate_fn, self.drop_last)

    def __len__(self):
        if not self._iterable:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


class _Base:
    """What both kinds of iterators do: draw a seed for workers, then indices."""

    def __init__(self, loader):
        self.loader = loader
        self.indices = iter(loader._index_sampler)
        self.base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.loader._index_sampler)


class _Iterator(_Base):
    """Fetches in this process."""

    def __init__(self, loader):
        super().__init__(loader)
        self.fetcher = loader._fetcher()

    def __next__(self):
        return self.fetcher.fetch(next(self.indices))


class _WorkersIterator(_Base):
    """Hands indices to workers in turn, some batches ahead, and gives batches in the order of their indices."""

    def __init__(self, loader):
        super().__init__(loader)
        context = multiprocessing.get_context("fork")
        self.results, self.done = context.Queue(), context.Event()
        self.results.cancel_join_thread()
        self.tasks, self.processes = [], []
        self.closed = False
        for i in range(loader.num_workers):
            tasks = context.Queue()
            tasks.cancel_join_thread()
            process = context.Process(target=workers.work, daemon=True,
                                      args=(loader._fetcher, loader.dataset, tasks, self.results, self.done, self.base_seed,
                                            loader.worker_init_fn, i, loader.num_workers))
            process.start()
            self.tasks.append(tasks)
            self.processes.append(process)
        self._start_epoch()

    def _start_epoch(self):
        self.next_task = self.next_result = 0
        self.waiting = {}  # number of a task: the worker that has it
        self.arrived = {}  # number of a task: its batch, before its turn
        self.alive = [True] * len(self.tasks)
        self.turn = itertools.cycle(range(len(self.tasks)))
        self.ended = False
        for _ in range(self.loader.prefetch_factor * len(self.tasks)):
            self._hand_out()

    def restart(self):
        """The next epoch, with the same workers."""
        if self.closed:
            raise RuntimeError("the workers of this iterator have ended")
        while self.waiting:  # of an epoch that was left early
            number, _, _ = self._receive()
            self.waiting.pop(number, None)
        self.indices = iter(self.loader._index_sampler)  # the seed stays that of the first epoch: nothing is drawn for it
        for tasks in self.tasks:
            tasks.put(workers.Resume())
        for _ in self.tasks:
            self._receive()
        self._start_epoch()

    def _hand_out(self):
        if self.ended:
            return
        for _ in self.tasks:
            worker = next(self.turn)
            if self.alive[worker]:
                break
        else:
            return
        try:
            indices = next(self.indices)
        except StopIteration:
            self.ended = True
            return
        self.tasks[worker].put((self.next_task, indices))
        self.waiting[self.next_task] = worker
        self.next_task += 1

    def _receive(self):
        """The next result of any worker; looks from time to time whether all of them live."""
        limit = time.monotonic() + self.loader.timeout if self.loader.timeout > 0 else None
        while True:
            wait = _POLL_SECONDS if limit is None else min(_POLL_SECONDS, max(limit - time.monotonic(), 0))
            try:
                return self.results.get(timeout=wait)
            except queue.Empty:
                dead = [process.pid for process in self.processes if not process.is_alive()]
                if dead:
                    self.close()
                    raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(map(str, dead))}) exited unexpectedly") from None
                if limit is not None and time.monotonic() >= limit:
                    self.close()
                    raise RuntimeError(f"DataLoader timed out after {self.loader.timeout} seconds") from None

    def __next__(self):
        while True:
            while self.next_result in self.arrived and self.arrived[self.next_result] is workers.End:
                self._forget()
            if self.next_result in self.arrived:
                return self._give()
            if not self.waiting:
                if not self.loader.persistent_workers:
                    self.close()
                raise StopIteration
            number, worker, result = self._receive()
            self.waiting.pop(number)
            if isinstance(result, workers.End):
                self.alive[worker] = False
                self.arrived[number] = workers.End
                self._hand_out()
            else:
                if not self.loader.in_order:
                    self.arrived[number] = workers.End  # its turn will find nothing more to give
                    return self._checked(result)
                self.arrived[number] = result

    def _forget(self):
        del self.arrived[self.next_result]
        self.next_result += 1

    def _give(self):
        result = self.arrived[self.next_result]
        self._forget()
        return self._checked(result)

    def _checked(self, result):
        self._hand_out()
        if isinstance(result, workers.WorkerError):
            result.reraise()
        return result

    def close(self):
        """Ends the workers."""
        if self.closed:
            return
        self.closed = True
        self.done.set()
        for tasks in self.tasks:
            tasks.put(None)
        for process in self.processes:
            process.join(timeout=_POLL_SECONDS)
            if process.is_alive():
                process.terminate()
        for tasks in [*self.tasks, self.results]:
            tasks.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # at the end of the process parts of it may be gone
            pass
