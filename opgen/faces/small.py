"""Small: operators as a library links them that is built for a selection (docs/small.md).

    small/<family>.cpp          glue and typed functions of all operators, each in a section of its own; compiled once. They
                                call kernels directly (sconce/dispatch/direct.h): what nothing calls, the linker leaves out
    small/<stand-in>.h          checks and facts of the operators that a source of sconce/lite/without computes
    selected/operators.cpp      records of the selected operators alone, under their names: one list, which is all that
                                is registered
    selected/loops.cpp          tables of vector loops, with those of the selected dtypes and levels
    selected/selection.txt      what the three hold, for a reader
"""

import functools
import pathlib
import re

from .. import cpp, formats, upgraders
from ..kinds import leaf
from ..loops import conversions, pointwise, reductions
from ..signature import declare, optional_tensors, signature, typed, written
from ..translation import checks
from . import functions, kernels, records, terms
from .operators import includes
from .text import banner


# Operators that make texts of values: with them a library can print tensors.
_PRINTING = {"aten::str", "aten::format", "aten::percentFormat", "prim::Print", "aten::warn", "aten::repr"}


def prepare(entries):
    """Leaves out kernels of other devices: there is the CPU alone, where a kernel for it stands beside one for any device."""
    for entry in entries:
        if entry.kind == "leaf":
            kernel = entry.data["kernel"] = {k: v for k, v in entry.data["kernel"].items() if k != "cuda"}
            if "cpu" in kernel and "any" in kernel:
                del kernel["any"]


def files(families):
    for family in families:
        yield f"sconce/small/{family.name}.cpp", "small", _source(family)
        for entry in family.entries:
            if "small" in entry.data:
                yield f"sconce/small/{entry.data['small']['source']}.h", "header", _stand_in(family, entry)


def _source(family):
    glue = [line for op in family.operators for line in _replaceable(op, kernels.function(op, family))]
    out = [banner(family.name)] + includes(family, glue) + ['#include "sconce/base/weak.h"', '#include "sconce/dispatch/direct.h"']
    out += ["\nnamespace sconce {\n", f"namespace {family.name}_kernels {{\n", *_declared(family), *glue,
            f"}}  // namespace {family.name}_kernels\n"]
    out += [line for op in family.operators for line in _function(op, family)]
    out.append("}  // namespace sconce\n")
    return "\n".join(out)


def _replaceable(op, lines):
    """Where the entry names a stand-in of sconce/lite/without (`small`), a library without formats takes that instead."""
    if op.form != "function" or "small" not in op.entry.data:
        return lines
    return [f"SCONCE_WEAK {line}" if f" {op.cpp_name}(KeySet" in line else line for line in lines]


def _stand_in(family, entry):
    """What a stand-in has to say of its operator and of those that it computes: check_NAME refuses what the entry refuses,
    NAME_terms are the facts of a call."""
    by_key = {op.entry.key: op for op in family.operators if op.form == "function"}
    lines = []
    for key in [entry.key, *entry.data["small"]["computes"]]:
        if key not in by_key:
            entry.fail(f"computes names '{key}', which the file has not", "small")
        op = by_key[key]
        params, _ = typed(op.entry, op.schema)
        refusals = checks(op.entry, family.schemas)
        if refusals:
            lines += [f"inline void check_{op.cpp_name}({declare([p for p in params if _is_named(p, refusals)])}) {{",
                      *refusals, "}"]
        lines += [f"inline constexpr DirectTerms {op.cpp_name}_terms{{{', '.join(_facts(op, params))}}};", ""]
    names = ["base/error.h", "dispatch/body_runtime.h", "dispatch/checked_body.h", "dispatch/direct.h"]
    return "\n".join([banner(family.name), "#pragma once\n", *[f'#include "sconce/{n}"' for n in names], "\nnamespace sconce {",
                      f"namespace {family.name}_kernels {{\n", *lines, f"}}  // namespace {family.name}_kernels",
                      "}  // namespace sconce\n"])


def _is_named(param, lines):
    return any(re.search(rf"\b{cpp.identifier(param[1].name)}\b", line) for line in lines)


def _facts(op, params):
    """Of DirectTerms: the names of an operator and of its tensors, then what it takes."""
    tensors = " ".join(a.name for _, a in params if a.type in ("Tensor", "Tensor?"))
    return [cpp.string(f"{op.schema.namespace}::{op.schema.key}"), cpp.string(tensors), str(records.limited.admitted(op.entry)),
            str(formats.taken(op.entry))]


def _declared(family):
    return [_glue(op) for op in family.operators if not leaf.is_boxed(op.entry)]


def _glue(op, suffix=""):
    """Declares the function between dispatch and kernel."""
    params, result = typed(op.entry, op.schema)
    listed = ", ".join(["KeySet keys", declare(params)] if params else ["KeySet keys"])
    return f"{'void' if written(op.schema) else result} {op.cpp_name}{suffix}({listed});"


