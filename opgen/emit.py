"""Writes C++ for the operators of the table.

Files, all below sconce/ in the output folder:
    generated/<family>.h            typed functions (public)
    generated/<family>_ops.cpp      operator records, glue between dispatch and kernels, typed functions
    generated/<family>_formulas.cpp derivatives
    generated/<family>_loops.cpp    vector loops, compiled once per instruction set level
    generated/<family>_loops_list.{h,cpp}
    generated/tensor_methods.inc    methods of Tensor (public)
    generated/register.cpp          the list of families
    generated/op_samples.cpp        samples, for tests only
    ops.h                           includes every family (public)
"""

import re

from . import cpp, formulas, loops, order, reductions, samples, script
from .table import TableError

_BANNER = "// Generated from {} by opgen. Do not edit.\n"


def _signature(op):
    """Typed parameters and return of an operator, or None where it can only be called boxed."""
    params = [(cpp.argument_type(a.type), a) for a in op.schema.arguments]
    if any(t is None for t, _ in params):
        return None
    result = cpp.return_type(op.schema.returns)
    if result is None:
        return None
    return params, result


def _written(op):
    """Indices of the arguments that an in-place or out= operator returns, or None for other operators."""
    returned = [r.alias for r in op.schema.returns]
    if not returned or not all("!" in alias for alias in returned):
        return None
    return [next(i for i, a in enumerate(op.schema.arguments) if a.alias == alias) for alias in returned]


def _takes_out(op):
    """An entry that is itself an out= operator: its schema could not be derived from the functional one."""
    written = [a for a in op.schema.arguments if a.written]
    return bool(written) and all(a.keyword_only and a.type == "Tensor" for a in written)


def _declare(params, named=True, defaults=False, required=0):
    """`required`: how many parameters have no default in C++."""
    parts = []
    for i, (t, a) in enumerate(params):
        text = t + (" " + cpp.identifier(a.name) if named else "")
        default = cpp.default_value(a) if defaults and i >= required else None
        parts.append(text + (f" = {default}" if default is not None else ""))
    return ", ".join(parts)


def _first_default(params):
    return next((i for i, (_, a) in enumerate(params) if cpp.default_value(a) is not None), len(params))


def _name(a):
    return cpp.identifier(a.name)


