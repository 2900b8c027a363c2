#include "sconce/dispatch/binding/call_shape.h"

#include "sconce/dispatch/box.h"

namespace sconce {
namespace {

using T = const Tensor&;
using S = const Scalar&;
using D = std::optional<DType>;

template <class Sig, uint32_t kOptional = 0>
using Makes = TypedFunction<Sig, kOptional, -1>;
template <class Sig>
using Writes = TypedFunction<Sig, 0, 0>;

constexpr uint32_t kThirdIsOptional = 1 << 2;

}  // namespace

CallShape call_shape(const Op& op) {
  static constexpr struct {
    BoxThunk box;
    CallShape shape;
  } kShapes[] = {
      {box_call<Tensor(T)>, CallShape::t},
      {box_call<Tensor(T, T)>, CallShape::tt},
      {box_call<Tensor(T, T, T)>, CallShape::ttt},
      {box_call<Tensor(T, T, T), kThirdIsOptional>, CallShape::tto},
      {box_call<Tensor(T, S)>, CallShape::ts},
      {box_call<Tensor(T, S, S)>, CallShape::tss},
      {box_call<Tensor(T, T, S)>, CallShape::tts},
      {box_call<Tensor(T, int64_t)>, CallShape::ti},
      {box_call<Tensor(T, int64_t, int64_t)>, CallShape::tii},
      {box_call<Tensor(T, bool)>, CallShape::tb},
      {box_call<Tensor(T, IntList)>, CallShape::tl},
      {box_call<Tensor(T, D)>, CallShape::td},
      {box_call<Tensor(T, int64_t, D)>, CallShape::tid},
      {box_call<Tensor(T, IntList, bool)>, CallShape::tlb},
      {box_call<Tensor(T, std::optional<IntList>, bool, D)>, CallShape::tLbd},
      {box_call<void(T), 0, 0>, CallShape::to_t},
      {box_call<void(T, T), 0, 0>, CallShape::to_tt},
      {box_call<void(T, T, S), 0, 0>, CallShape::to_tts},
      {box_call<void(T, S), 0, 0>, CallShape::to_ts},
      {box_call<void(T, S, S), 0, 0>, CallShape::to_tss},
  };
  for (const auto& known : kShapes) {
    if (op.box == known.box) return known.shape;
  }
  return CallShape::none;
}

Tensor call_t(T a, const Op& op) { return Makes<Tensor(T)>::call(a, op); }
Tensor call_tt(T a, T b, const Op& op) { return Makes<Tensor(T, T)>::call(a, b, op); }
Tensor call_ttt(T a, T b, T c, const Op& op) { return Makes<Tensor(T, T, T)>::call(a, b, c, op); }
Tensor call_tto(T a, T b, T c, const Op& op) { return Makes<Tensor(T, T, T), kThirdIsOptional>::call(a, b, c, op); }
Tensor call_ts(T a, S b, const Op& op) { return Makes<Tensor(T, S)>::call(a, b, op); }
Tensor call_tss(T a, S b, S c, const Op& op) { return Makes<Tensor(T, S, S)>::call(a, b, c, op); }
Tensor call_tts(T a, T b, S c, const Op& op) { return Makes<Tensor(T, T, S)>::call(a, b, c, op); }
Tensor call_ti(T a, int64_t b, const Op& op) { return Makes<Tensor(T, int64_t)>::call(a, b, op); }
Tensor call_tii(T a, int64_t b, int64_t c, const Op& op) {
  return Makes<Tensor(T, int64_t, int64_t)>::call(a, b, c, op);
}
Tensor call_tb(T a, bool b, const Op& op) { return Makes<Tensor(T, bool)>::call(a, b, op); }
Tensor call_tl(T a, IntList b, const Op& op) { return Makes<Tensor(T, IntList)>::call(a, b, op); }
Tensor call_td(T a, D b, const Op& op) { return Makes<Tensor(T, D)>::call(a, b, op); }
Tensor call_tid(T a, int64_t b, D c, const Op& op) { return Makes<Tensor(T, int64_t, D)>::call(a, b, c, op); }
Tensor call_tlb(T a, IntList b, bool c, const Op& op) { return Makes<Tensor(T, IntList, bool)>::call(a, b, c, op); }
Tensor call_tLbd(T a, std::optional<IntList> b, bool c, D d, const Op& op) {
  return Makes<Tensor(T, std::optional<IntList>, bool, D)>::call(a, b, c, d, op);
}
void call_to_t(T a, const Op& op) { Writes<void(T)>::call(a, op); }
void call_to_tt(T a, T b, const Op& op) { Writes<void(T, T)>::call(a, b, op); }
void call_to_tts(T a, T b, S c, const Op& op) { Writes<void(T, T, S)>::call(a, b, c, op); }
void call_to_ts(T a, S b, const Op& op) { Writes<void(T, S)>::call(a, b, op); }
void call_to_tss(T a, S b, S c, const Op& op) { Writes<void(T, S, S)>::call(a, b, c, op); }

}  // namespace sconce
