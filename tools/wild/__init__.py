"""Programs of other people: modules and functions of published packages, one file for each field.

A program is a function that imports its package and returns a Case: what to compile, and the arguments of each call. It is
made with random weights after torch.manual_seed(0), in evaluation mode.
"""

import importlib
import pkgutil
from dataclasses import dataclass, field

PROGRAMS = {}


@dataclass
class Case:
    """`what` is a module, a function, or the path of a TorchScript file that the package ships; `how` is script, trace or
    file."""

    what: object
    calls: list = field(default_factory=list)
    how: str = "script"
    method: str = "forward"


@dataclass
class Program:
    name: str
    package: str  # the distribution to install, without what it asks for
    needs: tuple  # distributions that the program's imports really need
    make: object


def program(package, *needs):
    """Registers the function below as a program of a package."""

    def register(make):
        name = f"{package}/{make.__name__}"
        PROGRAMS[name] = Program(name, package, needs, make)
        return make

    return register


def load():
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return PROGRAMS
