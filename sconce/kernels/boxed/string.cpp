// Strings: bytes, as in TorchScript.
#include <charconv>
#include <cstdio>

#include "sconce/base/text/program_output.h"
#include "sconce/dispatch/registry.h"
#include "sconce/generated/container_kernels.h"
#include "sconce/generated/environment_kernels.h"
#include "sconce/kernels/boxed/slice.h"
#include "sconce/types/script_text.h"

namespace sconce::boxed {
namespace {

std::string_view trimmed(std::string_view s) {
  const size_t from = s.find_first_not_of(" \t\n\r\f\v");
  if (from == std::string_view::npos) return {};
  return s.substr(from, s.find_last_not_of(" \t\n\r\f\v") - from + 1);
}

}  // namespace

void string_len(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = static_cast<int64_t>(args[0].to_string_ref().size());
}

void string_get(const Op&, KeySet, Value* args, Value* returns) {
  const std::string& s = args[0].to_string_ref();
  const auto n = static_cast<int64_t>(s.size());
  int64_t i = args[1].to_int();
  SCONCE_CHECK_AS(index, -n <= i && i < n, "string index out of range");
  returns[0] = std::string_view(s).substr(static_cast<size_t>(i < 0 ? i + n : i), 1);
}

void string_slice(const Op&, KeySet, Value* args, Value* returns) {
  const std::string& s = args[0].to_string_ref();
  std::string out;
  for_slice(static_cast<int64_t>(s.size()), args[1], args[2], args[3].to_int(),
            [&](int64_t i) { out += s[static_cast<size_t>(i)]; });
  returns[0] = out;
}

void string_list(const Op&, KeySet, Value* args, Value* returns) {
  auto out = make_ref<List>(string_type());
  for (char c : args[0].to_string_ref()) out->append(std::string_view(&c, 1));
  returns[0] = std::move(out);
}

void string_add(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = args[0].to_string_ref() + args[1].to_string_ref();
}

// The values come as one tuple behind the format: see Note [Variable arguments] in match.cpp.
void string_format(const Op&, KeySet, Value* args, Value* returns) {
  const std::string& format = args[0].to_string_ref();
  const Tuple& values = args[1].to_tuple();
  std::string out;
  size_t next = 0, from = 0;
  for (size_t at; (at = format.find("{}", from)) != std::string::npos; from = at + 2) {
    SCONCE_CHECK_AS(index, next < values.items.size(), "too few arguments for format string: {} for '{}'",
                    values.items.size(), format);
    out.append(format, from, at - from);
    out += script_text(values.items[next++]);
  }
  SCONCE_CHECK_AS(value, next == values.items.size(), "too many arguments for format string: {} for '{}'",
                  values.items.size(), format);
  out.append(format, from);
  returns[0] = out;
}

void to_str(const Op&, KeySet, Value* args, Value* returns) { returns[0] = script_text(args[0]); }

void string_to_int(const Op&, KeySet, Value* args, Value* returns) {
  std::string_view s = trimmed(args[0].to_string_ref());
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  int64_t v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  SCONCE_CHECK_AS(value, error == std::errc() && end == s.data() + s.size(),
                  "invalid literal for int() with base 10: {}", args[0].repr());
  returns[0] = v;
}

void string_to_float(const Op&, KeySet, Value* args, Value* returns) {
  std::string_view s = trimmed(args[0].to_string_ref());
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  double v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  SCONCE_CHECK_AS(value, error == std::errc() && end == s.data() + s.size(), "could not convert string to float: {}",
                  args[0].repr());
  returns[0] = v;
}

void warn(const Op&, KeySet, Value* args, Value*) {
  if (program_output().warn) return program_output().warn(args[0].to_string_ref());
  std::fprintf(stderr, "Warning: %s\n", args[0].to_string_ref().c_str());
}

}  // namespace sconce::boxed
