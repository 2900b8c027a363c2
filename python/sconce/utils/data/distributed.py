"""DistributedSampler: of a dataset, the part of one process."""

import math

import sconce as torch
import sconce.distributed as dist

from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every num_replicas-th index from rank on, after a shuffle that is the same in all processes.

    All processes get as many: some indices come twice, or, with drop_last, the last ones do not come. set_epoch before each
    epoch gives it an order of its own."""

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        self.num_replicas = dist.get_world_size() if num_replicas is None else num_replicas
        self.rank = dist.get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"Invalid rank {self.rank}, rank should be in the interval [0, {self.num_replicas - 1}]")
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0
        count = len(dataset)
        if drop_last and count % self.num_replicas:
            count -= self.num_replicas
        self.num_samples = math.ceil(count / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self):
        count = len(self.dataset)
        indices = list(range(count))
        if self.shuffle:
            indices = torch.randperm(count, generator=torch.Generator().manual_seed(self.seed + self.epoch)).tolist()
        if not self.drop_last and count:
            indices = (indices * math.ceil(self.total_size / count))[:self.total_size]
        return iter(indices[self.rank:self.total_size:self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """The order of samples is that of this epoch from the next __iter__ on."""
        self.epoch = epoch
