// Load budget: default resource limits while a file is read. A file may bring code that runs then (__setstate__), and
// code that is compiled; a small file must not take much time or memory, whatever it says.
#pragma once

#include "sconce/base/budget.h"
#include "sconce/serialization/file/file_bytes.h"

namespace sconce {

// What every file may use, and what it may use for each of its bytes; each has a clear error and a test. A limit that
// the caller sets takes the place of the default.
inline constexpr uint64_t kLoadBytes = 64 << 20, kLoadBytesPerByte = 4;
inline constexpr uint64_t kLoadWork = 100'000'000, kLoadWorkPerByte = 64;  // elements
inline constexpr uint64_t kLoadSteps = 200'000, kLoadStepsPerKiB = 64;     // loop iterations and calls
inline constexpr size_t kMaxLoadDepth = 1'000;                             // calls in calls

// `limits`, and the defaults for a file of that many bytes where they are none.
Limits load_limits(uint64_t size, Limits limits);
SCONCE_API std::shared_ptr<Budget> load_budget(const FileBytes& file, const Limits& limits);
// Within that, for code of the file. Without trust only operators that are fit for loading may be called.
SCONCE_API std::shared_ptr<Budget> setstate_budget(const std::string& file, bool trust);
// Of these limits alone; what stands in messages, with the name of a file behind it.
std::shared_ptr<Budget> named_budget(const Limits& limits, std::string_view what, std::string_view file = {});

}  // namespace sconce
