"""Models to record: one file for each field, each with a table MODELS of name -> Model."""

from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass
class Model:
    """`build` makes the module, with random weights; `calls` makes the arguments of each call, a list of tuples."""

    build: Callable
    calls: Callable
    how: str = "script trace"  # also: freeze (scripted, then frozen)
    dtype: torch.dtype = torch.float32  # of the module and of floating point arguments
    train: bool = False  # saved and called in training mode


def images(*shapes):
    """One call with one batch of images for each shape."""
    return lambda: [(torch.rand(*shape),) for shape in shapes]


def normals(*shapes):
    return lambda: [(torch.randn(*shape),) for shape in shapes]


def tokens(vocabulary, *shapes):
    return lambda: [(torch.randint(vocabulary, shape),) for shape in shapes]
