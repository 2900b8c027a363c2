"""Derivatives: how every operator is differentiated (OpInfo::gradient), and C++ for the formulas of the table.

    grad.self         = "grad * other.conj()"
    grad."input,bias" = "f_backward(grad, input, needs)"      several gradients at once, a tuple; needs: which are wanted
    grad              = "none"                                 the results are constants
    grad              = "through"                              kernel code that calls differentiable operators

See sconce/dispatch/formula.h for what a formula's function gets. A tensor that a formula only asks for its sizes or dtype
need not be kept for it.
"""

import ast

from . import cpp, script
from .schema import Argument

WORDS = ("none", "through")
_FACTS = {"shape", "dtype", "ndim"}
_FACT_CALLS = {"dim", "size", "numel", "stride", "storage_offset"}


def targets(key):
    """The arguments that `grad.<key>` gives gradients for."""
    return [name.strip() for name in key.split(",")]


def gradient(op, functional, takes_out, written):
    """(kind of Gradient, the entry whose formulas it uses or None). `functional` finds the entry of the functional form of
    an in-place operator."""
    entry = op.entry
    tensors = [a for a in op.schema.arguments if a.type.startswith("Tensor")]
    if not tensors or entry.kind == "scalar":
        return "through", None
    given = entry.get("grad")
    if op.form == "out" or takes_out:
        return "refused", None
    if isinstance(given, str):
        return given, None
    if given:
        return "formulas", entry
    if op.form == "inplace" and entry.kind == "compound":
        return "through", None
    if written and op.schema.name.endswith("_"):
        twin = functional(op)
        if twin is not None and isinstance(twin.get("grad"), dict):
            return "formulas", twin
        if twin is not None and twin.kind == "compound" and entry.kind != "compound":
            return "missing", None
    if entry.kind == "compound" or "boxed" in entry.get("kernel", {}):
        return "through", None
    if written and op.schema.name.endswith("_") and is_constant(entry):
        return "none", None
    if not any(r.type.startswith("Tensor") for r in op.schema.returns):
        return "through", None
    if entry.kind in ("pointwise", "reduce") and _gives_integers(entry):
        return "through", None  # loops call no operators, and integers have no gradient
    return "missing", None


def is_constant(entry):
    """Whether its results are numbers that were drawn, or integers."""
    return "random" in entry.get("traits", []) or (entry.kind in ("pointwise", "reduce") and _gives_integers(entry))


def _gives_integers(entry):
    if entry.get("result") in ("bool", "int64") or entry.get("dtype") == "bool":
        return True
    return set(entry.get("types", "float").split()) <= {"bool", "int"}


def _pseudo(type_, name):
    return Argument(f"{type_} {name}", type_, name, None, False, "")


class _Uses(ast.NodeVisitor):
    """Names that a formula reads: whole, or only for facts; and which elements of `grads`. `reads_facts` are the operators
    that read only facts of some arguments: name -> places (the table's `facts`)."""

    def __init__(self, reads_facts):
        self.whole, self.facts, self.grads, self.assigned = set(), set(), set(), set()
        self.reads_facts = reads_facts

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and node.attr in _FACTS:
            self.facts.add(node.value.id)
        else:
            self.generic_visit(node)

    def visit_Call(self, node):
        f = node.func
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.attr in _FACT_CALLS:
            self.facts.add(f.value.id)
            for a in node.args:
                self.visit(a)
            return
        places = self.reads_facts.get(f.attr if isinstance(f, ast.Attribute) else f.id)
        if places is None:
            return self.generic_visit(node)
        for i, a in enumerate(node.args):
            if i in places and isinstance(a, ast.Name):
                self.facts.add(a.id)
            else:
                self.visit(a)

    def visit_Compare(self, node):
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and isinstance(node.left, ast.Name):
            self.facts.add(node.left.id)
        else:
            self.generic_visit(node)

    def visit_Subscript(self, node):
        if isinstance(node.value, ast.Name) and node.value.id == "grads" and isinstance(node.slice, ast.Constant):
            self.grads.add(node.slice.value)
            self.facts.add("grads")
        else:
            self.generic_visit(node)

    def visit_Name(self, node):
        (self.assigned if isinstance(node.ctx, ast.Store) else self.whole).add(node.id)


