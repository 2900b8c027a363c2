"""Samples to batches: tensors are stacked, numbers become tensors, and what holds them keeps its kind."""

import collections.abc
import copy

import sconce as torch

_NOT_THIS = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _numpy_kind(value):
    """"array" or "scalar" for values of numpy, without importing it."""
    if type(value).__module__ != "numpy":
        return None
    return "array" if type(value).__name__ == "ndarray" else "scalar" if hasattr(value, "dtype") else None


def _like(kind, values, fallback):
    """An object of the samples' own class where it can be made from the values."""
    try:
        return kind(values)
    except TypeError:
        return fallback(values)


def default_collate(batch):
    """One batch of a list of samples."""
    first = batch[0]
    if isinstance(first, torch.Tensor):
        if first.layout is not torch.strided:
            raise RuntimeError("Batches of sparse tensors are not currently supported by the default collate_fn; please provide a custom "
                               "collate_fn to handle them appropriately.")
        return torch.stack(list(batch), 0)
    if _numpy_kind(first) == "array":
        if first.dtype.kind in "SUO":
            raise TypeError(_NOT_THIS.format(first.dtype))
        return torch.stack([torch.as_tensor(array) for array in batch], 0)
    if _numpy_kind(first) == "scalar":
        return _of_numpy_scalars(batch)
    if isinstance(first, float):
        return torch.tensor(batch, dtype=torch.float64)
    if isinstance(first, int):
        return torch.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        return _of_mappings(batch)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(part) for part in zip(*batch)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(part) for part in zip(*batch)]
        return parts if isinstance(first, tuple) else _like(type(first), parts, list)
    raise TypeError(_NOT_THIS.format(type(first)))


def _of_numpy_scalars(batch):
    import numpy

    return torch.from_numpy(numpy.array(batch))


def _of_mappings(batch):
    first = batch[0]
    parts = {key: default_collate([sample[key] for sample in batch]) for key in first}
    if not isinstance(first, collections.abc.MutableMapping):
        return _like(type(first), parts, dict)
    try:
        made = copy.copy(first)  # keeps what the class has beside its items, a default_factory for one
        made.update(parts)
        return made
    except TypeError:
        return parts


def default_convert(data):
    """A sample with arrays of numpy as tensors, where there are no batches."""
    if isinstance(data, torch.Tensor):
        return data
    if _numpy_kind(data) is not None:
        if _numpy_kind(data) == "array" and data.dtype.kind in "SUO":
            return data
        return torch.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _like(type(data), {key: default_convert(value) for key, value in data.items()}, dict)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _like(type(data), [default_convert(value) for value in data], list)
    return data
