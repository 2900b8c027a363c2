#include "sconce/dispatch/body_run.h"

#include <algorithm>

#include "sconce/dispatch/body_builtins.h"
#include "sconce/dispatch/body_numbers.h"
#include "sconce/dispatch/body_runtime.h"
#include "sconce/dispatch/match.h"

namespace sconce::body {
namespace {

using namespace syntax;

using Args = std::vector<Value>;

struct TensorOperator {
  Operator op;
  Tensor (*both)(const Tensor&, const Tensor&);
  Tensor (*right)(const Tensor&, const Scalar&);
  Tensor (*left)(const Scalar&, const Tensor&);
};
#define SCONCE_BODY_OPERATOR(op, f) {Operator::op, body::f, body::f, body::f}
constexpr TensorOperator kTensorOperators[] = {
    SCONCE_BODY_OPERATOR(add, add),
    SCONCE_BODY_OPERATOR(sub, sub),
    SCONCE_BODY_OPERATOR(mul, mul),
    SCONCE_BODY_OPERATOR(div, div),
    SCONCE_BODY_OPERATOR(floordiv, floordiv),
    SCONCE_BODY_OPERATOR(mod, mod),
    SCONCE_BODY_OPERATOR(pow, pow),
    SCONCE_BODY_OPERATOR(bit_and, bit_and),
    SCONCE_BODY_OPERATOR(bit_or, bit_or),
    SCONCE_BODY_OPERATOR(bit_xor, bit_xor),
    SCONCE_BODY_OPERATOR(eq, eq),
    SCONCE_BODY_OPERATOR(ne, ne),
    SCONCE_BODY_OPERATOR(lt, lt),
    SCONCE_BODY_OPERATOR(le, le),
    SCONCE_BODY_OPERATOR(gt, gt),
    SCONCE_BODY_OPERATOR(ge, ge),
};
#undef SCONCE_BODY_OPERATOR

Value call_named(std::string_view name, Args args, std::vector<NamedValue> kwargs) {
  ResolvedCall call = resolve_call(name, std::move(args), std::move(kwargs));
  const std::vector<Argument>& results = call.op->schema().returns;
  Args returns(results.size());
  call.op->call_boxed(call.args.data(), returns.data());
  if (returns.empty()) return Value();
  if (returns.size() == 1) return std::move(returns[0]);
  TypePtr type = nullptr;
  if (std::none_of(results.begin(), results.end(), [](const Argument& r) { return r.name.empty(); })) {
    std::vector<TypePtr> types;
    std::vector<std::string> fields;
    for (const Argument& r : results) {
      types.push_back(r.type);
      fields.push_back(r.name);
    }
    type = named_tuple_type("", types, fields);
  }
  return make_ref<Tuple>(std::move(returns), type);
}

Value tensor_binary(Operator op, const Value& a, const Value& b) {
  const bool fits = (a.is_tensor() || a.is_number()) && (b.is_tensor() || b.is_number());
  if (fits) {
    for (const TensorOperator& known : kTensorOperators) {
      if (known.op != op) continue;
      if (a.is_tensor() && b.is_tensor()) return known.both(a.to_tensor(), b.to_tensor());
      return a.is_tensor() ? known.right(a.to_tensor(), b.to_scalar()) : known.left(a.to_scalar(), b.to_tensor());
    }
    if (op == Operator::matmul) return call_named("aten::matmul", {a, b}, {});
    if (op == Operator::shift_left) return call_named("aten::__lshift__", {a, b}, {});
    if (op == Operator::shift_right) return call_named("aten::__rshift__", {a, b}, {});
  }
  if (op == Operator::eq) return false;
  if (op == Operator::ne) return true;
  fail_as(ErrorKind::type, "unsupported operand types for {}: {} and {}", operator_text(op), a.type()->to_string(),
          b.type()->to_string());
}

bool is_comparison(Operator op) { return op >= Operator::eq && op <= Operator::ge; }

class Run {
 public:
  Run(const Program& program, const std::vector<std::string_view>& names, const Value* values)
      : program_(program), values_(program.names.size()), set_(program.names.size()) {
    for (size_t slot = 0; slot < program.names.size(); ++slot) {
      const auto found = std::find(names.begin(), names.end(), program.names[slot]);
      if (found == names.end()) continue;
      values_[slot] = values[found - names.begin()];
      set_[slot] = true;
    }
  }

