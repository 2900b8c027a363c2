"""<family>_ops.cpp: the functions between dispatch and kernels, the records, and the typed functions of a family."""

from .. import formats
from ..kinds import leaf
from . import cuda, functions, kernels
from .entries import Entries
from .records import Records, formula_symbol, gradient, is_factory
from .text import banner


def source(family):
    glue = [line for op in family.operators for line in kernels.function(op, family)]
    out = [banner(family.name)] + includes(family, glue)
    out += ["\nnamespace sconce {\n", "namespace autograd {",
            "void record(const Op& op, KeySet keys, Value* args, Value* returns);", "}  // namespace autograd\n"]
    out += _formulas(family)
    out += cuda.definition(family)
    out += [f"namespace {family.name}_kernels {{", "namespace {\n"]
    out += glue + ["}  // namespace", f"}}  // namespace {family.name}_kernels\n"]
    entries = Entries(family)
    out += [f"namespace {family.name}_entries {{", "namespace {\n", *entries.lines(), "\n}  // namespace",
            f"}}  // namespace {family.name}_entries\n"]
    out += Records(family, entries).lines()
    out += [f"std::span<Op> {family.name}_operators() {{ return {family.name}_ops; }}\n"]
    out += [line for op in family.operators for line in functions.definition(op, family)]
    out.append("}  // namespace sconce\n")
    return "\n".join(out)


def includes(family, glue):
    names = ["dispatch/box.h", "dispatch/entry.h", "dispatch/registry.h", "dispatch/body_runtime.h", "dispatch/formats.h", "dispatch/glue.h",
             "dispatch/records/op_family.h", "kernels/pointwise.h", "kernels/reduce.h"]
    if any("  check_same_" in line or "fail_on_meta(" in line for line in glue) or any(map(leaf.reads_memory, family.entries)):
        names.append("dispatch/same.h")
    names += ["kernels/any/prims_same.h"] * any("  check_prims_" in line for line in glue)
    names += ["dispatch/checked_body.h"] * any("body::checked::" in line for line in glue)
    names += [formats.MAPS_HEADER] * any(formats.maps_values(e) for e in family.entries)
    names += [f"generated/{name}.h" for name in family.families_called(glue)]
    names += ["dispatch/binding/one_device.h"] * any("check_one_device(" in line for line in glue)
    names += ["dispatch/binding/load_device.h"] * any(map(is_factory, family.operators))
    names += [f"generated/{family.name}_cuda_kernels.h"] * bool(cuda.entries_of(family))
    if kernels.header(family) is not None:
        names.append(f"generated/{family.name}_kernels.h")
    if family.pointwise:
        names.append(f"generated/{family.name}_loops_list.h")
    if family.reductions:
        names.append(f"generated/{family.name}_reductions_list.h")
    return [f'#include "sconce/{name}"' for name in names]


def _formulas(family):
    """Declares the formulas that the records name."""
    sources = [gradient(op, family.catalog)[1] for op in family.operators]
    symbols = sorted({formula_symbol(e) for e in sources if e is not None})
    return [f"namespace {namespace} {{\nextern const Formulas {name};\n}}" for namespace, name in symbols]