def _function(op, family):
    declaration = functions.declaration(op, family)
    if declaration is None:
        return []
    params, result = signature(op.schema)
    places = written(op.schema)
    returned = places[0] if places and len(places) == 1 else -1
    sig = f"{'void' if places else result}({declare(params, named=False)})"
    # Texts are variables: the linker drops those of a function that goes, while literals of a file stay together.
    name, tensors, *taken = _facts(op, params)
    facts = ", ".join(["name_of_op", "names_of_tensors", *taken])
    arguments = ", ".join([cpp.identifier(a.name) for _, a in params] + [f"{family.name}_kernels::{op.cpp_name}", "terms"])
    return [declaration + " {", f"  static constexpr char name_of_op[] = {name}, names_of_tensors[] = {tensors};",
            f"  static constexpr DirectTerms terms{{{facts}}};",
            f"  return DirectFunction<{sig}, {optional_tensors(params)}, {returned}>::call({arguments});", "}\n"]


_KERNELS = pathlib.Path(__file__).resolve().parents[2] / "sconce/kernels"


@functools.cache
def _calls(source):
    """Operators that a source of kernels calls."""
    return frozenset(re.findall(r"\bsconce::(\w+)\(", (_KERNELS / source).read_text()))


def _called(entry, chosen_formats):
    """Names that an operator may call with tensors of a format: those of its body, those of its kernels for formats."""
    called = set(re.findall(r"\b(\w+)\(", entry.get("body") or ""))
    sources = [*(entry.get("kernel") or {}).values()] if entry.kind == "leaf" else []
    for source in sources + [entry.get(f) for f in chosen_formats if formats.has_kernel(entry, f)]:
        source = str(source).partition(":")[0]
        if source.split("/")[0] in chosen_formats and source.endswith(".cpp"):
            called |= _calls(source)
    return called


def _with_formats(operators, selection):
    """The selection with what its operators call and what has a kernel of its own for a selected format: a call with such a
    tensor goes to the record."""
    by_name = {}
    for o in operators:
        by_name.setdefault(o.schema.name, []).append(o)
    chosen, seen = {id(o): o for o in selection.operators}, set()
    left = [o for o in selection.operators]
    while left:
        for called in _called(left.pop().entry, selection.formats) - seen:
            seen.add(called)
            for o in by_name.get(called, ()):
                left.append(o)
                if o.form == "function" and any(formats.has_kernel(o.entry, f) for f in selection.formats):
                    chosen[id(o)] = o
    return [o for o in operators if id(o) in chosen]


def selected_files(families, selection, orders):
    if selection.formats:
        selection.operators = _with_formats([o for f in families for o in f.operators], selection)
    yield "sconce/selected/operators.cpp", "selected", _operators(families, selection, orders)
    yield "sconce/selected/loops.cpp", "selected", _loops(families, selection)
    yield "sconce/selected/selection.txt", "text", _listing(selection)