class Family:
    """The operators of one table file."""

    def __init__(self, name, operators, schemas_by_name, families, pointwise_names, functional, facts, overwriting):
        self.name, self.operators, self.schemas, self.families = name, operators, schemas_by_name, families
        self.pointwise_names, self.functional = pointwise_names, functional
        self.entries = []
        for op in operators:
            if op.entry not in self.entries:
                self.entries.append(op.entry)
        self.formulas = [formulas.Formulas(e, schemas_by_name, facts, overwriting) for e in self.entries if isinstance(e.get("grad"), dict) and e.data["grad"]]
        self.pointwise = [loop for e in self.entries if e.kind == "pointwise" for loop in _pointwise_loops(e)]
        self.reductions = [r for e in self.entries if e.kind == "reduce" for r in reductions.loops_of(e)]

    # Public declarations ---------------------------------------------------------------------------------------------

    def header(self):
        out = [_BANNER.format(f"ops/{self.name}.toml"), "#pragma once\n", '#include "sconce/tensor/tensor.h"\n',
               "namespace sconce {\n"]
        for op in self.operators:
            declaration = self._function_declaration(op, defaults=True)
            if declaration:
                doc = op.entry.get("doc")
                if doc and op.form == "function":
                    out += [f"// {line}".rstrip() for line in doc.strip().splitlines()]
                out.append(declaration + ";")
        out.append("\n}  // namespace sconce\n")
        return "\n".join(out)

    def _function_declaration(self, op, defaults=False):
        if "function" not in op.entry.forms and op.form == "function" and "method" not in op.entry.forms:
            return None
        # Numbers, lists and strings have C++ of their own: their operators are for programs only.
        if op.entry.kind == "scalar" or "boxed" in op.entry.get("kernel", {}):
            return None
        signature = _signature(op)
        if signature is None:
            return None
        params, result = signature
        written = _written(op)
        api = "SCONCE_API " if defaults else ""
        if op.form == "out" or _takes_out(op):
            outs = [p for p in params if p[1].written]
            rest = [p for p in params if not p[1].written]
            first = ", ".join(f"const Tensor& {_name(a)}" for _, a in outs)
            tail = _declare(rest, defaults=defaults)
            returns = "const Tensor&" if len(outs) == 1 else "void"
            return f"{api}{returns} {cpp.identifier(op.schema.name)}_out({first}{', ' + tail if tail else ''})"
        returns = "const Tensor&" if written and len(written) == 1 else ("void" if written else result)
        return (f"{api}{returns} {cpp.function_name(op.schema.name)}"
                f"({_declare(params, defaults=defaults, required=self._required(op, params))})")

    @staticmethod
    def _public_signature(op):
        if "function" not in op.entry.forms and op.form == "function" and "method" not in op.entry.forms:
            return None
        return _signature(op)

    def _required(self, op, params):
        """How many parameters need an argument, so that no call fits an overload before this one, or an exact one, too."""
        required = _first_default(params)
        for count in range(required, len(params) + 1):
            before = True
            for other in self.operators:
                if other is op:
                    before = False
                    continue
                if other.form != op.form or other.schema.name != op.schema.name or _takes_out(other) != _takes_out(op):
                    continue
                signature = self._public_signature(other)
                if signature is None:
                    continue
                theirs = signature[0]
                exact = len(theirs) == count and _first_default(theirs) == count
                fits = _first_default(theirs) <= count <= len(theirs)
                if fits and (before or exact) and [t for t, _ in theirs[:count]] == [t for t, _ in params[:count]]:
                    required = min(count + 1, len(params))
        return required

    def methods(self):
        out = []
        for op in self.operators:
            if op.form == "out" or _takes_out(op) or "method" not in op.entry.forms:
                continue
            signature = _signature(op)
            if signature is None or not op.schema.arguments or op.schema.arguments[0].type != "Tensor":
                continue
            params, result = signature
            written = _written(op)
            returns = "const Tensor&" if written and len(written) == 1 else ("void" if written else result)
            name = cpp.identifier(op.schema.name)
            if name in ("dim", "size", "numel", "dtype", "device", "stride", "storage_offset", "is_contiguous", "data"):
                continue  # Tensor has these itself
            out.append((f"SCONCE_API {returns} {name}"
                        f"({_declare(params[1:], defaults=True, required=self._required(op, params) - 1)}) const;",
                        f"{returns} Tensor::{name}({_declare(params[1:])}) const "
                        f"{{ return sconce::{cpp.function_name(op.schema.name)}({', '.join(['*this'] + [_name(a) for _, a in params[1:]])}); }}"))
        return out

    # Glue ------------------------------------------------------------------------------------------------------------

    def source(self):
        kernels, records = [], []
        self.symbols = set()  # formulas that the records name
        for op in self.operators:
            text, record = self._operator(op)
            kernels += text
            records.append(record)
        out = [_BANNER.format(f"ops/{self.name}.toml"),
               '#include "sconce/dispatch/box.h"', '#include "sconce/dispatch/registry.h"',
               '#include "sconce/dispatch/script.h"', '#include "sconce/dispatch/glue.h"',
               '#include "sconce/kernels/pointwise.h"', '#include "sconce/kernels/reduce.h"']
        if any(e.kind == "pointwise" and e.get("absent") for e in self.entries):
            out.append('#include "sconce/dispatch/script_limits.h"')
        out += [f'#include "sconce/generated/{name}.h"' for name in self._families_called(kernels)]
        if self.pointwise:
            out.append(f'#include "sconce/generated/{self.name}_loops_list.h"')
        if self.reductions:
            out.append(f'#include "sconce/generated/{self.name}_reductions_list.h"')
        out += ["\nnamespace sconce {\n", "namespace autograd {",
                "void record(const Op& op, KeySet keys, Value* args, Value* returns);", "}  // namespace autograd\n"]
        out += [f"namespace {f} {{\nextern const Formulas {n};\n}}" for f, n in
                sorted({tuple(s.split("::")) for s in self.symbols})]
        out += self._kernel_declarations()
        out += [f"namespace {self.name}_kernels {{", "namespace {\n"]
        out += kernels + ["}  // namespace", f"}}  // namespace {self.name}_kernels\n"]
        out += [f"static Op {self.name}_ops[] = {{"] + [f"    {r}," for r in records] + ["};\n"]
        out += [f"std::span<Op> {self.name}_operators() {{ return {self.name}_ops; }}\n"]
        for op in self.operators:
            out += self._function(op)
        out.append("}  // namespace sconce\n")
        return "\n".join(out)

    def _families_called(self, kernels):
        """This family and those whose functions its bodies call: a change of another one compiles nothing here."""
        names = {self.name}
        for call in set(re.findall(r"sconce::(\w+)\(", "\n".join(kernels))):
            names |= self.families.get(call, set())
        return sorted(names)

    def _kernel_declarations(self):
        by_namespace = {}
        for entry in self.entries:
            if entry.kind != "leaf":
                continue
            op = next(o for o in self.operators if o.entry is entry and o.form == "function")
            for device in entry.data["kernel"]:
                if device == "boxed":
                    text = f"void {_boxed_name(entry)}(const Op& op, KeySet keys, Value* args, Value* returns);"
                    if text in by_namespace.get(device, []):
                        continue
                elif device == "any":
                    params, result = self._typed(op)
                    if _written(op):
                        result = "void"
                    text = f"{result} {entry.cpp_name}({_declare(params)});"
                else:
                    params, _ = self._typed(op)
                    outs = self._out_names(op)
                    text = f"void {entry.cpp_name}({_declare(params)}, " + ", ".join(f"const Tensor& {o}" for o in outs) + ");"
                by_namespace.setdefault("any_device" if device == "any" else device, []).append(text)
            if entry.get("shape") == "cpp":
                params, _ = self._typed(op)
                count = len(op.schema.returns)
                kind = "OutSpec" if count == 1 else f"std::array<OutSpec, {count}>"
                by_namespace.setdefault("any_device", []).append(f"{kind} {entry.cpp_name}_spec({_declare(params)});")
        out = []
        for namespace, lines in by_namespace.items():
            out += [f"namespace {namespace} {{"] + lines + [f"}}  // namespace {namespace}\n"]
        return out

    def _typed(self, op):
        signature = _signature(op)
        if signature is None:
            op.entry.fail("its schema has types that only a boxed kernel can take", "schema")
        return signature

    @staticmethod
    def _out_names(op):
        count = len(op.schema.returns)
        return ["out"] if count == 1 else [f"out{i}" for i in range(count)]

    def _operator(self, op):
        """C++ lines of the kernel, and the record in the table of operators."""
        entry = op.entry
        comment = f"// {entry.origin}: {op.schema.key}"
        text, kernels = [], []
        thunk = "nullptr"
        signature = _signature(op)
        if entry.kind == "leaf" and "boxed" in entry.data["kernel"]:
            kernels.append((("cpu", "meta"), f"SCONCE_BOXED_KERNEL(boxed::{_boxed_name(entry)})"))
        else:
            params, result = self._typed(op)
            written = _written(op)
            if written:
                result = "void"
            text.append(comment)
            unused = "[[maybe_unused]] " if entry.kind == "compound" else ""  # a body need not use every argument
            body = getattr(self, "_" + entry.kind)(op, params, written)
            keys = "KeySet keys" if any("keys.has(" in line for line in body) else "KeySet"
            text.append(f"{result} {op.cpp_name}({', '.join([keys] + [unused + _declare([p]) for p in params])}) {{")
            text += body
            text.append("}\n")
            kernels.append((("cpu", "meta"), f"SCONCE_TYPED_KERNEL({self.name}_kernels::{op.cpp_name})"))
            optional = sum(1 << i for i, (_, a) in enumerate(params) if a.type == "Tensor?")
            aliased = "".join(f", {i}" for i in written) if written else ""
            sig = f"{result}({_declare(params, named=False)})"
            thunk = f"box_call<{sig}, {optional}{aliased}>"
        kind, source = formulas.gradient(op, self.functional, _takes_out(op), _written(op))
        table = "nullptr"
        if source is not None:
            symbol = f"{source.family}_formulas::{source.cpp_name}"
            self.symbols.add(symbol)
            table = "&" + symbol
        if kind != "through":
            kernels.append((("autograd",), "SCONCE_BOXED_KERNEL(autograd::record)"))
        slots = {}
        for keys, kernel in kernels:
            for key in keys:
                slots[{"cpu": 0, "cuda": 1, "meta": 2, "autograd": 7}[key]] = kernel
        mask = sum(1 << s for s in slots)
        listed = ", ".join(slots.get(i, "nullptr") for i in range(max(slots) + 1))
        traits = self._traits(op)
        # As derivative.h reads them: a formula of several lines stands indented below its argument.
        grad = entry.get("grad", {})
        derivatives = "\n".join(f"{k}: {v}" if "\n" not in v.strip() else f"{k}:\n  " + v.strip().replace("\n", "\n  ")
                                for k, v in (grad.items() if isinstance(grad, dict) else ())) or None
        scalar = entry.get("scalar") if isinstance(entry.get("scalar"), str) else None
        namespace = op.schema.namespace
        full = op.schema.text if "::" in op.schema.text.split("(")[0] else f"{namespace}::{op.schema.text}"
        info = ", ".join([cpp.string(f"{namespace}::{op.schema.name}"), cpp.string(op.schema.overload), cpp.string(full),
                          cpp.string(entry.origin), cpp.string(scalar), cpp.string(entry.get("body")),
                          cpp.string(derivatives), cpp.string(entry.get("doc")), traits, f"Gradient::{kind}", table])
        return text, f"{{{{{info}}}, {thunk}, {mask}, {{{listed}}}, nullptr}}"

    def _traits(self, op):
        entry = op.entry
        names = [t for t in entry.get("traits", [])]
        if op.form != "function":
            names = [t for t in names if t not in ("core", "view")] + [op.form]
        elif _takes_out(op):
            names.append("out")
        elif op.schema.name.endswith("_") and _written(op):
            names.append("inplace")
        kind = {"pointwise": "pointwise", "reduce": "reduction", "compound": "compound"}.get(entry.kind)
        if kind:
            names.append(kind)
        if not names:
            return "0"
        return " | ".join(f"static_cast<uint32_t>(Trait::{t})" for t in dict.fromkeys(names))

    def _script(self, entry, key, translate):
        try:
            return translate()
        except script.ScriptError as e:
            entry.lines[key] = entry.lines.get(key, entry.line) + max(e.line, 0)
            entry.fail(f"{key}: {e.message}", key)

    def _checks(self, op):
        out = []
        arguments = op.entry.schema.arguments
        for condition, message in op.entry.get("check", {}).items():
            def translate(condition=condition, message=message):
                return (script.translate_expression(condition, arguments, self.schemas)[0],
                        script.translate_message(message, arguments, self.schemas))
            c, m = self._script(op.entry, "check", translate)
            out.append(f"  SCONCE_CHECK({c}, {m});")
        return out

    def _pointwise(self, op, params, written):
        entry = op.entry
        out = self._checks(op)
        cases = entry.get("case")
        loops_of_entry = _pointwise_loops(entry)
        for number, loop in enumerate(loops_of_entry):
            indent = "  "
            if cases:
                condition = self._script(entry, "case", lambda: script.translate_expression(
                    cases[number]["when"], entry.schema.arguments, self.schemas)[0])
                out.append(f"  if ({condition}) {{")
                indent = "    "
            case = {**entry.data, **(cases[number] if cases else {})}
            tensors = [name for name, _ in loop.inputs]
            promote = case.get("promote", [n for n, kind in loop.inputs if kind == "common"])
            bits = sum(1 << i for i, n in enumerate(tensors) if n in promote)
            param_bits = sum(1 << i for i, n in enumerate(loop.params) if n in promote)
            integral = sum(1 << i for i, n in enumerate(loop.params) if n in case.get("integral", []))
            rules = {"promote": "promote", "float": "floating", "wide": "wide", "self": "self"}
            rule = rules.get(case.get("dtype", "promote"))
            if rule is None:
                entry.fail(f"unknown dtype rule '{case.get('dtype')}', expected promote, float, wide or self", "dtype")
            out.append(f"{indent}static constexpr PointwiseRule rule{{&cpu::loops_{loop.name}, DTypeRule::{rule}, {bits}, "
                       f"{param_bits}, {integral}}};")
            out.append(f"{indent}const Tensor* in[] = {{{', '.join('&' + cpp.identifier(n) for n in tensors)}}};")
            if loop.params:
                values = ", ".join(self._number(entry, n) for n in loop.params)
                out.append(f"{indent}const Scalar numbers[] = {{{values}}};")
            numbers = "numbers" if loop.params else "nullptr"
            if op.form == "function":
                out.append(f"{indent}return pointwise(rule, in, {numbers});")
            elif op.form == "inplace":
                out.append(f"{indent}pointwise_inplace(rule, in, {numbers});")
            else:
                out.append(f"{indent}pointwise_out(rule, in, {numbers}, {_name(params[written[0]][1])});")
            if cases:
                if op.form != "function":
                    out.append(f"{indent}return;")
                out.append("  }")
        if cases:
            given = ", ".join(f"script::shown({_name(a)})" for _, a in params if a.type in ("str", "str?"))
            spots = " and ".join("'{}'" for _, a in params if a.type in ("str", "str?"))
            out.append(f'  fail("no rule for these arguments{": " + spots if spots else ""}"{", " + given if given else ""});')
        return out

    def _number(self, entry, name):
        """A number argument as a Scalar; `absent` says what an optional one is where it is None."""
        a = entry.schema.argument(name)
        if name not in entry.get("absent", {}):
            return _scalar(a)
        absent = self._script(entry, "absent", lambda: script.translate_expression(
            entry.data["absent"][name], entry.schema.arguments, self.schemas)[0])
        return f"{_name(a)}.has_value() ? Scalar(*{_name(a)}) : Scalar({absent})"

    def _reduce(self, op, params, written):
        return self._checks(op) + reductions.glue(op, params, written, self)

    def _leaf(self, op, params, written):
        entry = op.entry
        out = self._checks(op)
        plain = [_name(a) for _, a in params if not (op.form == "out" and a.written)]
        call = f"({', '.join(plain)})"
        kernel = entry.data["kernel"]
        if "any" in kernel:
            if op.form == "function":
                return out + [f"  {'' if written else 'return '}any_device::{entry.cpp_name}{call};"]
            return out + self._through_copy(op, params, written, f"any_device::{entry.cpp_name}{call}")
        outs = self._out_names(op)
        count = len(outs)
        functional = next(o for o in self.operators if o.entry is entry and o.form == "function")
        specs = self._specs(functional)
        out += specs
        tensors = [_name(a) for a in entry.schema.arguments if a.type == "Tensor"]
        lists = [_name(a) for a in entry.schema.arguments if a.type in ("Tensor[]", "Tensor?[]")]
        if tensors:
            device = f"{tensors[0]}.device()"
        elif lists:
            device = f"device_of({lists[0]})"
        else:
            device = "device.value_or(Device())"
        if op.form == "function":
            for i, o in enumerate(outs):
                out.append(f"  const Tensor {o}_ = make_output(spec{i}, {device});")
            out.append(f"  if (!{outs[0]}_.is_meta()) cpu::{entry.cpp_name}({', '.join(plain + [o + '_' for o in outs])});")
            out.append("  return " + (f"{outs[0]}_;" if count == 1 else "{" + ", ".join(o + "_" for o in outs) + "};"))
            return out
        given = [_name(params[i][1]) for i in written]
        for i, (o, g) in enumerate(zip(outs, given)):
            out.append(f"  const Tensor {o}_ = prepare_output(spec{i}, {g}, {{{', '.join('&' + t for t in tensors)}}}, "
                       f"{'true' if op.form == 'inplace' else 'false'}{', ' + lists[0] if lists else ''});")
        out.append(f"  if (!{outs[0]}_.is_meta()) cpu::{entry.cpp_name}({', '.join(plain + [o + '_' for o in outs])});")
        for o, g in zip(outs, given):
            out.append(f"  finish_output({o}_, {g});")
        return out

    def _specs(self, op):
        """C++ that declares spec0, spec1, ... from the shape, dtype and format rules."""
        entry = op.entry
        count = len(op.schema.returns)
        arguments = entry.schema.arguments
        shape = entry.get("shape")
        if shape == "cpp":
            call = f"any_device::{entry.cpp_name}_spec({', '.join(_name(a) for a in arguments)})"
            if count == 1:
                return [f"  const OutSpec spec0 = {call};"]
            return [f"  const auto specs = {call};"] + [f"  const OutSpec& spec{i} = specs[{i}];" for i in range(count)]
        shapes = shape if isinstance(shape, list) else [shape] * count
        dtypes = entry.get("dtype", "self")
        dtypes = dtypes if isinstance(dtypes, list) else [dtypes] * count
        if len(shapes) != count or len(dtypes) != count:
            entry.fail(f"{count} results need {count} shapes and dtypes", "shape")
        out = []
        for i, (s, d) in enumerate(zip(shapes, dtypes)):
            if "\n" in s.strip() or s.strip().startswith("return "):
                lines = self._script(entry, "shape", lambda: script.translate_body(s, arguments, self.schemas, []))
                sizes = "[&]() -> Dims {\n" + "\n".join("  " + x for x in lines) + "\n  }()"
            else:
                sizes = self._script(entry, "shape", lambda: script.translate_expression(s, arguments, self.schemas)[0])
            out.append(f"  const OutSpec spec{i}{{Dims({sizes}), {self._dtype(entry, d)}, {self._format(entry)}}};")
        return out

    def _dtype(self, entry, rule):
        names = {a.name: a for a in entry.schema.arguments}
        if rule in names and names[rule].type.startswith("Tensor"):
            return f"{cpp.identifier(rule)}.dtype()"
        if rule in ("int64", "bool", "float32", "float64", "int32", "uint8"):
            return "DType::bool_" if rule == "bool" else f"DType::{rule}"
        try:
            return script.translate_expression(rule, entry.schema.arguments, self.schemas)[0]
        except script.ScriptError as e:
            entry.fail(f"dtype: {e.message}", "dtype")

    @staticmethod
    def _format(entry):
        text = entry.get("format")
        if text is None:
            return "MemoryFormat::contiguous"
        if entry.schema.argument(text) is None:
            entry.fail(f"format names '{text}', which is no argument", "format")
        return f"suggested_format({cpp.identifier(text)})"

    def _compound(self, op, params, written):
        entry = op.entry
        if op.form != "function":
            direct = self._forwarded(op, params, written)
            if direct:
                return self._checks(op) + [f"  {direct};"]
            plain = [_name(a) for _, a in params if not (op.form == "out" and a.written)]
            function = f"sconce::{cpp.function_name(entry.schema.name)}"
            recorded = []
            if op.form == "inplace":
                # The body may keep what it reads for its gradient: it reads a copy.
                self_ = _name(params[written[0]][1])
                read = ", ".join(f"sconce::clone({n}, {{}})" if n == self_ else n for n in plain)
                recorded = [f"  if (keys.has(Key::autograd)) return void(sconce::copy_({self_}, {function}({read}), false));"]
            return recorded + self._through_copy(op, params, written, f"{function}({', '.join(plain)})")
        lines = self._script(entry, "body", lambda: script.translate_body(
            entry.data["body"], entry.schema.arguments, self.schemas, entry.schema.returns))
        return self._checks(op) + lines

    def _forwarded(self, op, params, written):
        """The in-place or out= form of an alias, a body that only calls a pointwise operator on the same tensor: that
        operator's form, without a copy. None where there is none."""
        entry = op.entry
        arguments = entry.schema.arguments
        first = arguments[0].name
        call = script.only_call(entry.data["body"])
        if call is None or call.name not in self.pointwise_names or len(written) != 1 or call.first != first:
            return None
        schemas = self.schemas.get(call.name + "_" if op.form == "inplace" else call.name, [])
        if op.form == "out":
            schemas = [s for s in schemas if s.overload.endswith("out") and len(s.returns) == 1]
        if not schemas:
            return None
        text = self._script(entry, "body", lambda: script.translate_expression(call.text, arguments, self.schemas)[0])
        before = f"sconce::{cpp.function_name(call.name)}("
        if not text.startswith(before):
            return None
        if op.form == "inplace":
            return f"sconce::{cpp.function_name(call.name + '_')}({text[len(before):]}"
        return f"sconce::{cpp.identifier(call.name)}_out({_name(params[written[0]][1])}, {text[len(before):]}"

    def _through_copy(self, op, params, written, call):
        """In-place and out= forms of operators that make their own results."""
        if len(written) == 1:
            move = "copy_into" if op.form == "inplace" else "copy_to_out"
            return [f"  {move}({_name(params[written[0]][1])}, {call});"]
        out = [f"  auto results = {call};"]
        for i, w in enumerate(written):
            out.append(f"  copy_to_out({_name(params[w][1])}, std::get<{i}>(results));")
        return out

    def _scalar(self, op, params, written):
        entry = op.entry
        text = entry.data["scalar"]
        value = self._script(entry, "scalar", lambda: script.translate_expression(
            text, entry.schema.arguments, None)[0])
        return [f"  return {value};"]

    # Typed functions -------------------------------------------------------------------------------------------------

    def _function(self, op):
        declaration = self._function_declaration(op)
        if declaration is None:
            return []
        params, result = _signature(op)
        written = _written(op)
        if written:
            result = "void"
        keys = []
        for t, a in params:
            if a.type == "Tensor":
                keys.append(f"keys_of({_name(a)})")
            elif a.type == "Tensor?":
                keys.append(f"keys_of_optional({_name(a)})")
            elif a.type in ("Tensor[]", "Tensor?[]"):
                keys.append(f"keys_of({_name(a)})")
        has_tensor = any(a.type == "Tensor" for _, a in params)
        device = next((a for _, a in params if a.type in ("Device", "Device?")), None)
        if keys:
            text = " | ".join(keys)
            if not has_tensor:
                text = f"or_cpu({text})"
        elif device is not None:
            text = f"keys_of({_name(device)})"
        else:
            text = "KeySet(Key::cpu)"
        types = ", ".join([result] + [t for t, _ in params])
        names = ", ".join([f"{self.name}_ops[{op.index}]", text] + [_name(a) for _, a in params])
        tensors = ", ".join("&" + _name(a) for _, a in params if a.type in ("Tensor", "Tensor?"))
        call = f"typed_call<{types}>({names})"
        out = [declaration + " try {"]
        if written and len(written) == 1:
            out += [f"  {call};", f"  return {_name(params[written[0]][1])};"]
        elif written or result == "void":
            out += [f"  {call};"]
        else:
            out += [f"  return {call};"]
        out += ["} catch (Error& error) {", f"  call_failed(error, {self.name}_ops[{op.index}], {{{tensors}}});", "}\n"]
        return out


