"""Start values of networks: numbers from a hash of their position, exact in bfloat16, without a library's generator."""

import zlib

import numpy as np

from library import torch

PRIME = 1_048_573  # no width of a layer divides it, so that the rows of a long weight differ


def hashed(counters):
    """Uniform numbers in [-1, 1) by the finaliser of SplitMix64."""
    x = counters.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(40)).astype(np.float32) * np.float32(2.0 ** -23) - np.float32(1)


_TABLE = hashed(np.arange(1, PRIME + 1))


def _uniform(key, count):
    """`count` elements of the table from the place of `key` on, again and again."""
    at = zlib.crc32(key.encode()) % PRIME
    return np.resize(np.concatenate([_TABLE[at:], _TABLE[:at]]), count)


def rounded(values):
    """To the nearest bfloat16, as float32: every run starts from equal numbers."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    bits = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def kept(parameter):
    """Marks a parameter that keeps the value which its module gave it."""
    parameter.kept = True
    return parameter


class Draws:
    """The inputs of a network."""

    def __init__(self, name):
        self.name, self.count = name, 0

    def _next(self, shape):
        self.count += 1
        return _uniform(f"{self.name} input {self.count}", int(np.prod(shape))).reshape(shape)

    def floats(self, *shape):
        """Mean 0, deviation 1."""
        return torch.from_numpy(rounded(self._next(shape) * np.float32(3 ** 0.5)).copy())

    def positive(self, *shape):
        """Between 0 and 1."""
        return torch.from_numpy(rounded((self._next(shape) + 1) / 2).copy())

    def integers(self, low, high, *shape):
        """In [low, high)."""
        part = (self._next(shape).astype(np.float64) + 1) / 2
        return torch.from_numpy(np.minimum(low + (part * (high - low)).astype(np.int64), high - 1))


def fill(name, module):
    """Parameters as initialisers scale them: matrices by their inputs, scales near 1, shifts near 0."""
    with torch.no_grad():
        for key, parameter in module.named_parameters():
            if getattr(parameter, "kept", False):
                continue
            drawn = _uniform(f"{name} {key}", parameter.numel())
            if parameter.dim() > 1:
                gain = 6 if parameter.dim() > 2 else 3
                values = drawn * np.float32((gain * parameter.shape[0] / parameter.numel()) ** 0.5)
            else:
                values = drawn * np.float32(0.1) + np.float32(key.endswith("weight"))
            parameter.copy_(torch.from_numpy(rounded(values).copy()).reshape(parameter.shape))
    return module
