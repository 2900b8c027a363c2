// Names of the language's own while modules are built: torch, math, nn, and Python's builtin functions.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "sconce/autograd/variable.h"
#include "sconce/base/numbers.h"
#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/construct/evaluator.h"
#include "sconce/frontend/script/construct/module_methods.h"
#include "sconce/frontend/script/names/names.h"
#include "sconce/frontend/script/names/namespaces.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce::script {

using namespace syntax;

namespace {

using V = sconce::Value;

constexpr int64_t kMaxRange = 10'000'000;

bool is_builtin_function(const std::string& n) {
  static const std::vector<std::string> names = {
      "len",   "range",      "enumerate",  "zip",     "list",    "tuple", "dict", "int",    "float",
      "bool",  "str",        "complex",    "abs",     "min",     "max",   "sum",  "sorted", "reversed",
      "print", "isinstance", "hasattr",    "getattr", "setattr", "round", "any",  "all",    "type",
      "repr",  "callable",   "issubclass", "pow",     "divmod",  "set",   "id",   "object",
  };
  return std::find(names.begin(), names.end(), n) != names.end();
}

// Modules and typing: names whose parts are looked up when they are used.
bool is_namespace(const std::string& path) {
  static const std::vector<std::string> names = {
      "torch",
      "torch.nn",
      "torch.nn.init",
      "torch.nn.functional",
      "torch.nn.modules",
      "torch.nn.parameter",
      "torch.jit",
      "torch.nn.utils",
      "torch.linalg",
      "torch.special",
      "torch.fft",
      "torch.cuda",
      "torch.backends",
      "torch.utils",
      "math",
      "typing",
      "collections",
      "enum",
      "warnings",
      "numbers",
      "copy",
      "functools",
      "operator",
      "nn",
      "F",
      "init",
  };
  return std::find(names.begin(), names.end(), path) != names.end();
}

bool is_type_name(const std::string& n) {
  static const std::vector<std::string> names = {
      "Tensor",   "Optional", "List", "Dict",       "Tuple", "Union",       "Any",    "Final",  "Callable",
      "Sequence", "Iterable", "Type", "NamedTuple", "Enum",  "OrderedDict", "Number", "Module", "Parameter"};
  return std::find(names.begin(), names.end(), n) != names.end();
}

Dynamic keyword_or(DynamicArguments& args, size_t place, std::string_view name, Dynamic otherwise) {
  if (place < args.positional.size()) return args.positional[place];
  for (auto& [key, value] : args.keywords) {
    if (key == name) return value;
  }
  return otherwise;
}

void need(const DynamicArguments& args, size_t low, size_t high, const std::string& what, const Range& at) {
  const size_t n = args.positional.size();
  if (n < low || n > high) refuse(at, "{}() takes {} to {} arguments but {} were given", what, low, high, n);
}

}  // namespace

std::optional<Dynamic> Evaluator::path_value(const std::string& path, const Range& at) {
  if (Definition* d = state.library_definition(path)) return definition(*d);
  if (is_namespace(path)) return Dynamic(DynamicName{path});
  const size_t dot = path.rfind('.');
  if (dot == path.npos) {
    if (is_builtin_function(path) || is_type_name(path)) return Dynamic(DynamicName{path});
    return std::nullopt;
  }
  const std::string space = path.substr(0, dot);
  if (auto constant = language_constant(path)) return Dynamic(*constant);
  if (space == "math" || space == "torch" || space.starts_with("torch.")) return Dynamic(DynamicName{path});
  if (is_namespace(space)) return Dynamic(DynamicName{path});
  (void)at;
  return std::nullopt;
}

