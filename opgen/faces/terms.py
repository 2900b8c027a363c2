"""Terms: what budgets and loaders ask of each operator (struct OpTerms of sconce/dispatch/budget/op_terms.h).

`work`, an expression over the arguments, says how many elements' worth of work a call is, where that is more than the
elements of its tensors. Without it, an operator pays for those if it has a loop or kernel that may read or write them, for
the items of its lists if its kernel is boxed, and nothing if it is a compound, a view or a question about sizes. `loads` and `named` are columns, too.
"""

import re

from .. import cpp
from ..kinds import leaf
from ..translation import expression
from .text import banner


def files(families):
    yield "sconce/generated/op_terms.cpp", "source", _source(families)


def _source(families):
    functions = [line for f in families for e in f.entries if "work" in e.data for line in _function(e, f)]
    out = [banner(), '#include "sconce/dispatch/box.h"', '#include "sconce/dispatch/body_runtime.h"',
           '#include "sconce/dispatch/budget/op_terms.h"\n', "namespace sconce {", "namespace {\n", *functions, ""]
    work = dict.fromkeys(_work(op.entry) for f in families for op in f.operators)
    work = [w for w in work if w is not None]
    if len(work) > 255:
        raise ValueError("more than 255 functions of work: TermsRecord::work needs another type")
    out.append(f"constexpr WorkFunction work_functions[] = {{{', '.join(work)}}};")
    for f in families:
        rows = ", ".join(_row(op, work) for op in f.operators)
        out.append(f"constexpr TermsRecord {f.name}_terms[] = {{{rows}}};")
    out += ["\n}  // namespace\n"] + [f"std::span<Op> {f.name}_operators();" for f in families]
    listed = "".join(f"      {{{f.name}_operators(), {f.name}_terms, work_functions}},\n" for f in families)
    out += ["\nstd::vector<FamilyTerms> generated_terms() {", f"  return {{\n{listed}  }};", "}\n", "}  // namespace sconce\n"]
    return "\n".join(out)


def _row(op, work):
    function = _work(op.entry)
    number = work.index(function) + 1 if function is not None else 0
    return f"{{{number}, {_bool(_loads(op))}, {_bool(op.entry.get('named', False))}}}"


def small_row(op):
    """Of a small library, which has no budgets of work."""
    return f"{{nullptr, {_bool(_loads(op))}, {_bool(op.entry.get('named', False))}}}"


def _bool(value):
    return "true" if value else "false"


def _loads(op):
    """Marked, or by construction: views, what takes and gives no tensors, and what asks for facts of tensors (sizes, dtype)
    with a kernel that reads no elements."""
    entry = op.entry
    if "loads" in entry.data:
        return entry.data["loads"]
    takes = any("Tensor" in a.type for a in op.schema.arguments)
    gives = any("Tensor" in r.type for r in op.schema.returns)
    if not (takes or gives):
        return True
    traits = entry.get("traits", [])
    if op.form == "function" and "view" in traits:
        return True
    asks = entry.kind == "leaf" and "cpu" not in entry.data["kernel"] and "runs_backward" not in traits
    return asks and bool(op.schema.returns) and not gives


def _work(entry):
    if "work" in entry.data:
        return f"work_of_{entry.cpp_name}"
    if entry.kind in ("pointwise", "reduce"):
        return "work_of_elements"
    if entry.kind != "leaf" or "view" in entry.get("traits", []):
        return None
    if leaf.is_boxed(entry):
        return "work_of_items"
    makes = any(r.type.startswith("Tensor") and (not r.alias or "!" in r.alias) for r in entry.schema.returns)
    return "work_of_elements" if "cpu" in entry.data["kernel"] or makes else None


def _function(entry, family):
    """C++ of the function for the column `work`."""
    text = entry.data["work"]
    out = [f"double work_of_{entry.cpp_name}(const Value* args, size_t) {{"]
    for i, a in enumerate(entry.schema.arguments):
        if not re.search(rf"\b{re.escape(a.name)}\b", text):
            continue
        kind = cpp.argument_type(a.type)
        if kind is None:
            entry.fail(f"work reads '{a.name}', whose type has no C++ type", "work")
        optional = _bool(a.type == "Tensor?")
        out.append(f"  [[maybe_unused]] decltype(auto) {cpp.identifier(a.name)} = box::unbox<{kind}, {optional}>(args[{i}]);")
    return out + [f"  return static_cast<double>({expression(entry, 'work', text, family.schemas)});", "}"]
