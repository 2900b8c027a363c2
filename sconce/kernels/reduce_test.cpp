#include "sconce/kernels/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/reduction_reductions_list.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce {
namespace {

Tensor numbers(IntList sizes, DType dtype, uint32_t seed = 1) {
  Tensor t = empty_tensor(sizes, DType::float64);
  double* p = t.data<double>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    const auto hash = (static_cast<uint32_t>(i) + seed * 7919u) * 2654435761u;
    p[i] = static_cast<double>(hash >> 8) / (1 << 24) * 20 - 10;
  }
  return to_dtype(t, dtype);
}

double element(const Tensor& t, const Dims& index) {
  int64_t at = 0;
  for (size_t d = 0; d < index.size(); ++d) at += index[d] * t.strides()[d];
  return load_scalar(t.data<char>() + at * static_cast<int64_t>(t.item_size()), t.dtype()).to_double();
}

// step(accumulator, element, index within the reduction) over every element, in the order of the dims.
template <class Step>
std::vector<double> naive(const Tensor& t, const std::set<int64_t>& reduced, double start, Step step) {
  Dims index(static_cast<size_t>(t.dim()), 0);
  std::vector<double> results;
  std::vector<int64_t> seen;
  for (int64_t n = 0; n < t.numel(); ++n) {
    int64_t at = 0;
    for (int64_t d = 0; d < t.dim(); ++d) {
      if (!reduced.contains(d)) at = at * t.sizes()[d] + index[d];
    }
    if (results.size() <= static_cast<size_t>(at)) {
      results.resize(static_cast<size_t>(at) + 1, start);
      seen.resize(static_cast<size_t>(at) + 1, 0);
    }
    results[at] = step(results[at], element(t, index), seen[at]++);
    for (int64_t d = t.dim() - 1; d >= 0; --d) {
      if (++index[d] < t.sizes()[d]) break;
      index[d] = 0;
    }
  }
  return results;
}

std::vector<double> values_of(const Tensor& t) {
  const Tensor d = contiguous_tensor(to_dtype(t, DType::float64));
  return {d.data<double>(), d.data<double>() + d.numel()};
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << "at " << i;
}

// The same numbers in several layouts.
std::vector<Tensor> layouts(IntList sizes, DType dtype) {
  const Tensor t = numbers(sizes, dtype);
  const auto rank = static_cast<int64_t>(sizes.size());
  std::vector<Tensor> result = {t};
  if (rank >= 2) {
    result.push_back(transpose(contiguous(transpose(t, 0, -1)), 0, -1));
    Dims wide(sizes);
    wide[static_cast<size_t>(rank - 1)] *= 2;
    result.push_back(slice(numbers(wide, dtype, 5), rank - 1, 1, std::nullopt, 2));
    result.push_back(expand(select(t, 0, 0), t.sizes()));
  }
  if (rank == 4) result.push_back(contiguous(t, MemoryFormat::channels_last));
  return result;
}

// Sums of many numbers of both signs nearly cancel: beside the result, one half unit in the last place of the sum of
// their magnitudes is allowed.
void expect_sum(const Tensor& t, const std::set<int64_t>& reduced, const std::vector<double>& got, double relative) {
  const bool wide = t.dtype() == DType::float64 || is_integral(t.dtype());
  const std::vector<double> want = naive(t, reduced, 0, [](double a, double x, int64_t) { return a + x; });
  const std::vector<double> magnitude =
      naive(t, reduced, 0, [](double a, double x, int64_t) { return a + std::abs(x); });
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], relative * (1 + std::abs(want[i])) + (wide ? 0x1p-53 : 0x1p-24) * magnitude[i])
        << "at " << i;
  }
}

TEST(Reduce, EveryDimSetOfEveryLayout) {
  const auto larger = [](double a, double x, int64_t) { return std::max(a, x); };
  for (const DType dtype :
       {DType::float32, DType::float64, DType::bfloat16, DType::int32, DType::int64, DType::uint8}) {
    for (const Tensor& t : layouts({3, 20, 5, 7}, dtype)) {
      for (unsigned mask = 1; mask < 16; ++mask) {
        Dims dims;
        std::set<int64_t> reduced;
        for (int64_t d = 0; d < 4; ++d) {
          if (mask >> d & 1) dims.push_back(d), reduced.insert(d);
        }
        SCOPED_TRACE(std::string(dtype_name(dtype)) + " dims " + std::to_string(mask));
        const double tolerance = dtype == DType::bfloat16 ? 1e-2 : dtype == DType::float32 ? 1e-5 : 1e-12;
        expect_sum(t, reduced, values_of(sum(t, dims)), tolerance);
        expect_near(values_of(amax(t, dims)), naive(t, reduced, -1e300, larger), 0);
      }
    }
  }
}

