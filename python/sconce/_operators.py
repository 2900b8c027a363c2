"""The functions of operators, as sconce.add: where their types are written (_operators.pyi)."""

from . import _sconce

_sconce._add_functions(globals())