def _boxed_name(entry):
    """'boxed/dict.cpp:dict_get' names a function that several operators share; otherwise it is called as the operator."""
    file, _, function = entry.data["kernel"]["boxed"].partition(":")
    return function or entry.cpp_name


def _scalar(a):
    """A number argument as a Scalar; an absent optional one is not read by the loop that was chosen."""
    if a.type.endswith("?"):
        return f"{_name(a)}.has_value() ? Scalar(*{_name(a)}) : Scalar()"
    return _name(a) if a.type == "Scalar" else f"Scalar({_name(a)})"


def _pointwise_loops(entry):
    """PointwiseOp of an entry: one, or one per case."""
    cases = entry.get("case")
    result = []
    for number, case in enumerate(cases if cases else [{}]):
        data = {**entry.data, **case}
        text = data.get("scalar")
        if text is None:
            entry.fail("a case needs 'scalar'", "case")
        if cases and "when" not in case:
            entry.fail("a case needs 'when'", "case")
        by_class = {"default": text} if isinstance(text, str) else text
        expr, overrides = by_class.get("default", ""), {k: v for k, v in by_class.items() if k != "default"}
        masks = data.get("masks", [])
        texts = " ".join([expr] + list(overrides.values()))
        # An optional tensor is an operand of the cases that read it.
        inputs = [(a.name, "bool" if a.name in masks else "common") for a in entry.schema.arguments
                  if a.type == "Tensor" or (a.type == "Tensor?" and _mentions(texts, a.name))]
        params = [a.name for a in entry.schema.arguments
                  if a.type.rstrip("?") in ("Scalar", "float", "int", "bool")
                  and (_mentions(texts, a.name) or a.name in data.get("promote", []))]
        name = entry.cpp_name + (f"_{number}" if cases else "")
        every = "float" if data.get("dtype") in ("float", "wide") else "bool int float complex"
        types = tuple(data.get("types", every).split())
        result.append(loops.PointwiseOp(name=name, origin=entry.origin, inputs=inputs, params=params, expr=expr,
                                        overrides=overrides, types=types, result=data.get("result", "common"), title=entry.key))
    return result