TEST(Reduce, LongAndNarrow) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::int64}) {
    const double relative = dtype == DType::float16 ? 5e-3 : dtype == DType::float32 ? 3e-4 : 1e-12;
    for (const auto& sizes :
         std::vector<Dims>{{10001}, {1, 4096}, {5000, 3}, {9000, 40}, {37, 5000}, {3, 5000, 5}, {200, 33}, {50, 31}}) {
      for (const Tensor& t : layouts(sizes, dtype)) {
        for (int64_t d = 0; d < t.dim(); ++d) {
          SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(sizes[0]) + " dim " + std::to_string(d));
          const auto wanted = dtype == DType::float16 ? std::optional(DType::float32) : std::nullopt;
          expect_sum(t, {d}, values_of(sum(t, IntList(&d, 1), false, wanted)), relative);
        }
      }
    }
  }
}

TEST(Reduce, Indices) {
  for (const DType dtype : {DType::float32, DType::float64, DType::int64, DType::int8}) {
    for (const auto& sizes : std::vector<Dims>{{5000, 3}, {5000, 20}, {7, 5000}, {100, 9}}) {
      for (const Tensor& t : layouts(sizes, dtype)) {
        for (int64_t d = 0; d < 2; ++d) {
          const auto [best, index] = max(t, d);
          const std::vector<double> want =
              naive(t, {d}, -1e300, [](double a, double x, int64_t) { return std::max(a, x); });
          expect_near(values_of(best), want, 0);
          // the first element that is as large
          const int64_t outputs = t.sizes()[1 - d];
          for (int64_t o = 0; o < outputs; ++o) {
            int64_t first = 0;
            const auto at = [&](int64_t k) { return element(t, d == 0 ? Dims({k, o}) : Dims({o, k})); };
            while (at(first) != want[o]) ++first;
            ASSERT_EQ(index.data<int64_t>()[o], first);
          }
        }
        const auto flat = values_of(t);
        const int64_t want = std::max_element(flat.begin(), flat.end()) - flat.begin();
        EXPECT_EQ(argmax(t).data<int64_t>()[0], want);
      }
    }
  }
}

TEST(Reduce, NanWins) {
  Tensor t = numbers({3, 50}, DType::float32);
  t.data<float>()[50 + 17] = NAN;
  t.data<float>()[50 + 30] = NAN;
  for (const int64_t d : {0, 1}) {
    const std::vector<double> top = values_of(amax(t, IntList(&d, 1))), low = values_of(amin(t, IntList(&d, 1)));
    for (size_t i = 0; i < top.size(); ++i) {
      const bool nan = d == 1 ? i == 1 : i == 17 || i == 30;
      EXPECT_EQ(std::isnan(top[i]), nan);
      EXPECT_EQ(std::isnan(low[i]), nan);
    }
  }
  EXPECT_EQ(argmax(t).data<int64_t>()[0], 67);
  EXPECT_EQ(std::get<1>(min(t, 1)).data<int64_t>()[1], 17);
}

TEST(Reduce, SameBitsWithAnyNumberOfThreads) {
  const Tensor full = numbers({1000003}, DType::float32), wide = numbers({300, 5000}, DType::float32),
               narrow = numbers({200000, 5}, DType::float32);
  const auto run = [&] {
    return std::vector<Tensor>{sum(full),
                               var(full, true),
                               logsumexp(full, IntList{0}),
                               sum(wide, IntList{0}),
                               sum(wide, IntList{1}),
                               sum(narrow, IntList{0}),
                               sum(narrow, IntList{1}),
                               softmax(wide, 1),
                               softmax(wide, 0),
                               layer_norm(wide, {5000}),
                               cumsum(wide, 0)};
  };
  const int before = num_threads();
  set_num_threads(1);
  const std::vector<Tensor> one = run();
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    const std::vector<Tensor> many = run();
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(std::memcmp(one[i].data(), many[i].data(), static_cast<size_t>(one[i].numel()) * one[i].item_size()), 0)
          << "result " << i << " with " << threads << " threads";
    }
  }
  set_num_threads(before);
}

