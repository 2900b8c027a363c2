"""Runs a program that is written for PyTorch: python3 -m sconce program.py [arguments]. In it, `torch` means sconce."""

import importlib.abc
import importlib.machinery
import runpy
import sys

import sconce


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch.nn as sconce.nn: the same module under a second name."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name.startswith("torch.") else None

    def create_module(self, spec):
        module = importlib.import_module("sconce" + spec.name[len("torch"):])
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.spec  # the import of the second name has set its own


def main():
    """python3 -m sconce program.py"""
    if len(sys.argv) < 2:
        sys.exit("usage: python3 -m sconce program.py [arguments]")
    sys.modules["torch"] = sconce
    sys.meta_path.insert(0, _Alias())
    sys.argv = sys.argv[1:]
    sys.path[0] = __import__("os").path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
