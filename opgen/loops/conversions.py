"""Conversions between dtypes, as a small library has them: the table of each vector level with those of the selected dtypes
(ConversionTable in sconce/kernels/cpu/engine/tile.h)."""

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
    kept = [d for d in _NUMBERS if d in kept]
    places = [str(kept.index(d)) if d in kept else "ConversionTable::kNone" for d in _SLOTS]
    rows = [", ".join(f"convert_pair<{_NUMBERS[target]}, {_NUMBERS[source]}>" for target in kept) for source in kept]
    lines = []
    for level in LEVELS:
        if selection.level_for(level) != level:
            continue
        lines += [f"namespace {level} {{", "template <int to, int from>", "void convert_pair(void*, const void*, int64_t);",
                  "static constexpr Convert between[] = {", *(f"    {row}," for row in rows), "};",
                  f"extern constinit const ConversionTable conversions = {{{{{', '.join(places)}}}, {len(kept)}, between}};",
                  f"}}  // namespace {level}", ""]
    return lines


_SLOTS = [next((name for name, number in _NUMBERS.items() if number == slot), None) for slot in range(16)]
