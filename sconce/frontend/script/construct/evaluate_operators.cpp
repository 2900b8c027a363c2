// Operators and subscripts while modules are built: Python's rules for numbers, the registry for tensors.
#include <cmath>

#include <fmt/format.h>

#include "sconce/base/numbers.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/construct/evaluator.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

using namespace syntax;

namespace {

using V = sconce::Value;

constexpr size_t kMaxItems = 10'000'000;  // of one list or string

bool is_integral(const V& v) { return v.is_int() || v.is_bool(); }
int64_t as_int(const V& v) { return v.is_bool() ? v.to_bool() : v.to_int(); }
double as_double(const V& v) { return v.is_double() ? v.to_double() : static_cast<double>(as_int(v)); }

std::optional<V> integers(Operator op, int64_t a, int64_t b, const Range& at) {
  const bool divides = op == Operator::floordiv || op == Operator::mod || op == Operator::div;
  if (divides && b == 0) refuse(at, "ZeroDivisionError: division by zero");
  switch (op) {
    case Operator::add:
      return V(numbers::wrap_add(a, b));
    case Operator::sub:
      return V(numbers::wrap_sub(a, b));
    case Operator::mul:
      return V(numbers::wrap_mul(a, b));
    case Operator::div:
      return V(static_cast<double>(a) / static_cast<double>(b));
    case Operator::floordiv:
      return V(numbers::floor_div(a, b));
    case Operator::mod:
      return V(numbers::floor_mod(a, b));
    case Operator::pow:
      if (b < 0) return V(std::pow(static_cast<double>(a), static_cast<double>(b)));
      return V(numbers::int_pow(a, b));
    case Operator::bit_and:
      return V(a & b);
    case Operator::bit_or:
      return V(a | b);
    case Operator::bit_xor:
      return V(a ^ b);
    case Operator::shift_left:
    case Operator::shift_right:
      if (b < 0 || b > 63) refuse(at, "a shift by {} is not supported", b);
      return V(op == Operator::shift_left ? numbers::shift_left(a, b) : numbers::shift_right(a, b));
    default:
      return std::nullopt;
  }
}

std::optional<V> reals(Operator op, double a, double b, const Range& at) {
  if ((op == Operator::div || op == Operator::floordiv || op == Operator::mod) && b == 0) {
    refuse(at, "ZeroDivisionError: division by zero");
  }
  switch (op) {
    case Operator::add:
      return V(a + b);
    case Operator::sub:
      return V(a - b);
    case Operator::mul:
      return V(a * b);
    case Operator::div:
      return V(a / b);
    case Operator::floordiv:
      return V(numbers::python_divmod(a, b).quotient);
    case Operator::mod:
      return V(numbers::python_divmod(a, b).rest);
    case Operator::pow:
      return V(std::pow(a, b));
    default:
      return std::nullopt;
  }
}

std::optional<V> numbers(Operator op, const V& a, const V& b, const Range& at) {
  if (!a.is_number() || !b.is_number() || a.is_complex() || b.is_complex()) return std::nullopt;
  return is_integral(a) && is_integral(b) ? integers(op, as_int(a), as_int(b), at)
                                          : reals(op, as_double(a), as_double(b), at);
}

std::string percent_format(const std::string& text, const std::vector<Dynamic>& values, const Range& at) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const char c = i + 1 < text.size() ? text[++i] : '\0';
    if (c == '%') {
      out += c;
    } else if (c == 's' || c == 'd' || c == 'r') {
      if (next == values.size()) refuse(at, "not enough arguments for format string");
      out += c == 'r' ? to_repr(values[next]) : to_text(values[next]);
      ++next;
    } else {
      refuse(at, "the format '%{}' is not supported while modules are built", std::string(1, c));
    }
  }
  return out;
}

