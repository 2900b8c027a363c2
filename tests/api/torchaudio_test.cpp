// The bundled extensions/torchaudio, which the registry loads by itself.
#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

Tensor floats(IntList sizes, std::initializer_list<float> values) {
  Tensor t = empty_tensor(sizes, DType::float32);
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

TEST(Torchaudio, FiltersFeedBack) {  // y[t] = x[t] - 0.5 y[t - 1]
  const Tensor out = zeros({1, 1, 4});
  const Value result =
      call_op("torchaudio::_lfilter_core_loop", {floats({1, 1, 3}, {1, 2, 3}), floats({1, 2}, {0.5f, 1}), out})[0];
  EXPECT_TRUE(result.to_tensor().is_same(out));
  EXPECT_TRUE(equal(out, floats({1, 1, 4}, {0, 1, 1.5f, 2.25f})));
  EXPECT_THROW(call_op("torchaudio::_lfilter_core_loop", {floats({1, 1, 1}, {1}), floats({1, 1}, {1}), out}), Error);
}

TEST(Torchaudio, OverdriveKeepsItsState) {
  const Tensor in = zeros({1}), last = zeros({1}), out = zeros({1, 2});
  call_op("torchaudio::_overdrive_core_loop", {floats({1, 2}, {1, 2}), floats({1, 2}, {4, 8}), in, last, out});
  EXPECT_TRUE(allclose(out, floats({1, 2}, {3.5f, 1 + 0.75f * (4 + 0.995f * 4)})));
  EXPECT_TRUE(equal(in, floats({1}, {8})));
  EXPECT_TRUE(allclose(last, floats({1}, {4 + 0.995f * 4})));
}

}  // namespace
}  // namespace sconce
