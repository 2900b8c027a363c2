#include "sconce/dispatch/printing/entry_text.h"

#include "sconce/types/value.h"

namespace sconce {
namespace {

// In the words of the table.
constexpr std::string_view kDTypeRules[] = {"promote", "float", "wide", "self"};
constexpr std::string_view kReduceDTypes[] = {"self", "sum", "float", "promote", "bool"};
constexpr std::string_view kResults[] = {"common", "bool", "int64", "real"};
constexpr std::string_view kRoles[] = {"value", "map", "combine", "identity", "merge", "finish"};

template <typename E>
std::string_view name_of(E value, const std::string_view* names) {
  return names[static_cast<int>(value)];
}

std::string_view word(std::string_view text, size_t number) {
  for (; number > 0; --number) text.remove_prefix(text.find(' ') + 1);
  return text.substr(0, text.find(' '));
}

std::string constant_text(const Constant& c) {
  return c.real == static_cast<double>(c.integer) ? std::to_string(c.integer) : float_repr(c.real);
}

std::string leaf_text(const Op& op, const ReduceCase* reduction, const Expression& expression, const Step& step) {
  const auto accumulator = [&](std::string_view before) {
    return std::string(before).append(word(reduction->accumulators, step.a));
  };
  switch (step.kind) {
    case StepKind::argument:
      return op.schema().arguments.at(step.a).name;
    case StepKind::constant:
      return constant_text(expression.constants[step.a]);
    case StepKind::count:
      return "n";
    case StepKind::accumulator:
      return accumulator("");
    case StepKind::left:
      return accumulator("a_");
    case StepKind::right:
      return accumulator("b_");
    case StepKind::left_count:
      return "a_n";
    default:
      return "b_n";
  }
}

std::string arguments_text(const Op& op, uint16_t bits) {
  std::string out;
  for (size_t i = 0; i < op.schema().arguments.size() && i < 16; ++i) {
    if (bits >> i & 1) out.append(out.empty() ? "" : " ").append(op.schema().arguments[i].name);
  }
  return out;
}

std::string title_of(const Expression& e, const ReduceCase* reduction, uint8_t classes) {
  std::string title(e.role == ExpressionRole::value ? "one element" : role_name(e.role));
  if (reduction && e.role != ExpressionRole::finish && word(reduction->accumulators, 0) != "acc")
    title.append(" ").append(word(reduction->accumulators, e.index));
  if (e.role == ExpressionRole::finish && e.index > 0) title += " " + std::to_string(e.index);
  if (e.classes != classes) title += " (" + classes_text(e.classes) + ")";
  return title;
}

void add_case(std::vector<EntryLine>& out, const Op& op, const PointwiseCase& c) {
  if (c.when) out.push_back({"when", c.when});
  for (const Expression& e : c.expressions()) out.push_back({title_of(e, nullptr, c.classes), e.text});
  out.push_back({"types", classes_text(c.classes)});
  out.push_back({"dtype", std::string(name_of(c.dtype, kDTypeRules))});
  if (c.result != ResultRule::common) out.push_back({"result", std::string(name_of(c.result, kResults))});
  if (c.dtype != DTypeRule::self) out.push_back({"promote", arguments_text(op, c.promoting)});
  if (c.integral) out.push_back({"integral", arguments_text(op, c.integral)});
  if (c.masks) out.push_back({"masks", arguments_text(op, c.masks)});
}

void add_case(std::vector<EntryLine>& out, const Op& op, const ReduceCase& c) {
  if (c.when) out.push_back({"when", c.when});
  if (c.loops) out.push_back({"loops", c.loops});
  for (const Expression& e : c.expressions()) out.push_back({title_of(e, &c, c.classes), e.text});
  out.push_back({"types", classes_text(c.classes)});
  out.push_back({"dtype", std::string(name_of(c.dtype, kReduceDTypes))});
  std::string results;
  const size_t count = op.schema().returns.size();
  for (size_t i = 0; i < count; ++i) results.append(i > 0 ? ", " : "").append(name_of(c.results[i], kResults));
  if (results != "common") out.push_back({"result", results});
  if (c.empty_is_error) out.push_back({"empty", "error"});
  if (c.empty_list_is_none) out.push_back({"dims", "none"});
}

}  // namespace

std::string_view role_name(ExpressionRole role) { return name_of(role, kRoles); }

std::string classes_text(uint8_t classes) {
  constexpr std::string_view names[] = {"bool", "int", "float", "complex"};
  std::string out;
  for (int i = 0; i < 4; ++i) {
    if (classes >> i & 1) out.append(out.empty() ? "" : " ").append(names[i]);
  }
  return out;
}

std::vector<std::string> step_lines(const Op& op, const ReduceCase* reduction, const Expression& expression) {
  std::vector<std::string> out;
  for (const Step& step : expression.steps()) {
    std::string line = "%" + std::to_string(out.size()) + " = ";
    const int arity = step_arity(step.kind);
    if (arity == 0) {
      line += leaf_text(op, reduction, expression, step);
    } else {
      line += std::string(step_name(step.kind)) + "(%" + std::to_string(step.a);
      if (arity > 1) line += ", %" + std::to_string(step.b);
      if (arity > 2) line += ", %" + std::to_string(step.c);
      line += ")";
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<EntryLine> entry_lines(const Op& op) {
  std::vector<EntryLine> out;
  const OpEntry* entry = op.info.entry;
  if (entry && entry->number) out.push_back({"numbers", entry->number->text});
  if (entry) {
    for (const PointwiseCase& c : entry->pointwise()) add_case(out, op, c);
    for (const ReduceCase& c : entry->reductions()) add_case(out, op, c);
    if (entry->absent) out.push_back({"absent", entry->absent});
    if (entry->shape) out.push_back({"shape", entry->shape});
    if (entry->scatter && op.has(Trait::view)) out.push_back({"scatter", entry->scatter});
  }
  if (const Op* twin = functional_twin(op)) out.push_back({"functional", twin->qualified_name()});
  return out;
}

}  // namespace sconce
