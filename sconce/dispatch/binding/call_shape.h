// Call shapes: typed calls of operators that are known as data, for other languages. Most calls have one of a few
// signatures; where an operator has one of them, it can be called without Values.
#pragma once

#include "sconce/dispatch/op.h"

namespace sconce {

// Letters stand for arguments: t Tensor, s Scalar, i int, l int[], L int[]?, b bool, d ScalarType?, o Tensor?. The
// result is a tensor; of shapes with `to_` it is the first argument, which is written.
enum class CallShape : uint8_t {
  none,
  t,
  tt,
  ttt,
  tto,
  ts,
  tss,
  tts,
  ti,
  tii,
  tb,
  tl,
  td,
  tid,
  tlb,
  tLbd,
  to_t,
  to_tt,
  to_tts,
  to_ts,
  to_tss,
};
// By the signature that the operator was registered with.
SCONCE_API CallShape call_shape(const Op& op);

// The calls; the operator has the shape that the name says.
SCONCE_API Tensor call_t(const Tensor& a, const Op& op);
SCONCE_API Tensor call_tt(const Tensor& a, const Tensor& b, const Op& op);
SCONCE_API Tensor call_ttt(const Tensor& a, const Tensor& b, const Tensor& c, const Op& op);
SCONCE_API Tensor call_tto(const Tensor& a, const Tensor& b, const Tensor& c, const Op& op);
SCONCE_API Tensor call_ts(const Tensor& a, const Scalar& b, const Op& op);
SCONCE_API Tensor call_tss(const Tensor& a, const Scalar& b, const Scalar& c, const Op& op);
SCONCE_API Tensor call_tts(const Tensor& a, const Tensor& b, const Scalar& c, const Op& op);
SCONCE_API Tensor call_ti(const Tensor& a, int64_t b, const Op& op);
SCONCE_API Tensor call_tii(const Tensor& a, int64_t b, int64_t c, const Op& op);
SCONCE_API Tensor call_tb(const Tensor& a, bool b, const Op& op);
SCONCE_API Tensor call_tl(const Tensor& a, IntList b, const Op& op);
SCONCE_API Tensor call_td(const Tensor& a, std::optional<DType> b, const Op& op);
SCONCE_API Tensor call_tid(const Tensor& a, int64_t b, std::optional<DType> c, const Op& op);
SCONCE_API Tensor call_tlb(const Tensor& a, IntList b, bool c, const Op& op);
SCONCE_API Tensor call_tLbd(const Tensor& a, std::optional<IntList> b, bool c, std::optional<DType> d, const Op& op);
SCONCE_API void call_to_t(const Tensor& a, const Op& op);
SCONCE_API void call_to_tt(const Tensor& a, const Tensor& b, const Op& op);
SCONCE_API void call_to_tts(const Tensor& a, const Tensor& b, const Scalar& c, const Op& op);
SCONCE_API void call_to_ts(const Tensor& a, const Scalar& b, const Op& op);
SCONCE_API void call_to_tss(const Tensor& a, const Scalar& b, const Scalar& c, const Op& op);

}  // namespace sconce
