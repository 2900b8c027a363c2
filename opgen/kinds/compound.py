"""Compound operators: a body of script over other operators. Their in-place and out= forms copy what the body gives.

    small    { source, computes }: the source of sconce/lite/without that stands in for the body in a small library without
             formats, and the entries that it computes itself: small/<source>.h has their checks"""

from .. import cpp, script
from ..signature import name
from ..translation import checks, expression, translated


def body(op, params, written, family):
    entry = op.entry
    if op.form != "function":
        return _form(op, params, written, family)
    lines = translated(entry, "body", lambda: script.translate_body(
        entry.data["body"], entry.schema.arguments, family.schemas, entry.schema.returns))
    return checks(entry, family.schemas) + lines


def _form(op, params, written, family):
    entry = op.entry
    direct = _forwarded(op, params, written, family)
    if direct:
        return checks(entry, family.schemas) + [f"  {direct};"]
    plain = [name(a) for _, a in params if not (op.form == "out" and a.written)]
    function = f"sconce::{cpp.function_name(entry.schema.name)}"
    recorded = []
    if op.form == "inplace":
        # The body may keep what it reads for its gradient: it reads a copy.
        self_ = name(params[written[0]][1])
        read = ", ".join(f"sconce::clone({n}, {{}})" if n == self_ else n for n in plain)
        recorded = [f"  if (keys.has(Key::autograd)) return void(sconce::copy_({self_}, {function}({read}), false));"]
    return recorded + through_copy(op, params, written, f"{function}({', '.join(plain)})")


def _forwarded(op, params, written, family):
    """The in-place or out= form of an alias, a body that only calls a pointwise operator on the same tensor: that
    operator's form, without a copy. None where there is none."""
    entry = op.entry
    call = script.only_call(entry.data["body"])
    if call is None or call.name not in family.catalog.pointwise_names or len(written) != 1 \
            or call.first != entry.schema.arguments[0].name:
        return None
    schemas = family.schemas.get(call.name + "_" if op.form == "inplace" else call.name, [])
    if op.form == "out":
        schemas = [s for s in schemas if s.overload.endswith("out") and len(s.returns) == 1]
    if not schemas:
        return None
    text = expression(entry, "body", call.text, family.schemas)
    before = f"sconce::{cpp.function_name(call.name)}("
    if not text.startswith(before):
        return None
    if op.form == "inplace":
        return f"sconce::{cpp.function_name(call.name + '_')}({text[len(before):]}"
    return f"sconce::{cpp.identifier(call.name)}_out({name(params[written[0]][1])}, {text[len(before):]}"


def through_copy(op, params, written, call):
    """In-place and out= forms of operators that make their own results."""
    if len(written) == 1:
        move = "copy_into" if op.form == "inplace" else "copy_to_out"
        return [f"  {move}({name(params[written[0]][1])}, {call});"]
    out = [f"  auto results = {call};"]
    for i, w in enumerate(written):
        out.append(f"  copy_to_out({name(params[w][1])}, std::get<{i}>(results));")
    return out