// A position in a sequence; negative ones count from the end.
size_t position(const Dynamic& index, size_t size, const Range& at) {
  int64_t i = to_integer(index, at);
  if (i < 0) i += static_cast<int64_t>(size);
  if (i < 0 || i >= static_cast<int64_t>(size)) refuse(at, "IndexError: index out of range");
  return static_cast<size_t>(i);
}

const std::vector<Dynamic>* slice_parts(const Dynamic& index) {
  const auto* m = index.get<DynamicMethod>();
  return m && m->name == "<slice>" ? m->self->items() : nullptr;
}

}  // namespace

int64_t to_integer(const Dynamic& v, const Range& at) {
  const V* x = v.value();
  if (!x || !is_integral(*x)) refuse(at, "expected an int, got {}", type_name(v));
  return as_int(*x);
}

double to_real(const Dynamic& v, const Range& at) {
  const V* x = v.value();
  if (!x || !(is_integral(*x) || x->is_double())) refuse(at, "expected a number, got {}", type_name(v));
  return as_double(*x);
}

Dynamic Evaluator::binary(Operator op, const Dynamic& a, const Dynamic& b, const Range& at) {
  const V *x = a.value(), *y = b.value();
  if (x && y) {
    if (auto result = numbers(op, *x, *y, at)) return *result;
    if (x->is_string() && y->is_string() && op == Operator::add) return V(x->to_string_ref() + y->to_string_ref());
    if (x->is_string() && op == Operator::mul && is_integral(*y)) {
      std::string out;
      const int64_t times = as_int(*y);
      if (times > 0 && x->to_string_ref().size() * static_cast<size_t>(times) > kMaxItems)
        refuse(at, "the string is too long");
      for (int64_t i = 0; i < times; ++i) out += x->to_string_ref();
      return V(out);
    }
  }
  if (x && x->is_string() && op == Operator::mod) {
    const auto* tuple = b.get<Dynamic::Tuple>();
    return V(percent_format(x->to_string_ref(), tuple ? (*tuple)->items : std::vector<Dynamic>{b}, at));
  }
  const bool both_lists = a.items() && b.items() && a.data.index() == b.data.index();
  if (both_lists && op == Operator::add) {
    std::vector<Dynamic> items = *a.items();
    items.insert(items.end(), b.items()->begin(), b.items()->end());
    return a.get<Dynamic::List>() ? make_list(std::move(items)) : make_tuple(std::move(items));
  }
  const Dynamic& sequence = a.items() ? a : b;
  const Dynamic& count = a.items() ? b : a;
  if (op == Operator::mul && sequence.items() && count.value() && is_integral(*count.value())) {
    std::vector<Dynamic> items;
    const int64_t times = as_int(*count.value());
    if (times > 0 && sequence.items()->size() * static_cast<size_t>(times) > kMaxItems)
      refuse(at, "the list is too long");
    for (int64_t i = 0; i < times; ++i) items.insert(items.end(), sequence.items()->begin(), sequence.items()->end());
    return sequence.get<Dynamic::List>() ? make_list(std::move(items)) : make_tuple(std::move(items));
  }
  if (a.instance()) {
    if (const auto method = find_attribute(a, magic_method(op), at)) return call(*method, {{b}, {}}, at);
  }
  const std::string op_name(names_of(op).eager);
  if (x && y && !op_name.empty()) {
    // 2 - tensor: the overloads take the tensor first.
    if (!x->is_tensor() && y->is_tensor()) {
      if (op == Operator::sub) return call_operator("aten::rsub", {{b, a}, {}}, at);
      if (op == Operator::div) return binary(Operator::mul, call_operator("aten::reciprocal", {{b}, {}}, at), a, at);
      if (op == Operator::add || op == Operator::mul) return call_operator(op_name, {{b, a}, {}}, at);
      if (op != Operator::pow)
        return call_operator(op_name, {{call_operator("aten::tensor", {{a}, {}}, at), b}, {}}, at);
    }
    return call_operator(op_name, {{a, b}, {}}, at);
  }
  refuse(at, "unsupported operand types for {}: '{}' and '{}'", operator_text(op), type_name(a), type_name(b));
}