  Value run() {
    try {
      block(program_.tree->body);
    } catch (const Error& e) {
      throw Error(e.kind(), message_at(program_, at_, e.message()));
    }
    return std::move(result_);
  }

 private:
  enum class Flow : uint8_t { next, break_, continue_, return_ };

  // Statements

  Flow block(const syntax::Body& statements) {
    for (StmtPtr s : statements) {
      if (const Flow flow = execute(s); flow != Flow::next) return flow;
    }
    return Flow::next;
  }

  Flow execute(StmtPtr s) {
    at_ = s->range;
    switch (s->kind) {
      case StmtKind::assign: {
        const auto* a = as<Assign>(s);
        const Value v = evaluate(a->value);
        for (ExprPtr target : a->targets) assign(target, v);
        return Flow::next;
      }
      case StmtKind::aug_assign: {
        const auto* a = as<AugAssign>(s);
        const Value right = evaluate(a->value), left = evaluate(a->target);
        at_ = s->range;
        assign(a->target, binary(a->op, left, right));
        return Flow::next;
      }
      case StmtKind::if_: {
        const auto* i = as<If>(s);
        return block(test(i->test) ? i->body : i->orelse);
      }
      case StmtKind::for_:
        return loop(*as<For>(s));
      case StmtKind::while_: {
        const auto* w = as<While>(s);
        while (test(w->test)) {
          const Flow flow = block(w->body);
          if (flow == Flow::break_) break;
          if (flow == Flow::return_) return flow;
        }
        return Flow::next;
      }
      case StmtKind::return_:
        if (ExprPtr v = as<Return>(s)->value) result_ = evaluate(v);
        return Flow::return_;
      case StmtKind::assert_: {
        const auto* a = as<Assert>(s);
        const bool holds = test(a->test);
        at_ = s->range;
        SCONCE_CHECK(holds, "{}", a->message ? message(a->message) : std::string("the assertion failed"));
        return Flow::next;
      }
      case StmtKind::raise:
        raise(*as<Raise>(s));
      case StmtKind::expr:
        evaluate(as<ExprStmt>(s)->value);
        return Flow::next;
      case StmtKind::break_:
        return Flow::break_;
      case StmtKind::continue_:
        return Flow::continue_;
      default:
        return Flow::next;
    }
  }

  Flow loop(const For& node) {
    const Value sequence = evaluate(node.iter);
    at_ = node.iter->range;
    const Args items = sequence.is_tensor() ? items_of(call_named("aten::unbind", {sequence}, {})) : items_of(sequence);
    for (const Value& item : items) {
      assign(node.target, item);
      const Flow flow = block(node.body);
      if (flow == Flow::break_) break;
      if (flow == Flow::return_) return flow;
    }
    return Flow::next;
  }

  [[noreturn]] void raise(const Raise& node) {
    struct Exception {
      std::string_view name;
      ErrorKind kind;
    };
    static constexpr Exception kExceptions[] = {{"RuntimeError", ErrorKind::runtime},
                                                {"TypeError", ErrorKind::type},
                                                {"ValueError", ErrorKind::value},
                                                {"IndexError", ErrorKind::index},
                                                {"KeyError", ErrorKind::key},
                                                {"NotImplementedError", ErrorKind::not_implemented},
                                                {"ZeroDivisionError", ErrorKind::zero_division},
                                                {"OverflowError", ErrorKind::overflow}};
    const auto* exception = as<Call>(node.exception);
    const std::string text = message(exception->args[0]);
    at_ = node.range;
    for (const Exception& known : kExceptions) {
      if (known.name == as<Name>(exception->callee)->id) fail_as(known.kind, "{}", text);
    }
    fail("{}", text);
  }

  std::string message(ExprPtr e) {
    const Value v = evaluate(e);
    return v.is_string() ? v.to_string_ref() : v.repr();
  }

