"""torch.distributed over MPI: processes that mpirun starts, collectives of an installed MPI through mpi4py.

    mpirun -n 4 python train.py          # init_process_group("mpi") in train.py

There is one group, of all processes. Tensors are on the CPU."""

import importlib.util as _importlib_util

from .collectives import (all_gather, all_gather_object, all_reduce, barrier, broadcast, broadcast_object_list, recv, reduce, send)
from .group import (GroupMember, ReduceOp, destroy_process_group, get_backend, get_rank, get_world_size, group, init_process_group,
                    is_initialized)
from .work import Work


def is_available():
    """Whether mpi4py is installed: without it there is nothing to talk through."""
    return _importlib_util.find_spec("mpi4py") is not None


def is_mpi_available():
    """The same: MPI is the one backend."""
    return is_available()


def is_gloo_available():
    """False."""
    return False


def is_nccl_available():
    """False."""
    return False


def is_torchelastic_launched():
    """False: mpirun starts processes."""
    return False


__all__ = ["GroupMember", "ReduceOp", "Work", "all_gather", "all_gather_object", "all_reduce", "barrier", "broadcast",
           "broadcast_object_list", "destroy_process_group", "get_backend", "get_rank", "get_world_size", "group",
           "init_process_group", "is_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
           "is_torchelastic_launched", "recv", "reduce", "send"]