Dynamic Evaluator::unary(Operator op, const Dynamic& a, const Range& at) {
  const V* x = a.value();
  if (x && op == Operator::neg) {
    if (is_integral(*x)) return V(numbers::wrap_neg(as_int(*x)));
    if (x->is_double()) return V(-x->to_double());
    if (x->is_complex()) return V(-x->to_complex());
    if (x->is_tensor()) return call_operator(std::string(names_of(op).eager), {{a}, {}}, at);
  }
  if (x && op == Operator::plus && x->is_number()) return a;
  if (x && op == Operator::invert && is_integral(*x)) return V(~as_int(*x));
  if (x && op == Operator::invert && x->is_tensor())
    return call_operator(std::string(names_of(op).eager), {{a}, {}}, at);
  refuse(at, "unsupported operand type for unary {}: '{}'", operator_text(op), type_name(a));
}

bool Evaluator::compare(Operator op, const Dynamic& a, const Dynamic& b, const Range& at) {
  switch (op) {
    case Operator::is:
      return same(a, b);
    case Operator::is_not:
      return !same(a, b);
    case Operator::in:
    case Operator::not_in: {
      bool found = false;
      if (a.string() && b.string()) {
        found = b.string()->find(*a.string()) != std::string::npos;
      } else if (const auto* d = b.get<Dynamic::Dict>()) {
        found = (*d)->find(a) != nullptr;
      } else {
        for (const Dynamic& item : iterate(b, at)) found = found || equals(item, a);
      }
      return found == (op == Operator::in);
    }
    case Operator::eq:
    case Operator::ne:
      if (a.instance() && !a.instance()->is_module) {
        if (const auto method = find_attribute(a, magic_method(op), at)) return truth(call(*method, {{b}, {}}, at), at);
      }
      return equals(a, b) == (op == Operator::eq);
    default:
      break;
  }
  const auto ordered = [&](auto x, auto y) {
    return op == Operator::lt ? x < y : op == Operator::le ? x <= y : op == Operator::gt ? x > y : x >= y;
  };
  const V *x = a.value(), *y = b.value();
  if (x && y) {
    if (is_integral(*x) && is_integral(*y)) return ordered(as_int(*x), as_int(*y));
    if (x->is_number() && y->is_number() && !x->is_complex() && !y->is_complex())
      return ordered(as_double(*x), as_double(*y));
    if (x->is_string() && y->is_string())
      return ordered(std::string_view(x->to_string_ref()), std::string_view(y->to_string_ref()));
  }
  if (a.items() && b.items()) {  // the first items that differ decide
    for (size_t i = 0; i < a.items()->size() && i < b.items()->size(); ++i) {
      if (!equals((*a.items())[i], (*b.items())[i])) return compare(op, (*a.items())[i], (*b.items())[i], at);
    }
    return ordered(a.items()->size(), b.items()->size());
  }
  if (a.instance()) {
    if (const auto method = find_attribute(a, magic_method(op), at)) return truth(call(*method, {{b}, {}}, at), at);
  }
  refuse(at, "'{}' is not supported between '{}' and '{}'", operator_text(op), type_name(a), type_name(b));
}

std::vector<Dynamic> Evaluator::iterate(const Dynamic& v, const Range& at) {
  if (v.items()) return *v.items();
  std::vector<Dynamic> items;
  if (const auto* d = v.get<Dynamic::Dict>()) {
    for (const auto& [key, value] : (*d)->items) items.push_back(key);
    return items;
  }
  if (const std::string* text = v.string()) {
    for (const char c : *text) items.emplace_back(V(std::string_view(&c, 1)));
    return items;
  }
  if (v.is_tensor()) {
    const Dynamic parts = call_operator("aten::unbind", {{v, V(int64_t{0})}, {}}, at);
    return *parts.items();
  }
  if (v.instance() && v.instance()->is_module) return iterate(call_method(v, "__iter__", {}, at), at);
  if (const auto* cls = v.get<Definition*>(); cls && (*cls)->scope->kind_of(**cls) == ClassKind::enum_) {
    for (const auto& [name, member] : (*cls)->scope->type_of(**cls)->enum_info()->members) items.emplace_back(member);
    return items;
  }
  refuse(at, "'{}' object is not iterable", type_name(v));
}

