#!/usr/bin/env python3
"""Times modules from Python in Sconce and in PyTorch, in turn: nn.Linear without gradients, and a training step of the digits net.

    bench/python_modules.py [--seconds S]

For an interpreter that has PyTorch 2.13, with build/release/python in PYTHONPATH. One thread each; the best of many short windows,
which others on the machine disturb least. The last column is our time divided by PyTorch's."""

import argparse
import time

import sconce  # before torch, so that an import after it is not all that is tried
import torch

WINDOW = 0.005  # seconds


def linear(lib):
    layer, x = lib.nn.Linear(64, 64), lib.randn(1, 64)

    def call():
        with lib.no_grad():
            for _ in range(100):
                layer(x)

    return call, 100


def digits(lib):
    """The net of examples/train_digits.cpp: two convolutions, two layers, SGD with momentum, 32 pictures."""
    lib.manual_seed(0)
    nn, F = lib.nn, lib.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
            self.fc1, self.fc2 = nn.Linear(64, 32), nn.Linear(32, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            return self.fc2(F.relu(self.fc1(x.flatten(1))))

    net = Net()
    optimizer = lib.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    pictures, labels = lib.randn(32, 1, 8, 8), lib.randint(0, 10, (32,))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(net(pictures), labels).backward()
        optimizer.step()

    return step, 1


def best(call, count, seconds):
    """The least time of one call, over windows."""
    call()
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun, calls = time.perf_counter(), 0
        while time.perf_counter() - begun < WINDOW:
            call()
            calls += 1
        least = min(least, (time.perf_counter() - begun) / (calls * count))
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each row and library")
    options = parser.parse_args()
    for lib in (sconce, torch):
        lib.set_num_threads(1)
    for name, make, bar in (("nn.Linear(64, 64) forward", linear, 1 / 3), ("training step of the digits net", digits, 0.7)):
        least = {"sconce": float("inf"), "torch": float("inf")}
        calls = {lib.__name__: make(lib) for lib in (sconce, torch)}
        for _ in range(4):  # in turn, so that both see the same hours
            for lib in least:
                least[lib] = min(least[lib], best(*calls[lib], options.seconds / 4))
        ratio = least["sconce"] / least["torch"]
        print(f"{name:32} Sconce {1e6 * least['sconce']:8.2f} us  PyTorch {1e6 * least['torch']:8.2f} us  {ratio:.2f}, bar {bar:.2f}")


if __name__ == "__main__":
    main()
