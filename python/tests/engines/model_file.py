"""The model that tests of engines share: y = x W + b in a file, and the same in numpy."""

import pathlib
import sys
import unittest

import numpy

import sconce

UNAVAILABLE = 77


class Model(sconce.nn.Module):
    def __init__(self):
        super().__init__()
        sconce.manual_seed(3)
        self.layer = sconce.nn.Linear(4, 3)

    def forward(self, x):
        return self.layer(x).relu()


def write(folder, name="layer.pt"):
    """The file, and the function that it holds."""
    model = Model()
    path = pathlib.Path(folder) / name
    sconce.jit.script(model).save(str(path))
    weight, bias = model.layer.weight.detach().numpy(), model.layer.bias.detach().numpy()
    return str(path), lambda x: numpy.maximum(x @ weight.T + bias, 0)


def main(needs, reason):
    """Runs the tests of a file, or says why not."""
    try:
        __import__(needs)
    except ImportError as error:
        print(f"skipped: {reason}: {error}")
        sys.exit(UNAVAILABLE)
    unittest.main(module="__main__")
