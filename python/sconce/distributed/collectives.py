"""Collectives: sums, copies and messages between the processes of the group, with PyTorch's names and arguments.

MPI reads and writes buffers of numpy. A tensor that receives is written by copy_, as by any operator: autograd and plans
see that it changed. 16-bit floats, which MPI does not know, travel as float32."""

import sconce as torch

from .group import ReduceOp, communicator, get_rank, get_world_size
from .work import Work

_HALVES = (torch.float16, torch.bfloat16)


def _buffer(tensor, what):
    """A copy of a tensor's elements that MPI may use."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{what}: expected a Tensor, given: {type(tensor).__name__}")
    if tensor.device.type != "cpu":
        raise ValueError(f"{what}: tensors have to be on the CPU, given one on {tensor.device}")
    tensor = tensor.detach()
    if tensor.dtype in _HALVES:
        tensor = tensor.float()
    return tensor.clone(memory_format=torch.contiguous_format).numpy()


def _fill(tensor, buffer):
    with torch.no_grad():
        tensor.copy_(torch.from_numpy(buffer).view(tensor.shape))


def _ended(work, async_op):
    if async_op:
        return work
    work.wait()
    return None


def _operation(op, tensor, what):
    from mpi4py import MPI
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{what}: op has to be a ReduceOp, given: {op!r}")
    if op is ReduceOp.AVG and not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"{what}: ReduceOp.AVG of {tensor.dtype}: an average is a float")
    return getattr(MPI, "SUM" if op is ReduceOp.AVG else op.value)


def _averaged(buffer, op):
    if op is ReduceOp.AVG:
        buffer /= get_world_size()
    return buffer


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Every process' tensor becomes the sum (or another reduction) of all of them. The order of a sum is MPI's."""
    world, code, buffer = communicator(group), _operation(op, tensor, "all_reduce"), _buffer(tensor, "all_reduce")

    def finish():
        _fill(tensor, _averaged(buffer, op))

    from mpi4py import MPI
    return _ended(Work(world.Iallreduce(MPI.IN_PLACE, buffer, op=code), finish), async_op)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None, async_op=False):
    """The same for process dst only; other processes' tensors stay as they are."""
    world, code, buffer = communicator(group), _operation(op, tensor, "reduce"), _buffer(tensor, "reduce")
    result = buffer.copy() if get_rank() == dst else None

    def finish():
        if result is not None:
            _fill(tensor, _averaged(result, op))

    return _ended(Work(world.Ireduce(buffer, result, op=code, root=dst), finish), async_op)


def broadcast(tensor, src, group=None, async_op=False):
    """Every process' tensor becomes that of process src."""
    world, buffer = communicator(group), _buffer(tensor, "broadcast")

    def finish():
        if get_rank() != src:
            _fill(tensor, buffer)

    return _ended(Work(world.Ibcast(buffer, root=src), finish), async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """tensor_list[i] becomes the tensor of process i."""
    world, buffer = communicator(group), _buffer(tensor, "all_gather")
    if len(tensor_list) != world.Get_size():
        raise ValueError(f"all_gather: {len(tensor_list)} tensors for the results of {world.Get_size()} processes")
    for part in tensor_list:
        if part.shape != tensor.shape or part.dtype != tensor.dtype:
            raise ValueError(f"all_gather: a result of {part.dtype} and {list(part.shape)} for tensors of {tensor.dtype} and "
                             f"{list(tensor.shape)}")
    import numpy
    parts = numpy.empty((world.Get_size(), *buffer.shape), buffer.dtype)

    def finish():
        for part, received in zip(tensor_list, parts):
            _fill(part, numpy.ascontiguousarray(received))

    return _ended(Work(world.Iallgather(buffer, parts), finish), async_op)


def send(tensor, dst, group=None, tag=0):
    """Sends a tensor to process dst."""
    communicator(group).Send(_buffer(tensor, "send"), dest=dst, tag=tag)


def recv(tensor, src=None, group=None, tag=0):
    """Receives a tensor from process src, or from any; returns whose it was."""
    from mpi4py import MPI
    buffer, status = _buffer(tensor, "recv"), MPI.Status()
    communicator(group).Recv(buffer, source=MPI.ANY_SOURCE if src is None else src, tag=tag, status=status)
    _fill(tensor, buffer)
    return status.Get_source()


def barrier(group=None, async_op=False):
    """Waits until every process is here."""
    return _ended(Work(communicator(group).Ibarrier(), lambda: None), async_op)


def all_gather_object(object_list, obj, group=None):
    """object_list[i] becomes the object of process i. Objects travel pickled: only among processes that trust each other."""
    found = communicator(group).allgather(obj)
    if len(object_list) != get_world_size():
        raise ValueError(f"all_gather_object: {len(object_list)} places for the objects of {get_world_size()} processes")
    object_list[:] = found


def broadcast_object_list(object_list, src=0, group=None):
    """The list becomes that of process src."""
    found = communicator(group).bcast(list(object_list), root=src)
    if len(found) != len(object_list):
        raise ValueError(f"broadcast_object_list: process {src} has {len(found)} objects, this one {len(object_list)}")
    object_list[:] = found
