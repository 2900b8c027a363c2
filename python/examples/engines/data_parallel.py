"""Data-parallel training: every process computes gradients of its part of a batch, MPI averages them.

    mpirun -n 4 python data_parallel.py --checkpoint run.pth

A run that was killed goes on from the last whole epoch of the checkpoint when it is started again. Any number of
processes, one without mpirun too, trains to the same weights up to rounding."""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = 32  # of all processes together


def circles(count):
    """Points, and in which of three rings each lies."""
    points = torch.rand(count, 2, generator=torch.Generator().manual_seed(1)) * 2 - 1
    return TensorDataset(points, (points.norm(dim=1) * 2.1).long().clamp(max=2))


def save(path, state):
    """Whole or not at all: a process may be killed at any moment."""
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--checkpoint", help="file that is continued from if it is there, and written after each epoch")
    options = parser.parse_args()

    dist.init_process_group("mpi")
    torch.manual_seed(dist.get_rank())  # parameters are process 0's all the same
    net = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3))
    model = DistributedDataParallel(net, bucket_cap_mb=0.01)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    first = 0
    if options.checkpoint and os.path.exists(options.checkpoint):
        state = torch.load(options.checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epoch"] + 1
        if dist.get_rank() == 0:
            print(f"goes on with epoch {first}", flush=True)

    dataset = circles(1024)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=BATCH // dist.get_world_size(), sampler=sampler)
    for epoch in range(first, options.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(())
        for x, y in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total, dist.ReduceOp.AVG)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {total.item() / len(loader):.4f}", flush=True)
            if options.checkpoint:
                save(options.checkpoint, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch})
        dist.barrier()
    dist.destroy_process_group()


main()
