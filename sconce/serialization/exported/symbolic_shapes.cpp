#include "sconce/serialization/exported/symbolic_shapes.h"

#include <algorithm>
#include <charconv>

#include "sconce/serialization/exported/number_calls.h"
#include "sconce/syntax/parser.h"

namespace sconce::exported {
namespace {

using Kind = Term::Kind;

// Functions by the names that files give them.
struct Spelling {
  std::string_view written, function;
};
constexpr Spelling kSpellings[] = {
    {"Add", "add"},
    {"Mul", "mul"},
    {"FloorDiv", "floordiv"},
    {"CleanDiv", "floordiv"},
    {"Mod", "mod"},
    {"PythonMod", "mod"},
    {"IntTrueDiv", "truediv"},
    {"FloatTrueDiv", "truediv"},
    {"Max", "max"},
    {"max", "max"},
    {"Min", "min"},
    {"min", "min"},
    {"Abs", "abs"},
    {"abs", "abs"},
    {"ToFloat", "float"},
    {"float", "float"},
    {"torch.sym_float", "float"},
    {"torch.sym_int", "trunc"},
    {"torch.sym_sqrt", "sqrt"},
    {"torch.sym_max", "max"},
    {"torch.sym_min", "min"},
    {"torch.sym_not", "not"},
    {"math.pow", "pow"},
    {"TruncToInt", "trunc"},
    {"int", "trunc"},
    {"math.trunc", "trunc"},
    {"FloorToInt", "floor"},
    {"floor", "floor"},
    {"math.floor", "floor"},
    {"CeilToInt", "ceil"},
    {"ceiling", "ceil"},
    {"math.ceil", "ceil"},
    {"OpaqueUnaryFn_sqrt", "sqrt"},
    {"math.sqrt", "sqrt"},
    {"torch._sym_sqrt", "sqrt"},
    {"LShift", "lshift"},
    {"RShift", "rshift"},
    {"Equality", "eq"},
    {"Eq", "eq"},
    {"Unequality", "ne"},
    {"Ne", "ne"},
    {"StrictGreaterThan", "gt"},
    {"GreaterThan", "ge"},
    {"StrictLessThan", "lt"},
    {"LessThan", "le"},
    {"And", "and"},
    {"Or", "or"},
    {"Not", "not"},
};

std::string_view operator_function(syntax::Operator op) {
  using syntax::Operator;
  switch (op) {
    case Operator::invert:  // sympy's ~ is a logical not
      return syntax::names_of(Operator::not_).stem;
    case Operator::plus:
    case Operator::matmul:
    case Operator::bit_xor:
    case Operator::in:
    case Operator::not_in:
      return "";
    default:
      return syntax::names_of(op).stem;
  }
}

bool is_foldable(std::string_view function) {
  return function == "add" || function == "mul" || function == "max" || function == "min" || function == "and" ||
         function == "or";
}

class TermReader {
 public:
  explicit TermReader(std::string_view text) : text_(text) {}

  Term read(syntax::ExprPtr e) {
    switch (e->kind) {
      case syntax::ExprKind::constant:
        return literal(*syntax::as<syntax::Constant>(e));
      case syntax::ExprKind::name:
        return make(Kind::symbol, syntax::as<syntax::Name>(e)->id);
      case syntax::ExprKind::binary: {
        const auto* b = syntax::as<syntax::Binary>(e);
        return call(operator_function(b->op), {read(b->left), read(b->right)}, syntax::operator_text(b->op));
      }
      case syntax::ExprKind::unary: {
        const auto* u = syntax::as<syntax::Unary>(e);
        if (u->op == syntax::Operator::plus) return read(u->operand);
        Term operand = read(u->operand);
        if (u->op == syntax::Operator::neg && operand.kind == Kind::integer && operand.integer != INT64_MIN) {
          operand.integer = -operand.integer;
          return operand;
        }
        return call(operator_function(u->op), {std::move(operand)}, syntax::operator_text(u->op));
      }
      case syntax::ExprKind::compare: {
        const auto* c = syntax::as<syntax::Compare>(e);
        return call(operator_function(c->op), {read(c->left), read(c->right)}, syntax::operator_text(c->op));
      }
      case syntax::ExprKind::bool_op: {
        const auto* b = syntax::as<syntax::BoolOp>(e);
        return call(b->is_and ? "and" : "or", {read(b->left), read(b->right)}, "");
      }
      case syntax::ExprKind::call:
        return function_call(*syntax::as<syntax::Call>(e));
      case syntax::ExprKind::subscript:
        return subscript(*syntax::as<syntax::Subscript>(e));
      default:
        not_understood(e->range.text());
    }
  }

