"""Shape rules: script that returns the sizes of an operator's results, for arguments that it accepts.

An entry writes one as `shape`, from which opgen makes the kernel's allocations too, or as `sizes`, where the rule with its
refusals is C++ or the kernel makes its own results. That of a pointwise operator or a reduction follows from its kind.
`script/builtins/formulas.py` has the functions that rules may call.
"""


def shape_of(entry):
    """Lines that end in a return, or None."""
    if entry.kind == "pointwise":
        return _broadcast([a for a in entry.schema.arguments if a.type in ("Tensor", "Tensor?")])
    if entry.kind == "reduce":
        return _reduced(entry)
    text = entry.get("sizes", entry.get("shape"))
    if text is None or text == "cpp":
        return None
    count = len(entry.schema.returns)
    if isinstance(text, list):
        return "return " + ", ".join(t.strip() for t in text)
    text = text.strip("\n")
    if "\n" in text or text.startswith("return "):
        return text
    return "return " + ", ".join([text.strip()] * (count if "shape" in entry.data and "sizes" not in entry.data else 1))


def _broadcast(tensors):
    present = [a.name for a in tensors if a.type == "Tensor"]
    text = f"{present[0]}.shape"
    for name in present[1:]:
        text = f"broadcast_shapes({text}, {name}.shape)"
    lines = [f"if {a.name} is not None:\n  shape = broadcast_shapes(shape, {a.name}.shape)" for a in tensors
             if a.type == "Tensor?"]
    return "\n".join([f"shape = {text}", *lines, "return shape"]) if lines else f"return {text}"


def _reduced(entry):
    dim, keepdim = entry.schema.argument("dim"), entry.schema.argument("keepdim")
    self_ = entry.schema.arguments[0].name
    keep = "keepdim" if keepdim is not None else "False"
    if dim is None:
        text = f"reduced_shape({self_}.shape, None, {keep})"
    elif dim.type == "int":
        text = f"reduced_shape({self_}.shape, [dim], {keep})"
    elif dim.type == "int?":
        text = f"reduced_shape({self_}.shape, None if dim is None else [dim], {keep})"
    else:
        nothing = ", False" if entry.get("dims") == "none" else ""
        text = f"reduced_shape({self_}.shape, dim, {keep}{nothing})"
    return "return " + ", ".join([text] * len(entry.schema.returns))
