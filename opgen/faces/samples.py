"""Samples: arguments for the table's own tests, from `samples` or, where an entry has none, made from its schema.

The notation is read by sconce/testing/gradients/sample.cpp and described in docs/operators.md. What is made here suits most operators: a
matrix of float64 for each tensor, plausible numbers by type and name.
"""

from .. import cpp

# By name, then by type. A value of None means: no sample can be made.
_BY_NAME = {
    "dim": "0", "dims": "[0]", "dim0": "0", "dim1": "1", "axis0": "0", "axis1": "1", "index": "i64[2] 0..2",
    "keepdim": "False", "reduction": "1", "p": "2", "eps": "1e-5", "k": "2", "n": "2",
}
_BY_TYPE = {
    "Tensor": "f64[2,3]", "Tensor[]": "[f64[2,3], f64[2,3]]", "Scalar": "1.7", "float": "0.5", "int": "1", "SymInt": "1",
    "bool": "False", "ScalarType": "float64",
}


def _made(entry):
    """Samples from the schema; none where an argument of it has no plausible value. Loops are also tried with numbers,
    with nothing, and with sizes that broadcast."""
    parts = []
    for a in entry.schema.arguments:
        if a.default is not None:
            continue
        if a.type in ("Tensor", "Tensor[]"):
            text = _BY_TYPE[a.type]
        elif a.type.endswith("?"):
            text = "None"
        else:
            text = _BY_NAME.get(a.name, _BY_TYPE.get(a.type)) if "[" not in a.type else None
        if text is None:
            return []
        parts.append(f"{a.name}={text}" if a.keyword_only else text)
    made = [", ".join(parts)]
    if entry.kind in ("pointwise", "reduce"):
        made.append(made[0].replace("f64[2,3]", "f64[]"))
    if entry.kind == "pointwise":
        made.append(made[0].replace("f64[2,3]", "f64[0,3]"))
    if entry.kind == "pointwise" and made[0].count("f64[2,3]") > 1:
        sizes = iter(["f64[2,3]", "f64[3]"] + ["f64[2,1]"] * len(parts))
        made.append(", ".join(next(sizes) if p == "f64[2,3]" else p for p in parts))
    return made


def _takes_part(entry, gradient):
    """Entries that may be differentiated, and those that have samples. `gradient`: see formulas.gradient."""
    tensor = lambda a: a.type.startswith("Tensor")
    if any(a.written and a.keyword_only for a in entry.schema.arguments):
        return False  # an out= form
    if not (any(map(tensor, entry.schema.arguments)) and any(map(tensor, entry.schema.returns))):
        return False
    if "samples" in entry.data:
        return True
    if gradient == "through":
        return entry.kind == "compound" or isinstance(entry.get("grad"), str)  # loops that go through give integers
    return gradient == "formulas"


def _has(dtypes, texts):
    return any(dtype in text for text in texts for dtype in dtypes)


def of_entry(entry):
    """(texts, whether the entry states them). Where loops have floats, but no float64, the made one comes behind."""
    stated = entry.get("samples")
    texts = list(stated or [])
    loops = entry.kind in ("pointwise", "reduce")
    if stated is None or (loops and _has(("f16[", "f32["), texts) and not _has(("f64[", "c128["), texts)):
        texts += _made(entry)
    return texts, stated is not None


def source(entries, gradients, banner):
    """The generated file that the test support links. `gradients`: key of an entry -> how it is differentiated."""
    out = [banner, '#include "sconce/testing/gradients/sample.h"\n', "namespace sconce::testing {", "namespace {\n"]
    rows = []
    for entry in entries:
        if not _takes_part(entry, gradients[entry.key]):
            continue
        texts, stated = of_entry(entry)
        name = f"{entry.schema.namespace}::{entry.schema.key}"
        listed = "{}"
        if texts:
            out.append(f"constexpr const char* {entry.family}_{entry.cpp_name}[] = {{{', '.join(cpp.string(t) for t in texts)}}};")
            listed = f"{entry.family}_{entry.cpp_name}"
        rows.append(f"    {{{cpp.string(name)}, {listed}, {'true' if stated else 'false'}, {cpp.string(entry.get('second_order'))}}},")
    out += ["", "constexpr OpSamples all[] = {"] + rows + ["};\n", "}  // namespace\n"]
    out += ["std::span<const OpSamples> op_samples() { return all; }\n", "}  // namespace sconce::testing\n"]
    return "\n".join(out)