def _bits(indices):
    return sum(1 << i for i in set(indices))


def _parsed(entry, text):
    try:
        return ast.parse(text.strip("\n") if "\n" in text.strip() else text.strip())
    except SyntaxError as e:
        entry.fail(f"not script: {e.msg}", "grad")


class Formulas:
    """The formulas of one entry, translated."""

    def __init__(self, entry, schemas_by_name, reads_facts, overwriting):
        self.entry, self.schemas, self.reads_facts, self.overwriting = entry, schemas_by_name, reads_facts, overwriting
        self.arguments = entry.schema.arguments
        self.returns = entry.schema.returns
        if len(self.arguments) > 32:
            entry.fail("formulas are for at most 32 arguments", "grad")
        self.list_result = len(self.returns) == 1 and self.returns[0].type == "Tensor[]"
        self.differentiable = 0
        self.records, self.functions, self.targets = [], [], 0
        for key, text in entry.data["grad"].items():
            self._add(key, text)

    def _results(self):
        """name -> index of the result"""
        names = {"result": 0}
        for i, r in enumerate(self.returns):
            names[f"result{i}"] = i
            if r.name:
                names.setdefault(r.name, i)
        taken = {a.name for a in self.arguments}
        return {n: i for n, i in names.items() if n not in taken}

    def _overwrites_grad(self, text):
        """The pointwise operator that is the whole formula and reads grad once, so that its result may be written there."""
        tree = _parsed(self.entry, text).body
        call = tree[0].value if len(tree) == 1 and isinstance(tree[0], (ast.Expr, ast.Return)) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in self.overwriting:
            return None
        reads = [n for n in ast.walk(call) if isinstance(n, ast.Name) and n.id in ("grad", "grads")]
        direct = [a for a in call.args if isinstance(a, ast.Name) and a.id == "grad"]
        return call.func.id if len(reads) == 1 and len(direct) == 1 else None

    def _add(self, key, text):
        entry = self.entry
        names = targets(key)
        index = {a.name: i for i, a in enumerate(self.arguments)}
        wanted = sorted(index[n] for n in names)
        if [self.arguments[i].name for i in wanted] != names:
            entry.fail(f"'{key}' must name arguments in the order of the schema", "grad")
        uses = _Uses(self.reads_facts)
        uses.visit(_parsed(entry, text))
        results = {name: i for name, i in self._results().items() if name not in uses.assigned}
        self._note_differentiable(uses)
        lines, arguments = self._unboxed(uses, results, wanted)
        function = f"{entry.cpp_name}_{'_'.join(names)}"
        self.functions += [f"// {entry.origin}", f"Value {function}([[maybe_unused]] const FormulaCall& call) {{"] + lines
        self.functions += [f"  return [&]() -> {self._type(wanted)} {{"]
        self.functions += ["  " + x for x in self._translated(key, text, arguments)] + ["  }();", "}", ""]
        self.records.append(self._record(uses, results, wanted, function))
        self.targets |= _bits(wanted)

    def _note_differentiable(self, uses):
        """Results whose gradient a formula reads."""
        if "grads" in uses.whole:
            self.differentiable |= (1 << len(self.returns)) - 1
        if "grad" in uses.whole | uses.facts:
            self.differentiable |= 1
        for i in uses.grads:
            self.differentiable |= 1 if self.list_result else 1 << i

    def _unboxed(self, uses, results, wanted):
        """Lines that take what the formula reads out of the call, and the names that they declare."""
        lines, declared = [], []
        read, own = uses.whole | uses.facts, {a.name for a in self.arguments}
        for i, a in enumerate(self.arguments):
            if a.name in read:
                optional = "true" if a.type == "Tensor?" else "false"
                lines.append(f"  decltype(auto) {cpp.identifier(a.name)} = "
                             f"box::unbox<{cpp.argument_type(a.type)}, {optional}>(call.args[{i}]);")
                declared.append(a)
        for name, i in results.items():
            if name in read:
                unboxed = "to_list().tensors()" if self.returns[i].type == "Tensor[]" else "to_optional_tensor()"
                lines.append(f"  decltype(auto) {cpp.identifier(name)} = call.results[{i}].{unboxed};")
                declared.append(_pseudo(self.returns[i].type, name))
        if "grad" in read - own:
            lines.append("  const Tensor& grad = call.grads[0];")
            declared.append(_pseudo("Tensor", "grad"))
        if "grads" in read - own:
            lines.append("  const TensorList grads(call.grads.data(), call.grads.size());")
            declared.append(_pseudo("Tensor[]", "grads"))
        if "needs" in uses.whole:
            listed = ", ".join(f"(call.needs >> {i} & 1) != 0" for i in wanted)
            lines.append(f"  const std::array<bool, {len(wanted)}> needs{{{listed}}};")
            declared.append(_pseudo(f"bool[{len(wanted)}]", "needs"))
        return lines, declared

    def _type(self, wanted):
        """The C++ type of the gradients."""
        types = ["std::vector<Tensor>" if self.arguments[i].type in ("Tensor[]", "Tensor?[]") else "Tensor" for i in wanted]
        return types[0] if len(types) == 1 else f"std::tuple<{', '.join(types)}>"

    def _translated(self, key, text, arguments):
        """The formula's C++; where it may be written over grad, that comes first."""
        body = text if "\n" in text.strip() or text.strip().startswith(("return ", "raise ")) else f"return {text.strip()}"
        try:
            lines = script.translate_body(body, arguments, self.schemas, [])
        except script.ScriptError as e:
            self.entry.fail(f"grad.{key}: {e.message}", "grad")
        called = self._overwrites_grad(text)
        if called and len(lines) == 1:
            return [f"  if (call.owns_grad) {lines[0].strip().replace(f'{called}(', f'{called}_out(grad, ', 1)}"] + lines
        return lines

    def _record(self, uses, results, wanted, function):
        """The initializer of a Formula: what it gives, and what must be kept for it, whole or as facts."""
        whole, facts = uses.whole, uses.facts - uses.whole
        tensor = lambda a: a.type.startswith("Tensor")
        args = [i for i, a in enumerate(self.arguments) if a.name in whole or (a.name in facts and not tensor(a))]
        arg_facts = [i for i, a in enumerate(self.arguments) if a.name in facts and tensor(a)]
        kept = [wanted, args, arg_facts, [i for n, i in results.items() if n in whole],
                [i for n, i in results.items() if n in facts]]
        return f"{{{', '.join(str(_bits(k)) for k in kept)}, {function}}}"

    def definition(self):
        name = self.entry.cpp_name
        return [f"static constexpr Formula {name}_all[] = {{"] + [f"    {r}," for r in self.records] + ["};",
                f"extern const Formulas {name};",
                f"const Formulas {name}{{{name}_all, {self.targets}, {self.differentiable}}};", ""]


def source(family, formulas, includes, banner):
    """The generated file of a family's formulas; None where it has none."""
    if not formulas:
        return None
    functions = [line for f in formulas for line in f.functions]
    out = [banner, '#include "sconce/dispatch/box.h"', '#include "sconce/dispatch/formula.h"',
           '#include "sconce/dispatch/body_runtime.h"']
    out += [f'#include "sconce/generated/{name}.h"' for name in includes(functions)]
    out += ["", f"namespace sconce::{family}_formulas {{", "namespace {", ""] + functions + ["}  // namespace", ""]
    for f in formulas:
        out += f.definition()
    out.append(f"}}  // namespace sconce::{family}_formulas\n")
    return "\n".join(out)