  void assign(ExprPtr target, const Value& value) {
    at_ = target->range;
    if (as<Name>(target)) {
      const size_t slot = program_.slot(target);
      values_[slot] = value;
      set_[slot] = true;
    } else if (const auto* item = as<Subscript>(target)) {
      const Value container = evaluate(item->value);
      const Value index = index_value(*item);
      at_ = target->range;
      SCONCE_CHECK_AS(type, container.is_list(), "items of {} cannot be assigned", container.type()->to_string());
      container.to_list().set(item_index(index, container.to_list().size()), value);
    } else {
      SCONCE_CHECK_AS(type, value.is_list() || value.is_tuple(), "cannot unpack {}", value.type()->to_string());
      const Args items = items_of(value);
      const auto* tuple = as<TupleExpr>(target);
      const std::vector<ExprPtr>& targets = tuple ? tuple->items : static_cast<const ListExpr*>(target)->items;
      SCONCE_CHECK_AS(value, items.size() == targets.size(), "cannot unpack {} values into {} names", items.size(),
                      targets.size());
      for (size_t i = 0; i < items.size(); ++i) assign(targets[i], items[i]);
    }
  }

  bool test(ExprPtr e) {
    const Value v = evaluate(e);
    at_ = e->range;
    return truth(v);
  }

  // Expressions

  Value evaluate(ExprPtr e) {
    switch (e->kind) {
      case ExprKind::constant:
        return constant(*as<Constant>(e));
      case ExprKind::name:
        return name(*as<Name>(e));
      case ExprKind::binary: {
        const auto* b = as<Binary>(e);
        const Value left = evaluate(b->left), right = evaluate(b->right);
        at_ = e->range;
        return binary(b->op, left, right);
      }
      case ExprKind::unary:
        return unary(*as<Unary>(e));
      case ExprKind::compare: {
        const auto* c = as<Compare>(e);
        const Value left = evaluate(c->left), right = evaluate(c->right);
        at_ = e->range;
        return compare_two(c->op, left, right);
      }
      case ExprKind::bool_op: {
        const auto* b = as<BoolOp>(e);
        return b->is_and ? test(b->left) && test(b->right) : test(b->left) || test(b->right);
      }
      case ExprKind::if_exp: {
        const auto* i = as<IfExp>(e);
        return evaluate(test(i->test) ? i->body : i->orelse);
      }
      case ExprKind::list:
        return list_of(evaluate_all(as<ListExpr>(e)->items));
      case ExprKind::tuple:
        return make_ref<Tuple>(evaluate_all(as<TupleExpr>(e)->items));
      case ExprKind::subscript:
        return index(*as<Subscript>(e));
      case ExprKind::attribute:
        return attribute(*as<Attribute>(e));
      case ExprKind::call:
        return call(*as<Call>(e));
      case ExprKind::format:
        return format(*as<Format>(e));
      default:
        at_ = e->range;
        fail_as(ErrorKind::value, "a slice can only stand in an index");
    }
  }

  Args evaluate_all(const std::vector<ExprPtr>& all) {
    Args values;
    values.reserve(all.size());
    for (ExprPtr e : all) values.push_back(evaluate(e));
    return values;
  }

  static Value constant(const Constant& c) {
    switch (c.literal) {
      case Constant::Literal::true_:
        return true;
      case Constant::Literal::false_:
        return false;
      case Constant::Literal::integer:
        return c.integer;
      case Constant::Literal::real:
        return c.real;
      case Constant::Literal::imaginary:
        return std::complex<double>(0, c.real);
      case Constant::Literal::string:
        return c.string;
      default:
        return Value();
    }
  }

  Value format(const Format& f) {
    std::string text;
    size_t from = 0;
    for (ExprPtr v : f.values) {
      const size_t mark = f.text.find("{}", from);
      text += f.text.substr(from, mark - from) + message(v);
      from = mark + 2;
    }
    return text + f.text.substr(from);
  }

  Value name(const Name& node) {
    const size_t slot = program_.slot(&node);
    if (set_[slot]) return values_[slot];
    at_ = node.range;
    SCONCE_CHECK(!program_.assigned[slot], "'{}' is used before it is set", node.id);
    const std::optional<Value> constant = constant_of(node.id, false);
    SCONCE_CHECK(constant, "name '{}' is not defined", node.id);
    return *constant;
  }

