#include "sconce/dispatch/body.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "sconce/dispatch/body_builtins.h"
#include "sconce/dispatch/body_numbers.h"
#include "sconce/dispatch/body_tree.h"
#include "sconce/dispatch/match.h"
#include "sconce/dispatch/script_tensors.h"

namespace sconce {
namespace body {
namespace {

using Args = std::vector<Value>;

// What `callee` names when it is not a value: the parts of `f`, `torch.f`, `torch.ops.ns.f`, `math.f`.
bool module_path(const Node& node, const Program& program, std::vector<std::string_view>& parts) {
  if (node.kind == Kind::attribute) {
    if (!module_path(node.children[0], program, parts)) return false;
  } else if (node.kind != Kind::name || (node.text != "torch" && node.text != "math") ||
             program.assigned[static_cast<size_t>(node.slot)]) {
    return false;
  }
  parts.push_back(node.text);
  return true;
}

struct TensorOperator {
  Operator op;
  Tensor (*both)(const Tensor&, const Tensor&);
  Tensor (*right)(const Tensor&, const Scalar&);
  Tensor (*left)(const Scalar&, const Tensor&);
};
#define SCONCE_BODY_OPERATOR(op, f) {Operator::op, script::f, script::f, script::f}
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
      block(program_.block);
    } catch (const Error& e) {
      throw Error(e.kind(), format_message("line {}, column {}: {}", {at_->line, at_->column, e.message()}));
    }
    return std::move(result_);
  }

 private:
  enum class Flow : uint8_t { next, break_, continue_, return_ };

  // Statements

  Flow block(const Node& node) {
    for (const Node& statement : node.children) {
      if (const Flow flow = execute(statement); flow != Flow::next) return flow;
    }
    return Flow::next;
  }

  Flow execute(const Node& node) {
    at_ = &node;
    switch (node.kind) {
      case Kind::assign:
        assign(node.children[0], evaluate(node.children[1]));
        return Flow::next;
      case Kind::augment: {
        Value right = evaluate(node.children[1]);
        assign(node.children[0], binary(node, evaluate(node.children[0]), right));
        return Flow::next;
      }
      case Kind::branch:
        return block(node.children[test(node.children[0]) ? 1 : 2]);
      case Kind::loop:
        return loop(node);
      case Kind::while_:
        while (test(node.children[0])) {
          const Flow flow = block(node.children[1]);
          if (flow == Flow::break_) break;
          if (flow == Flow::return_) return flow;
        }
        return Flow::next;
      case Kind::return_:
        if (!node.children.empty()) result_ = evaluate(node.children[0]);
        return Flow::return_;
      case Kind::assert_: {
        const bool holds = test(node.children[0]);
        at_ = &node;
        SCONCE_CHECK(holds, "{}",
                     node.children.size() > 1 ? message(node.children[1]) : std::string("the assertion failed"));
        return Flow::next;
      }
      case Kind::raise:
        raise(node);
      case Kind::evaluate:
        evaluate(node.children[0]);
        return Flow::next;
      case Kind::break_:
        return Flow::break_;
      case Kind::continue_:
        return Flow::continue_;
      default:
        return Flow::next;
    }
  }

  Flow loop(const Node& node) {
    const Value sequence = evaluate(node.children[1]);
    at_ = &node.children[1];
    const Args items = sequence.is_tensor() ? items_of(call_named("aten::unbind", {sequence}, {})) : items_of(sequence);
    for (const Value& item : items) {
      assign(node.children[0], item);
      const Flow flow = block(node.children[2]);
      if (flow == Flow::break_) break;
      if (flow == Flow::return_) return flow;
    }
    return Flow::next;
  }

  [[noreturn]] void raise(const Node& node) {
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
    const std::string text = message(node.children[0]);
    at_ = &node;
    for (const Exception& known : kExceptions) {
      if (known.name == node.text) fail_as(known.kind, "{}", text);
    }
    fail("{}", text);
  }

  std::string message(const Node& node) {
    const Value v = evaluate(node);
    return v.is_string() ? v.to_string_ref() : v.repr();
  }

