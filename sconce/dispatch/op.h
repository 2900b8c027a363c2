// Op: one operator of the registry, and how it is called.
//
// Note [A call]
//   keys = (keys of all tensor arguments | thread.include) & ~thread.exclude & op.mask
//   kernel = op.kernels[highest bit of keys]
//   kernel(keys, arguments...)
// An intercepting key (Autograd, Tracer, ...) has a bit in `mask` only where a kernel for it exists, so it costs
// nothing when unused. A call without tensors goes to the CPU, or to the device that an argument names. A kernel is
// typed or boxed; either serves both kinds of call. Registration swaps a pointer atomically: calls take no lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sconce/dispatch/schema.h"
#include "sconce/tensor/key_set.h"
#include "sconce/types/value.h"

namespace sconce {

struct Op;
struct Formulas;  // see formula.h
struct OpEntry;   // see entry.h
struct OpFamily;  // see records/op_family.h

// A kernel over Values: reads `args` (one per schema argument, it may move from them), writes one Value per return.
using BoxedKernel = void (*)(const Op& op, KeySet keys, Value* args, Value* returns);
// Calls a typed kernel of one signature over Values.
using BoxThunk = void (*)(const void* typed, KeySet keys, Value* args, Value* returns);

// Properties that passes and compilers ask for: columns of the operator table.
enum class Trait : uint32_t {
  pointwise = 1 << 0,
  reduction = 1 << 1,
  view = 1 << 2,  // the result shares memory with an argument
  inplace = 1 << 3,
  out = 1 << 4,
  random = 1 << 5,
  idempotent = 1 << 6,      // f(f(x)) == f(x)
  core = 1 << 7,            // Core ATen
  compound = 1 << 8,        // a body over other operators
  data_dependent = 1 << 9,  // the result's size depends on values
  commutative = 1 << 10,
  asks_autograd = 1 << 11,  // the answer depends on what was recorded of its tensors
  runs_backward = 1 << 12,
  every_device = 1 << 13,  // one kernel for all devices, see register_backend.h
  layout_free = 1 << 14,   // the bits of its results do not depend on the order in which dims lie in memory
  keeps_floats = 1 << 15,  // of floating tensors it makes floating ones alone, of their dtype
};

// How an operator is differentiated: which kernel it has for Key::autograd (autograd/record.h).
enum class Gradient : uint8_t {
  through,   // by the operators that it calls: it has no kernel for autograd
  formulas,  // by its own formulas
  none,      // its results are constants for autograd
  missing,   // it has no derivative: backward through it is an error
  refused,   // an out= form, which must not be given tensors that require grad
};

// OpTexts: what people and the compiler read of an operator. Null if it has none.
struct OpTexts {
  const char* body;         // script text of a compound operator
  const char* derivatives;  // lines "self: grad * other"
  const char* doc;
  const char* origin = nullptr;  // the library that defined a custom operator; see Op::origin
};

// OpInfo: the columns of the table beside the kernels. The schema and the texts of a generated operator may only be
// compared with null here: read them by Op's functions, which inflate them (Note [Records]).
struct OpInfo {
  const char* name;      // "aten::add"
  const char* overload;  // "Tensor", or ""
  const char* schema;    // full text, with the namespace
  OpTexts texts;
  const OpEntry* entry;  // its arithmetic and its sizes, as data for a compiler
  uint32_t traits;
  Gradient gradient = Gradient::through;
  int16_t functional = 0;              // how many records on the functional twin of an in-place or out= form stands
  const Formulas* formulas = nullptr;  // the derivatives as code, where gradient says so
  uint8_t dtypes = 0;                  // the limited dtypes that it takes (dtype.h)
  uint8_t formats = 0;                 // kFormats of tensors that its ordinary kernel takes (formats.h)
};

// Generated operators are zeros until the library is loaded, which makes them (Note [Records] in records/op_family.h);
// custom ones are made on the heap and never freed.
struct Op {
  OpInfo info;
  BoxThunk box;                     // null when no typed signature is known
  uint16_t mask = 0;                // keys with a kernel
  const char* kernels[kKeys] = {};  // boxed kernels are marked, see below
  mutable const Schema* parsed = nullptr;
  const OpFamily* family = nullptr;  // of a generated operator

