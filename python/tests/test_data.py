"""utils.data: datasets, the order of samples for a seed as PyTorch has it, batches, worker processes."""

import collections
import os
import random
import time
import unittest

import sconce as torch
from sconce.utils.data import (BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, StackDataset, Subset,
                               SubsetRandomSampler, TensorDataset, WeightedRandomSampler, default_collate, get_worker_info,
                               random_split)

Pair = collections.namedtuple("Pair", ["a", "b"])


class Squares(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"x": torch.tensor([float(index), index ** 2]), "y": index, "name": f"n{index}"}


class Range(IterableDataset):
    """Each worker has its share."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        return iter(range(0, self.count) if info is None else range(info.id, self.count, info.num_workers))


class Who(Dataset):
    """What a worker process knows."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = get_worker_info()
        return info.id, info.num_workers, info.seed, os.getpid(), torch.rand(1).item(), random.random(), torch.get_num_threads()


class Broken(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 2:
            raise ValueError("sample 2 is broken")
        return index


class Slow(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        time.sleep(30)


class Datasets(unittest.TestCase):
    def test_kinds(self):
        data = TensorDataset(torch.arange(6), torch.arange(6) * 10)
        self.assertEqual([int(v) for v in data[2]], [2, 20])
        both = data + Subset(data, [5, 4])
        self.assertIsInstance(both, ConcatDataset)
        self.assertEqual([int(both[i][0]) for i in (0, 5, 6, 7, -1)], [0, 5, 5, 4, 4])
        with self.assertRaisesRegex(ValueError, "should not exceed"):
            both[-9]
        self.assertEqual(list(Range(2) + Range(3)), [0, 1, 0, 1, 2])
        self.assertEqual(StackDataset(a=[1, 2], b=[3, 4])[1], {"a": 2, "b": 4})
        with self.assertRaisesRegex(AssertionError, "Size mismatch"):
            TensorDataset(torch.ones(2), torch.ones(3))

    def test_random_split(self):
        parts = random_split(range(10), [0.3, 0.3, 0.4], generator=torch.Generator().manual_seed(42))
        self.assertEqual([list(part) for part in parts], [[2, 6, 1], [8, 4, 5], [0, 9, 3, 7]])
        with self.assertRaisesRegex(ValueError, "Sum of input lengths"):
            random_split(range(10), [3, 3])


class Orders(unittest.TestCase):
    """Recorded from PyTorch 2.13."""

    def test_random(self):
        torch.manual_seed(0)
        self.assertEqual(list(RandomSampler(range(8))), RANDOM)
        torch.manual_seed(0)
        self.assertEqual(list(RandomSampler(range(5), replacement=True, num_samples=40))[-10:], REPLACED)
        torch.manual_seed(1)
        self.assertEqual(list(SubsetRandomSampler([3, 1, 4, 1, 5])), SUBSET)
        self.assertEqual(list(WeightedRandomSampler([0.1, 0.9, 0.4], 6)), WEIGHTED)
        self.assertEqual([len(b) for b in BatchSampler(range(7), 3, True)], [3, 3])

    def test_loader(self):
        torch.manual_seed(3)
        loader = DataLoader(torch.arange(10), 4, shuffle=True)
        self.assertEqual([b.tolist() for _ in range(2) for b in loader], SHUFFLED)
        generator = torch.Generator().manual_seed(7)
        loader = DataLoader(torch.arange(5), 2, shuffle=True, generator=generator, drop_last=True)
        self.assertEqual([b.tolist() for _ in range(2) for b in loader], WITH_GENERATOR)
        self.assertEqual(len(loader), 2)
        self.assertEqual(torch.rand(1).item(), AFTER)  # what remains of the stream


RANDOM = [2, 5, 4, 6, 1, 7, 0, 3]
REPLACED = [2, 4, 4, 1, 3, 3, 3, 2, 3, 4]
SUBSET = [3, 5, 4, 1, 1]
WEIGHTED = [1, 1, 1, 1, 1, 1]
SHUFFLED = [[6, 2, 0, 1], [8, 3, 5, 4], [7, 9], [3, 4, 0, 9], [6, 7, 1, 2], [5, 8]]
WITH_GENERATOR = [[1, 3], [0, 4], [3, 2], [4, 0]]
AFTER = 0.5944212079048157


class Batches(unittest.TestCase):
    def test_collate(self):
        batch = default_collate([{"x": torch.ones(2), "y": (1, 2.0), "s": "a"}, {"x": torch.zeros(2), "y": (3, 4.0), "s": "b"}])
        self.assertEqual(batch["x"].tolist(), [[1, 1], [0, 0]])
        self.assertEqual([t.dtype for t in batch["y"]], [torch.int64, torch.float64])
        self.assertEqual(batch["s"], ["a", "b"])
        pairs = default_collate([Pair(1, [2, 3]), Pair(4, [5, 6])])
        self.assertIsInstance(pairs, Pair)
        self.assertEqual([t.tolist() for t in pairs.b], [[2, 5], [3, 6]])
        with self.assertRaisesRegex(RuntimeError, "each element in list of batch should be of equal size"):
            default_collate([[1], [1, 2]])
        with self.assertRaisesRegex(TypeError, "batch must contain tensors"):
            default_collate([object()])

    def test_without_batches(self):
        self.assertEqual([v.tolist() for v in DataLoader(torch.arange(3), batch_size=None)], [0, 1, 2])
        self.assertEqual([v.tolist() for v in DataLoader(Range(5), batch_size=2)], [[0, 1], [2, 3], [4]])

    def test_errors(self):
        for kwargs in ({"num_workers": -1}, {"prefetch_factor": 2}, {"persistent_workers": True}, {"batch_size": None, "drop_last": True},
                       {"shuffle": True, "sampler": [1]}, {"batch_sampler": [[1]], "batch_size": 3}, {"batch_size": 0}):
            with self.assertRaises(ValueError):
                DataLoader(range(3), **kwargs)
        with self.assertRaisesRegex(ValueError, "expected unspecified shuffle"):
            DataLoader(Range(3), shuffle=True)
        with self.assertWarnsRegex(UserWarning, "pin_memory"):
            next(iter(DataLoader([1], pin_memory=True)))


class Workers(unittest.TestCase):
    def test_same_batches(self):
        torch.set_num_threads(2)
        torch.ones(100000).sum()  # threads of the parent are not those of a worker
        for kwargs in ({"batch_size": 3}, {"batch_size": 4, "shuffle": True, "drop_last": True}):
            torch.manual_seed(5)
            here = [(b["x"].tolist(), b["y"].tolist(), b["name"]) for b in DataLoader(Squares(20), **kwargs)]
            torch.manual_seed(5)
            there = [(b["x"].tolist(), b["y"].tolist(), b["name"]) for b in DataLoader(Squares(20), num_workers=2, **kwargs)]
            self.assertEqual(here, there)

    def test_iterable(self):
        values = [v for b in DataLoader(Range(11), batch_size=2, num_workers=2) for v in b.tolist()]
        self.assertEqual(sorted(values), list(range(11)))
        self.assertEqual(values[:4], [0, 2, 1, 3])

    def test_info_and_seeds(self):
        torch.manual_seed(9)
        rows = [[v.item() for v in row] for row in DataLoader(Who(), num_workers=2)]
        self.assertEqual([row[0] for row in rows], [0, 1, 0, 1])
        self.assertEqual({row[1] for row in rows}, {2})
        self.assertEqual(rows[1][2] - rows[0][2], 1)
        self.assertNotIn(os.getpid(), {row[3] for row in rows})
        self.assertEqual({row[6] for row in rows}, {1})
        torch.manual_seed(rows[0][2])
        random.seed(rows[0][2])
        self.assertEqual((torch.rand(1).item(), random.random()), (rows[0][4], rows[0][5]))
        self.assertIsNone(get_worker_info())

    def test_init_function(self):
        class Named(Squares):
            def __getitem__(self, index):
                return self.label

        data = Named(4)

        def init(worker):
            get_worker_info().dataset.label = 100 + worker

        self.assertEqual([b.item() for b in DataLoader(data, num_workers=2, worker_init_fn=init)], [100, 101, 100, 101])

    def test_persistent(self):
        loader = DataLoader(Who(), num_workers=1, persistent_workers=True)
        first, second = [{row[3].item() for row in loader} for _ in range(2)]
        self.assertEqual(first, second)
        iterator = iter(loader)
        next(iterator)  # left early
        self.assertEqual(len(list(loader)), 4)
        loader._kept_iterator.close()

    def test_errors(self):
        iterator = iter(DataLoader(Broken(), num_workers=2))
        self.assertEqual([next(iterator).item(), next(iterator).item()], [0, 1])
        with self.assertRaisesRegex(ValueError, "(?s)Caught ValueError in DataLoader worker process 0.*sample 2 is broken"):
            next(iterator)
        self.assertEqual(next(iterator).item(), 3)
        with self.assertRaisesRegex(RuntimeError, "timed out after 0.2 seconds"):
            next(iter(DataLoader(Slow(), num_workers=1, timeout=0.2)))

    def test_a_worker_dies(self):
        class Dies(Squares):
            def __getitem__(self, index):
                os._exit(3)

        with self.assertRaisesRegex(RuntimeError, "exited unexpectedly"):
            next(iter(DataLoader(Dies(2), num_workers=1, timeout=20)))


if __name__ == "__main__":
    unittest.main()
