"""ops/overload_order.txt: the order in which the overloads of a name are tried, where it is not the table's.

One name a line: `aten::sum: dim_IntList default IntList_out out int float complex bool`, "default" for the overload without
a name. Overloads that a line does not mention come after those that it does, in table order."""

from .table import TableError

FILE = "ops/overload_order.txt"


def load(root, operators):
    """[(name, [overload, ...])], checked against the operators."""
    path = root / FILE
    if not path.exists():
        return []
    known = {}
    for op in operators:
        known.setdefault(f"{op.schema.namespace}::{op.schema.name}", set()).add(op.schema.overload)
    result, seen = [], set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        name, _, rest = line.partition(": ")
        overloads = ["" if word == "default" else word for word in rest.split()]
        if name not in known:
            raise TableError(f"{FILE}:{number}: no operator '{name}'")
        if name in seen:
            raise TableError(f"{FILE}:{number}: '{name}' has a line already")
        seen.add(name)
        for overload in overloads:
            if overload not in known[name]:
                raise TableError(f"{FILE}:{number}: '{name}' has no overload '{overload}'")
        result.append((name, overloads))
    return result


def source(orders):
    """The lines as an argument of order_overloads."""
    rows = "".join(f'      {{"{name}", "{" ".join(o or "default" for o in overloads)}"}},\n' for name, overloads in orders)
    return f"  static constexpr OverloadOrder order[] = {{\n{rows}  }};\n  order_overloads(order);\n" if orders else ""
