"""Reductions: map, combine, identity and finish; the loops are written by loops/reductions.py.

    dtype    self (default), sum (integers add up in int64), float (floats only), promote (integers compute in the
             default float dtype), bool. A `dtype` argument of the schema that is given replaces it.
    result   common (default), bool, int64, real; a list for several results
    types    classes with loops: "int float complex" (default); bools run as integers where no bool loop is
    empty    "error": reducing no elements is one
    dims     "none": an empty list of dims reduces nothing (default: everything)
    loops    "argmax": hand-written loops, sconce::cpu::reduce_argmax, instead of expressions
    case     as for pointwise operators

Arguments `dim`, `keepdim` and `dtype` of the schema have their usual meaning.
"""

import re

from .. import cpp, limited
from ..loops.functions import CLASSES
from ..loops.reductions import ReduceOp
from ..signature import name
from ..translation import checks, expression

_NUMBERS = ("Scalar", "float", "int", "bool")
_SPECIAL = ("dim", "keepdim", "dtype")
_COLUMNS = ("map", "combine", "identity", "merge", "finish")
_DTYPES = {"self": "self", "sum": "sum", "float": "floating", "promote": "promoted", "bool": "predicate"}
_RESULTS = {"common": "common", "bool": "predicate", "int64": "index", "real": "real"}


def cases_of(entry):
    """The columns of each case, over those of the entry; the entry itself where it has no cases."""
    cases = entry.get("case")
    for case in cases or ():
        if "when" not in case:
            entry.fail("a case needs 'when'", "case")
    return [{**entry.data, **case} for case in cases] if cases else [entry.data]


def loops_of(entries):
    """(the loops of a family's reductions, their names). Entries that say the same share loops: the names are by
    (key of the entry, number of the case)."""
    result, names, known = [], {}, {}
    for entry in entries:
        for number, data in enumerate(cases_of(entry)):
            if "loops" in data:
                names[entry.key, number] = data["loops"]
                continue
            op = reduction(entry, data, f"_{number}" if entry.get("case") else "")
            if op.signature() not in known:
                known[op.signature()] = op.name
                result.append(op)
            names[entry.key, number] = known[op.signature()]
    return result, names


def reduction(entry, data, suffix=""):
    """The ReduceOp of a case that has expressions."""
    value = data.get("map")
    if value is None:
        entry.fail("a reduction needs 'map' or 'loops'", "map")
    accumulators = ["acc"] if isinstance(value, str) or _is_classes(value) else list(value)
    if len(accumulators) > 3:
        entry.fail("at most 3 accumulators", "map")
    finish = data.get("finish", accumulators[0])
    tables = [_table(entry, data, key, accumulators) for key in ("map", "combine", "identity", "merge")]
    return ReduceOp(entry.cpp_name + suffix, entry.origin, entry.key, accumulators, *tables,
                    [_by_class(f) for f in (finish if isinstance(finish, list) else [finish])],
                    _params(entry, data), tuple(data.get("types", "int float complex").split()))


def _table(entry, data, key, names):
    """accumulator -> class -> expression"""
    value = data.get(key)
    if value is None:
        if key == "merge":
            return {}
        entry.fail(f"a reduction needs '{key}'", key)
    if isinstance(value, str) or _is_classes(value):
        if len(names) != 1:
            entry.fail(f"'{key}' must name the accumulators {', '.join(names)}", key)
        return {names[0]: _by_class(value)}
    for word in value:
        if word not in names:
            entry.fail(f"'{key}' names '{word}', which is no accumulator", key)
    if key != "merge" and set(value) != set(names):
        entry.fail(f"'{key}' needs every accumulator: {', '.join(names)}", key)
    return {word: _by_class(v) for word, v in value.items()}


def _by_class(value):
    return {"default": value} if isinstance(value, str) else dict(value)


def _is_classes(value):
    return all(k in CLASSES or k == "default" for k in value)


def _params(entry, data):
    """Number arguments that an expression mentions."""
    texts = " ".join(_texts([data.get(key) for key in _COLUMNS]))
    return [a.name for a in entry.schema.arguments if a.type.rstrip("?") in _NUMBERS and a.name not in _SPECIAL
            and re.search(rf"\b{a.name}\b", texts)]