 private:
  [[noreturn]] void not_understood(std::string_view part) const {
    fail("the expression '{}' has a part that is not supported: '{}'", text_, part);
  }

  static Term make(Kind kind, std::string text) {
    Term t;
    t.kind = kind;
    t.text = std::move(text);
    return t;
  }

  Term literal(const syntax::Constant& c) {
    using Literal = syntax::Constant::Literal;
    Term t;
    switch (c.literal) {
      case Literal::integer:
        t.integer = c.integer;
        return t;
      case Literal::real:
        t.kind = Kind::real;
        t.real = c.real;
        return t;
      case Literal::true_:
      case Literal::false_:
        t.kind = Kind::boolean;
        t.integer = c.literal == Literal::true_;
        return t;
      default:
        not_understood(c.range.text());
    }
  }

  Term call(std::string_view function, std::vector<Term> args, std::string_view written) {
    if (function.empty()) not_understood(written);
    // More than two, from the left.
    while (is_foldable(function) && args.size() > 2) {
      Term first = make(Kind::call, std::string(function));
      first.args = {std::move(args[0]), std::move(args[1])};
      args.erase(args.begin());
      args[0] = std::move(first);
    }
    if (is_foldable(function) && args.size() == 1) return std::move(args[0]);
    Term t = make(Kind::call, std::string(function));
    t.args = std::move(args);
    if (find_number_call(function, t.args.size()).empty()) not_understood(written.empty() ? function : written);
    return t;
  }

  Term function_call(const syntax::Call& c) {
    if (const auto* method = syntax::as<syntax::Attribute>(c.callee)) {
      if (method->attr == "storage_offset" && c.args.empty()) return make(Kind::offset, input_path(method->value));
    }
    const std::string name = syntax::dotted_name(c.callee);
    if (name == "Symbol" && c.args.size() == 1) return make(Kind::symbol, string_literal(c.args[0]));
    if (name == "Integer" && c.args.size() == 1) return read(c.args[0]);
    if (name == "Float" && !c.args.empty()) return float_literal(string_literal(c.args[0]));
    if (!c.keywords.empty()) not_understood(c.range.text());
    std::vector<Term> args;
    for (syntax::ExprPtr a : c.args) args.push_back(read(a));
    if (name == "Pow" || name == "PowByNatural") return power(std::move(args), c);
    if (name == "ModularIndexing" && args.size() == 3) {
      Term modulus = std::move(args[2]);
      args.pop_back();
      return call("mod", {call("floordiv", std::move(args), name), std::move(modulus)}, name);
    }
    const auto* spelling = std::find_if(std::begin(kSpellings), std::end(kSpellings),
                                        [&](const Spelling& s) { return s.written == name; });
    if (spelling == std::end(kSpellings)) not_understood(name.empty() ? c.range.text() : name);
    return call(spelling->function, std::move(args), name);
  }

  // Of a natural number: products.
  Term power(std::vector<Term> args, const syntax::Call& c) {
    constexpr int64_t kMaxPower = 16;
    if (args.size() != 2 || args[1].kind != Kind::integer || args[1].integer < 1 || args[1].integer > kMaxPower) {
      not_understood(c.range.text());
    }
    std::vector<Term> factors(static_cast<size_t>(args[1].integer), args[0]);
    return call("mul", std::move(factors), "Pow");
  }

