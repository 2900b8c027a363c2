// Operators that move memory, called with random and extreme arguments: each call gives a result or an Error. The
// sanitizer builds see every byte that is read or written.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "sconce/base/error.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool one_in(int64_t n) { return in(1, n) == 1; }

  // Mostly small numbers, sometimes the ends of the range.
  int64_t number() {
    if (one_in(20)) return one_in(2) ? INT64_MAX : INT64_MIN;
    return in(-3, 6);
  }
  std::vector<int64_t> numbers(int64_t most) {
    std::vector<int64_t> out(static_cast<size_t>(in(0, most)));
    for (int64_t& n : out) n = number();
    return out;
  }
  // For arguments that say how much memory is needed.
  std::vector<int64_t> small(int64_t most) {
    std::vector<int64_t> out(static_cast<size_t>(in(0, most)));
    for (int64_t& n : out) n = in(-3, 4);
    return out;
  }

  DType dtype() { return kAllDTypes[in(0, std::size(kAllDTypes) - 1)]; }
  Tensor tensor(DType dtype, int64_t rank) {
    std::vector<int64_t> sizes(static_cast<size_t>(rank));
    int64_t numel = 1;
    for (int64_t& s : sizes) numel *= s = one_in(10) ? 0 : in(1, 4);
    Tensor t = to(reshape(arange(numel), sizes), dtype);
    if (rank > 1 && one_in(3)) t = transpose(t, in(0, rank - 1), in(0, rank - 1));
    if (rank > 0 && one_in(4)) t = slice(t, in(0, rank - 1), {}, {}, 2);
    return t;
  }
  Tensor tensor(DType dtype) { return tensor(dtype, in(0, 4)); }
  Tensor tensor() { return tensor(dtype()); }
  // Mostly valid for a dimension of three.
  Tensor index(int64_t rank) {
    const Tensor t = contiguous(tensor(DType::int64, rank));
    for (int64_t i = 0; i < t.numel(); ++i) t.data<int64_t>()[i] = one_in(30) ? in(-6, 6) : in(0, 2);
    return one_in(8) ? to(t, DType::int32) : t;
  }
  Tensor index() { return index(in(0, 4)); }
  std::vector<Tensor> indices() {
    std::vector<Tensor> out(static_cast<size_t>(in(0, 3)));
    for (Tensor& t : out) t = one_in(3) ? Tensor() : one_in(3) ? tensor(DType::bool_) : index(in(0, 2));
    return out;
  }
  std::string_view reduction() {
    static constexpr std::string_view kNames[] = {"sum", "prod", "mean", "amax", "amin", "other"};
    return kNames[in(0, 5)];
  }
  std::string_view padding() {
    static constexpr std::string_view kNames[] = {"constant", "reflect", "replicate", "circular", "other"};
    return kNames[in(0, 4)];
  }

 private:
  std::mt19937 engine_;
};

using Call = std::function<void(Random&, const Tensor&)>;

// Arguments that are converted to the dtype of the first one, so that more calls get past the checks.
Tensor like(Random& r, const Tensor& a) { return to(r.tensor(), a.dtype()); }