TEST(Reduce, SameBitsAtEveryLevel) {
  const Tensor t = numbers({4096}, DType::float32);
  for (const ReduceLoops* loops : {&cpu::reduce_sum, &cpu::reduce_amax, &cpu::reduce_var_correction}) {
    for (const int64_t n : {1, 31, 32, 33, 100, 4095, 4096}) {
      double first[2] = {};
      for (int level = 2; level <= cpu_level(); ++level) {
        alignas(64) char states[4][64], result[64];
        char* state[] = {states[0], states[1], states[2], states[3]};
        char* out[] = {result};
        const Param correction = Param::from_int(0);
        const ReduceKernels& kernels = *loops->kernels[level - 2][static_cast<int>(Compute::f32)];
        kernels.rows(t.data<char>(), 0, n, 1, 0, &correction, state);
        kernels.finish(out, state, 1, n, &correction);
        double value;
        std::memcpy(&value, result, sizeof value);
        if (level == 2) first[0] = value;
        EXPECT_EQ(value, first[0]) << loops->name << " of " << n << " at v" << level;
      }
    }
  }
}

TEST(Reduce, Empty) {
  const Tensor none = empty_tensor({0, 3}, DType::float32);
  EXPECT_EQ(values_of(sum(none)), std::vector<double>{0});
  EXPECT_EQ(values_of(prod(none)), std::vector<double>{1});
  EXPECT_EQ(values_of(sum(none, IntList{0})), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(sum(none, IntList{1}).numel(), 0);
  EXPECT_TRUE(std::isnan(values_of(mean(none))[0]));
  EXPECT_EQ(values_of(any(none)), std::vector<double>{0});
  EXPECT_EQ(values_of(all(none)), std::vector<double>{1});
  EXPECT_THROW(amax(none), Error);
  EXPECT_THROW(max(none, 0), Error);
  EXPECT_EQ(amax(none, IntList{1}).numel(), 0);
  EXPECT_THROW(argmax(none), Error);
}

TEST(Reduce, Dims) {
  const Tensor t = numbers({2, 3, 4}, DType::float32);
  EXPECT_EQ(Dims(sum(t, IntList{-1, 0}, true).sizes()), Dims({1, 3, 1}));
  EXPECT_EQ(sum(t, IntList{}).dim(), 0);
  EXPECT_EQ(any(t, std::optional<IntList>(IntList())).dim(), 3);
  EXPECT_THROW(sum(t, IntList{1, 1}), Error);
  EXPECT_THROW(sum(t, IntList{3}), Error);
  const Tensor number = scalar_tensor_of(3.0, DType::float32);
  EXPECT_EQ(values_of(sum(number, IntList{0})), std::vector<double>{3});
  EXPECT_EQ(values_of(sum(number, IntList{-1})), std::vector<double>{3});
}

TEST(Reduce, DTypes) {
  EXPECT_EQ(sum(numbers({5}, DType::int8)).dtype(), DType::int64);
  EXPECT_EQ(sum(numbers({5}, DType::bool_)).dtype(), DType::int64);
  EXPECT_EQ(sum(numbers({5}, DType::float16)).dtype(), DType::float16);
  EXPECT_EQ(sum(numbers({5}, DType::int8), DType::float64).dtype(), DType::float64);
  EXPECT_EQ(any(numbers({5}, DType::uint8)).dtype(), DType::uint8);
  EXPECT_THROW(mean(numbers({5}, DType::int64)), Error);
  EXPECT_EQ(count_nonzero(numbers({5}, DType::float32)).dtype(), DType::int64);
  // Summed as float16, a float32 is rounded first.
  const Tensor t = scalar_tensor_of(2049.0, DType::float32);
  EXPECT_EQ(values_of(sum(t, DType::float16)), std::vector<double>{2048});
}

TEST(Reduce, OutTensors) {
  const Tensor t = numbers({4, 6}, DType::float32);
  const Tensor out = empty_tensor({1}, DType::float64);
  sum_out(out, t, IntList{1});
  EXPECT_EQ(Dims(out.sizes()), Dims({4}));
  expect_near(values_of(out), values_of(sum(t, IntList{1})), 1e-6);
  const Tensor wrong = empty_tensor({4}, DType::int64);
  EXPECT_THROW(amax_out(wrong, t, IntList{1}), Error);
}

TEST(Reduce, VarianceOfALargeOffset) {
  Tensor t = add(numbers({100000}, DType::float32), 10000.0);
  const double want = values_of(var(to_dtype(t, DType::float64), true))[0];
  EXPECT_NEAR(values_of(var(t, true))[0], want, want * 1e-4);
}

TEST(Softmax, RowsAndColumns) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    for (const int64_t n : {1, 2, 7, 16, 31, 32, 33, 65, 300}) {
      for (const auto& sizes : std::vector<Dims>{{3, n}, {n, 3}, {2, n, 70}}) {
        const Tensor t = numbers(sizes, dtype);
        for (int64_t d = 0; d < t.dim(); ++d) {
          const Tensor x = to_dtype(t, DType::float64);
          const Tensor e = exp(sub(x, amax(x, IntList(&d, 1), true)));
          const Tensor want = div(e, sum(e, IntList(&d, 1), true));
          const double tolerance = dtype == DType::bfloat16 ? 1e-2 : dtype == DType::float32 ? 2e-6 : 1e-14;
          expect_near(values_of(softmax(t, d)), values_of(want), tolerance);
          if (dtype != DType::bfloat16) expect_near(values_of(log_softmax(t, d)), values_of(log(want)), tolerance);
        }
      }
    }
  }
}