  static Value binary(Operator op, const Value& a, const Value& b) {
    return a.is_tensor() || b.is_tensor() ? tensor_binary(op, a, b) : plain_binary(op, a, b);
  }

  Value unary(const Unary& node) {
    if (node.op == Operator::not_) return !test(node.operand);
    Value v = evaluate(node.operand);
    at_ = node.range;
    if (!v.is_tensor()) return plain_unary(node.op, v);
    if (node.op == Operator::plus) return v;
    return node.op == Operator::neg ? body::neg(v.to_tensor()) : body::invert(v.to_tensor());
  }

  static Value compare_two(Operator op, const Value& a, const Value& b) {
    if (op == Operator::is) return a.is_same(b);
    if (op == Operator::is_not) return !a.is_same(b);
    if ((a.is_tensor() || b.is_tensor()) && is_comparison(op)) return tensor_binary(op, a, b);
    return plain_compare(op, a, b);
  }

  Value attribute(const Attribute& node) {
    std::vector<std::string_view> parts;
    if (module_path(&node, program_, parts)) {
      at_ = node.range;
      const std::optional<Value> constant = constant_of(parts.back(), parts[0] == "torch");
      SCONCE_CHECK(parts.size() == 2 && constant, "there is no '{}.{}'", parts[0], parts.back());
      return *constant;
    }
    const Value v = evaluate(node.value);
    at_ = node.range;
    return attribute_of(v, node.attr);
  }

  Value call(const Call& node) {
    const auto* method = as<Attribute>(node.callee);
    std::vector<std::string_view> parts;
    const bool path = method && module_path(method, program_, parts);
    if (path) method = nullptr;
    Args args;
    if (method) args.push_back(evaluate(method->value));
    for (ExprPtr a : node.args) args.push_back(evaluate(a));
    std::vector<NamedValue> kwargs;
    kwargs.reserve(node.keywords.size());
    for (const Keyword& k : node.keywords) kwargs.emplace_back(k.name, evaluate(k.value));
    at_ = node.range;
    if (path) return call_path(parts, std::move(args), std::move(kwargs));
    const std::string& name = method ? method->attr : static_cast<const Name*>(node.callee)->id;
    if (!method) SCONCE_CHECK_AS(type, !set_[program_.slot(node.callee)], "'{}' is a value: it cannot be called", name);
    if (kwargs.empty()) {
      std::optional<Value> result = method ? call_builtin_method(name, args) : call_builtin(name, args);
      if (result) return *std::move(result);
    }
    return call_operator(name, std::move(args), std::move(kwargs));
  }

  Value call_path(const std::vector<std::string_view>& parts, Args args, std::vector<NamedValue> kwargs) {
    const std::string_view last = parts.back();
    if (parts.size() == 4 && parts[1] == "ops") {
      return call_named(std::string(parts[2]) + "::" + std::string(last), std::move(args), std::move(kwargs));
    }
    SCONCE_CHECK(parts.size() == 2, "there is no function '{}' behind '{}'", last, parts[0]);
    const std::string name = "aten::" + std::string(last);
    if (parts[0] == "torch" && !find_overloads(name).empty())
      return call_named(name, std::move(args), std::move(kwargs));
    std::optional<Value> result = kwargs.empty() ? call_builtin(last, args) : std::nullopt;
    SCONCE_CHECK_AS(not_implemented, result, "there is no function '{}.{}' for these arguments", parts[0], last);
    return *std::move(result);
  }

  Value call_operator(const std::string& name, Args args, std::vector<NamedValue> kwargs) {
    std::string full = "aten::" + name;
    if (find_overloads(full).empty() && !program_.space.empty() && program_.space != "aten") {
      const std::string own = program_.space + "::" + name;
      if (!find_overloads(own).empty()) full = own;
    }
    return call_named(full, std::move(args), std::move(kwargs));
  }

  // Indexing

  // The index of x[i] or x[i, j], which is a tuple.
  Value index_value(const Subscript& node) {
    if (node.indices.size() == 1) return evaluate(node.indices[0]);
    return make_ref<Tuple>(evaluate_all(node.indices));
  }