Dynamic Evaluator::slice(const Dynamic& v, const Dynamic& start, const Dynamic& stop, const Dynamic& step,
                         const Range& at) {
  if (v.is_tensor()) {
    return call_operator("aten::slice",
                         {{v, V(int64_t{0}), start, stop, step.is_none() ? Dynamic(V(int64_t{1})) : step}, {}}, at);
  }
  const std::string* text = v.string();
  const std::vector<Dynamic> items = v.items() ? *v.items() : iterate(v, at);
  const auto size = static_cast<int64_t>(items.size());
  const int64_t by = step.is_none() ? 1 : to_integer(step, at);
  if (by == 0) refuse(at, "slice step cannot be zero");
  const auto bound = [&](const Dynamic& b, int64_t otherwise) {
    if (b.is_none()) return otherwise;
    int64_t i = to_integer(b, at);
    if (i < 0) i += size;
    return by > 0 ? std::min(std::max<int64_t>(i, 0), size) : std::min(std::max<int64_t>(i, -1), size - 1);
  };
  std::vector<Dynamic> picked;
  const int64_t end = bound(stop, by > 0 ? size : -1);
  for (int64_t i = bound(start, by > 0 ? 0 : size - 1); by > 0 ? i < end : i > end; i += by) picked.push_back(items[i]);
  if (text) {
    std::string out;
    for (const Dynamic& c : picked) out += *c.string();
    return V(out);
  }
  return v.get<Dynamic::Tuple>() ? make_tuple(std::move(picked)) : make_list(std::move(picked));
}

Dynamic Evaluator::get_item(const Dynamic& v, const Dynamic& index, const Range& at) {
  if (v.is_tensor()) {
    const std::vector<Dynamic> parts = index.get<Dynamic::Tuple>() ? *index.items() : std::vector<Dynamic>{index};
    Dynamic result = v;
    int64_t dim = 0;
    for (const Dynamic& part : parts) {
      if (const auto* s = slice_parts(part)) {
        const Dynamic by = (*s)[2].is_none() ? Dynamic(V(int64_t{1})) : (*s)[2];
        result = call_operator("aten::slice", {{result, V(dim++), (*s)[0], (*s)[1], by}, {}}, at);
      } else if (part.is_none()) {
        result = call_operator("aten::unsqueeze", {{result, V(dim++)}, {}}, at);
      } else if (part.value() && is_integral(*part.value())) {
        result = call_operator("aten::select", {{result, V(dim), part}, {}}, at);
      } else if (parts.size() == 1 && part.is_tensor()) {
        result = call_operator("aten::index", {{result, make_list({part})}, {}}, at);
      } else {
        refuse(at, "this index of a tensor is not supported while modules are built");
      }
    }
    return result;
  }
  if (const auto* s = slice_parts(index)) {
    if (v.instance()) return call_method(v, "__getitem__", {{index}, {}}, at);
    return slice(v, (*s)[0], (*s)[1], (*s)[2], at);
  }
  if (const auto* d = v.get<Dynamic::Dict>()) {
    if (Dynamic* found = (*d)->find(index)) return *found;
    refuse(at, "KeyError: {}", to_repr(index));
  }
  if (v.items()) return (*v.items())[position(index, v.items()->size(), at)];
  if (const std::string* text = v.string()) return V(text->substr(position(index, text->size(), at), 1));
  if (v.instance()) {
    if (const auto method = find_attribute(v, "__getitem__", at)) return call(*method, {{index}, {}}, at);
  }
  if (const auto* cls = v.get<Definition*>(); cls && index.string()) return attribute(v, *index.string(), at);
  refuse(at, "'{}' object is not subscriptable", type_name(v));
}