TEST(Norm, ChannelsLastAgreesAndStays) {
  const Tensor t = numbers({3, 20, 5, 6}, DType::float32), cl = contiguous(t, MemoryFormat::channels_last);
  const Tensor w = numbers({20}, DType::float32, 2), b = numbers({20}, DType::float32, 3);
  const Tensor mean = numbers({20}, DType::float32, 4), var = add(mul(mean, mean), 1);
  for (const bool training : {true, false}) {
    const Tensor a = batch_norm(t, w, b, contiguous(mean), contiguous(var), training, 0.0, 1e-5, false);
    const Tensor c = batch_norm(cl, w, b, contiguous(mean), contiguous(var), training, 0.0, 1e-5, false);
    EXPECT_TRUE(c.is_contiguous(MemoryFormat::channels_last));
    expect_near(values_of(c), values_of(a), 1e-5);
  }
}

TEST(Norm, LayerNormOfReducedFloats) {
  const Tensor t = numbers({6, 100}, DType::bfloat16), w = numbers({100}, DType::bfloat16, 2),
               b = numbers({100}, DType::bfloat16, 3);
  const Tensor wide =
      layer_norm(to_dtype(t, DType::float32), {100}, to_dtype(w, DType::float32), to_dtype(b, DType::float32));
  const Tensor got = layer_norm(t, {100}, w, b);
  EXPECT_EQ(got.dtype(), DType::bfloat16);
  expect_near(values_of(got), values_of(wide), 1e-2);
}

TEST(Scan, Gradients) {
  // cumprod with zeros, against differences
  const Tensor x = empty_tensor({5}, DType::float64), g = numbers({5}, DType::float64);
  const double in[] = {2, -1, 0, 3, 0.5};
  std::memcpy(x.data(), in, sizeof in);
  const Tensor got = cumprod_backward(g, x, 0, cumprod(x, 0));
  for (int64_t i = 0; i < 5; ++i) {
    const Tensor up = to_dtype(to_dtype(x, DType::complex128), DType::float64),
                 down = to_dtype(to_dtype(x, DType::complex128), DType::float64);
    up.data<double>()[i] += 1e-6;
    down.data<double>()[i] -= 1e-6;
    const double slope = values_of(sum(mul(g, sub(cumprod(up, 0), cumprod(down, 0)))))[0] / 2e-6;
    EXPECT_NEAR(got.data<double>()[i], slope, 1e-6);
  }
}

}  // namespace
}  // namespace sconce
