#include "sconce/serialization/exported/exported_shapes.h"

#include <algorithm>

#include "sconce/serialization/exported/number_calls.h"

namespace sconce::exported {

ShapeChecks::ShapeChecks(ir::Graph& graph, const Program& program) : graph_(graph), program_(program) {}

void ShapeChecks::add_tensor(const std::string& name, ir::Value* v, const TensorMeta& meta) {
  inputs_.emplace(name, v);
  auto sizes = make_ref<List>(int_type());
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    const Size& size = meta.sizes[i];
    SCONCE_CHECK(!size.number || *size.number >= 0, "input '{}' has the size {}", name, size.number.value_or(0));
    sizes->append(Value(size.number.value_or(-1)));
    if (size.number) continue;
    const std::string dimension = std::to_string(i);
    known_.push_back({"input '" + name + "': dimension " + dimension, name + ".size(" + dimension + ")", nullptr, v,
                      static_cast<int64_t>(i), parse_term(size.expression)});
  }
  insert_call(graph_, "sconce::check_tensor",
              {v, graph_.insert_constant(Value(name)), graph_.insert_constant(Value(meta.dtype)),
               graph_.insert_constant(Value(std::move(sizes)))});
}

void ShapeChecks::add_number(const std::string& name, ir::Value* v, const Size& size) {
  inputs_.emplace(name, v);
  Term term;
  if (size.number)
    term.integer = *size.number;
  else
    term = parse_term(size.expression);
  known_.push_back({"input '" + name + "'", name, v, nullptr, 0, std::move(term)});
}

ir::Value* ShapeChecks::value_of(Known& known) {
  if (!known.number) {
    known.number =
        insert_call(graph_, "aten::sym_size", {known.tensor, graph_.insert_constant(Value(known.dimension))});
  }
  return known.number;
}

bool ShapeChecks::is_bound(const Term& term) const {
  const std::vector<std::string> symbols = symbols_of(term);
  return std::all_of(symbols.begin(), symbols.end(), [&](const std::string& s) { return symbols_.contains(s); });
}

ir::Value* ShapeChecks::insert_value(const Term& term) {
  return insert_term(graph_, term, [&](const Term& t) {
    if (!t.is_symbol()) return find_input(t.text);
    const auto found = symbols_.find(t.text);
    return found == symbols_.end() ? nullptr : found->second;
  });
}

// Guards call what came in by *args and **kwargs "args[0]" and "kwargs['z']"; here they are arguments "args_0" and "z".
ir::Value* ShapeChecks::find_input(const std::string& path) const {
  const auto find = [&](const std::string& name) -> ir::Value* {
    const auto found = inputs_.find(name);
    return found == inputs_.end() ? nullptr : found->second;
  };
  if (ir::Value* v = find(path)) return v;
  const size_t open = path.find('['), close = path.find(']');
  if (open == path.npos || close == path.npos || close < open + 2) return nullptr;
  const std::string index = path.substr(open + 1, close - open - 1), rest = path.substr(close + 1);
  const bool quoted = index.size() >= 2 && index.front() == '\'' && index.back() == '\'';
  return find((quoted ? index.substr(1, index.size() - 2) : path.substr(0, open) + "_" + index) + rest);
}

std::string ShapeChecks::text_of(const Term& term) const {
  return term_text(term, [&](const std::string& symbol) {
    const auto found = symbol_texts_.find(symbol);
    return found == symbol_texts_.end() ? symbol : found->second;
  });
}

// Export takes every size for at least 2 unless it is told otherwise; like PyTorch, programs take 0 and 1 all the same.
constexpr int64_t kAssumedMinimum = 2;

void ShapeChecks::check_range(ir::Value* v, const std::string& text, Range range) {
  if (range.min && *range.min <= kAssumedMinimum) range.min.reset();
  if (!range.min && !range.max) return;
  const auto limit = [&](const std::optional<int64_t>& n) {
    return graph_.insert_constant(Value(n), {}, n ? int_type() : none_type());
  };
  insert_call(graph_, "sconce::check_range",
              {v, graph_.insert_constant(Value(text)), limit(range.min), limit(range.max)});
}

void ShapeChecks::bind(const std::string& symbol, ir::Value* v, const std::string& name) {
  symbols_.emplace(symbol, v);
  symbol_texts_.emplace(symbol, name);
  if (!v->has_name()) v->set_name(symbol);
}

Range ShapeChecks::range_of(const std::string& symbol) const {
  for (const auto& [expression, range] : program_.ranges) {
    if (expression == symbol) return range;
  }
  return {};
}

// factor * s + offset; a limit that does not fit into 64 bits is none.
Range ShapeChecks::range_of(const Linear& linear) const {
  const auto limit = [&](const std::optional<int64_t>& of_symbol) -> std::optional<int64_t> {
    int64_t n = 0;
    if (!of_symbol || __builtin_mul_overflow(*of_symbol, linear.factor, &n) ||
        __builtin_add_overflow(n, linear.offset, &n)) {
      return std::nullopt;
    }
    return n;
  };
  const Range range = range_of(linear.symbol);
  return linear.factor > 0 ? Range{limit(range.min), limit(range.max)} : Range{limit(range.max), limit(range.min)};
}

void ShapeChecks::insert() {
  for (Known& known : known_) {
    if (!known.term.is_symbol() || symbols_.contains(known.term.text)) continue;
    bind(known.term.text, value_of(known), known.name);
    check_range(value_of(known), known.text, range_of(known.term.text));
    known.done = true;
  }
  // y.size(0) is 2*s + 1 and no input has the size s: s is (y.size(0) - 1) // 2, and the check below says whether.
  for (Known& known : known_) {
    const std::optional<Linear> linear = as_linear(known.term);
    if (known.done || !linear || symbols_.contains(linear->symbol)) continue;
    ir::Value* v = insert_call(graph_, "aten::sub", {value_of(known), graph_.insert_constant(Value(linear->offset))});
    v = insert_call(graph_, "aten::floordiv", {v, graph_.insert_constant(Value(linear->factor))});
    bind(linear->symbol, v, linear->symbol);
  }
  for (Known& known : known_) {
    // Symbols that are still unknown stand in expressions that no size can be solved for.
    if (known.done || !is_bound(known.term)) continue;
    const std::optional<Linear> linear = as_linear(known.term);
    if (linear && !known.term.is_symbol()) check_range(value_of(known), known.text, range_of(*linear));
    ir::Value* expected = insert_value(known.term);
    insert_call(graph_, "sconce::check_size",
                {value_of(known), graph_.insert_constant(Value(known.text)), expected,
                 graph_.insert_constant(Value(text_of(known.term)))});
  }
  for (const auto& [expression, range] : program_.ranges) {
    const Term term = parse_term(expression);
    if (!term.is_symbol() && is_bound(term)) check_range(insert_value(term), text_of(term), range);
  }
  for (const std::string& guard : program_.guards) {
    const Term term = parse_term(guard);
    ir::Value* holds = insert_value(term);
    SCONCE_CHECK(holds->type()->is(TypeKind::bool_), "the guard '{}' is no condition", guard);
    insert_call(graph_, "sconce::check_guard", {holds, graph_.insert_constant(Value(text_of(term)))});
  }
}

}  // namespace sconce::exported