const Call kCalls[] = {
    [](Random& r, const Tensor& a) { clone(view(a, r.numbers(4))); },
    [](Random& r, const Tensor& a) { clone(reshape(a, r.numbers(4))); },
    [](Random& r, const Tensor& a) { clone(view(a, r.dtype())); },
    [](Random& r, const Tensor& a) { clone(slice(a, r.number(), r.number(), r.number(), r.number())); },
    [](Random& r, const Tensor& a) { clone(select(a, r.number(), r.number())); },
    [](Random& r, const Tensor& a) { clone(narrow(a, r.number(), r.number(), r.number())); },
    [](Random& r, const Tensor& a) { clone(expand(a, r.small(5))); },
    [](Random& r, const Tensor& a) { clone(as_strided(a, r.numbers(3), r.numbers(3), r.number())); },
    [](Random& r, const Tensor& a) { clone(unfold(a, r.number(), r.number(), r.number())); },
    [](Random& r, const Tensor& a) { clone(diagonal(a, r.number(), r.number(), r.number())); },
    [](Random& r, const Tensor& a) {
      for (const Tensor& t : split(a, r.number(), r.number())) clone(t);
    },
    [](Random& r, const Tensor& a) {
      for (const Tensor& t : split_with_sizes(a, r.numbers(3), r.number())) clone(t);
    },
    [](Random& r, const Tensor& a) {
      for (const Tensor& t : tensor_split(a, r.numbers(3), r.number())) clone(t);
    },
    [](Random& r, const Tensor& a) { clone(unflatten(a, r.number(), r.numbers(3))); },
    [](Random& r, const Tensor& a) { clone(movedim(a, r.numbers(2), r.numbers(2))); },
    [](Random& r, const Tensor& a) { index(a, r.indices()); },
    [](Random& r, const Tensor& a) { index_put(a, r.indices(), like(r, a), r.one_in(2)); },
    [](Random& r, const Tensor& a) { gather(a, r.number(), r.index()); },
    [](Random& r, const Tensor& a) { scatter(a, r.number(), r.index(), like(r, a)); },
    [](Random& r, const Tensor& a) {
      scatter_reduce(a, r.number(), r.index(), like(r, a), r.reduction(), r.one_in(2));
    },
    [](Random& r, const Tensor& a) { index_select(a, r.number(), r.index(1)); },
    [](Random& r, const Tensor& a) { index_add(a, r.number(), r.index(1), like(r, a)); },
    [](Random& r, const Tensor& a) { index_copy(a, r.number(), r.index(1), like(r, a)); },
    [](Random& r, const Tensor& a) { index_fill(a, r.number(), r.index(1), 1); },
    [](Random& r, const Tensor& a) { index_reduce(a, r.number(), r.index(1), like(r, a), r.reduction(), r.one_in(2)); },
    [](Random& r, const Tensor& a) { masked_select(a, r.tensor(DType::bool_)); },
    [](Random& r, const Tensor& a) { masked_scatter(a, r.tensor(DType::bool_), like(r, a)); },
    [](Random& r, const Tensor& a) { take(a, r.index()); },
    [](Random& r, const Tensor& a) { put(a, r.index(), like(r, a), r.one_in(2)); },
    [](Random& r, const Tensor& a) { take_along_dim(a, r.index(), r.number()); },
    [](Random& r, const Tensor& a) { cat(std::vector<Tensor>{a, r.tensor()}, r.number()); },
    [](Random& r, const Tensor& a) { cat_out(r.tensor(), std::vector<Tensor>{a, a}, r.number()); },
    [](Random& r, const Tensor& a) { pad(a, r.small(6), r.padding()); },
    [](Random& r, const Tensor& a) { roll(a, r.numbers(2), r.numbers(2)); },
    [](Random& r, const Tensor& a) { flip(a, r.numbers(2)); },
    [](Random& r, const Tensor& a) { repeat(a, r.small(5)); },
    [](Random& r, const Tensor& a) { repeat_interleave(a, r.index(1), r.number()); },
    [](Random& r, const Tensor& a) { tril(a, r.number()); },
    [](Random& r, const Tensor& a) { diag_embed(a, r.in(-4, 4), r.number(), r.number()); },
    [](Random& r, const Tensor&) { embedding(r.tensor(DType::float32, 2), r.index()); },
    [](Random& r, const Tensor&) {
      _embedding_bag(r.tensor(DType::float32, 2), r.index(1), r.index(1), false, r.in(0, 2));
    },
    [](Random& r, const Tensor& a) { embedding_dense_backward(a, r.index(), r.in(-1, 4), r.number(), r.one_in(2)); },
    [](Random& r, const Tensor& a) { unfold_backward(a, r.small(4), r.number(), r.in(-1, 4), r.in(-1, 3)); },
    [](Random& r, const Tensor& a) { as_strided_scatter(a, like(r, a), r.numbers(3), r.numbers(3), r.number()); },
    [](Random& r, const Tensor& a) { copy_(clone(a), r.tensor()); },
    [](Random& r, const Tensor& a) { pixel_shuffle(a, r.number()); },
};

TEST(RandomCalls, GiveAResultOrAnError) {
  Random random(7);
  int results = 0;
  for (int round = 0; round < 200; ++round) {
    for (const Call& call : kCalls) {
      const Tensor a = random.tensor();
      try {
        call(random, a);
        ++results;
      } catch (const Error& e) {
        EXPECT_NE(e.kind(), ErrorKind::internal) << e.what();
      }
    }
  }
  EXPECT_GT(results, 200 * static_cast<int>(std::size(kCalls)) / 10);  // not only errors
}

}  // namespace
}  // namespace sconce
