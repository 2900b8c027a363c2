"""Triton: a model file served by NVIDIA's Triton Inference Server, through PyTriton.

Triton gives the protocol's HTTP and gRPC, queues, dynamic batching and metrics. PyTriton calls each instance from a thread of
the process that binds it; Sconce computes outside of Python's lock."""

import pathlib

import numpy

from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor

from .array_model import ArrayModel


class _Infer:
    """What PyTriton calls with requests: arrays by name to arrays by name. It has no answer for one request that fails beside
    others: all of the batch get its error."""

    def __init__(self, model):
        self.model = model

    def __call__(self, requests):
        answers = self.model.run_together([[request[name] for name in self.model.inputs] for request in requests])
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return [dict(zip(self.model.output_names(len(answer)), answer)) for answer in answers]


def _described(names, arrays):
    return [Tensor(name=name, dtype=a.dtype.type, shape=tuple(-1 for _ in a.shape[1:])) for name, a in zip(names, arrays)]


def bind(server, path, example, *, name=None, max_batch_size=8, max_queue_delay_microseconds=1000, instances=1, model=None):
    """Adds a model file to a pytriton.triton.Triton.

    `example` has one array per argument, with a dimension for the batch in front: dtypes and ranks of inputs and outputs are
    taken from a call with it. `model` has the options of ArrayModel."""
    models = [ArrayModel(path, **(model or {})) for _ in range(instances)]
    arrays = [numpy.asarray(a) for a in example]
    results = models[0](*arrays)
    server.bind(model_name=name or pathlib.Path(path).stem, infer_func=[_Infer(m) for m in models],
                inputs=_described(models[0].inputs, arrays), outputs=_described(models[0].output_names(len(results)), results),
                config=ModelConfig(max_batch_size=max_batch_size,
                                   batcher=DynamicBatcher(max_queue_delay_microseconds=max_queue_delay_microseconds)), strict=True)


__all__ = ["bind"]