  bool has(Trait t) const { return info.traits & static_cast<uint32_t>(t); }
  SCONCE_API const Schema& schema() const;     // parsed on first use
  SCONCE_API const char* schema_text() const;  // full text, with the namespace
  SCONCE_API const OpTexts& texts() const;
  SCONCE_API std::string origin() const;          // "ops/arithmetic.toml:12", or the library that defined it, or ""
  SCONCE_API std::string qualified_name() const;  // "aten::add.Tensor"
  bool has_kernel(Key k) const { return keys_with_kernel().has(k); }
  KeySet keys_with_kernel() const { return KeySet(__atomic_load_n(&mask, __ATOMIC_RELAXED)); }

  // The boxed call over one Value per schema argument, defaults filled in. Takes keys from the tensors among them.
  SCONCE_API void call_boxed(Value* args, Value* returns) const;
  // The same with the keys given: what a kernel of a higher key calls to reach the rest of the stack.
  SCONCE_API void redispatch_boxed(KeySet keys, Value* args, Value* returns) const;

  // Registers or replaces the kernel of a key (null removes it, and a fallback of the key takes its place); returns the
  // one that was there.
  SCONCE_API const char* set_kernel(Key key, const char* kernel);

  [[noreturn]] SCONCE_API SCONCE_COLD void no_kernel(KeySet keys) const;
};

// How kernels are stored in Op::kernels: a boxed one has bit 62 set, which no address has. (The low bit would not do:
// functions may start at odd addresses.) An address plus a constant is still data that the linker fills in. Not so on
// WebAssembly, where functions are numbers of a table: there the marked address, by bit 30, is that of a constant that
// holds the function.
inline constexpr intptr_t kBoxedMark = intptr_t{1} << (sizeof(intptr_t) == 8 ? 62 : 30);
SCONCE_INLINE bool is_boxed(const char* kernel) { return reinterpret_cast<intptr_t>(kernel) & kBoxedMark; }
#if defined(__wasm__)
namespace detail {
template <BoxedKernel kernel>
inline constexpr BoxedKernel boxed_cell = kernel;
}  // namespace detail
inline BoxedKernel boxed_kernel(const char* kernel) {
  return *reinterpret_cast<const BoxedKernel*>(reinterpret_cast<intptr_t>(kernel) - kBoxedMark);
}
#define SCONCE_BOXED_KERNEL(fn)                                                                           \
  reinterpret_cast<const char*>(                                                                          \
      reinterpret_cast<intptr_t>(&::sconce::detail::boxed_cell<static_cast<::sconce::BoxedKernel>(fn)>) + \
      ::sconce::kBoxedMark)
#else
inline BoxedKernel boxed_kernel(const char* kernel) {
  return reinterpret_cast<BoxedKernel>(reinterpret_cast<intptr_t>(kernel) - kBoxedMark);
}
#define SCONCE_BOXED_KERNEL(fn)                                                                      \
  reinterpret_cast<const char*>(reinterpret_cast<intptr_t>(static_cast<::sconce::BoxedKernel>(fn)) + \
                                ::sconce::kBoxedMark)
#endif
// The same for a function that only the running program knows.
SCONCE_API const char* mark_boxed(BoxedKernel kernel);
#define SCONCE_TYPED_KERNEL(fn) reinterpret_cast<const char*>(fn)

// The keys of a call after the thread's modes, and the kernel that they choose.
SCONCE_INLINE KeySet active_keys(KeySet tensors) {
  const ThreadModes& modes = thread_modes;
  return KeySet(static_cast<uint16_t>((tensors.bits() | modes.include) & ~(modes.exclude | modes.exclude_grad)));
}
SCONCE_INLINE const char* kernel_for(const Op& op, KeySet keys) {
  const int slot = (keys & KeySet(__atomic_load_n(&op.mask, __ATOMIC_RELAXED))).highest();
  if (slot < 0) [[unlikely]]
    op.no_kernel(keys);
  return __atomic_load_n(&op.kernels[slot], __ATOMIC_ACQUIRE);
}

}  // namespace sconce
