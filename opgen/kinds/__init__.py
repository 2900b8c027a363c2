"""Kinds of operators: how the kernel of an operator follows from its entry.

A module for each kind has `body(op, params, written, family)`: the lines of the function that dispatch calls. `params` are
the typed parameters, `written` the places of those that the operator returns (in-place and out= forms), or None.
"""

from . import compound, leaf, pointwise, reduce, scalar

BODIES = {"pointwise": pointwise.body, "reduce": reduce.body, "leaf": leaf.body, "compound": compound.body,
          "scalar": scalar.body}
