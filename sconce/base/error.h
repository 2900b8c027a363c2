// Error: the one exception type of Sconce. A message says who, what is wrong and what was given:
//   matmul: inner sizes differ (4 and 5): self is [3, 4], other is [5, 2]
// `SCONCE_CHECK(condition, "text {}", values...)` is for the caller's mistake, `SCONCE_ASSERT` for ours. Each "{}"
// takes the next value: numbers, strings, lists of integers (printed as [2, 3]), dtypes, devices. Nothing is formatted
// unless the check fails.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

#include "sconce/base/export.h"
#include "sconce/base/list_ref.h"

namespace sconce {

// The class of exception that Python would raise: a binding maps each kind to its exception class.
enum class ErrorKind : uint8_t { runtime, type, value, index, key, not_implemented, zero_division, overflow, internal };

class SCONCE_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message);
  ~Error() override;
  const char* what() const noexcept override { return message_.c_str(); }
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }

  // The operator whose call failed ("aten::add.Tensor"), empty when no operator was involved.
  const std::string& op() const { return op_; }
  // Adds operator and arguments, once: the innermost operator that the user called wins.
  void set_op(std::string_view op, std::string_view arguments);

 private:
  ErrorKind kind_;
  std::string message_;
  std::string op_;
};

// One value for a "{}" of a message: 16 bytes, which every check in the library makes room for.
class ErrorArg {
 public:
  ErrorArg(bool v) : ErrorArg(v ? std::string_view("True") : std::string_view("False")) {}
  ErrorArg(int v) : ErrorArg(static_cast<long>(v)) {}
  ErrorArg(unsigned v) : ErrorArg(static_cast<long>(v)) {}
  ErrorArg(long v) : bits_(static_cast<uint64_t>(v)), kind_(kInteger) {}
  ErrorArg(long long v) : ErrorArg(static_cast<long>(v)) {}
  ErrorArg(unsigned long v) : ErrorArg(static_cast<long>(v)) {}
  ErrorArg(unsigned long long v) : ErrorArg(static_cast<long>(v)) {}
  ErrorArg(double v) : bits_(std::bit_cast<uint64_t>(v)), kind_(kReal) {}
  ErrorArg(const char* v) : ErrorArg(v, kText0) {}
  ErrorArg(std::string_view v) : ErrorArg(v.data(), kText | v.size() * kSize) {}
  ErrorArg(const std::string& v) : ErrorArg(std::string_view(v)) {}
  ErrorArg(IntList v) : ErrorArg(v.data(), kList | v.size() * kSize) {}
  template <class Container>
    requires std::convertible_to<const Container&, IntList> &&
             (!std::convertible_to<const Container&, std::string_view>)
  ErrorArg(const Container& v) : ErrorArg(IntList(v)) {}

  void print(std::string& out) const;

 private:
  ErrorArg(const void* p, uint64_t kind) : bits_(reinterpret_cast<uintptr_t>(p)), kind_(kind) {}
  // What bits_ are; texts and lists have their size above it.
  static constexpr uint64_t kInteger = 0, kReal = 1, kText0 = 2, kText = 3, kList = 4, kSize = 8;

  uint64_t bits_, kind_;
};

SCONCE_API std::string format_message(std::string_view format, std::initializer_list<ErrorArg> args);
// Nearly all formats are literals, which callers would measure were they to become views.
[[noreturn]] SCONCE_API SCONCE_COLD void fail(ErrorKind kind, const char* format, std::initializer_list<ErrorArg> args);
[[noreturn]] SCONCE_API SCONCE_COLD void fail_assert(const char* file, int line, const char* condition);

// What the templates below call: values arrive in registers, and one function serves all messages with as many of them.
template <std::same_as<ErrorArg>... Args>
[[noreturn]] SCONCE_COLD void fail_with(ErrorKind kind, const char* format, Args... args) {
  fail(kind, format, {args...});
}
template <class... Args>
[[noreturn]] SCONCE_INLINE void fail(const char* format, const Args&... args) {
  fail_with(ErrorKind::runtime, format, ErrorArg(args)...);
}
template <class... Args>
[[noreturn]] SCONCE_INLINE void fail_as(ErrorKind kind, const char* format, const Args&... args) {
  fail_with(kind, format, ErrorArg(args)...);
}

#define SCONCE_CHECK(condition, ...) \
  do {                               \
    if (!(condition)) [[unlikely]]   \
      ::sconce::fail(__VA_ARGS__);   \
  } while (false)

// As SCONCE_CHECK, with the kind of the error: SCONCE_CHECK_AS(index, i < n, "index {} is out of range", i).
#define SCONCE_CHECK_AS(kind, condition, ...)                    \
  do {                                                           \
    if (!(condition)) [[unlikely]]                               \
      ::sconce::fail_as(::sconce::ErrorKind::kind, __VA_ARGS__); \
  } while (false)

#define SCONCE_ASSERT(condition)                             \
  do {                                                       \
    if (!(condition)) [[unlikely]]                           \
      ::sconce::fail_assert(__FILE__, __LINE__, #condition); \
  } while (false)

}  // namespace sconce
