// Makers: code generation for loop nests. A maker turns a Nest into a Kernel that runs it.
//
//   off     op by op: eager's engine, one temporary for each call. The reference that the others are compared with.
//   tiles   tile programs: eager's compiled loops over tiles of some hundred elements in the L1 cache, from a list that
//           is prepared once. No code is made; every dtype that eager computes in.
//   joined  tile programs in which neighbouring cheap primitives are one loop, made by an assembler, where cpu_level()
//           is 3 or more; heavy math stays eager's loop. What cannot be joined runs as in `tiles`.
//
// All of them give eager's bits. One thing is not part of that: which of two NaNs a sum of both is, sign and payload;
// eager's own answer depends on the compiler's choice of operand order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sconce/base/export.h"
#include "sconce/loops/nest.h"

namespace sconce::codegen {

enum class Maker : uint8_t { off, tiles, joined };

// "off", "tiles", "joined".
SCONCE_API std::string_view maker_name(Maker maker);
// Throws Error for another word, and lists the known ones; "llvm" is one that is known and not built.
SCONCE_API Maker parse_maker(std::string_view word);
// The environment variable SCONCE_CODEGEN, read once; joined when it is not set. Throws as parse_maker does.
SCONCE_API Maker chosen_maker();

// A nest that can be run, again and again and by several threads at once. It owns whatever it needs of the nest; it
// keeps no reference to it.
class SCONCE_API Kernel {
 public:
  virtual ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // buffers[k] is the first element of buffer k of the nest. A written buffer may be the same memory as one that is
  // read, if dtype and strides are the same; any other overlap gives wrong results. Uses parallel_for where it pays.
  // Allocates nothing but the thread's scratch memory, once (and `off` its temporaries).
  virtual void run(void* const* buffers) const = 0;

  // Whether run_block may be called: two sizes, and in every buffer the columns are adjacent or one element.
  bool has_blocks() const { return has_blocks_; }
  // The part of a nest of two sizes that begins at (row, column). `buffers` are those of the whole. For the epilogue of
  // a matrix product, on blocks that are in cache: no threads are used, and several may call it for different blocks.
  virtual void run_block(void* const* buffers, int64_t row, int64_t column, int64_t rows, int64_t columns) const = 0;

  // Whether run() would not wait for the kernel to be made, which happens in the background on some devices. False for
  // ever where it could not be made.
  virtual bool is_ready() const { return true; }
  // Waits until it is made; throws Error where it could not be.
  virtual void wait() const {}

  // What runs, a line for each step of the program; for logs and tests.
  virtual std::string to_string() const = 0;
  // Bytes of machine code that were made for it, shared ones included; 0: none.
  virtual size_t code_bytes() const { return 0; }

 protected:
  explicit Kernel(bool has_blocks) : has_blocks_(has_blocks) {}

 private:
  bool has_blocks_;
};

// Throws Error when the nest is not in order (loops::check) or has a call that is not fusible. SCONCE_LOGS=codegen says
// what was made: maker, bytes of machine code, time, and which calls were not joined and why.
SCONCE_API std::shared_ptr<const Kernel> make(const loops::Nest& nest, Maker maker = chosen_maker());

}  // namespace sconce::codegen
