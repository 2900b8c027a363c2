// Direct calls: the typed functions of a build that links selected operators (docs/small.md). They go to the CPU's
// kernel without a record: the linker keeps what is called, and an operator that only others call costs no name,
// schema or thunk.
//
// A tensor whose dtype or format the kernel does not take is refused as dispatch would refuse it; where the operator
// has a kernel of its own for the format, that of the record that the selection has of it is called.
#pragma once

#include "sconce/dispatch/box.h"

namespace sconce {

struct DirectTerms {
  const char* name;     // "aten::add.Tensor"
  const char* tensors;  // names of the tensors among its arguments, separated by spaces
  uint8_t dtypes;       // as OpInfo
  uint8_t formats;
};

// What an argument says about the keys of a call.
enum class DirectArgument : uint8_t { other, tensor, optional_tensor, tensors, device, optional_device };

// A call whose types are known to `thunk` alone, so that all signatures share the rest.
struct DirectCall {
  const DirectTerms& terms;
  const void* kernel;
  void (*thunk)(const void* kernel, KeySet keys, const void* const* arguments, void* result);
  const DirectArgument* kinds;
  const void* const* arguments;
  size_t count;
};
// Throws Error: what the kernel throws, with the operator's name and its tensors' shapes; or the kernel does not take
// the tensors, and no record was selected that does.
void call_direct(const DirectCall& call, void* result);

template <class Sig, uint32_t kOptional, int kReturned>
struct DirectFunction;
template <class R, class... A, uint32_t kOptional, int kReturned>
struct DirectFunction<R(A...), kOptional, kReturned> {
  static constexpr bool kWrites = kReturned >= 0;
  using Result = std::conditional_t<kWrites, const Tensor&, R>;
  using Kernel = R (*)(KeySet, A...);

  // One serves all operators of a signature.
  [[gnu::noinline]] static Result call(A... args, Kernel kernel, const DirectTerms& terms) {
    static constexpr auto kinds = kinds_of(std::index_sequence_for<A...>());
    const void* const arguments[] = {&args..., nullptr};
    Room room;
    call_direct({terms, reinterpret_cast<const void*>(kernel), thunk, kinds.data(), arguments, sizeof...(A)}, &room);
    if constexpr (kWrites)
      return std::get<kReturned>(std::tie(args...));
    else if constexpr (!std::is_void_v<R>)
      return std::move(room.value);
  }

 private:
  // Where the kernel's result is made. It is not destroyed: what is moved from holds nothing.
  struct Nothing {};
  union Room {
    Room() {}
    ~Room() {}
    std::conditional_t<std::is_void_v<R>, Nothing, R> value;
  };

  static void thunk(const void* kernel, KeySet keys, const void* const* arguments, void* result) {
    run(reinterpret_cast<Kernel>(const_cast<void*>(kernel)), keys, arguments, result, std::index_sequence_for<A...>());
  }
  template <size_t... I>
  SCONCE_INLINE static void run(Kernel kernel, KeySet keys, [[maybe_unused]] const void* const* arguments,
                                [[maybe_unused]] void* result, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>)
      kernel(keys, *static_cast<const std::remove_reference_t<A>*>(arguments[I])...);
    else
      new (result) R(kernel(keys, *static_cast<const std::remove_reference_t<A>*>(arguments[I])...));
  }

  template <class T>
  static constexpr DirectArgument kind_of(bool optional) {
    if (std::is_same_v<T, Tensor>) return optional ? DirectArgument::optional_tensor : DirectArgument::tensor;
    if (std::is_same_v<T, TensorList>) return DirectArgument::tensors;
    if (std::is_same_v<T, Device>) return DirectArgument::device;
    return std::is_same_v<T, std::optional<Device>> ? DirectArgument::optional_device : DirectArgument::other;
  }
  template <size_t... I>
  static constexpr std::array<DirectArgument, sizeof...(A) + 1> kinds_of(std::index_sequence<I...>) {
    return {kind_of<std::remove_cvref_t<A>>((kOptional >> I & 1) != 0)...};
  }
};

}  // namespace sconce