def _texts(value):
    """Every text in a column, whatever its form."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value or ()
    return [text for part in parts for text in _texts(part)]


def body(op, params, written, family):
    entry = op.entry
    out = checks(entry, family.schemas)
    numbered = bool(entry.get("case"))
    for number, data in enumerate(cases_of(entry)):
        lines = _call(op, data, family.reduction_names[entry.key, number], params, written)
        if not numbered:
            return out + ["  " + line for line in lines]
        if op.form != "function":
            lines.append("return;")
        out.append(f"  if ({expression(entry, 'case', data['when'], family.schemas)}) {{")
        out += ["    " + line for line in lines] + ["  }"]
    return out + ['  fail("no rule for these arguments");']


def _call(op, data, loops, params, written):
    """Hands the tensor, the dims and the rule to the engine."""
    entry = op.entry
    out = [f"static constexpr ReduceRule rule{{&cpu::reduce_{loops}, {_rule(entry, data)}}};"]
    numbers = [_number(entry, data, n) for n in _params(entry, data)]
    if numbers:
        out.append(f"const Scalar numbers[] = {{{', '.join(numbers)}}};")
    dtype = "dtype" if entry.schema.argument("dtype") is not None else "std::nullopt"
    tensor = cpp.identifier(entry.schema.arguments[0].name)
    arguments = f"rule, {tensor}, {_axes(entry)}, {dtype}, {'numbers' if numbers else 'nullptr'}"
    if op.form == "function":
        return out + [f"return {'reduce' if len(entry.schema.returns) == 1 else 'reduce_pair'}({arguments});"]
    given = ", ".join("&" + name(params[i][1]) for i in written)
    return out + [f"const Tensor* const outs[] = {{{given}}};", f"reduce_out({arguments}, outs);"]


def _rule(entry, data):
    """The members of a ReduceRule behind the loops: name, dtype rule, dtypes of the results, empty and no dims."""
    rule, results, empty, dims = rule_of(entry, data)
    listed = ", ".join(f"ResultRule::{r}" for r in results)
    return f"{cpp.string(entry.schema.name)}, ReduceDType::{rule}, {{{listed}}}, {empty}, {dims}, {limited.accepted(entry, data)}"


def rule_of(entry, data):
    """(name in enum class ReduceDType, names in ResultRule, whether empty is an error, whether no dims reduce nothing)"""
    count = len(entry.schema.returns)
    rule, results = data.get("dtype", "self"), data.get("result", "common")
    if rule not in _DTYPES:
        entry.fail(f"unknown dtype rule '{rule}', expected one of {', '.join(_DTYPES)}", "dtype")
    results = results if isinstance(results, list) else [results] * count
    for r in results:
        if r not in _RESULTS:
            entry.fail(f"unknown result '{r}', expected one of {', '.join(_RESULTS)}", "result")
    if len(results) != count:
        entry.fail(f"{count} results, 'result' has {len(results)}", "result")
    flag = lambda key, word: "true" if data.get(key) == word else "false"
    return _DTYPES[rule], [_RESULTS[r] for r in results], flag("empty", "error"), flag("dims", "none")


def _axes(entry):
    """The members of ReduceAxes: the dims, whether any were given, keepdim."""
    dim, keepdim = entry.schema.argument("dim"), entry.schema.argument("keepdim")
    keep = "keepdim" if keepdim is not None else "false"
    if dim is None:
        return f"{{IntList(), false, {keep}}}"
    if dim.type == "int":
        return f"{{IntList(&dim, 1), true, {keep}}}"
    if dim.type == "int?":
        return f"{{dim ? IntList(&*dim, 1) : IntList(), dim.has_value(), {keep}}}"
    if dim.type.endswith("?"):
        return f"{{dim.value_or(IntList()), dim.has_value(), {keep}}}"
    return f"{{dim, true, {keep}}}"


def _number(entry, data, argument):
    a = entry.schema.argument(argument)
    c = cpp.identifier(argument)
    if a.type.endswith("?"):
        absent = data.get("absent", {}).get(argument)
        if absent is None:
            entry.fail(f"'{argument}' may be None: absent.{argument} must say what it is then", "map")
        return f"{c}.has_value() ? Scalar(*{c}) : Scalar({absent})"
    return c if a.type == "Scalar" else f"Scalar({c})"