void Evaluator::set_item(const Dynamic& v, const Dynamic& index, Dynamic value, const Range& at) {
  remember_change(v, value);
  if (const auto* d = v.get<Dynamic::Dict>()) return (*d)->set(index, std::move(value));
  if (const auto* l = v.get<Dynamic::List>()) {
    (*l)->items[position(index, (*l)->items.size(), at)] = std::move(value);
    return;
  }
  if (v.is_tensor()) {
    if (index.is_tensor()) {
      const Dynamic filled = value.is_tensor() ? value : call_operator("aten::tensor", {{value}, {}}, at);
      call_operator("aten::index_put_", {{v, make_list({index}), filled}, {}}, at);
      return;
    }
    const Dynamic part = get_item(v, index, at);
    call_operator(value.is_tensor() ? "aten::copy_" : "aten::fill_", {{part, value}, {}}, at);
    return;
  }
  if (v.instance()) {
    if (const auto method = find_attribute(v, "__setitem__", at)) {
      call(*method, {{index, std::move(value)}, {}}, at);
      return;
    }
  }
  refuse(at, "'{}' object does not support item assignment", type_name(v));
}

Dynamic Evaluator::call_with(const std::string& name, const DynamicArguments& args, const Range& at,
                             FunctionRef<std::vector<V>(std::vector<V>&&, std::vector<NamedValue>&&)> f) {
  const auto convert = [&](const Dynamic& a) {
    std::string why;
    const bool empty = a.items() && a.items()->empty();
    const TypePtr type = empty ? list_type(int_type()) : infer_type(a, &why);
    // A tuple of numbers is a list to operators.
    const auto* tuple = a.get<Dynamic::Tuple>();
    const TypePtr wanted = tuple && type && type->is(TypeKind::tuple) && !type->contained().empty()
                               ? infer_type(make_list((*tuple)->items), &why)
                               : type;
    auto v = wanted ? to_value(a, wanted, &why) : std::nullopt;
    if (!v) refuse(at, "{}: {}", name, why);
    return std::move(*v);
  };
  std::vector<V> positional;
  std::vector<NamedValue> keywords;
  for (const Dynamic& a : args.positional) positional.push_back(convert(a));
  for (const auto& [key, a] : args.keywords) keywords.emplace_back(key, convert(a));
  try {
    std::vector<V> results = f(std::move(positional), std::move(keywords));
    if (results.size() == 1) return from_value(results.front());
    std::vector<Dynamic> items;
    for (const V& r : results) items.push_back(from_value(r));
    return items.empty() ? Dynamic() : make_tuple(std::move(items));
  } catch (const CompileError&) {
    throw;
  } catch (const Error& error) {
    refuse(at, "{}", error.message());
  }
}

Dynamic Evaluator::call_operator(const std::string& name, const DynamicArguments& args, const Range& at) {
  return call_with(name, args, at, [&](const std::vector<V>& positional, const std::vector<NamedValue>& keywords) {
    return call_op(name, positional, keywords);
  });
}

Dynamic Evaluator::construct_custom(TypePtr type, const DynamicArguments& args, const Range& at) {
  const Op* init = find_class_method(type, "__init__");
  if (!init) refuse(at, "Class {} does not have an __init__ function defined", type->name());
  return call_with(type->name(), args, at, [&](std::vector<V> positional, const std::vector<NamedValue>& keywords) {
    const V object(make_ref<Object>(type));
    positional.insert(positional.begin(), object);
    std::vector<V> bound = bind_arguments(init->schema(), positional, keywords);
    V none;
    init->call_boxed(bound.data(), &none);
    return std::vector<V>{object};
  });
}

}  // namespace sconce::script
