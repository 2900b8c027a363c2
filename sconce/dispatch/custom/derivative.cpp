#include "sconce/dispatch/custom/derivative.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "sconce/base/error.h"
#include "sconce/dispatch/custom/body.h"

namespace sconce {
namespace {

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// "weight, bias" -> {"weight", "bias"}
std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    std::string_view name = text.substr(0, end);
    name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
    out.emplace_back(name.substr(0, name.find_last_not_of(" \t") + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool is_known(const Schema& schema, const std::string& name) {
  if (schema.find_argument(name) || name == "grad" || name == "result") return true;
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    if (name == "result" + std::to_string(i) || name == schema.returns[i].name) return true;
  }
  const bool several =
      schema.returns.size() > 1 || (schema.returns.size() == 1 && schema.returns[0].type->is(TypeKind::list));
  // The gradients of all results, or of all elements of a list; and where an argument is called grad.
  return name == "grads" && (several || schema.find_argument("grad"));
}

}  // namespace

std::vector<Derivative> split_derivatives(std::string_view text) {
  std::vector<Derivative> out;
  bool open = false;  // the last argument's formula stands on the lines below it
  int number = 0;
  std::optional<size_t> base;  // what the arguments are indented by
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (is_blank(line)) {
      if (open) out.back().body += "\n";
      continue;
    }
    const size_t start = line.find_first_not_of(" \t");
    if (!base) base = start;
    if (open && start > *base) {
      out.back().body += std::string(line) + "\n";
      continue;
    }
    const size_t colon = line.find(':');
    const std::string argument(line.substr(start, colon == std::string_view::npos ? colon : colon - start));
    const std::vector<std::string> arguments = split_names(argument);
    SCONCE_CHECK_AS(value, colon != std::string_view::npos, "'{}' is not 'argument: formula'", argument);
    for (const Derivative& other : out) {
      for (const std::string& name : arguments) {
        SCONCE_CHECK_AS(value, std::find(other.arguments.begin(), other.arguments.end(), name) == other.arguments.end(),
                        "two derivatives for '{}'", name);
      }
    }
    open = is_blank(line.substr(colon + 1));
    if (open) {
      out.push_back({argument, arguments, "", number + 1, 1});
    } else {
      // In brackets, or `x = 1` would pass for a formula.
      const std::string before = "return (";
      out.push_back({argument, arguments, before + std::string(line.substr(colon + 1)) + ")", number,
                     static_cast<int>(colon) + 2 - static_cast<int>(before.size())});
    }
  }
  SCONCE_CHECK_AS(value, !out.empty(), "the derivative is empty");
  return out;
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> out;
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '\'' || c == '"') {
      i = std::min(text.find(c, i + 1), text.size() - 1) + 1;
    } else if (is_letter(c)) {
      size_t end = i;
      while (end < text.size() && is_letter(text[end])) ++end;
      const size_t next = text.find_first_not_of(' ', end);
      const bool set = next != text.npos && text[next] == '=' && text.substr(next, 2) != "==";
      const bool attribute = i > 0 && text[i - 1] == '.';
      if (!set && !attribute) out.emplace_back(text.substr(i, end - i));
      i = end;
    } else {
      ++i;
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void check_derivatives(const Schema& schema, std::string_view text) {
  try {
    for (const Derivative& d : split_derivatives(text)) {
      for (const std::string& name : d.arguments) {
        SCONCE_CHECK_AS(value, schema.find_argument(name), "derivative for '{}', which is no argument", name);
      }
      std::optional<std::vector<std::string>> names;
      try {
        if (BodyRunner* runner = body_runner()) names = runner->free_names(d.body, d.line, d.column);
      } catch (const Error& e) {
        fail_as(e.kind(), "derivative for '{}': {}", d.argument, e.message());
      }
      if (!names) continue;
      for (const std::string& name : *names) {
        SCONCE_CHECK_AS(value, is_known(schema, name) || name == "needs",
                        "derivative for '{}' uses '{}', which is neither an argument nor grad nor result", d.argument,
                        name);
      }
    }
  } catch (const Error& e) {
    fail_as(e.kind(), "{}: {}", schema.qualified_name(), e.message());
  }
}

}  // namespace sconce