  void assign(const Node& target, const Value& value) {
    at_ = &target;
    if (target.kind == Kind::name) {
      values_[static_cast<size_t>(target.slot)] = value;
      set_[static_cast<size_t>(target.slot)] = true;
    } else if (target.kind == Kind::index) {
      const Value container = evaluate(target.children[0]);
      const Value index = evaluate(target.children[1]);
      at_ = &target;
      SCONCE_CHECK_AS(type, container.is_list(), "items of {} cannot be assigned", container.type()->to_string());
      container.to_list().set(item_index(index, container.to_list().size()), value);
    } else {
      SCONCE_CHECK_AS(type, value.is_list() || value.is_tuple(), "cannot unpack {}", value.type()->to_string());
      const Args items = items_of(value);
      SCONCE_CHECK_AS(value, items.size() == target.children.size(), "cannot unpack {} values into {} names",
                      items.size(), target.children.size());
      for (size_t i = 0; i < items.size(); ++i) assign(target.children[i], items[i]);
    }
  }

  bool test(const Node& node) {
    const Value v = evaluate(node);
    at_ = &node;
    return truth(v);
  }

  // Expressions

  Value evaluate(const Node& node) {
    switch (node.kind) {
      case Kind::constant:
        return node.value;
      case Kind::name:
        return name(node);
      case Kind::binary: {
        const Value a = evaluate(node.children[0]), b = evaluate(node.children[1]);
        return binary(node, a, b);
      }
      case Kind::unary:
        return unary(node);
      case Kind::compare:
        return compare(node);
      case Kind::and_:
        return std::all_of(node.children.begin(), node.children.end(), [&](const Node& n) { return test(n); });
      case Kind::or_:
        return std::any_of(node.children.begin(), node.children.end(), [&](const Node& n) { return test(n); });
      case Kind::not_:
        return !test(node.children[0]);
      case Kind::choose:
        return evaluate(node.children[test(node.children[0]) ? 1 : 2]);
      case Kind::list:
        return list_of(evaluate_all(node.children));
      case Kind::tuple:
        return make_ref<Tuple>(evaluate_all(node.children));
      case Kind::index:
        return index(node);
      case Kind::attribute:
        return attribute(node);
      case Kind::call:
        return call(node);
      case Kind::format: {
        std::string text;
        for (const Node& part : node.children) text += message(part);
        return text;
      }
      default:
        at_ = &node;
        fail_as(ErrorKind::value, "a slice can only stand in an index");
    }
  }

  Args evaluate_all(const std::vector<Node>& nodes) {
    Args values;
    values.reserve(nodes.size());
    for (const Node& node : nodes) values.push_back(evaluate(node));
    return values;
  }

  Value name(const Node& node) {
    const size_t slot = static_cast<size_t>(node.slot);
    if (set_[slot]) return values_[slot];
    at_ = &node;
    SCONCE_CHECK(!program_.assigned[slot], "'{}' is used before it is set", node.text);
    const std::optional<Value> constant = constant_of(node.text, false);
    SCONCE_CHECK(constant, "name '{}' is not defined", node.text);
    return *constant;
  }

  Value binary(const Node& node, const Value& a, const Value& b) {
    at_ = &node;
    return a.is_tensor() || b.is_tensor() ? tensor_binary(node.op, a, b) : plain_binary(node.op, a, b);
  }

  Value unary(const Node& node) {
    const Value v = evaluate(node.children[0]);
    at_ = &node;
    if (!v.is_tensor()) return plain_unary(node.op, v);
    if (node.op == Operator::plus) return v;
    return node.op == Operator::neg ? script::neg(v.to_tensor()) : script::invert(v.to_tensor());
  }

  // a < b < c is (a < b) and (b < c), b evaluated once. One comparison of tensors gives a tensor.
  Value compare(const Node& node) {
    Value left = evaluate(node.children[0]), result;
    for (size_t i = 0; i < node.ops.size(); ++i) {
      Value right = evaluate(node.children[i + 1]);
      at_ = &node;
      result = compare_two(node.ops[i], left, right);
      if (i + 1 < node.ops.size() && !truth(result)) return false;
      left = std::move(right);
    }
    return result;
  }

