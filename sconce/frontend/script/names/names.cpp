#include "sconce/frontend/script/names/names.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/emit/iterables.h"
#include "sconce/frontend/script/names/language_values.h"
#include "sconce/frontend/script/names/namespaces.h"
#include "sconce/frontend/script/program/script_library.h"

namespace sconce::script {
namespace {

struct Namespace {
  std::string_view prefix, library;
};
// The meaning of a path, as a function that makes the sugared value.
using Make = std::function<SugaredPtr(Emitter& e, const Range& at)>;

struct Table {
  std::unordered_map<std::string, Namespace> namespaces;
  std::unordered_map<std::string, Make> names;
  std::unordered_map<std::string, sconce::Value> constants;
  std::unordered_map<std::string, std::string> aliases;
  std::unordered_map<std::string_view, std::string_view> casts;  // names of conversions, by operator

  Table();
  // Functions that every line of the table calls: the code of a line is a call.
  void add_namespace(const char* path, const char* prefix, const char* library) {
    namespaces[path] = {prefix, library};
  }
  void add(const char* path, Make make) { names[path] = std::move(make); }
  void add_plain(const char* path, SugaredPtr (*make)(Emitter& e, const Range& at)) { add(path, make); }
  void add_constant(const char* path, sconce::Value value) { constants[path] = std::move(value); }
  void add_alias(const char* path, const char* other) { aliases[path] = other; }
  void add_cast(const char* op, const char* path) { casts[op] = path; }
  void add_all(std::string_view path, std::string_view list, const std::function<Make(std::string_view)>& make) {
    for (size_t at = 0; at < list.size();) {
      const size_t end = std::min(list.find(' ', at), list.size());
      const std::string_view name = list.substr(at, end - at);
      names[std::string(path) + std::string(name)] = make(name);
      at = end + 1;
    }
  }
};

Make operator_named(const std::string& op) {
  return [symbol = ir::Symbol(op)](Emitter&, const Range&) { return std::make_shared<BuiltinFunction>(symbol); };
}

Table::Table() {
#define SCONCE_NAMESPACE(path, prefix, library) add_namespace(path, prefix, library);
#define SCONCE_OPERATORS(path, prefix, list) \
  add_all(path, list, [](std::string_view name) { return operator_named(std::string(prefix) + std::string(name)); });
#define SCONCE_OPERATOR(path, op) add(path, operator_named(op));
#define SCONCE_PLAIN(path, made) add_plain(path, [](Emitter&, const Range&) -> SugaredPtr { return made; });
#define SCONCE_MAGIC(path, magic, op) SCONCE_PLAIN(path, std::make_shared<MagicFunction>(magic, op))
#define SCONCE_TYPE(path, type, magic, op)                              \
  SCONCE_PLAIN(path, std::make_shared<CastFunction>(type(), magic, op)) \
  add_cast(op, path);
#define SCONCE_FUNCTION(path, function) SCONCE_PLAIN(path, std::make_shared<LanguageFunction>(path, function))
#define SCONCE_ITERABLE(path, function) SCONCE_PLAIN(path, function())
#define SCONCE_SPECIAL(path, form) SCONCE_PLAIN(path, std::make_shared<SpecialForm>(form))
#define SCONCE_RESULT(path, value) SCONCE_PLAIN(path, std::make_shared<ConstantFunction>(sconce::Value(value)))
#define SCONCE_LEGACY(path, dtype) SCONCE_PLAIN(path, std::make_shared<LegacyConstructor>(path, DType::dtype))
#define SCONCE_CONSTANT(path, value) add_constant(path, sconce::Value(value));
#define SCONCE_ALIAS(path, other) add_alias(path, other);
#define SCONCE_EXCEPTIONS(list)                                                    \
  add_all("", list, [](std::string_view name) -> Make {                            \
    return [qualified = "builtins." + std::string(name)](Emitter&, const Range&) { \
      return std::make_shared<ExceptionClass>(qualified);                          \
    };                                                                             \
  });
#include "sconce/frontend/script/names/names_table.def"
#undef SCONCE_NAMESPACE
#undef SCONCE_OPERATORS
#undef SCONCE_OPERATOR
#undef SCONCE_PLAIN
#undef SCONCE_MAGIC
#undef SCONCE_TYPE
#undef SCONCE_FUNCTION
#undef SCONCE_ITERABLE
#undef SCONCE_SPECIAL
#undef SCONCE_RESULT
#undef SCONCE_LEGACY
#undef SCONCE_CONSTANT
#undef SCONCE_ALIAS
#undef SCONCE_EXCEPTIONS
}

const Table& table() {
  static const Table& made = *new Table;
  return made;
}

}  // namespace

Resolver::~Resolver() = default;

bool chosen_by_name(const Op& op) {
  struct Pair {
    std::string_view name, overload;
  };
  static constexpr Pair kNever[] = {
#define SCONCE_NOT_CHOSEN(op, overload) {op, overload},
#include "sconce/frontend/script/names/not_chosen.def"
#undef SCONCE_NOT_CHOSEN
  };
  for (const Pair& p : kNever) {
    if (op.info.name == p.name && op.info.overload == p.overload) return false;
  }
  return true;
}

SugaredPtr find_path(Emitter& e, const Range& at, std::string_view given) {
  const Table& t = table();
  std::string path(given);
  if (const auto alias = t.aliases.find(path); alias != t.aliases.end()) path = alias->second;
  if (const auto found = t.names.find(path); found != t.names.end()) return found->second(e, at);
  if (const auto found = t.constants.find(path); found != t.constants.end())
    return simple(e.constant(at, found->second));
  if (t.namespaces.contains(path)) return std::make_shared<NamespaceValue>(path);
  if (path == "torch.ops" || path == "ops") return std::make_shared<OpsValue>("");
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return nullptr;
  const std::string parent = path.substr(0, dot), name = path.substr(dot + 1);
  const auto space = t.namespaces.find(parent);
  if (space == t.namespaces.end()) return nullptr;
  if (!space->second.library.empty()) {
    if (SugaredPtr found = library_value(e, at, space->second.library, name)) return found;
  }
  if (space->second.prefix.empty()) return library_class_value(path);
  const std::string op = std::string(space->second.prefix) + name;
  return is_builtin(op) ? std::make_shared<BuiltinFunction>(ir::Symbol(op)) : nullptr;
}

bool is_path(std::string_view given) {
  const Table& t = table();
  std::string path(given);
  if (const auto alias = t.aliases.find(path); alias != t.aliases.end()) path = alias->second;
  if (t.names.contains(path) || t.constants.contains(path) || t.namespaces.contains(path)) return true;
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return false;
  const auto space = t.namespaces.find(path.substr(0, dot));
  if (space == t.namespaces.end()) return false;
  const std::string name = path.substr(dot + 1);
  if (!space->second.library.empty()) {
    const std::vector<std::string> names = library_names(space->second.library);
    if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  }
  return !space->second.prefix.empty() && is_builtin(std::string(space->second.prefix) + name);
}

std::string_view cast_name(std::string_view op) {
  const auto found = table().casts.find(op);
  return found == table().casts.end() ? std::string_view() : found->second;
}

std::optional<sconce::Value> language_constant(const std::string& path) {
  const auto& constants = table().constants;
  const auto found = constants.find(path);
  return found == constants.end() ? std::nullopt : std::optional(found->second);
}

SugaredPtr find_builtin_name(Emitter& e, const Range& at, const std::string& name) { return find_path(e, at, name); }

bool is_torch_name(const std::string& name) {
  const Table& t = table();
  const std::string path = "torch." + name;
  return t.names.contains(path) || t.aliases.contains(path) || t.namespaces.contains(path) ||
         !library_functions(t.namespaces.at("torch").library, name).empty();
}

std::vector<std::string> names_in(std::string_view path) {
  const Table& t = table();
  std::vector<std::string> out;
  const std::string start = std::string(path) + ".";
  const auto add = [&](const std::string& full) {
    if (full.starts_with(start) && full.find('.', start.size()) == std::string::npos)
      out.push_back(full.substr(start.size()));
  };
  for (const auto& [full, make] : t.names) add(full);
  for (const auto& [full, value] : t.constants) add(full);
  for (const auto& [full, space] : t.namespaces) add(full);
  for (const auto& [full, other] : t.aliases) add(full);
  const auto found = t.namespaces.find(std::string(path));
  if (found == t.namespaces.end()) return out;
  if (!found->second.library.empty()) {
    for (const std::string& name : library_names(found->second.library)) out.push_back(name);
  }
  if (!found->second.prefix.empty()) {
    for (const Op* op : all_ops()) {
      const std::string_view name = op->info.name;
      if (name.starts_with(found->second.prefix)) out.emplace_back(name.substr(found->second.prefix.size()));
    }
  }
  return out;
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> out = {"ops"};
  for (const auto& [path, make] : table().names) {
    if (path.find('.') == std::string::npos) out.push_back(path);
  }
  for (const auto& [path, value] : table().constants) {
    if (path.find('.') == std::string::npos) out.push_back(path);
  }
  for (const auto& [path, space] : table().namespaces) {
    if (path.find('.') == std::string::npos) out.push_back(path);
  }
  return out;
}

}  // namespace sconce::script