def _mentions(text, name):
    return re.search(rf"\b{name}\b", text) is not None


def generate(entries, operators, orders=()):
    """{relative path: (kind, text)}"""
    schemas_by_name, families_by_function = {}, {}
    for op in operators:
        if not op.entry.forms:
            continue  # no function that a body could call
        schemas_by_name.setdefault(op.schema.name, []).append(op.schema)
        for function in (cpp.function_name(op.schema.name), cpp.identifier(op.schema.name) + "_out"):
            families_by_function.setdefault(function, set()).add(op.entry.family)
    pointwise_names = {e.schema.name for e in entries if e.kind == "pointwise"}
    facts = {e.schema.name: [i for i, a in enumerate(e.schema.arguments) if a.name in e.get("facts")]
             for e in entries if e.get("facts")}
    # Pointwise operators with one overload, whose result may be one of their arguments.
    overwriting = {name for name in pointwise_names if [e.kind for e in entries if e.schema.name == name] == ["pointwise"]
                   and len(schemas_by_name.get(name, ())) > 1 and f"{name}_out" in families_by_function}
    names = list(dict.fromkeys(e.family for e in entries))
    by_name = {}
    for e in entries:
        by_name.setdefault((e.schema.namespace, e.schema.name), []).append(e)

    def functional(op):
        """The entry of x for the operator x_, with the same arguments; of the same overload where there are several."""
        arguments = lambda schema: [(a.type, a.name) for a in schema.arguments]
        twins = [e for e in by_name.get((op.schema.namespace, op.schema.name[:-1]), [])
                 if arguments(e.schema) == arguments(op.schema)]
        return min(twins, key=lambda e: e.schema.overload != op.schema.overload, default=None)

    files = {}
    families = []
    try:
        for name in names:
            families.append(Family(name, [o for o in operators if o.entry.family == name], schemas_by_name,
                                   families_by_function, pointwise_names, functional, facts, overwriting))
        for family in families:
            base = f"sconce/generated/{family.name}"
            files[base + ".h"] = ("header", family.header())
            files[base + "_ops.cpp"] = ("source", family.source())
            derivatives = formulas.source(family.name, family.formulas, family._families_called,
                                          _BANNER.format(f"ops/{family.name}.toml"))
            if derivatives:
                files[base + "_formulas.cpp"] = ("source", derivatives)
            if family.pointwise:
                files[base + "_loops.cpp"] = ("simd", loops.pointwise_source(family.name, family.pointwise))
                files[base + "_loops_list.cpp"] = ("source", loops.pointwise_registry_source(family.name, family.pointwise))
                files[base + "_loops_list.h"] = ("header", loops.pointwise_header(family.name, family.pointwise))
            if family.reductions:
                files[base + "_reductions.cpp"] = ("simd", reductions.source(family.name, family.reductions))
                files[base + "_reductions_list.cpp"] = ("source", reductions.registry_source(family.name, family.reductions))
                files[base + "_reductions_list.h"] = ("header", reductions.header(family.name, family.reductions))
    except ValueError as e:
        raise TableError(str(e)) from None
    methods = [m for f in families for m in f.methods()]
    files["sconce/generated/tensor_methods.inc"] = (
        "header", _BANNER.format("ops/*.toml") + '#include "sconce/autograd/tensor_methods.inc"\n' +
        "".join(m[0] + "\n" for m in methods))
    includes = "".join(f'#include "sconce/generated/{n}.h"\n' for n in names)
    files["sconce/ops.h"] = ("header", "// Every operator as a typed function.\n" + "#pragma once\n\n" + includes)
    files["sconce/generated/methods.cpp"] = ("source", _BANNER.format("ops/*.toml") +
        "// The face of Tensor that programs see: see tensor.h.\n#undef SCONCE_BUILDING\n"
        '#include "sconce/ops.h"\n\nnamespace sconce {\n\n' + "".join(m[1] + "\n" for m in methods) +
        "\n}  // namespace sconce\n")
    aliases = {f"{o.schema.namespace}::{o.schema.name}": f"{o.schema.namespace}::{o.alias}" for o in operators if o.alias}
    rows = "".join(f'      {{"{name}", "{alias}"}},\n' for name, alias in sorted(aliases.items()))
    files["sconce/generated/op_names.cpp"] = ("source", _BANNER.format("ops/*.toml") +
        '#include "sconce/dispatch/op_names.h"\n\nnamespace sconce {\n\nstd::span<const OpAlias> op_aliases() {\n'
        f"  static constexpr OpAlias aliases[] = {{\n{rows}  }};\n  return aliases;\n}}\n\n}}  // namespace sconce\n")
    rows = "".join(f'      {{"{o.schema.namespace}::{o.schema.key}", "{o.entry.data["instruction"]}"}},\n'
                   for o in operators if "instruction" in o.entry.data)
    files["sconce/generated/op_instructions.cpp"] = ("source", _BANNER.format("ops/*.toml") +
        '#include "sconce/dispatch/op_instructions.h"\n\nnamespace sconce {\n\n'
        "std::span<const OpInstruction> op_instructions() {\n"
        f"  static constexpr OpInstruction all[] = {{\n{rows}  }};\n  return all;\n}}\n\n}}  // namespace sconce\n")
    files["sconce/generated/op_samples.cpp"] = ("testing", samples.source(
        entries, {o.entry.key: formulas.gradient(o, functional, _takes_out(o), _written(o))[0] for o in operators
                  if o.form == "function"}, _BANNER.format("ops/*.toml")))
    declare = "".join(f"std::span<Op> {n}_operators();\n" for n in names)
    call = "".join(f"  add_ops({n}_operators());\n" for n in names)
    files["sconce/generated/register.cpp"] = ("source", _BANNER.format("ops/*.toml") +
        '#include "sconce/dispatch/registry.h"\n\nnamespace sconce {\n\n' + declare +
        "\nvoid register_generated_ops() {\n" + call + order.source(orders) + "}\n\n}  // namespace sconce\n")
    return files
