// Source and Range: program text, and a stretch of it. Every tree node, IR node and error message carries a Range, so
// that whatever goes wrong can be shown where it was written:
//
//     File "model.py", line 2
//   def g(x: int):
//     return x.foo
//            ~~~~~ <--- HERE
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/base/error.h"

namespace sconce {

struct Range;

// SourceMap: maps text that a program wrote (the code of an archive) back to the text it was made from. Thread-safe.
class SCONCE_API SourceMap {
 public:
  virtual ~SourceMap();
  // The place in the text that people wrote; nowhere when it is not known. Throws nothing.
  virtual Range original(const Range& written) const noexcept = 0;
  // Reads what original() looks at, where that is read late. Throws std::bad_alloc, after which original() knows no
  // place.
  virtual void ensure_read() const {}
};

// A piece of program text. `first_line` is the number of its first line (a function cut out of a file
// keeps the file's).
class SCONCE_API Source {
 public:
  Source(std::string name, std::string text, int first_line = 1, std::shared_ptr<const SourceMap> map = nullptr);
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  int first_line() const { return first_line_; }
  const SourceMap* map() const { return map_.get(); }  // null for text that people wrote
  // Line number (as in the file) and column (from 0) of an offset into the text.
  int line_of(size_t offset) const;
  int column_of(size_t offset) const;
  size_t line_count() const { return line_starts_.size(); }
  // The text of line `index` (from 0), without its newline.
  std::string_view line_text(size_t index) const;

 private:
  std::string name_, text_;
  int first_line_;
  std::vector<size_t> line_starts_;
  std::shared_ptr<const SourceMap> map_;
};
using SourcePtr = std::shared_ptr<const Source>;

// Bytes [begin, end) of a source; a Range without source is "nowhere" (made by a pass).
struct SCONCE_API Range {
  SourcePtr source;
  uint32_t begin = 0, end = 0;

  explicit operator bool() const { return source != nullptr; }
  int line() const { return source ? source->line_of(begin) : 0; }
  int column() const { return source ? source->column_of(begin) : 0; }
  std::string_view text() const;
  // The range that it was made from, if its source has a map; else nowhere.
  Range original() const;
  // "model.py:4:8", as IR text prints it behind '#'; empty for nowhere.
  std::string to_string() const;
  // The block shown above: file and line, two lines of context before and after, the range underlined, "<--- HERE".
  // With `function`, the first line ends in ", in <function>" (a frame of a run-time traceback).
  std::string highlight(std::string_view function = {}) const;
};

// From the start of `a` to the end of `b`.
SCONCE_API Range join(const Range& a, const Range& b);

// A program that is refused. `what()` is the message, then the place; each caller that led to a function being compiled
// adds "'g' is being compiled since it was called from 'f'" and its own place.
class SCONCE_API CompileError : public Error {
 public:
  CompileError(const std::string& reason, const Range& at);
  ~CompileError() override;
  const std::string& reason() const { return reason_; }  // the message without the place
  const Range& at() const { return at_; }
  // The same error, with one more line of the call chain.
  CompileError called_from(std::string_view callee, std::string_view caller, const Range& call) const;

 private:
  CompileError(std::string reason, Range at, std::string whole);
  std::string reason_;
  Range at_;
};

// Throws CompileError; each "{}" takes the next value.
template <class... Args>
[[noreturn]] SCONCE_COLD void refuse(const Range& at, std::string_view format, const Args&... args) {
  throw CompileError(format_message(format, {ErrorArg(args)...}), at);
}

}  // namespace sconce