  Value index(const Subscript& node) {
    const Value container = evaluate(node.value);
    if (container.is_tensor()) return index_tensor(node, container);
    if (const auto* s = as<Slice>(node.indices[0]); s && node.indices.size() == 1) return slice(node, container, *s);
    const Value i = index_value(node);
    at_ = node.range;
    if (container.is_dict()) {
      const Value* found = container.to_dict().find(i);
      SCONCE_CHECK_AS(key, found, "key {} is missing", i.repr());
      return *found;
    }
    if (container.is_tuple()) return container.to_tuple().items[item_index(i, container.to_tuple().items.size())];
    if (container.is_list()) return container.to_list().get(item_index(i, container.to_list().size()));
    fail_as(ErrorKind::type, "{} cannot be indexed", container.type()->to_string());
  }

  Args bounds_of(const Slice& s) {
    Args out;
    for (ExprPtr part : {s.start, s.stop, s.step}) out.push_back(part ? evaluate(part) : Value());
    return out;
  }

  Value slice(const Subscript& node, const Value& container, const Slice& inner) {
    const Args bounds = bounds_of(inner);
    at_ = node.range;
    SCONCE_CHECK_AS(type, container.is_list() || container.is_tuple(), "{} cannot be sliced",
                    container.type()->to_string());
    const Args items = items_of(container);
    const int64_t n = static_cast<int64_t>(items.size());
    const int64_t step = bounds[2].is_none() ? 1 : bounds[2].to_int();
    SCONCE_CHECK_AS(value, step != 0, "the step of a slice must not be 0");
    const auto bound = [&](const Value& v, int64_t missing) {
      if (v.is_none()) return missing;
      const int64_t i = v.to_int() < 0 ? v.to_int() + n : v.to_int();
      return step > 0 ? std::clamp<int64_t>(i, 0, n) : std::clamp<int64_t>(i, -1, n - 1);
    };
    const int64_t from = bound(bounds[0], step > 0 ? 0 : n - 1), to = bound(bounds[1], step > 0 ? n : -1);
    Args out;
    for (int64_t i = from; step > 0 ? i < to : i > to; i += step) out.push_back(items[static_cast<size_t>(i)]);
    if (container.is_tuple()) return make_ref<Tuple>(std::move(out));
    Ref<List> list = make_ref<List>(container.to_list().element_type());
    for (Value& v : out) list->append(std::move(v));
    return list;
  }

  // x[i], x[a:b:c], x[None], x[..., i] has no place here; a tensor as index selects with aten::index.
  Value index_tensor(const Subscript& node, Value tensor) {
    // x[(i, j)] is x[i, j].
    const auto* tuple = node.indices.size() == 1 ? as<TupleExpr>(node.indices[0]) : nullptr;
    int64_t dim = 0;
    Args selected;  // for aten::index, by dimension
    for (ExprPtr part : tuple ? tuple->items : node.indices) {
      if (const auto* s = as<Slice>(part)) {
        const Args b = bounds_of(*s);
        at_ = node.range;
        const bool whole = b[0].is_none() && b[1].is_none() && b[2].is_none();
        if (!whole) tensor = call_named("aten::slice", {tensor, dim, b[0], b[1], b[2].is_none() ? Value(1) : b[2]}, {});
        ++dim;
        continue;
      }
      const Value i = evaluate(part);
      at_ = node.range;
      if (i.is_none()) {
        tensor = call_named("aten::unsqueeze", {tensor, dim}, {});
        ++dim;
      } else if (i.is_tensor()) {
        selected.resize(static_cast<size_t>(dim) + 1);
        selected.back() = i;
        ++dim;
      } else {
        tensor = call_named("aten::select", {tensor, dim, i}, {});
      }
    }
    if (selected.empty()) return tensor;
    Ref<List> list = make_ref<List>(optional_type(tensor_type()));
    for (Value& v : selected) list->append(std::move(v));
    return call_named("aten::index", {tensor, Value(std::move(list))}, {});
  }

  const Program& program_;
  Args values_;
  std::vector<bool> set_;
  Value result_;
  Range at_;
};

}  // namespace

Value run(const Program& program, const std::vector<std::string_view>& names, const Value* values) {
  return Run(program, names, values).run();
}

}  // namespace sconce::body