bool Evaluator::is_instance(const Dynamic& v, const Dynamic& cls, const Range& at) {
  if (const auto* t = cls.get<Dynamic::Tuple>()) {
    return std::any_of((*t)->items.begin(), (*t)->items.end(), [&](const Dynamic& c) { return is_instance(v, c, at); });
  }
  if (const auto* d = cls.get<Definition*>()) {
    if (const Instance* i = v.instance()) {
      const auto order = lookup_order(*i->cls);
      return std::find(order.begin(), order.end(), *d) != order.end();
    }
    const auto* tuple = v.get<Dynamic::Tuple>();
    if (tuple && (*tuple)->named) return (*tuple)->named == (*d)->type;
    return v.value() && v.value()->tag() == Tag::enum_ && v.value()->to_enum().type == (*d)->type;
  }
  if (const auto* type = cls.get<TypePtr>()) {
    std::string why;
    return to_value(v, *type, &why).has_value();
  }
  const auto* name = cls.get<DynamicName>();
  if (!name) refuse(at, "isinstance() needs a class, got {}", type_name(cls));
  const std::string last = name->path.substr(name->path.rfind('.') + 1);
  const V* x = v.value();
  if (last == "Module") return v.instance() && v.instance()->is_module;
  if (last == "Parameter") return v.get<DynamicParameter>() != nullptr;
  if (last == "list" || last == "List") return v.get<Dynamic::List>() != nullptr;
  if (last == "tuple" || last == "Tuple") return v.get<Dynamic::Tuple>() != nullptr;
  if (last == "dict" || last == "Dict" || last == "OrderedDict") return v.get<Dynamic::Dict>() != nullptr;
  if (last == "Sequence" || last == "Iterable")
    return v.items() || (last == "Iterable" && (v.get<Dynamic::Dict>() || v.string()));
  if (last == "object" || last == "Any") return true;
  if (last == "Callable") return v.get<DynamicFunction>() || v.get<Definition*>() || v.get<DynamicMethod>();
  if (!x) return false;
  if (last == "Tensor") return x->is_tensor();
  if (last == "int") return x->is_int() || x->is_bool();
  if (last == "bool") return x->is_bool();
  if (last == "float") return x->is_double();
  if (last == "complex") return x->is_complex();
  if (last == "Number") return x->is_number();
  if (last == "str") return x->is_string();
  if (last == "device") return x->is_device();
  if (last == "Enum") return x->tag() == Tag::enum_;
  return false;
}

