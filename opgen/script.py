"""Translates script text of the table (bodies, shape rules, checks) to C++.

The language is Python's, restricted to what TorchScript has: assignments, if, for over range or a list, while, return,
assert, raise; numbers, strings, lists, tuples, None; calls of operators as functions or methods. Types are not computed
here: operators become calls of overloaded C++ functions (namespace sconce::body, sconce/dispatch/body_runtime.h) and C++ finds
the types. An optional argument is used as its value where the text has shown that it is not None:

    if dtype is not None:            if (dtype.has_value()) {
        x = x.to(dtype)                x = to(x, *dtype);
"""

import ast
from dataclasses import dataclass

from . import cpp
from .python_operators import BINARY, COMPARE, UNARY

# Functions of sconce::body that are not operators of the table.
BUILTINS = {"len", "min", "max", "int", "float", "bool", "range", "broadcast_shapes", "wrap_dim", "all_dims", "prod",
            "result_type", "is_floating_point", "is_complex", "is_integral", "default_dtype", "abs", "sum", "pool_size", "conv_size",
            "list_of", "inverse_permutation", "largest", "elements",
            "largest_element", "number", "convolution_work", "log2"}
# Those of them and of Python's operators that shape rules and checks call with overflow checks.
CHECKED = {"add", "sub", "mul", "neg", "prod", "sum"}
# Functions of numbers, for entries of kind scalar.
NUMBER_FUNCTIONS = {"int", "float", "bool", "abs", "min", "max", "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "ceil",
                    "floor", "fmod", "int_pow", "range_length"}
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")
_FORMATS = {"contiguous_format": "contiguous", "preserve_format": "preserve", "channels_last": "channels_last",
            "channels_last_3d": "channels_last_3d"}
_ATTRIBUTES = {"shape": "{}.sizes()", "dtype": "{}.dtype()", "device": "{}.device()", "ndim": "{}.dim()",
               "is_sparse": "({}.layout() == Layout::sparse)", "is_cuda": "({}.device().type == DeviceType::cuda)"}
_QUERIES = {"dim", "numel", "is_contiguous"}  # methods of Tensor itself


def _is_namespace(node):
    """Whether node is `torch.ops.<namespace>`, of which functions are called, and no expression that begins so."""
    return (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "ops"
            and isinstance(node.value.value, ast.Name) and node.value.value.id == "torch")


class ScriptError(Exception):
    def __init__(self, line, message):
        super().__init__(message)
        self.line, self.message = line, message


