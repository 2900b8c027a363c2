"""Scalar operators: one expression over numbers."""

from .. import script
from ..translation import translated


def body(op, params, written, family):
    entry = op.entry
    value = translated(entry, "scalar", lambda: script.translate_expression(
        entry.data["scalar"], entry.schema.arguments, None)[0])
    return [f"  return {value};"]