def _operators(families, selection, orders):
    chosen = selection.operators
    of = [(f, [o for o in chosen if o.entry.family == f.name]) for f in families]
    of = [(f, ops) for f, ops in of if ops]
    out = [f"// Generated from {selection.origin} by opgen. Do not edit.\n"]
    names = ["dispatch/admission.h", "dispatch/box.h", "dispatch/budget/op_terms.h", "dispatch/budget/pay.h", "dispatch/formats.h", "dispatch/op_instructions.h", "dispatch/op_names.h",
             "dispatch/registry.h", "dispatch/same.h", "dispatch/custom/custom_class.h", "kernels/quantized/packed_params.h",
             "kernels/cpu/engine/iterate.h", "lite/debug_places.h", "lite/packed_classes.h", "tensor/limited_dtypes.h",
             "tensor/math_bits.h", "types/tensor_printer.h"]
    names += [f"generated/{f.name}_kernels.h" for f, ops in of if any(leaf.is_boxed(o.entry) for o in ops)]
    out += [f'#include "sconce/{n}"' for n in names] + ["", "namespace sconce {", ""]
    for family, ops in of:
        lines = [_glue(o) for o in ops if not leaf.is_boxed(o.entry)]
        lines += [_glue(o, f"_{f}") for o in ops for f in selection.formats if formats.has_kernel(o.entry, f)]
        if lines:
            out += [f"namespace {family.name}_kernels {{", *lines, f"}}  // namespace {family.name}_kernels\n"]
    # Overloads of a name stand in the order in which they are tried.
    tried = {(name, overload): i for name, overloads in orders for i, overload in enumerate(overloads)}
    listed = sorted(((o, f) for f, ops in of for o in ops),
                    key=lambda row: (name := f"{row[0].schema.namespace}::{row[0].schema.name}",
                                     tried.get((name, row[0].schema.overload), len(tried))))
    rows = [records.small_record(o, f, selection) for o, f in listed]
    out += ["namespace {", "", f"Op selected[{max(len(rows), 1)}] = {{", *[f"    {r}," for r in rows], "};"]
    chosen = [o for o, _ in listed]
    listed = ", ".join(terms.small_row(o) for o in chosen) or "{nullptr, false, false}"
    out += [f"constexpr OpTerms terms[] = {{{listed}}};"]
    upgraded = ", ".join(str(_upgraded_until(o.schema)) for o in chosen) or "0"
    out += [f"constexpr uint8_t upgraded[] = {{{upgraded}}};", "", "}  // namespace", ""]
    aliases = sorted({(f"{o.schema.namespace}::{o.schema.name}", f"{o.schema.namespace}::{o.alias}") for o in chosen if o.alias})
    instructions = [(f"{o.schema.namespace}::{o.schema.key}", o.entry.data["instruction"]) for o in chosen
                    if "instruction" in o.entry.data]
    out += [_table("OpAlias", "op_aliases", aliases), _table("OpInstruction", "op_instructions", instructions)]
    order = [selection.level_for(l) for l in ("v2", "v3", "v4")]
    prints = any(f"{o.schema.namespace}::{o.schema.name}" in _PRINTING for o in chosen)
    out += [f"const TensorPrinter repr_printer = {'[](const Tensor& t) { return t.to_string(); }' if prints else 'nullptr'};",
            f"const TensorPrinter text_printer = {'tensor_table' if prints else 'nullptr'};"]
    copies = any("Tensor" in o.schema.text for o in chosen)
    quantized = "quantized" in selection.formats
    out += [f"constinit const BuiltinClasses builtin_classes = {'quantized::register_packed_classes' if quantized else 'nullptr'};",
            f"constinit const LimitedTensorMade limited_tensor_made = {'nullptr' if selection.has_limited() else 'lite::refuse_tensor'};",
            f"constinit const FormatUsed format_used = {'nullptr' if selection.formats else 'lite::refuse_format'};",
            "constinit const ResolveMathBits resolve_math_bits = nullptr;",
            "", "namespace lite {", f"constinit const std::span<Op> selected_ops(selected, {len(chosen)});",
            "constinit const OpTerms* const selected_terms = terms;", "constinit const uint8_t* const selected_upgraded = upgraded;",
            *_readers(selection),
            f"const PlacesReader places_reader = {'read_archive_places' if selection.places else 'nullptr'};",
            f"const CustomClasses* const custom_classes = {'&packed_classes' if quantized else 'nullptr'};",
            f"const CopyLoop copy_loop = {'run_copy' if copies else 'nullptr'};", f"const MissingWords missing_words = {'missing_words_of' if selection.partial else 'nullptr'};",
            f"const int lowest_level = {order[0][1:]};",
            f"const char* const selected_dtypes = {cpp.string(' '.join(selection.dtypes))};",
            f"const char* const selected_formats = {cpp.string(' '.join(selection.formats))};",
            f"const char* const selection_text = {cpp.string(_listing(selection, False))};", "}  // namespace lite", "",
            "}  // namespace sconce", ""]
    return "\n".join(out)


def _upgraded_until(schema):
    """The last version of archives in which the operator meant something else, or 0."""
    names = ",".join(a.name for a in schema.arguments)
    return upgraders.last_versions().get(f"{schema.namespace}::{schema.name}({names})", 0)


def _readers(selection):
    """The functions that read models of the kinds that are selected."""
    for name, kind, function in (("archive_reader", "ptl", "read_lite_archive"), ("compiled_reader", "scx", "read_compiled_file")):
        yield f"const ReadModel {name} = {function if not selection.files or kind in selection.files else 'nullptr'};"


def _table(struct, function, rows):
    listed = ", ".join(f'{{"{a}", "{b}"}}' for a, b in rows)
    if not rows:
        return f"std::span<const {struct}> {function}() {{ return {{}}; }}\n"
    return (f"std::span<const {struct}> {function}() {{\n  static constexpr {struct} rows[] = {{{listed}}};\n"
            f"  return rows;\n}}\n")


def _loops(families, selection):
    out = [f"// Generated from {selection.origin} by opgen. Do not edit.", '#include "sconce/kernels/cpu/engine/reduce_loop.h"',
           '#include "sconce/kernels/cpu/engine/tile.h"', '#include "sconce/lite/without/refuse.h"', "", "namespace sconce {", "", *conversions.tables(selection)]
    declared, tables = {}, []
    for f in families:
        for op in f.pointwise:
            tables += pointwise.selected_table(op, selection, declared)
        for op in f.reductions:
            tables += reductions.selected_table(op, selection, declared)
    for level, names in sorted(declared.items()):
        out += [f"namespace {level} {{", *names, f"}}  // namespace {level}", ""]
    return "\n".join(out + ["namespace cpu {", "", *tables, "}  // namespace cpu", "}  // namespace sconce", ""])


def _listing(selection, origins=True):
    lines = [f"level {l}" for l in selection.levels] + [f"dtype {d}" for d in selection.dtypes]
    lines += [f"format {f}" for f in selection.formats] + [f"file {f}" for f in selection.files] + ["places yes"] * selection.places
    lines += ["random no"] * (not selection.random)
    lines += ["missing allowed"] * selection.partial
    for o in selection.operators:
        lines.append(f"op {o.schema.namespace}::{o.schema.key}" + f"  # {o.entry.origin}, {o.entry.kind}" * origins)
    return "".join(line + "\n" for line in lines)