class Translator:
    def __init__(self, schemas_by_name, arguments, returns, checked=False):
        self.schemas = schemas_by_name  # base name -> list of Schema
        self.checked = checked  # whole numbers are sizes: what does not fit into 64 bits is refused (checked_body.h)
        self.returns = returns  # of the operator: how a tuple is returned
        self.names = {}  # script name -> C++ name
        self.optional = set()  # optional arguments that are not tensors
        self.tensors_optional = set()
        self.shown = set()  # optionals known to have a value
        self.lines = []
        self.indent = 1
        for a in arguments:
            self.names[a.name] = cpp.identifier(a.name)
            if a.type.endswith("?"):
                if a.type in ("Tensor?", "Generator?"):
                    self.tensors_optional.add(a.name)
                else:
                    self.optional.add(a.name)
        self.parameters = {a.name: a for a in arguments}
        self.copied = set()

    # Statements ------------------------------------------------------------------------------------------------------

    def body(self, text):
        try:
            tree = ast.parse(text.strip("\n"))
        except SyntaxError as e:
            raise ScriptError(e.lineno or 1, f"not script: {e.msg}") from None
        self._hoist(tree)
        self._block(tree.body)
        return self.lines

    def _hoist(self, tree):
        """Names that are first assigned inside a block are used after it in Python; remember them."""
        self.inside = set()
        for statement in tree.body:
            if isinstance(statement, (ast.If, ast.For, ast.While)):
                for node in ast.walk(statement):
                    if isinstance(node, ast.Assign):
                        for target in node.targets:
                            for name in ast.walk(target):
                                if isinstance(name, ast.Name):
                                    self.inside.add(name.id)
        self.local = self._locals(tree)
        self.inside -= set(self.local)

    @staticmethod
    def _locals(tree):
        """name -> the block (as the id of its list of statements) in which it is assigned first and used only."""
        places, homes = {}, {}

        def visit(node, path):
            if isinstance(node, ast.Name):
                places.setdefault(node.id, []).append(path)
            if isinstance(node, ast.Assign):
                for target in ast.walk(node.targets[0]):
                    if isinstance(target, ast.Name):
                        homes.setdefault(target.id, path)
            for field, value in ast.iter_fields(node):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        block = isinstance(value, list) and value and isinstance(value[0], ast.stmt)
                        visit(child, path + (id(value),) if block else path)

        for statement in tree.body:
            visit(statement, ())
        return {name: home[-1] for name, home in homes.items()
                if home and all(path[:len(home)] == home for path in places[name])}

    def _emit(self, text):
        self.lines.append("  " * self.indent + text)

    def _block(self, statements):
        for s in statements:
            self._statement(s)

    def _statement(self, s):
        if isinstance(s, ast.Assign):
            return self._assign(s)
        if isinstance(s, ast.AugAssign):
            value = self._binary(s.op, self.expr(s.target), self.expr(s.value), s)
            return self._emit(f"{self.expr(s.target)} = {value};")
        if isinstance(s, ast.Return):
            return self._return(s)
        if isinstance(s, ast.If):
            return self._if(s)
        if isinstance(s, ast.For):
            return self._for(s)
        if isinstance(s, ast.While):
            self._emit(f"while ({self.condition(s.test)}) {{")
            self._inner(s.body)
            return self._emit("}")
        if isinstance(s, ast.Assert):
            return self._assert(s)
        if isinstance(s, ast.Raise):
            call = s.exc
            if not (isinstance(call, ast.Call) and len(call.args) == 1):
                raise ScriptError(s.lineno, "raise needs an exception with one message")
            unsupported = isinstance(call.func, ast.Name) and call.func.id == "NotImplementedError"
            return self._emit(f"fail{'_as(ErrorKind::not_implemented, ' if unsupported else '('}{self._message(call.args[0])});")
        if isinstance(s, ast.Expr):
            if isinstance(s.value, ast.Constant) and isinstance(s.value.value, str):
                return None  # a comment
            return self._emit(self.expr(s.value) + ";")
        if isinstance(s, ast.Pass):
            return None
        raise ScriptError(s.lineno, f"{type(s).__name__} is not part of the script language")

    def _inner(self, statements):
        self.indent += 1
        known = set(self.names)
        outer, self.current = getattr(self, "current", None), id(statements)
        self._block(statements)
        self.current = outer
        for name in set(self.names) - known:
            if name not in self.hoisted_names():
                del self.names[name]
        self.indent -= 1

    def hoisted_names(self):
        return self.inside

    def _target(self, name, value):
        if name in self.names:
            cpp_name = self.names[name]
            if name in self.parameters and name not in self.copied:
                raise ScriptError(0, f"'{name}' is an argument: assign it at the top level first or use another name")
            self._emit(f"{cpp_name} = {value};")
            return
        cpp_name = cpp.identifier(name)
        self.names[name] = cpp_name
        if self.indent > 1 and self.local.get(name) != self.current:
            # Declared in front of the outermost block, with the type of its first value.
            position = self.block_start
            self.lines.insert(position, f"  std::remove_cvref_t<decltype({value})> {cpp_name};")
            self.block_start += 1
            self._emit(f"{cpp_name} = {value};")
        else:
            self._emit(f"auto {cpp_name} = {value};")

    def _assign(self, s):
        if len(s.targets) != 1:
            raise ScriptError(s.lineno, "one target per assignment")
        target = s.targets[0]
        if isinstance(target, ast.Name):
            name = target.id
            if name in self.parameters and name not in self.copied:
                value = self.expr(s.value)
                self._copy_argument(name)
                if name in self.optional:
                    self.shown.add(name)
                    self._emit(f"{self.names[name]} = {value};")
                    return None
                value = self.expr(s.value)
                self._emit(f"{self.names[name]} = {value};")
                return None
            if name in self.optional:
                value = self.expr(s.value)
                self.shown.add(name)
                return self._emit(f"{self.names[name]} = {value};")
            if isinstance(s.value, ast.Constant) and s.value.value is None and name not in self.names and self.indent == 1:
                self.names[name] = cpp.identifier(name)
                return self._emit(f"Tensor {self.names[name]};")  # an optional tensor, not set
            return self._target(name, self.expr(s.value))
        if isinstance(target, ast.Tuple):
            names = [e.id if isinstance(e, ast.Name) else None for e in target.elts]
            if None in names:
                raise ScriptError(s.lineno, "a tuple of names is expected on the left")
            fresh = [n for n in names if n not in self.names]
            value = self.expr(s.value)
            here = self.indent == 1 or all(self.local.get(n) == self.current for n in names)
            if len(fresh) == len(names) and here and len(set(names)) == len(names):
                for n in names:
                    self.names[n] = cpp.identifier(n)
                return self._emit(f"auto [{', '.join(self.names[n] for n in names)}] = {value};")
            temporary = f"parts_{s.lineno}"
            self._emit(f"auto {temporary} = {value};")
            for i, n in enumerate(names):
                self._target(n, f"std::get<{i}>({temporary})")
            return None
        raise ScriptError(s.lineno, "only names can be assigned")

    def _copy_argument(self, name):
        """An argument that the body assigns becomes a local variable, declared at the top."""
        local = cpp.identifier(name) + "_local"
        a = self.parameters[name]
        kind = {"IntList": "Dims", "std::optional<IntList>": "std::optional<Dims>"}.get(cpp.value_type(a.type), cpp.value_type(a.type))
        init = self.names[name]
        if kind == "std::optional<Dims>":
            init = f"body::copied({init})"
        self.lines.insert(0, f"  {kind} {local} = {init};")
        if hasattr(self, "block_start"):
            self.block_start += 1
        self.names[name] = local
        self.copied.add(name)

    def _return(self, s):
        if s.value is None:
            return self._emit("return;")
        if isinstance(s.value, ast.Tuple):
            return self._emit("return {" + ", ".join(self.expr(e) for e in s.value.elts) + "};")
        return self._emit(f"return {self.expr(s.value)};")

    def _none_tests(self, test):
        """(names shown to be set when true, names shown to be set when false)"""
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name) \
                and isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None:
            name = {test.left.id}
            return (name, set()) if isinstance(test.ops[0], ast.IsNot) else (set(), name)
        if isinstance(test, ast.BoolOp):
            parts = [self._none_tests(v) for v in test.values]
            if isinstance(test.op, ast.And):
                return set().union(*(p[0] for p in parts)), set()
            return set(), set().union(*(p[1] for p in parts))
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            a, b = self._none_tests(test.operand)
            return b, a
        return set(), set()

    @staticmethod
    def _ends(statements):
        return statements and isinstance(statements[-1], (ast.Return, ast.Raise))

    def _if(self, s):
        if self.indent == 1:
            self.block_start = len(self.lines)
        when_true, when_false = self._none_tests(s.test)
        saved = set(self.shown)
        self._emit(f"if ({self.condition(s.test)}) {{")
        self.shown = saved | when_true
        self._inner(s.body)
        after_true = set(self.shown)
        self.shown = saved | when_false
        if s.orelse:
            self._emit("} else {")
            self._inner(s.orelse)
        after_false = set(self.shown)
        self._emit("}")
        if self._ends(s.body):
            self.shown = after_false
        elif self._ends(s.orelse):
            self.shown = after_true
        else:
            self.shown = after_true & after_false

    def _for(self, s):
        if not isinstance(s.target, ast.Name):
            raise ScriptError(s.lineno, "for needs one name")
        if self.indent == 1:
            self.block_start = len(self.lines)
        name = cpp.identifier(s.target.id)
        self.names[s.target.id] = name
        if isinstance(s.iter, ast.Call) and isinstance(s.iter.func, ast.Name) and s.iter.func.id == "range":
            args = [self.expr(a) for a in s.iter.args]
            start, stop = ("0", args[0]) if len(args) == 1 else args[:2]
            step = args[2] if len(args) > 2 else "1"
            end, by = f"{name}_end", f"{name}_step"  # evaluated once, as in Python
            if step == "1":
                self._emit(f"for (int64_t {name} = {start}, {end} = {stop}; {name} < {end}; ++{name}) {{")
            else:
                self._emit(f"for (int64_t {name} = {start}, {end} = {stop}, {by} = {step}; "
                           f"{by} > 0 ? {name} < {end} : {name} > {end}; {name} += {by}) {{")
        else:
            self._emit(f"for (const auto& {name} : {self.expr(s.iter)}) {{")
        self._inner(s.body)
        self._emit("}")

    def _assert(self, s):
        message = self._message(s.msg) if s.msg else cpp.string("expected " + ast.unparse(s.test))
        self._emit(f"SCONCE_CHECK({self.condition(s.test)}, {message});")
        when_true, _ = self._none_tests(s.test)
        self.shown |= when_true

    def _message(self, node):
        """A string or f-string as arguments of SCONCE_CHECK."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return cpp.string(node.value)
        if isinstance(node, ast.JoinedStr):
            text, values = "", []
            for part in node.values:
                if isinstance(part, ast.Constant):
                    text += part.value
                else:
                    text += "{}"
                    values.append(f"body::shown({self.expr(part.value)})")
            return ", ".join([cpp.string(text)] + values)
        raise ScriptError(node.lineno, "a message must be a string")

    # Expressions -----------------------------------------------------------------------------------------------------

    def condition(self, node):
        if isinstance(node, ast.BoolOp):
            saved = set(self.shown)
            joined = " && " if isinstance(node.op, ast.And) else " || "
            parts = []
            for v in node.values:
                parts.append("(" + self.condition(v) + ")")
                true, false = self._none_tests(v)
                self.shown |= true if isinstance(node.op, ast.And) else false
            self.shown = saved
            return joined.join(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!({self.condition(node.operand)})"
        return self.expr(node)

    def expr(self, node):
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            raise ScriptError(node.lineno, f"{type(node).__name__} is not part of the script language")
        return method(node)

    def _constant(self, node):
        v = node.value
        if v is None:
            return "{}"
        if isinstance(v, bool):
            return "true" if v else "false"
        if isinstance(v, int):
            return f"int64_t{{{v}}}"
        if isinstance(v, float):
            return repr(v) if v == v and abs(v) != float("inf") else "std::numeric_limits<double>::infinity()"
        if isinstance(v, str):
            return f"std::string_view({cpp.string(v)})"
        raise ScriptError(node.lineno, f"constant {v!r} is not part of the script language")

    def _name(self, node):
        if node.id == "inf":
            return "std::numeric_limits<double>::infinity()"
        if node.id not in self.names:
            raise ScriptError(node.lineno, f"name '{node.id}' is not defined")
        text = self.names[node.id]
        if node.id in self.optional and node.id in self.shown:
            return f"*{text}"
        return text

    def _binary(self, op, left, right, node):
        name = BINARY.get(type(op))
        if name is None:
            raise ScriptError(node.lineno, f"operator {type(op).__name__} is not part of the script language")
        return f"{self._space(name)}{name}({left}, {right})"

    def _space(self, name):
        return "body::checked::" if self.checked and name in CHECKED else "body::"

    def _binop(self, node):
        return self._binary(node.op, self.expr(node.left), self.expr(node.right), node)

    def _unaryop(self, node):
        if isinstance(node.op, ast.Not):
            return f"!({self.condition(node.operand)})"
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            v = node.operand.value
            return f"int64_t{{-{v}}}" if isinstance(v, int) else f"-{v!r}"
        name = UNARY[type(node.op)]
        return f"{self._space(name)}{name}({self.expr(node.operand)})"

    def _boolop(self, node):
        return "(" + self.condition(node) + ")"

    def _compare(self, node):
        if len(node.ops) > 1:
            parts, left = [], node.left
            for op, right in zip(node.ops, node.comparators):
                parts.append(ast.copy_location(ast.Compare(left, [op], [right]), node))
                left = right
            return "(" + " && ".join(self.expr(p) for p in parts) + ")"
        op, right = node.ops[0], node.comparators[0]
        if isinstance(op, (ast.Is, ast.IsNot)):
            if not (isinstance(right, ast.Constant) and right.value is None and isinstance(node.left, ast.Name)):
                raise ScriptError(node.lineno, "'is' compares a name with None")
            text = self.names.get(node.left.id)
            if text is None:
                raise ScriptError(node.lineno, f"name '{node.left.id}' is not defined")
            return f"body::{'is_none' if isinstance(op, ast.Is) else 'is_set'}({text})"
        if isinstance(op, (ast.In, ast.NotIn)):
            test = f"body::contains({self.expr(right)}, {self.expr(node.left)})"
            return test if isinstance(op, ast.In) else "!" + test
        return f"body::{COMPARE[type(op)]}({self.expr(node.left)}, {self.expr(right)})"

    def _ifexp(self, node):
        when_true, when_false = self._none_tests(node.test)
        saved = set(self.shown)
        test = self.condition(node.test)
        self.shown = saved | when_true
        a = self.expr(node.body)
        self.shown = saved | when_false
        b = self.expr(node.orelse)
        self.shown = saved
        return f"({test} ? {a} : {b})"

    def _list(self, node):
        if node.elts and all(isinstance(e, ast.Constant) and isinstance(e.value, bool) for e in node.elts):
            return f"std::array<bool, {len(node.elts)}>{{" + ", ".join(self.expr(e) for e in node.elts) + "}"
        return "body::list_of(" + ", ".join(self.expr(e) for e in node.elts) + ")"

    def _tuple(self, node):
        return "std::make_tuple(" + ", ".join(self.expr(e) for e in node.elts) + ")"

    def _subscript(self, node):
        value = self.expr(node.value)
        if isinstance(node.slice, ast.Slice):
            if node.slice.step is not None:
                raise ScriptError(node.lineno, "slices of lists have no step here")
            lower = self.expr(node.slice.lower) if node.slice.lower else "0"
            upper = self.expr(node.slice.upper) if node.slice.upper else "INT64_MAX"
            return f"body::slice_of({value}, {lower}, {upper})"
        if self._has_several_results(node.value) and isinstance(node.slice, ast.Constant):
            return f"std::get<{node.slice.value}>({value})"
        return f"body::item_of({value}, {self.expr(node.slice)})"

    def _has_several_results(self, node):
        """Whether node calls an operator that returns a tuple."""
        if not (isinstance(node, ast.Call) and self.schemas):
            return False
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        candidates = self.schemas.get(name, [])
        return bool(candidates) and all(len(c.returns) > 1 for c in candidates)

    def _attribute(self, node):
        if isinstance(node.value, ast.Name) and node.value.id == "torch" and node.attr in DTYPES:
            return "DType::bool_" if node.attr == "bool" else f"DType::{node.attr}"
        if isinstance(node.value, ast.Name) and node.value.id == "torch" and node.attr in _FORMATS:
            return f"MemoryFormat::{_FORMATS[node.attr]}"
        if node.attr not in _ATTRIBUTES:
            raise ScriptError(node.lineno, f"attribute '{node.attr}' is not part of the script language")
        return _ATTRIBUTES[node.attr].format(self.expr(node.value))

    def _call(self, node):
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "torch":
                return self._operator(name, node.args, node)
            if _is_namespace(node.func.value):  # torch.ops.sconce.f(x)
                return self._operator(name, node.args, node)
            if name == "append":
                return f"body::append({self.expr(node.func.value)}, {self.expr(node.args[0])})"
            if name in _QUERIES:
                return f"{self.expr(node.func.value)}.{name}({', '.join(self.expr(a) for a in node.args)})"
            if name == "size":
                if not node.args:
                    return f"{self.expr(node.func.value)}.sizes()"
                return f"{self.expr(node.func.value)}.size({self.expr(node.args[0])})"
            return self._operator(name, [node.func.value] + node.args, node)
        if isinstance(node.func, ast.Name):
            name = node.func.id
            if self.schemas is None:  # an expression over numbers
                if name not in NUMBER_FUNCTIONS:
                    raise ScriptError(node.lineno, f"no function '{name}' of numbers")
                return f"body::{cpp.identifier(name)}(" + ", ".join(self.expr(a) for a in node.args) + ")"
            if name in BUILTINS and not (name in ("abs", "max", "min", "sum", "prod") and name in self.schemas and node.keywords):
                return f"{self._space(name)}{cpp.identifier(name)}(" + ", ".join(self.expr(a) for a in node.args) + ")"
            return self._operator(name, node.args, node)
        raise ScriptError(node.lineno, "only operators can be called")

    def _operator(self, name, positional, node):
        candidates = self.schemas.get(name)
        if not candidates:
            raise ScriptError(node.lineno, f"no operator '{name}' in the table")
        keywords = {k.arg: k.value for k in node.keywords}
        args = [self._argument(a) for a in positional]
        if not keywords:
            return f"sconce::{cpp.function_name(name)}({', '.join(args)})"
        reasons = []
        for schema in candidates:
            names = [a.name for a in schema.arguments]
            unknown = [k for k in keywords if k not in names]
            if unknown or len(args) > sum(not a.keyword_only for a in schema.arguments):
                reasons.append(f"{schema.key} has no argument '{unknown[0]}'" if unknown else f"{schema.key} takes fewer")
                continue
            last = max(names.index(k) for k in keywords)
            filled = list(args)
            for a in schema.arguments[len(args): last + 1]:
                if a.name in keywords:
                    value = self._argument(keywords[a.name])
                    given = keywords[a.name]
                    if a.type == "Scalar?" and not (isinstance(given, ast.Name) and given.id in self.optional):
                        value = f"std::optional<Scalar>({value})"  # a number alone might fit a bool of another overload
                    filled.append(value)
                elif a.default is not None:
                    default = cpp.default_value(a)
                    filled.append(f"{cpp.value_type(a.type)}{default}" if default.startswith("{") else default)
                else:
                    break
            else:
                return f"sconce::{cpp.function_name(name)}({', '.join(filled)})"
            reasons.append(f"{schema.key} needs more arguments")
        raise ScriptError(node.lineno, f"no overload of '{name}' takes these arguments: " + "; ".join(reasons))

    def _argument(self, node):
        """None and whole optionals may be passed on as they are."""
        if isinstance(node, ast.Constant) and node.value is None:
            return "{}"
        return self.expr(node)


@dataclass
class OnlyCall:
    """The call that a body consists of: `return name(first, ...)`."""

    name: str
    first: str  # the name of its first argument, or None where that is an expression
    text: str


def only_call(text):
    """OnlyCall of a body of one line, else None."""
    try:
        body = ast.parse(text.strip("\n")).body
    except SyntaxError:
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Return) or not isinstance(body[0].value, ast.Call):
        return None
    call = body[0].value
    name = ast.unparse(call.func).removeprefix("torch.")
    if not name.isidentifier() or not call.args:
        return None
    first = call.args[0].id if isinstance(call.args[0], ast.Name) else None
    return OnlyCall(name, first, ast.unparse(call))


def translate_body(text, arguments, schemas_by_name, returns, checked=False):
    """Lines of C++ for a body. Raises ScriptError with the line within the text."""
    return Translator(schemas_by_name, arguments, returns, checked).body(text)


def translate_expression(text, arguments, schemas_by_name, checked=False):
    t = Translator(schemas_by_name, arguments, [], checked)
    t.inside = set()
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as e:
        raise ScriptError(1, f"not an expression: {e.msg}") from None
    return t.condition(node), t


def translate_message(text, arguments, schemas_by_name):
    """A message with {expression} parts, as arguments of SCONCE_CHECK."""
    t = Translator(schemas_by_name, arguments, [])
    return t._message(ast.parse("f" + repr(text), mode="eval").body)
