"""DistributedDataParallel: the same module in every process, gradients averaged while backward still runs."""

import contextlib

import sconce as torch
import sconce.distributed as dist

from ..module import Module

_MB = 1 << 20
_FIRST_BUCKET = 1 * _MB  # small, so that the first sum begins early: that of the last layers


class _Bucket:
    """Parameters whose gradients travel as one sum."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.flat = torch.empty(sum(p.numel() for p in parameters), dtype=parameters[0].dtype)
        self.parts = self.flat.split([p.numel() for p in parameters])
        self.missing, self.work = len(parameters), None

    def take(self, index):
        """Copies the gradient of a parameter in."""
        self.parts[index].copy_(self.parameters[index].grad.reshape(-1))
        self.missing -= 1

    def start(self):
        self.work = dist.all_reduce(self.flat, dist.ReduceOp.AVG, async_op=True)

    def finish(self):
        self.work.wait()
        for p, part in zip(self.parameters, self.parts):
            p.grad.copy_(part.view(p.shape))
        self.missing, self.work = len(self.parameters), None


class DistributedDataParallel(Module):
    """Averages gradients over the processes of sconce.distributed (see there how they are started).

    Gradients are summed in buckets of bucket_cap_mb, the last layers' first, each as soon as it is whole: the sums of one
    bucket run while backward computes the next. Parameters and buffers start as those of process 0."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, init_sync=True,
                 process_group=None, bucket_cap_mb=None, find_unused_parameters=False, check_reduction=False,
                 gradient_as_bucket_view=False, static_graph=False, delay_all_reduce_named_params=None,
                 param_to_hook_all_reduce=None, mixed_precision=None, device_mesh=None):
        super().__init__()
        absent = {"device_ids": device_ids, "output_device": output_device, "dim": dim, "process_group": process_group,
                  "find_unused_parameters": find_unused_parameters, "gradient_as_bucket_view": gradient_as_bucket_view,
                  "delay_all_reduce_named_params": delay_all_reduce_named_params,
                  "param_to_hook_all_reduce": param_to_hook_all_reduce, "mixed_precision": mixed_precision, "device_mesh": device_mesh}
        for name, value in absent.items():
            if value:
                raise NotImplementedError(f"DistributedDataParallel: {name}={value!r} is not there (modules are on the CPU, in the "
                                          "group of all processes, and use all of their parameters)")
        self._parameters_trained = [p for p in module.parameters() if p.requires_grad]
        if not self._parameters_trained:
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.")
        self.module = module
        self.broadcast_buffers, self.static_graph = broadcast_buffers, static_graph
        self.require_backward_grad_sync = True
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MB)
        self._check_shapes()
        if init_sync:
            with torch.no_grad():
                for t in [*module.parameters(), *module.buffers()]:
                    dist.broadcast(t, 0)
        self._buckets = [_Bucket(parameters) for parameters in self._groups()]
        self._started = 0  # buckets whose sums have begun: in this order in every process
        for number, bucket in enumerate(self._buckets):
            for index, p in enumerate(bucket.parameters):
                p.register_post_accumulate_grad_hook(lambda _, number=number, index=index: self._gradient_made(number, index))

    def _check_shapes(self):
        mine = [(name, list(p.shape), str(p.dtype)) for name, p in self.module.named_parameters()]
        all_shapes = [None] * dist.get_world_size()
        dist.all_gather_object(all_shapes, mine)
        for rank, theirs in enumerate(all_shapes):
            different = next((pair for pair in zip(mine, theirs) if pair[0] != pair[1]), None)
            if different or len(mine) != len(theirs):
                found = f"{different[0]} here, {different[1]} there" if different else f"{len(mine)} here, {len(theirs)} there"
                raise RuntimeError(f"DistributedDataParallel: the parameters of process {rank} are others: {found}")

    def _groups(self):
        """Parameters of one dtype, from the last to the first, cut where a bucket is full."""
        by_dtype = {}
        for p in reversed(self._parameters_trained):
            by_dtype.setdefault(p.dtype, []).append(p)
        for parameters in by_dtype.values():
            group, size, cap = [], 0, _FIRST_BUCKET
            for p in parameters:
                group.append(p)
                size += p.numel() * p.element_size()
                if size >= min(cap, self.bucket_bytes_cap):
                    yield group
                    group, size, cap = [], 0, self.bucket_bytes_cap
            if group:
                yield group

    def _gradient_made(self, number, index):
        if not self.require_backward_grad_sync:
            return
        with torch.no_grad():
            self._buckets[number].take(index)
            while self._started < len(self._buckets) and self._buckets[self._started].missing == 0:
                self._buckets[self._started].start()
                self._started += 1
            for bucket in self._buckets[:self._started]:
                bucket.work.is_completed()  # MPI moves data while it is asked
            if self._started == len(self._buckets):
                for bucket in self._buckets:
                    bucket.finish()
                self._started = 0

    @contextlib.contextmanager
    def no_sync(self):
        """For a scope: gradients stay with each process and add up, until the first backward behind it."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def forward(self, *inputs, **kwargs):
        if torch.is_grad_enabled() and self.require_backward_grad_sync:
            if any(bucket.missing < len(bucket.parameters) for bucket in self._buckets):
                raise RuntimeError("Expected to have finished reduction in the prior iteration before starting a new one. This error "
                                   "indicates that your module has parameters that were not used in producing loss.")
            if self.broadcast_buffers and self.training:
                for buffer in self.module.buffers():
                    dist.broadcast(buffer, 0)
        return self.module(*inputs, **kwargs)
