"""Trains a network for two steps and sums up what came of it in few numbers.

Each tensor (the two losses, the gradients of the first step, the change of the weights in both steps, the running
statistics) becomes a row: four random projections, and four elements. A projection is the sum of all elements with signs
from a hash: the mean square of the projections of a difference estimates the square of its length (Johnson and
Lindenstrauss).
"""

import zlib

import numpy as np

from library import optim, torch
from start import Draws, hashed, fill

PROJECTIONS, SAMPLES, COLUMNS = 4, 4, 4096
_SIGNS = np.where(hashed(np.arange(1, PROJECTIONS * (COLUMNS + 65536) + 1)) < 0, -1.0, 1.0)
_COLUMN_SIGNS = _SIGNS[:PROJECTIONS * COLUMNS].reshape(COLUMNS, PROJECTIONS)
_ROW_SIGNS = _SIGNS[PROJECTIONS * COLUMNS:].reshape(65536, PROJECTIONS)


def plain(tensor):
    """A tensor's elements in float64, in order."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    return tensor.double().contiguous().numpy().reshape(-1)


def positions(name, count):
    """Of the sampled elements."""
    return [zlib.crc32(f"{name} {i}".encode()) % count for i in range(SAMPLES)]


def summary(name, values):
    """The row of a tensor."""
    values = values.astype(np.float64, copy=False)
    whole = len(values) // COLUMNS
    rows = values[:whole * COLUMNS].reshape(whole, COLUMNS) @ _COLUMN_SIGNS
    rest = values[whole * COLUMNS:]
    projections = (rows * _ROW_SIGNS[:whole]).sum(0) + (rest @ _COLUMN_SIGNS[:len(rest)]) * _ROW_SIGNS[whole]
    return np.concatenate([projections, values[positions(name, len(values))]])


def convert(value, dtype, last):
    if not torch.is_floating_point(value):
        return value
    value = value.to(dtype)
    if last and value.dim() == 4:
        return value.contiguous(memory_format=torch.channels_last)
    if last and value.dim() == 5:
        return value.contiguous(memory_format=torch.channels_last_3d)
    return value


def build(network, dtype, last=False, nudge=0.0):
    """The module with its weights, its inputs, its optimiser. Weights are moved by up to `nudge` of themselves."""
    module, inputs = network.make(Draws(network.name))
    fill(network.name, module)
    if nudge:
        with torch.no_grad():
            for i, parameter in enumerate(module.parameters()):
                drawn = np.resize(hashed(np.arange(i, i + 999983)), parameter.numel())
                parameter.mul_(torch.from_numpy(1 + nudge * drawn).reshape(parameter.shape).to(parameter.dtype))
    module.to(dtype).train()
    if last:
        module.to(memory_format=torch.channels_last if network.images == 2 else torch.channels_last_3d)
    inputs = tuple(convert(value, dtype, last) for value in inputs)
    return module, inputs, getattr(optim, network.optimizer)(module.parameters(), **network.options)


def train(network, dtype, last=False, threads=1, compiled=False, nudge=0.0, take=summary, sizes=None):
    """Two steps; a dict from names of tensors to take(name, elements in float64). `sizes` receives the length and the
    largest element of the weights, by the names of their changes."""
    torch.set_num_threads(threads)
    module, inputs, optimizer = build(network, dtype, last, nudge)
    start = {name: parameter.detach().clone() for name, parameter in module.named_parameters()}
    call = torch.compile(module) if compiled else module
    found = {}
    for step in (1, 2):
        optimizer.zero_grad()
        loss = call(*inputs)
        loss.backward()
        found[f"loss {step}"] = take(f"loss {step}", plain(loss))
        if step == 1:
            for name, parameter in module.named_parameters():
                if parameter.grad is not None:
                    found[f"gradient of {name}"] = take(f"gradient of {name}", plain(parameter.grad))
        optimizer.step()
    for name, parameter in module.named_parameters():
        before = plain(start[name])
        found[f"change of {name}"] = take(f"change of {name}", plain(parameter) - before)
        if sizes is not None:
            sizes[f"change of {name}"] = (np.linalg.norm(before), np.abs(before).max())
    for name, value in module.state_dict().items():
        if name not in start:
            found[f"buffer {name}"] = take(f"buffer {name}", plain(value))
    return found