Dynamic Evaluator::call_name(const std::string& path, DynamicArguments args, const Range& at) {
  auto& a = args.positional;
  const size_t dot = path.rfind('.');
  const std::string space = dot == path.npos ? "" : path.substr(0, dot),
                    n = path.substr(dot == path.npos ? 0 : dot + 1);
  if (space.empty()) {
    for (const auto& [key, value] : args.keywords) {
      const bool known = n == "dict" || n == "OrderedDict" || n == "Parameter" ||
                         (n == "enumerate" && key == "start") || (n == "sorted" && key == "reverse");
      if (!known) refuse(at, "{}() takes no keyword argument '{}' while modules are built", n, key);
    }
    if (n == "len") {
      need(args, 1, 1, n, at);
      if (a[0].string()) return V(static_cast<int64_t>(a[0].string()->size()));
      if (a[0].instance() && !a[0].instance()->is_module) return call(attribute(a[0], "__len__", at), {}, at);
      return V(static_cast<int64_t>(iterate(a[0], at).size()));
    }
    if (n == "range") {
      need(args, 1, 3, n, at);
      const int64_t start = a.size() > 1 ? to_integer(a[0], at) : 0, stop = to_integer(a[a.size() > 1 ? 1 : 0], at);
      const int64_t by = a.size() > 2 ? to_integer(a[2], at) : 1;
      if (by == 0) refuse(at, "range() step must not be zero");
      std::vector<Dynamic> items;
      for (int64_t i = start; by > 0 ? i < stop : i > stop; i += by) {
        if (static_cast<int64_t>(items.size()) == kMaxRange) refuse(at, "range() has more than {} items", kMaxRange);
        items.emplace_back(V(i));
      }
      return make_list(std::move(items));
    }
    if (n == "enumerate") {
      need(args, 1, 2, n, at);
      int64_t i = to_integer(keyword_or(args, 1, "start", V(int64_t{0})), at);
      std::vector<Dynamic> items;
      for (const Dynamic& item : iterate(a[0], at)) items.push_back(make_tuple({V(i++), item}));
      return make_list(std::move(items));
    }
    if (n == "zip") {
      std::vector<std::vector<Dynamic>> columns;
      for (const Dynamic& v : a) columns.push_back(iterate(v, at));
      size_t rows = columns.empty() ? 0 : columns.front().size();
      for (const auto& c : columns) rows = std::min(rows, c.size());
      std::vector<Dynamic> items;
      for (size_t i = 0; i < rows; ++i) {
        std::vector<Dynamic> row;
        for (const auto& c : columns) row.push_back(c[i]);
        items.push_back(make_tuple(std::move(row)));
      }
      return make_list(std::move(items));
    }
    if (n == "list" || n == "tuple" || n == "set" || n == "reversed" || n == "sorted") {
      need(args, 0, 1, n, at);
      std::vector<Dynamic> items = a.empty() ? std::vector<Dynamic>{} : iterate(a[0], at);
      if (n == "tuple") return make_tuple(std::move(items));
      if (n == "reversed") std::reverse(items.begin(), items.end());
      if (n == "set") {
        std::vector<Dynamic> once;
        for (Dynamic& item : items) {
          if (std::none_of(once.begin(), once.end(), [&](const Dynamic& o) { return equals(o, item); }))
            once.push_back(item);
        }
        items = std::move(once);
      }
      if (n == "sorted") {
        const Dynamic reverse = keyword_or(args, 9, "reverse", V(false));
        std::stable_sort(items.begin(), items.end(),
                         [&](const Dynamic& x, const Dynamic& y) { return compare(Operator::lt, x, y, at); });
        if (truth(reverse, at)) std::reverse(items.begin(), items.end());
      }
      return make_list(std::move(items));
    }
    if (n == "dict" || n == "OrderedDict") {
      auto dict = std::make_shared<DynamicDict>();
      need(args, 0, 1, n, at);
      if (!a.empty()) {
        if (const auto* d = a[0].get<Dynamic::Dict>()) {
          dict->items = (*d)->items;
        } else {
          for (const Dynamic& pair : iterate(a[0], at)) {
            const std::vector<Dynamic> kv = iterate(pair, at);
            if (kv.size() != 2) refuse(at, "dict() needs pairs of a key and a value");
            dict->set(kv[0], kv[1]);
          }
        }
      }
      for (auto& [key, value] : args.keywords) dict->set(V(key), value);
      return dict;
    }
    if (n == "int" || n == "float") {
      need(args, 0, 1, n, at);
      if (a.empty()) return n == "int" ? V(int64_t{0}) : V(0.0);
      if (a[0].string() || a[0].is_tensor()) return call_operator(n == "int" ? "aten::Int" : "aten::Float", args, at);
      const double v = to_real(a[0], at);
      if (n == "float") return V(v);
      return a[0].value()->is_double() ? V(numbers::to_integer<int64_t>(v)) : V(to_integer(a[0], at));
    }
    if (n == "bool") return V(!a.empty() && truth(a[0], at));
    if (n == "str" || n == "repr") return V(a.empty() ? std::string() : n == "str" ? to_text(a[0]) : to_repr(a[0]));
    if (n == "abs") {
      need(args, 1, 1, n, at);
      if (!a[0].is_tensor())
        return compare(Operator::lt, a[0], V(int64_t{0}), at) ? unary(Operator::neg, a[0], at) : a[0];
      return call_operator("aten::abs", args, at);
    }
    if (n == "min" || n == "max") {
      const std::vector<Dynamic> items = a.size() == 1 ? iterate(a[0], at) : a;
      if (items.empty()) refuse(at, "{}() of nothing", n);
      Dynamic best = items.front();
      for (const Dynamic& item : items) {
        if (compare(n == "min" ? Operator::lt : Operator::gt, item, best, at)) best = item;
      }
      return best;
    }
    if (n == "sum") {
      need(args, 1, 2, n, at);
      Dynamic total = a.size() > 1 ? a[1] : Dynamic(V(int64_t{0}));
      for (const Dynamic& item : iterate(a[0], at)) total = binary(Operator::add, total, item, at);
      return total;
    }
    if (n == "any" || n == "all") {
      need(args, 1, 1, n, at);
      for (const Dynamic& item : iterate(a[0], at)) {
        if (truth(item, at) == (n == "any")) return V(n == "any");
      }
      return V(n == "all");
    }
    if (n == "print") {
      std::string line;
      for (size_t i = 0; i < a.size(); ++i) line += (i ? " " : "") + to_text(a[i]);
      std::puts(line.c_str());
      return {};
    }
    if (n == "isinstance") {
      need(args, 2, 2, n, at);
      return V(is_instance(a[0], a[1], at));
    }
    if (n == "hasattr" || n == "getattr" || n == "setattr") {
      need(args, 2, 3, n, at);
      if (!a[1].string()) refuse(at, "the name of an attribute must be a string");
      if (n == "setattr") {
        need(args, 3, 3, n, at);
        set_attribute(a[0], *a[1].string(), a[2], at);
        return {};
      }
      auto found = find_attribute(a[0], *a[1].string(), at);
      if (n == "hasattr") return V(found.has_value());
      if (found) return std::move(*found);
      if (a.size() == 3) return a[2];
      return attribute(a[0], *a[1].string(), at);
    }
    if (n == "round") {
      need(args, 1, 2, n, at);
      if (a.size() == 2) {
        const double scale = std::pow(10.0, static_cast<double>(to_integer(a[1], at)));
        return V(numbers::round_half_even(to_real(a[0], at) * scale) / scale);
      }
      return V(numbers::to_integer<int64_t>(numbers::round_half_even(to_real(a[0], at))));
    }
    if (n == "type") {
      need(args, 1, 1, n, at);
      if (a[0].instance()) return Dynamic(a[0].instance()->cls);
      return DynamicName{type_name(a[0])};
    }
    if (n == "callable")
      return V(a.size() == 1 && (a[0].get<DynamicFunction>() || a[0].get<Definition*>() || a[0].get<DynamicMethod>()));
    if (n == "pow" && a.size() == 2) return binary(Operator::pow, a[0], a[1], at);
  }
  if (n == "OrderedDict") return call_name("dict", std::move(args), at);
  if (space == "math") {
    if (n == "prod") {
      need(args, 1, 1, n, at);
      Dynamic total = V(int64_t{1});
      for (const Dynamic& item : iterate(a[0], at)) total = binary(Operator::mul, total, item, at);
      return total;
    }
    if (n == "sqrt") {
      need(args, 1, 1, n, at);
      const double v = to_real(a[0], at);
      if (v < 0) refuse(at, "ValueError: math domain error");
      return V(std::sqrt(v));
    }
    if (n == "trunc") return V(numbers::to_integer<int64_t>(to_real(a.at(0), at)));
    return call_operator("aten::" + n, args, at);
  }
  if (path == "torch.nn.Parameter" || path == "torch.nn.parameter.Parameter" || path == "Parameter" ||
      path == "torch.nn.Buffer") {
    Dynamic data = keyword_or(args, 0, "data", {});
    if (data.is_none()) data = call_operator("aten::empty", {{make_list({V(int64_t{0})})}, {}}, at);
    if (!data.is_tensor()) refuse(at, "Parameter() needs a Tensor, got {}", type_name(data));
    if (n == "Buffer") return data;
    const bool needs_grad = truth(keyword_or(args, 1, "requires_grad", V(true)), at);
    // Shares memory, but is a tensor of its own.
    const Dynamic tensor = call_operator("aten::detach", {{data}, {}}, at);
    Tensor t = tensor.value()->to_tensor();
    if (needs_grad) autograd::make_leaf(t);
    return DynamicParameter{V(t)};
  }
  if (path == "torch.device") {
    need(args, 1, 2, n, at);
    if (!a[0].string()) return a[0];
    std::string text = *a[0].string();
    if (a.size() == 2) text += ":" + std::to_string(to_integer(a[1], at));
    return V(parse_device(text));
  }
  if (path == "torch.manual_seed") {
    need(args, 1, 1, n, at);
    manual_seed(static_cast<uint64_t>(to_integer(a[0], at)));
    return {};
  }
  if (path == "torch.get_default_dtype") return V(DType::float32);
  if (path == "torch.Size") return make_tuple(iterate(a.at(0), at));
  if (path == "torch.is_tensor") return V(a.size() == 1 && a[0].is_tensor());
  if (path == "torch.Tensor" || path == "torch.FloatTensor") {
    if (a.size() == 1 && a[0].items())
      return call_operator("aten::tensor", {{a[0]}, {{"dtype", V(DType::float32)}}}, at);
    return call_operator("aten::empty", {{make_list(a)}, {}}, at);
  }
  if (path == "torch.jit.Attribute" || path == "torch.jit.annotate") {
    need(args, 2, 2, n, at);
    return n == "Attribute" ? a[0] : a[1];
  }
  if (space == "torch.jit") {  // script(f), ignore(f), ...: the function itself
    if (!a.empty()) return a[0];
    if (n == "is_scripting" || n == "is_tracing") return V(false);
    return {};
  }
  if (path == "warnings.warn") {
    need(args, 1, 4, n, at);
    std::fprintf(stderr, "%s: UserWarning: %s\n", at.to_string().c_str(), to_text(a[0]).c_str());
    return {};
  }
  if (path == "torch._assert") {
    need(args, 1, 2, n, at);
    if (!truth(a[0], at)) refuse(at, "AssertionError: {}", a.size() > 1 ? to_text(a[1]) : std::string());
    return {};
  }
  if (space == "copy" && !a.empty()) return deep_copy(*this, a[0], at);
  if (space == "torch.cuda" && n == "is_available") return V(find_backend(DeviceType::cuda) != nullptr);
  if (space == "torch.cuda" && n == "device_count") {
    const DeviceQueries* queries = find_queries(DeviceType::cuda);
    return V(int64_t{queries ? queries->count() : 0});
  }
  if (space == "torch.nn.functional" || space == "torch" || space.starts_with("torch._C")) {
    const std::string op = "aten::" + n;
    if (!find_overloads(op).empty()) return call_operator(op, args, at);
  }
  if (space == "torch.linalg" || space == "torch.special" || space == "torch.fft") {
    const std::string op = "aten::" + space.substr(6) + "_" + n;
    if (!find_overloads(op).empty()) return call_operator(op, args, at);
  }
  if (path.starts_with("torch.classes.")) return construct_custom(require_custom_class(at, path), args, at);
  refuse(at, "'{}' is not supported while modules are built", path);
}

}  // namespace sconce::script