  static Value compare_two(Operator op, const Value& a, const Value& b) {
    if (op == Operator::is) return a.is_same(b);
    if (op == Operator::is_not) return !a.is_same(b);
    if ((a.is_tensor() || b.is_tensor()) && is_comparison(op)) return tensor_binary(op, a, b);
    return plain_compare(op, a, b);
  }

  Value attribute(const Node& node) {
    std::vector<std::string_view> parts;
    if (module_path(node, program_, parts)) {
      at_ = &node;
      const std::optional<Value> constant = constant_of(parts.back(), parts[0] == "torch");
      SCONCE_CHECK(parts.size() == 2 && constant, "there is no '{}.{}'", parts[0], parts.back());
      return *constant;
    }
    const Value v = evaluate(node.children[0]);
    at_ = &node;
    return attribute_of(v, node.text);
  }

  Value call(const Node& node) {
    const Node& callee = node.children[0];
    std::vector<std::string_view> parts;
    const bool path = callee.kind == Kind::attribute && module_path(callee, program_, parts);
    const bool method = callee.kind == Kind::attribute && !path;
    Args args;
    if (method) args.push_back(evaluate(callee.children[0]));
    std::vector<NamedValue> kwargs;
    const size_t positional = node.children.size() - node.keywords.size();
    for (size_t i = 1; i < node.children.size(); ++i) {
      Value v = evaluate(node.children[i]);
      if (i < positional) {
        args.push_back(std::move(v));
      } else {
        kwargs.emplace_back(node.keywords[i - positional], std::move(v));
      }
    }
    at_ = &node;
    if (path) return call_path(parts, std::move(args), std::move(kwargs));
    SCONCE_CHECK_AS(type, method || callee.kind == Kind::name, "only operators can be called");
    if (!method) {
      SCONCE_CHECK_AS(type, !set_[static_cast<size_t>(callee.slot)], "'{}' is a value: it cannot be called",
                      callee.text);
    }
    if (kwargs.empty()) {
      std::optional<Value> result = method ? call_builtin_method(callee.text, args) : call_builtin(callee.text, args);
      if (result) return *std::move(result);
    }
    return call_operator(callee.text, std::move(args), std::move(kwargs));
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

  Value index(const Node& node) {
    const Value container = evaluate(node.children[0]);
    const Node& inner = node.children[1];
    if (container.is_tensor()) return index_tensor(node, container, inner);
    if (inner.kind == Kind::slice) return slice(node, container, inner);
    const Value i = evaluate(inner);
    at_ = &node;
    if (container.is_dict()) {
      const Value* found = container.to_dict().find(i);
      SCONCE_CHECK_AS(key, found, "key {} is missing", i.repr());
      return *found;
    }
    if (container.is_tuple()) return container.to_tuple().items[item_index(i, container.to_tuple().items.size())];
    if (container.is_list()) return container.to_list().get(item_index(i, container.to_list().size()));
    fail_as(ErrorKind::type, "{} cannot be indexed", container.type()->to_string());
  }

  Value slice(const Node& node, const Value& container, const Node& inner) {
    const Args bounds = evaluate_all(inner.children);
    at_ = &node;
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
  Value index_tensor(const Node& node, Value tensor, const Node& inner) {
    std::vector<const Node*> parts{&inner};
    if (inner.kind == Kind::tuple) {
      parts.clear();
      for (const Node& part : inner.children) parts.push_back(&part);
    }
    int64_t dim = 0;
    Args selected;  // for aten::index, by dimension
    for (const Node* part : parts) {
      if (part->kind == Kind::slice) {
        const Args b = evaluate_all(part->children);
        at_ = &node;
        const bool whole = b[0].is_none() && b[1].is_none() && b[2].is_none();
        if (!whole) tensor = call_named("aten::slice", {tensor, dim, b[0], b[1], b[2].is_none() ? Value(1) : b[2]}, {});
        ++dim;
        continue;
      }
      const Value i = evaluate(*part);
      at_ = &node;
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
  const Node* at_ = &program_.block;
};

// Names in the places of values: not those of functions and modules.
void collect_names(const Node& node, const Program& program, std::vector<std::string>& names) {
  if (node.kind == Kind::name) {
    if (!program.assigned[static_cast<size_t>(node.slot)] && !constant_of(node.text, false) &&
        std::find(names.begin(), names.end(), node.text) == names.end()) {
      names.push_back(node.text);
    }
    return;
  }
  std::vector<std::string_view> parts;
  if (node.kind == Kind::attribute && module_path(node, program, parts)) return;
  for (const Node& child : node.children) {
    if (node.kind == Kind::call && &child == &node.children[0] && child.kind == Kind::name) continue;
    collect_names(child, program, names);
  }
}

}  // namespace
}  // namespace body

Body::Body(std::string_view text, std::string_view space, int first_line, int first_column)
    : program_(std::make_unique<body::Program>(body::parse(text, first_line, first_column))) {
  program_->space = space;
}
Body::Body(Body&&) noexcept = default;
Body::~Body() = default;

Value Body::run(const std::vector<std::string_view>& names, const Value* values) const {
  // A body that calls itself without end would overflow the stack.
  constexpr int kDeepest = 200;
  thread_local int depth = 0;
  struct Count {
    Count() { ++depth; }
    ~Count() { --depth; }
  } count;
  SCONCE_CHECK(depth <= kDeepest, "operators call each other more than {} levels deep", kDeepest);
  return body::Run(*program_, names, values).run();
}

std::vector<std::string> Body::free_names() const {
  std::vector<std::string> names;
  body::collect_names(program_->block, *program_, names);
  return names;
}

const Body& body_of(const Op& op) {
  static std::shared_mutex& mutex = *new std::shared_mutex;
  static auto& bodies = *new std::unordered_map<const Op*, Body>;
  {
    const std::shared_lock lock(mutex);
    if (const auto found = bodies.find(&op); found != bodies.end()) return found->second;
  }
  SCONCE_CHECK_AS(not_implemented, op.info.body, "{} has no body", op.qualified_name());
  const std::string_view name = op.info.name;
  Body made(op.info.body, name.substr(0, name.find("::")));
  const std::unique_lock lock(mutex);
  return bodies.try_emplace(&op, std::move(made)).first->second;
}

namespace {

// The argument that a return is, by its alias set: (a!) of `f_(Tensor(a!) self) -> Tensor(a!)`.
const Argument* returned_argument(const Schema& schema, const Argument& result) {
  if (!result.alias || !result.alias->write) return nullptr;
  for (const Argument& argument : schema.arguments) {
    if (argument.alias && argument.alias->before == result.alias->before) return &argument;
  }
  return nullptr;
}

void check_return(const Argument& result, const Value& v, Value& out) {
  SCONCE_CHECK_AS(type, convert_value(v, result.type, out), "the body returned {}, the schema says {}",
                  v.is_none() ? std::string("None") : v.type()->to_string(), result.type->to_string());
}

}  // namespace

void run_body(const Op& op, KeySet, Value* args, Value* returns) {
  const Body& body = body_of(op);
  const Schema& schema = op.schema();
  std::vector<std::string_view> names;
  names.reserve(schema.arguments.size());
  for (const Argument& argument : schema.arguments) names.push_back(argument.name);
  const Value result = body.run(names, args);
  const size_t count = schema.returns.size();
  if (count == 0) return;
  if (result.is_none()) {
    bool all = true;
    for (size_t i = 0; i < count; ++i) {
      const Argument* argument = returned_argument(schema, schema.returns[i]);
      all = all && argument;
      if (argument) returns[i] = args[argument - schema.arguments.data()];
    }
    if (all) return;
  }
  if (count == 1) return check_return(schema.returns[0], result, returns[0]);
  SCONCE_CHECK_AS(type, result.is_tuple() && result.to_tuple().items.size() == count,
                  "the body must return {} values, it returned {}", count,
                  result.is_none() ? std::string("None") : result.type()->to_string());
  for (size_t i = 0; i < count; ++i) check_return(schema.returns[i], result.to_tuple().items[i], returns[i]);
}

}  // namespace sconce