  std::string string_literal(syntax::ExprPtr e) const {
    const auto* c = syntax::as<syntax::Constant>(e);
    if (!c || c->literal != syntax::Constant::Literal::string) not_understood(e->range.text());
    return c->string;
  }
  Term float_literal(const std::string& text) const {
    Term t;
    t.kind = Kind::real;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), t.real);
    if (error != std::errc() || end != text.data() + text.size()) not_understood(text);
    return t;
  }

  // L['x'].size()[0], L['x'].stride()[0], L['n'].
  Term subscript(const syntax::Subscript& s) {
    if (const auto* c = syntax::as<syntax::Call>(s.value)) {
      const auto* method = syntax::as<syntax::Attribute>(c->callee);
      const bool is_size = method && method->attr == "size", is_stride = method && method->attr == "stride";
      if ((!is_size && !is_stride) || !c->args.empty() || s.indices.size() != 1) not_understood(s.range.text());
      const auto* index = syntax::as<syntax::Constant>(s.indices[0]);
      if (!index || index->literal != syntax::Constant::Literal::integer) not_understood(s.range.text());
      Term t = make(is_size ? Kind::size : Kind::stride, input_path(method->value));
      t.integer = index->integer;
      return t;
    }
    return make(Kind::input, input_path(&s));
  }

  // "d['a'][0]" of L['d']['a'][0].
  std::string input_path(syntax::ExprPtr e) const {
    if (const auto* a = syntax::as<syntax::Attribute>(e)) return input_path(a->value) + "." + a->attr;
    const auto* s = syntax::as<syntax::Subscript>(e);
    if (!s || s->indices.size() != 1) not_understood(e->range.text());
    const auto* name = syntax::as<syntax::Name>(s->value);
    if (name && name->id == "L") return string_literal(s->indices[0]);
    const auto* index = syntax::as<syntax::Constant>(s->indices[0]);
    if (!index) not_understood(e->range.text());
    const std::string inner = input_path(s->value);
    if (index->literal == syntax::Constant::Literal::integer) return inner + "[" + std::to_string(index->integer) + "]";
    return inner + "[" + string_repr(string_literal(s->indices[0])) + "]";
  }

  std::string_view text_;
};

void collect_symbols(const Term& term, std::vector<std::string>& found) {
  if (term.is_symbol() && std::find(found.begin(), found.end(), term.text) == found.end()) found.push_back(term.text);
  for (const Term& a : term.args) collect_symbols(a, found);
}

// The text between operands; empty for functions.
std::string_view infix(std::string_view function) {
  constexpr std::pair<std::string_view, std::string_view> kInfix[] = {
      {"add", " + "},   {"sub", " - "}, {"mul", "*"},       {"floordiv", " // "}, {"mod", " % "}, {"truediv", " / "},
      {"eq", " == "},   {"ne", " != "}, {"lt", " < "},      {"le", " <= "},       {"gt", " > "},  {"ge", " >= "},
      {"and", " and "}, {"or", " or "}, {"lshift", " << "}, {"rshift", " >> "},   {"pow", "**"},
  };
  for (const auto& [name, text] : kInfix) {
    if (name == function) return text;
  }
  return "";
}

int precedence(const Term& t) {
  if (t.kind != Kind::call) return 9;
  const std::string_view f = t.text;
  if (f == "or") return 0;
  if (f == "and") return 1;
  if (f == "eq" || f == "ne" || f == "lt" || f == "le" || f == "gt" || f == "ge") return 2;
  if (f == "add" || f == "sub") return 4;
  if (f == "mul" || f == "floordiv" || f == "mod" || f == "truediv") return 5;
  return infix(f).empty() ? 9 : 3;
}

}  // namespace

Term parse_term(std::string_view text) {
  SCONCE_CHECK(text.size() <= kMaxExpressionBytes, "an expression over sizes has {} bytes; at most {} are read",
               text.size(), kMaxExpressionBytes);
  try {
    const auto parsed = syntax::parse_expression(std::make_shared<Source>("<expression>", std::string(text)));
    return TermReader(text).read(parsed.expr);
  } catch (const CompileError& error) {
    fail("the expression '{}' cannot be read: {}", text, error.reason());
  }
}

