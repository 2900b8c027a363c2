"""generated/quantized_texts.inc: what operators are on quantised tensors, as text over integers (`integers` of an entry).

    {"aten::relu", "return requantized(relu(self.dequantize()), self)", false},

The last column says whether the operator is for quantised tensors, or packed weights, alone. Only the compiler reads them
(lowering/quantized/quantized_texts.h), so they stand apart from the records that every library has.
"""

from .. import cpp, script
from ..helpers import decomposition_functions
from ..kinds import leaf
from ..translation import translated


def files(families):
    rows = [row for family in families for row in _rows(family)]
    return [("sconce/generated/quantized_texts.inc", "header", "".join(rows))]


def _rows(family):
    for entry in family.entries:
        text = entry.get("integers")
        if text is None:
            continue
        _check(family, entry, text)
        name = f"{entry.schema.namespace}::{entry.schema.key}"
        alone = entry.kind == "leaf" and leaf.reads_memory(entry)
        yield f'{{{cpp.string(name)}, {cpp.string(text)}, {"true" if alone else "false"}}},\n'


def _check(family, entry, text):
    """Text must be script over the arguments, as a body is; it may also call functions of script/ and operators without one."""
    if text == "same":
        return
    schemas = {**family.catalog.without_function, **decomposition_functions(), **family.schemas}
    translated(entry, "integers", lambda: script.translate_body(text, entry.schema.arguments, schemas, entry.schema.returns))
