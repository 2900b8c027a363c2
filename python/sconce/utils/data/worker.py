"""Worker processes of a DataLoader: they fetch batches by their indices, in a process of their own."""

import os
import queue
import random
import sys
import traceback

import sconce as torch

_POLL_SECONDS = 1.0  # how often a worker looks whether its parent still lives
_info = None


class WorkerInfo:
    """What a worker process knows of itself: id, num_workers, seed, dataset."""

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset})"


def get_worker_info():
    """The WorkerInfo in a worker process, None elsewhere."""
    return _info


class WorkerError:
    """An exception of a worker on its way to the process that waits for the batch."""

    def __init__(self, worker):
        kind = sys.exc_info()[0]
        self.kind, self.where = kind, f"in DataLoader worker process {worker}"
        self.text = f"Caught {kind.__name__} {self.where}.\nOriginal {traceback.format_exc()}"

    def reraise(self):
        """Raises an exception of the same class, with the worker's traceback as its text."""
        try:
            error = self.kind(self.text)
        except Exception:
            raise RuntimeError(self.text) from None
        raise error


class End:
    """An iterable dataset of a worker has no more samples."""


class Resume:
    """The next epoch of a worker that stays: the dataset's iterator is made anew."""


class Fetcher:
    """Makes one batch, or one sample where there are no batches, of indices; or of the next samples of an iterable dataset."""

    def __init__(self, dataset, iterable, auto_collation, collate_fn, drop_last):
        self.dataset, self.auto_collation, self.collate_fn, self.drop_last = dataset, auto_collation, collate_fn, drop_last
        self.samples = iter(dataset) if iterable else None
        self.ended = False

    def fetch(self, indices):
        """Raises StopIteration when an iterable dataset has ended."""
        if self.samples is not None:
            return self._fetch_next(indices)
        if not self.auto_collation:
            return self.collate_fn(self.dataset[indices])
        many = getattr(self.dataset, "__getitems__", None)
        return self.collate_fn(many(indices) if many else [self.dataset[i] for i in indices])

    def _fetch_next(self, indices):
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        batch = []
        for _ in indices:
            try:
                batch.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(indices)):
            raise StopIteration
        return self.collate_fn(batch)


def seed_worker(base_seed, worker):
    """Seeds the generators of Python, of numpy where it is loaded, and of Sconce, as PyTorch does."""
    seed = base_seed + worker
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        import numpy

        entropy = [worker, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
        numpy.random.seed(numpy.random.SeedSequence(entropy).generate_state(4))
    return seed


def work(make_fetcher, dataset, tasks, results, done, base_seed, init_fn, worker, num_workers):
    """The life of a worker: tasks are (number, indices), results (number, worker, batch); None ends it."""
    global _info
    torch.set_num_threads(1)
    _info = WorkerInfo(worker, num_workers, seed_worker(base_seed, worker), dataset)
    problem = fetcher = None
    try:
        if init_fn is not None:
            init_fn(worker)
        fetcher = make_fetcher()
    except Exception:
        problem = WorkerError(worker)
    parent = os.getppid()
    while True:
        try:
            task = tasks.get(timeout=_POLL_SECONDS)
        except queue.Empty:
            if os.getppid() != parent:
                return
            continue
        if task is None or done.is_set():
            return
        if isinstance(task, Resume):
            results.put((task, worker, None))
            problem = None
            try:
                fetcher = make_fetcher()
            except Exception:
                problem = WorkerError(worker)
            continue
        number, indices = task
        result, problem = problem, None
        if result is None:
            try:
                result = fetcher.fetch(indices)
            except StopIteration:
                result = End()
            except Exception:
                result = WorkerError(worker)
        results.put((number, worker, result))
