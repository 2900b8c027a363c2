"""Limited dtypes (Note [Limited dtypes] in sconce/tensor/dtype.h): which of them an entry takes."""

# Words of `dtypes`, as the bits of dtype.h. float8_tensors: float8, but not beside a second operand of one element.
WORDS = {"uint": 1, "float8": 6, "float8_e5m2": 4, "float8_tensors": 6 | 8}
ALL = 7


def accepted(entry, data=None):
    """The bits of `dtypes`. Where an entry has none: all for what only calls other operators, asks for facts or makes views;
    none for what computes or reads elements itself."""
    text = (data or entry.data).get("dtypes")
    if text is None:
        return 0 if _computes(entry) else ALL
    bits = 0
    for word in text.split():
        if word not in WORDS:
            entry.fail(f"unknown dtypes '{word}', expected some of {', '.join(WORDS)}", "dtypes")
        bits |= WORDS[word]
    return bits


def _computes(entry):
    if entry.kind in ("pointwise", "reduce"):
        return True
    return entry.kind == "leaf" and any(file.startswith("cpu/") for file in entry.data["kernel"].values())


def admitted(entry):
    """What OpInfo::dtypes says: the engines of pointwise operators and reductions decide by the common dtype themselves."""
    return ALL if entry.kind in ("pointwise", "reduce") else accepted(entry)
