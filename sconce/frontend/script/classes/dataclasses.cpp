// The methods that @dataclass writes for a class: __init__, __eq__, and with order=True the comparisons, as text.
#include <fmt/format.h>

#include "sconce/frontend/script/classes/declare_class.h"

namespace sconce::script {
namespace {

using namespace syntax;

struct Field {
  std::string name, annotation, default_text;
  bool in_init = true, compared = true, init_only = false;
};

bool flag(const Call* options, std::string_view name, bool otherwise) {
  if (!options) return otherwise;
  for (const Keyword& k : options->keywords) {
    const auto* c = as<Constant>(k.value);
    if (k.name == name && c) return c->literal == Constant::Literal::true_;
  }
  return otherwise;
}

// The text of an expression. Ranges end before the bracket that closes a call.
std::string text_of(ExprPtr e) {
  std::string text(e->range.text());
  std::string open;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (!open.empty() && c == open.back()) {
      open.pop_back();
    }
  }
  return text + std::string(open.rbegin(), open.rend());
}

Field field_of(const Assign& a, const Name& name) {
  Field f{name.id, text_of(a.annotation), {}};
  if (const auto* s = as<Subscript>(a.annotation); s && dotted_name(s->value).ends_with("InitVar")) {
    f.annotation = text_of(s->indices.front());
    f.init_only = true;
    f.compared = false;
  }
  if (!a.value) return f;
  const auto* call = as<Call>(a.value);
  if (!call || decorator_name(call->callee) != "field") {
    f.default_text = text_of(a.value);
    return f;
  }
  f.in_init = flag(call, "init", true);
  f.compared = flag(call, "compare", true);
  for (const Keyword& k : call->keywords) {
    if (k.name == "default") f.default_text = text_of(k.value);
    if (k.name == "default_factory") {
      refuse(k.range, "Default factory initializers are not supported in TorchScript dataclasses");
    }
  }
  return f;
}

std::string init_text(const std::vector<Field>& fields, bool post_init) {
  std::string signature, body, later;
  for (const Field& f : fields) {
    if (!f.in_init) continue;
    signature += fmt::format(", {}: {}", f.name, f.annotation);
    if (!f.default_text.empty()) signature += " = " + f.default_text;
  }
  for (const Field& f : fields) {
    if (f.init_only) {
      later += (later.empty() ? "" : ", ") + f.name;
    } else if (f.in_init) {
      body += fmt::format("    self.{} = {}\n", f.name, f.name);
    } else if (!f.default_text.empty()) {
      body += fmt::format("    self.{} = {}\n", f.name, f.default_text);
    }
  }
  if (post_init) body += fmt::format("    self.__post_init__({})\n", later);
  if (body.empty()) body = "    pass\n";
  return fmt::format("def __init__(self{}) -> None:\n{}", signature, body);
}

// a == b: all fields equal. a < b: the first field that differs decides.
std::string comparison_text(const std::vector<Field>& fields, std::string_view cls, std::string_view method) {
  std::string body;
  if (method == "__eq__") {
    for (const Field& f : fields) {
      if (f.compared) body += fmt::format("    if self.{0} != other.{0}:\n        return False\n", f.name);
    }
    body += "    return True\n";
  } else {
    const std::string_view strict = method == "__lt__" || method == "__le__" ? "<" : ">";
    for (const Field& f : fields) {
      if (!f.compared) continue;
      body += fmt::format("    if self.{0} {1} other.{0}:\n        return True\n", f.name, strict);
      body += fmt::format("    elif self.{0} != other.{0}:\n        return False\n", f.name);
    }
    body += method == "__le__" || method == "__ge__" ? "    return True\n" : "    return False\n";
  }
  return fmt::format("def {}(self, other: {}) -> bool:\n{}", method, cls, body);
}

}  // namespace

std::string dataclass_methods(const ClassDef& def, std::string_view class_name) {
  ExprPtr decorator = nullptr;
  for (ExprPtr d : def.decorators) {
    if (decorator_name(d) == "dataclass") decorator = d;
  }
  if (!decorator) return {};
  const auto* options = as<Call>(decorator);
  std::vector<Field> fields;
  bool post_init = false;
  for (StmtPtr s : def.body) {
    if (const auto* f = as<FunctionDef>(s); f && f->name == "__post_init__") post_init = true;
    const auto* a = as<Assign>(s);
    if (!a || !a->annotation || a->targets.size() != 1) continue;
    if (const auto* name = as<Name>(a->targets.front())) fields.push_back(field_of(*a, *name));
  }
  std::string text;
  if (flag(options, "init", true)) text += init_text(fields, post_init);
  if (flag(options, "eq", true)) text += comparison_text(fields, class_name, "__eq__");
  if (flag(options, "order", false)) {
    for (const char* method : {"__lt__", "__le__", "__gt__", "__ge__"})
      text += comparison_text(fields, class_name, method);
  }
  return text;
}

}  // namespace sconce::script
