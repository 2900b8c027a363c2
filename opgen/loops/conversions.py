"""Conversions between dtypes, as a small library has them: the table of each vector level with those of the selected dtypes
(ConversionTable in sconce/kernels/cpu/engine/tile.h). The others refuse."""

from .functions import LEVELS

# Numbers of the dtypes in the table (enum class DType).
_NUMBERS = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
            "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15}
# Numbers of programs are doubles; small integers are computed in larger ones; dtypes that are not in the table are converted
# by way of one that is.
_USUAL = ("float32", "float64")
_BY_WAY = {"uint8": "int32", "int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64"}
# What quantised tensors are stored as, and packed weights of 16 bits.
_QUANTIZED = ("uint8", "int8", "int32", "float16")


def tables(selection):
    """Lines of C++ at the scope of the namespace sconce; none where all dtypes are selected."""
    if not selection.dtypes:
        return []
    kept = {*_USUAL, *selection.dtypes, *(_QUANTIZED if "quantized" in selection.formats else ())}
    kept |= {_BY_WAY[d] for d in kept if d in _BY_WAY}
    lines = []
    for level in LEVELS:
        if selection.level_for(level) != level:
            continue
        rows = ["    {" + ", ".join(_entry(source, target, kept) for target in _SLOTS) + "}," for source in _SLOTS]
        lines += [f"namespace {level} {{", "template <int to, int from>", "void convert_pair(void*, const void*, int64_t);",
                  "extern constinit const ConversionTable conversions = {{", *rows, "}};", f"}}  // namespace {level}", ""]
    return lines


_SLOTS = [next((name for name, number in _NUMBERS.items() if number == slot), None) for slot in range(16)]


def _entry(source, target, kept):
    if source is None or target is None:
        return "nullptr"
    missing = next((d for d in (source, target) if d not in kept), None)
    if missing:
        return f"lite::refuse_conversion<{_NUMBERS[missing]}>"
    return f"convert_pair<{_NUMBERS[target]}, {_NUMBERS[source]}>"
