#include "sconce/serialization/code/print_names.h"

#include <algorithm>
#include <cctype>

#include "sconce/syntax/lexer.h"

namespace sconce {
namespace {

// Names that the text itself uses for something else.
constexpr std::string_view kTaken[] = {
    "_",   "aten",  "annotate",  "attribute",     "awaitable",      "bool", "complex", "CONSTANTS", "float", "fork",
    "inf", "infj",  "getattr",   "int",           "isinstance",     "nan",  "nanj",    "ops",       "print", "range",
    "str", "torch", "__torch__", "uninitialized", "unchecked_cast",
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_identifier(std::string_view name) {
  if (name.empty() || is_digit(name[0]) || !std::all_of(name.begin(), name.end(), is_word)) return false;
  const Source source("", std::string(name));
  const auto end = static_cast<uint32_t>(name.size());
  return syntax::lex(source, 0, end, syntax::Dialect::archive, true).tokens[0].kind == syntax::TokenKind::ident;
}

bool is_made_name(std::string_view name) {
  return name.starts_with('_') && std::all_of(name.begin() + 1, name.end(), is_digit);
}

void NameTable::start_function() { used_.clear(); }

bool NameTable::take(const std::string& name) {
  return std::find(std::begin(kTaken), std::end(kTaken), name) == std::end(kTaken) && used_.insert(name).second;
}

std::string NameTable::unique(std::string_view wanted) {
  std::string name(wanted);
  for (char& c : name) c = is_word(c) ? c : '_';
  if (name.empty() || is_digit(name[0])) name.insert(0, 1, '_');
  auto known = names_.find(name);
  if (known == names_.end()) known = names_.emplace(name, Numbers{is_identifier(name), 0}).first;
  if (known->second.is_identifier && take(name)) return name;
  for (;;) {
    std::string numbered = name + std::to_string(known->second.next++);
    if (take(numbered)) return numbered;
  }
}

}  // namespace sconce