std::vector<std::string> symbols_of(const Term& term) {
  std::vector<std::string> found;
  collect_symbols(term, found);
  return found;
}

std::string term_text(const Term& term, const SymbolText& symbol) {
  switch (term.kind) {
    case Kind::integer:
      return std::to_string(term.integer);
    case Kind::real:
      return float_repr(term.real);
    case Kind::boolean:
      return term.integer ? "True" : "False";
    case Kind::symbol:
      return symbol(term.text);
    case Kind::input:
      return term.text;
    case Kind::size:
      return term.text + ".size(" + std::to_string(term.integer) + ")";
    case Kind::stride:
      return term.text + ".stride(" + std::to_string(term.integer) + ")";
    case Kind::offset:
      return term.text + ".storage_offset()";
    case Kind::call:
      break;
  }
  const std::string_view between = infix(term.text);
  std::string out;
  for (const Term& a : term.args) {
    if (!out.empty()) out += between.empty() ? ", " : between;
    const std::string inner = term_text(a, symbol);
    const bool brackets =
        !between.empty() && precedence(a) <= precedence(term) && !(term.text == "add" && &a == &term.args[0]);
    out += brackets && a.kind == Kind::call ? "(" + inner + ")" : inner;
  }
  return between.empty() ? term.text + "(" + out + ")" : out;
}

std::optional<Linear> as_linear(const Term& term) {
  if (term.is_symbol()) return Linear{term.text, 1, 0};
  if (term.kind != Kind::call || term.args.size() != 2) return std::nullopt;
  const bool number_first = term.args[0].kind == Kind::integer;
  const Term &number = term.args[number_first ? 0 : 1], &rest = term.args[number_first ? 1 : 0];
  if (number.kind != Kind::integer) return std::nullopt;
  std::optional<Linear> inner = as_linear(rest);
  if (!inner) return std::nullopt;
  bool overflow = false;
  if (term.text == "add") {
    overflow = __builtin_add_overflow(inner->offset, number.integer, &inner->offset);
  } else if (term.text == "sub" && !number_first) {
    overflow = __builtin_sub_overflow(inner->offset, number.integer, &inner->offset);
  } else if (term.text == "mul") {
    overflow = __builtin_mul_overflow(inner->factor, number.integer, &inner->factor);
    overflow |= __builtin_mul_overflow(inner->offset, number.integer, &inner->offset);
  } else {
    return std::nullopt;
  }
  return overflow || inner->factor == 0 ? std::nullopt : inner;
}

ir::Value* insert_term(ir::Graph& graph, const Term& term, const FindValue& find) {
  switch (term.kind) {
    case Kind::integer:
      return graph.insert_constant(Value(term.integer));
    case Kind::real:
      return graph.insert_constant(Value(term.real));
    case Kind::boolean:
      return graph.insert_constant(Value(term.integer != 0));
    case Kind::call: {
      std::vector<ir::Value*> args;
      for (const Term& a : term.args) args.push_back(insert_term(graph, a, find));
      ir::Value* v = insert_number_call(graph, term.text, args);
      SCONCE_ASSERT(v);
      return v;
    }
    default:
      break;
  }
  ir::Value* v = find(term);
  SCONCE_CHECK(v, "the expression mentions '{}', which no input has", term.text);
  if (term.kind == Kind::symbol || term.kind == Kind::input) return v;
  SCONCE_CHECK(v->type()->is(TypeKind::tensor), "the expression asks '{}' for its size, and it is no tensor",
               term.text);
  if (term.kind == Kind::offset) return insert_call(graph, "aten::sym_storage_offset", {v});
  return insert_call(graph, term.kind == Kind::size ? "aten::sym_size" : "aten::sym_stride",
                     {v, graph.insert_constant(Value(term.integer))});
}

}  // namespace sconce::exported
