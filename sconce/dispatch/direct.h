// Direct calls: the typed functions of a build that links selected operators (docs/small.md). They go to the CPU's
// kernel without a record: the linker keeps what is called, and an operator that only others call costs no name,
// schema or thunk.
//
// A tensor whose dtype or format the kernel does not take is refused as dispatch would refuse it; where the operator
// has a kernel of its own for the format, the record that the selection has of it is called.
#pragma once

#include "sconce/dispatch/box.h"

namespace sconce {

struct DirectTerms {
  const char* name;     // "aten::add.Tensor"
  const char* tensors;  // names of the tensors among its arguments, separated by spaces
  uint8_t dtypes;       // as OpInfo
  uint8_t formats;
};

// The record to call instead of the kernel, for keys with a format or a limited dtype; null: the kernel takes them.
// Throws Error: it does not, and no record was selected that does.
SCONCE_COLD const Op* record_for(const DirectTerms& terms, KeySet keys, std::initializer_list<const Tensor*> tensors);
[[noreturn]] SCONCE_COLD void direct_call_failed(Error& error, const DirectTerms& terms,
                                                 std::initializer_list<const Tensor*> tensors);

template <class Sig, uint32_t kOptional, int kReturned>
struct DirectFunction;
template <class R, class... A, uint32_t kOptional, int kReturned>
struct DirectFunction<R(A...), kOptional, kReturned> {
  static constexpr bool kWrites = kReturned >= 0;
  using Result = std::conditional_t<kWrites, const Tensor&, R>;
  using Kernel = R (*)(KeySet, A...);

  // One serves all operators of a signature.
  [[gnu::noinline]] static Result call(A... args, Kernel kernel, const DirectTerms& terms) try {
    constexpr KeySet kLookedAt = kFormatKeys | KeySet(Key::limited);
    const KeySet keys = keys_of_all(std::index_sequence_for<A...>(), args...) - KeySet(Key::autograd);
    if (!(keys & kLookedAt).empty()) [[unlikely]] {
      if (const Op* op = record_for(terms, keys, {box::tensor_in<A>(args)...})) {
        if constexpr (kWrites) {
          typed_call<void, A...>(*op, keys, args...);
          return std::get<kReturned>(std::tie(args...));
        } else {
          return typed_call<R, A...>(*op, keys, args...);
        }
      }
    }
    if constexpr (kWrites) {
      kernel(keys, args...);
      return std::get<kReturned>(std::tie(args...));
    } else {
      return kernel(keys, args...);
    }
  } catch (Error& error) {
    direct_call_failed(error, terms, {box::tensor_in<A>(args)...});
  }

 private:
  static constexpr bool kHasTensors = ((box::kIsTensor<A> || std::is_same_v<A, TensorList>) || ...);
  template <size_t I>
  static constexpr bool kIsOptional = (kOptional >> I & 1) != 0;

  template <size_t... I>
  static KeySet keys_of_all(std::index_sequence<I...>, const std::remove_cvref_t<A>&... args) {
    if constexpr (((box::kIsTensor<A> && !kIsOptional<I>) || ...))
      return (box::keys_in<A, kIsOptional<I>>(args) | ...);
    else if constexpr (kHasTensors)
      return or_cpu((box::keys_in<A, kIsOptional<I>>(args) | ...));
    else
      return box::device_keys(args...);
  }
};

}  // namespace sconce
