// Error: the one exception type of Sconce. A message says who, what is wrong and what was given:
//   matmul: inner sizes differ (4 and 5): self is [3, 4], other is [5, 2]
// `SCONCE_CHECK(condition, "text {}", values...)` is for the caller's mistake, `SCONCE_ASSERT` for ours. Each "{}"
// takes the next value: numbers, strings, lists of integers (printed as [2, 3]), dtypes, devices. Nothing is formatted
// unless the check fails.
#pragma once

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

// One value for a "{}" of a message.
class ErrorArg {
 public:
  ErrorArg(bool v) : tag_(Tag::text), text_(v ? "True" : "False") {}
  ErrorArg(int v) : tag_(Tag::integer), integer_(v) {}
  ErrorArg(unsigned v) : tag_(Tag::integer), integer_(v) {}
  ErrorArg(long v) : tag_(Tag::integer), integer_(v) {}
  ErrorArg(long long v) : tag_(Tag::integer), integer_(v) {}
  ErrorArg(unsigned long v) : tag_(Tag::integer), integer_(static_cast<int64_t>(v)) {}
  ErrorArg(unsigned long long v) : tag_(Tag::integer), integer_(static_cast<int64_t>(v)) {}
  ErrorArg(double v) : tag_(Tag::real), real_(v) {}
  ErrorArg(const char* v) : tag_(Tag::text), text_(v) {}
  ErrorArg(std::string_view v) : tag_(Tag::text), text_(v) {}
  ErrorArg(const std::string& v) : tag_(Tag::text), text_(v) {}
  ErrorArg(IntList v) : tag_(Tag::list), list_(v) {}
  template <class Container>
    requires std::convertible_to<const Container&, IntList> &&
                 (!std::convertible_to<const Container&, std::string_view>)
  ErrorArg(const Container& v) : tag_(Tag::list), list_(v) {}

  void print(std::string& out) const;

 private:
  enum class Tag : uint8_t { integer, real, text, list } tag_;
  int64_t integer_ = 0;
  double real_ = 0;
  std::string_view text_;
  IntList list_;
};

SCONCE_API std::string format_message(std::string_view format, std::initializer_list<ErrorArg> args);
[[noreturn]] SCONCE_API SCONCE_COLD void fail(ErrorKind kind, std::string_view format,
                                              std::initializer_list<ErrorArg> args);
[[noreturn]] SCONCE_API SCONCE_COLD void fail_assert(const char* file, int line, const char* condition);

template <class... Args>
[[noreturn]] SCONCE_COLD void fail(std::string_view format, const Args&... args) {
  fail(ErrorKind::runtime, format, {ErrorArg(args)...});
}
template <class... Args>
[[noreturn]] SCONCE_COLD void fail_as(ErrorKind kind, std::string_view format, const Args&... args) {
  fail(kind, format, {ErrorArg(args)...});
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
