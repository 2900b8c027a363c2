"""Records: the static data of each operator (struct Op of sconce/dispatch/op.h)."""

from .. import cpp, devices, formats, formulas, limited
from ..kinds import leaf
from ..signature import declare, optional_tensors, takes_out, typed, written


def gradient(op, catalog):
    """(kind of Gradient, the entry whose formulas it uses or None)"""
    return formulas.gradient(op, catalog.functional, takes_out(op.schema), written(op.schema))


def formula_symbol(entry):
    """(namespace, name) of the Formulas of an entry."""
    return f"{entry.family}_formulas", entry.cpp_name


def record(op, family, entries):
    """The initializer of an Op. `entries`: see entries.Entries."""
    kind, source = gradient(op, family.catalog)
    slots = _slots(op, family, kind)
    mask = sum(1 << s for s in slots)
    listed = ", ".join(slots.get(i, "nullptr") for i in range(max(slots) + 1))
    return f"{{{{{_info(op, kind, source, entries.symbol(op.entry), family.catalog.distance(op) or 0)}}}, {_thunk(op)}, {mask}, {{{listed}}}, nullptr}}"


def is_factory(op):
    """Whether a device and no tensor is an argument: then the library of the device may not be loaded yet."""
    types = [a.type for a in op.schema.arguments]
    return not leaf.is_boxed(op.entry) and "Device?" in types and not any(t.startswith("Tensor") for t in types)


def small_record(op, family, chosen_formats):
    """The same of a small library (small.py): no gradients, no texts for people, no entry, kernels of selected formats only."""
    kernel = _kernel(op, family)
    kernels = {key: kernel for key in devices.GLUE}
    kernels |= {key: k for key, k in formats.kernels(op, family).items() if key in chosen_formats}
    if leaf.reads_memory(op.entry):
        kernels["meta"] = "SCONCE_BOXED_KERNEL(refuse_meta)"
    slots = {devices.SLOTS[key]: k for key, k in kernels.items()}
    listed = ", ".join(slots.get(i, "nullptr") for i in range(max(slots) + 1))
    schema = op.schema
    texts = [f"{schema.namespace}::{schema.name}", schema.overload, _full_schema(schema), None, None, None, None]
    info = ", ".join([cpp.string(t) for t in texts] + ["nullptr", _traits(op), "Gradient::through", "0", "nullptr",
                                                       str(limited.admitted(op.entry)), str(formats.taken(op.entry))])
    return f"{{{{{info}}}, {_thunk(op)}, {sum(1 << s for s in slots)}, {{{listed}}}, nullptr}}"


def _kernel(op, family):
    if leaf.is_boxed(op.entry):
        return f"SCONCE_BOXED_KERNEL(boxed::{leaf.boxed_name(op.entry)})"
    return f"SCONCE_TYPED_KERNEL({family.name}_kernels::{op.cpp_name})"


def _full_schema(schema):
    return schema.text if "::" in schema.text.split("(")[0] else f"{schema.namespace}::{schema.text}"


def _slots(op, family, gradient_kind):
    """slot of Op::kernels -> kernel"""
    kernel = _kernel(op, family)
    kernels = {key: kernel for key in devices.GLUE} | formats.kernels(op, family)
    if leaf.reads_memory(op.entry):
        kernels["meta"] = "SCONCE_BOXED_KERNEL(refuse_meta)"
    if is_factory(op):
        kernels["cuda"] = "SCONCE_BOXED_KERNEL(load_device)"
    if gradient_kind != "through":
        kernels["autograd"] = "SCONCE_BOXED_KERNEL(autograd::record)"
    return {devices.SLOTS[key]: kernel for key, kernel in kernels.items()}


def _thunk(op):
    """The function that calls a typed kernel over Values."""
    if leaf.is_boxed(op.entry):
        return "nullptr"
    params, result = typed(op.entry, op.schema)
    places = written(op.schema)
    optional = optional_tensors(params)
    aliased = "".join(f", {i}" for i in places) if places else ""
    return f"box_call<{'void' if places else result}({declare(params, named=False)}), {optional}{aliased}>"


def _info(op, gradient_kind, formulas_of, symbol, functional):
    """The members of an OpInfo."""
    entry, schema = op.entry, op.schema
    texts = [f"{schema.namespace}::{schema.name}", schema.overload, _full_schema(schema), entry.origin, entry.get("body"),
             _derivatives(entry), entry.get("doc")]
    table = "&" + "::".join(formula_symbol(formulas_of)) if formulas_of is not None else "nullptr"
    # Every member is written: one that is left to its default makes g++ fill the whole table when a program starts.
    return ", ".join([cpp.string(t) for t in texts] + [symbol, _traits(op), f"Gradient::{gradient_kind}", str(functional),
                                                       table, str(limited.admitted(entry)), str(formats.taken(entry))])


def _derivatives(entry):
    """As derivative.h reads them: a formula of several lines stands indented below its argument."""
    grad = entry.get("grad")
    if not isinstance(grad, dict):
        return None
    lines = [f"{k}: {v}" if "\n" not in v.strip() else f"{k}:\n  " + v.strip().replace("\n", "\n  ")
             for k, v in grad.items()]
    return "\n".join(lines) or None


def _traits(op):
    names = [t for t in op.entry.get("traits", []) if t != "core_out"]
    if op.form != "function":
        core = op.form == "out" and "core_out" in op.entry.get("traits", [])
        names = [t for t in names if t != "view" and (t != "core" or core)] + [op.form]
    elif takes_out(op.schema):
        names.append("out")
    elif op.schema.name.endswith("_") and written(op.schema):
        names.append("inplace")
    kind = {"pointwise": "pointwise", "reduce": "reduction", "compound": "compound"}.get(op.entry.kind)
    if kind:
        names.append(kind)
    if devices.runs_everywhere(op.entry):
        names.append("every_device")
    return " | ".join(f"static_cast<uint32_t>(Trait::{t})" for t in dict.fromkeys(names)) or "0"
