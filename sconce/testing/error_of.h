// Error assertions for tests: the message of the Error that a call throws.
#pragma once

#include <string>

#include "sconce/base/error.h"

namespace sconce::testing {

// The message of the Error that f() throws, or "no error".
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace sconce::testing

// Expects that the expression throws an Error whose message contains `part`.
#define EXPECT_ERROR(expression, part)                                                 \
  do {                                                                                 \
    const std::string text = ::sconce::testing::error_of([&] { (void)(expression); }); \
    EXPECT_NE(text.find(part), std::string::npos) << "got: " << text;                  \
  } while (false)
