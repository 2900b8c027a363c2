// Failure: a status code with a message, what a request is answered with when it cannot be served.
#pragma once

#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sconce::server {

enum class Code : unsigned char {
  ok,
  invalid_argument,
  unauthenticated,
  forbidden,
  not_found,
  wrong_method,  // of HTTP
  too_large,
  deadline_exceeded,
  exhausted,      // a queue is full
  limit_reached,  // of memory or work, by the request itself
  cancelled,      // the client has gone
  unavailable,
  unimplemented,
  internal,
};

struct CodeInfo {
  const char* name;  // in metrics and logs
  int http;
  int grpc;
};
constexpr CodeInfo code_info(Code code) {
  constexpr CodeInfo kInfo[] = {
      {"ok", 200, 0},
      {"invalid_argument", 400, 3},
      {"unauthenticated", 401, 16},
      {"forbidden", 403, 7},
      {"not_found", 404, 5},
      {"wrong_method", 405, 12},
      {"too_large", 413, 8},
      {"deadline_exceeded", 504, 4},
      {"exhausted", 429, 8},
      {"limit_reached", 422, 8},
      {"cancelled", 499, 1},
      {"unavailable", 503, 14},
      {"unimplemented", 501, 12},
      {"internal", 500, 13},
  };
  return kInfo[static_cast<int>(code)];
}

struct Failure : std::runtime_error {
  Failure(Code code, const std::string& message) : runtime_error(message), code(code) {}
  Code code;
};

template <class... Args>
[[noreturn]] void refuse(Code code, fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(code, fmt::format(format, std::forward<Args>(args)...));
}
// A request that is wrong by itself.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(Code::invalid_argument, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace sconce::server
