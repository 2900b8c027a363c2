#!/usr/bin/env python3
"""Writes small files of torch.package, as tests/conformance/packages.

    python tools/record_packages.py"""

import pathlib

import torch
import torch.package.package_exporter
from torch import nn
from torch.package import PackageExporter

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "conformance" / "packages"


class Net(nn.Module):
    def __init__(self, bias: float):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(2.0))
        self.bias = bias

    def forward(self, x):
        return torch.relu(x * self.weight) + self.bias


def main():
    torch.package.package_exporter._gate_torchscript_serialization = False
    OUT.mkdir(parents=True, exist_ok=True)
    a, b = torch.jit.script(Net(3.0)), torch.jit.script(Net(5.0))
    with PackageExporter(OUT / "one.pt") as package:
        package.save_pickle("model", "model.pkl", a)
    with PackageExporter(OUT / "several.pt") as package:
        package.save_pickle("models", "a.pkl", a)
        package.save_pickle("models", "b.pkl", {"m": b, "w": torch.arange(3.0), "n": [1, "x"]})
        package.save_text("res", "readme.txt", "hello")
        package.save_binary("res", "data.bin", b"\0\1")
        package.save_source_string("helper", "def f(x):\n    return x + 1\n")
    with PackageExporter(OUT / "python.pt") as package:
        package.extern("torch.**")
        package.save_pickle("p", "net.pkl", nn.Linear(2, 2, bias=False))
        package.save_source_string("module", "raise SystemExit('this must not run')\n")


main()
