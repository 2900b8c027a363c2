// PickleBytes: a pickle assembler, which writes the opcodes of protocol 2 and keeps the memo.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sconce/base/export.h"

namespace sconce {

class SCONCE_API PickleBytes {
 public:
  PickleBytes() : bytes_("\x80\x02") {}

  void op(char code) { bytes_ += code; }  // one without arguments
  void integer(int64_t v);
  void real(double v);
  // A string. The second time that it is written it is a reference. Throws Error for more than 4 GiB.
  void text(std::string_view v);
  // GLOBAL module, name; likewise.
  void global(std::string_view module, std::string_view name);
  // `__torch__.m.K` is K of __torch__.m.
  void global(std::string_view qualified);
  // The tuple of the items written since the mark before n items; the mark only for n > 3.
  void begin_tuple(size_t n);
  void end_tuple(size_t n);

  uint32_t put();           // remembers what is on top of the stack
  void get(uint32_t id);    // writes it again
  std::string finish() &&;  // STOP

 private:
  template <class T>
  void number(T v);
  std::string bytes_;
  uint32_t next_ = 0;
  std::unordered_map<std::string, uint32_t> texts_, globals_;
};

}  // namespace sconce
