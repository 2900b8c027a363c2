"""Registration: the list of families, other names of operators, and instructions of bytecode that stand for operators."""

from .. import order
from .text import banner


def files(names, operators, orders):
    yield "sconce/generated/op_names.cpp", "source", _aliases(operators)
    yield "sconce/generated/op_instructions.cpp", "source", _instructions(operators)
    yield "sconce/generated/register.cpp", "source", _register(names, orders)


def _aliases(operators):
    aliases = {f"{o.schema.namespace}::{o.schema.name}": f"{o.schema.namespace}::{o.alias}" for o in operators if o.alias}
    return _table("op_names.h", "OpAlias", "op_aliases", "aliases", sorted(aliases.items()))


def _instructions(operators):
    rows = [(f"{o.schema.namespace}::{o.schema.key}", o.entry.data["instruction"]) for o in operators
            if "instruction" in o.entry.data]
    return _table("op_instructions.h", "OpInstruction", "op_instructions", "all", rows)


def _table(header, struct, function, array, rows):
    """A source that defines `function`, which gives the pairs of texts."""
    listed = "".join(f'      {{"{a}", "{b}"}},\n' for a, b in rows)
    return (banner() + f'#include "sconce/dispatch/{header}"\n\nnamespace sconce {{\n\n'
            f"std::span<const {struct}> {function}() {{\n"
            f"  static constexpr {struct} {array}[] = {{\n{listed}  }};\n  return {array};\n}}\n\n}}  // namespace sconce\n")


def _register(names, orders):
    declare = "".join(f"std::span<Op> {n}_operators();\n" for n in names)
    call = "".join(f"  add_ops({n}_operators());\n" for n in names)
    return (banner() + '#include "sconce/dispatch/registry.h"\n\nnamespace sconce {\n\n' + declare +
            "\nvoid register_generated_ops() {\n" + call + order.source(orders) + "}\n\n}  // namespace sconce\n")
