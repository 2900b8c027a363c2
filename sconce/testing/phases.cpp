#include "sconce/testing/phases.h"

#include "sconce/ops.h"

namespace sconce::testing {
namespace {

enum class Vectors : uint8_t { none, columns, rows };

Vectors vectors_of(Rule rule, size_t place) {
  switch (rule) {
    case Rule::svd:
      return place == 0 ? Vectors::columns : place == 2 ? Vectors::rows : Vectors::none;
    case Rule::svd_v:
      return place == 0 || place == 2 ? Vectors::columns : Vectors::none;
    case Rule::eigh:
    case Rule::eig:
      return place == 1 ? Vectors::columns : Vectors::none;
    case Rule::qr:
      return place == 0 ? Vectors::columns : Vectors::rows;
    default:
      return Vectors::none;
  }
}

// The dimension along which a vector runs.
int64_t length_dim(Vectors vectors) { return vectors == Vectors::columns ? -2 : -1; }

}  // namespace

Tensor align_cotangent(Rule rule, size_t place, const Tensor& cotangent, const Tensor& ours, const Tensor& recorded) {
  const Vectors vectors = vectors_of(rule, place);
  if (vectors == Vectors::none || !(ours.sizes() == recorded.sizes()) || ours.numel() == 0) return cotangent;
  const Tensor product = sum(mul(conj(recorded), detach(ours)), Dims({length_dim(vectors)}), true);
  return mul(cotangent, sgn(product));
}

bool for_each_sign(Rule rule, const std::vector<Tensor>& cotangents,
                   const std::function<bool(const std::vector<Tensor>&)>& f) {
  constexpr int64_t kMost = 10;
  int64_t count = 0;
  for (size_t i = 0; i < cotangents.size(); ++i) {
    const Vectors vectors = vectors_of(rule, i);
    const Tensor& c = cotangents[i];
    if (vectors == Vectors::none || !c.defined() || c.dim() < 2 || c.numel() == 0) continue;
    const int64_t length = c.sizes()[static_cast<size_t>(c.dim() + length_dim(vectors))];
    count = std::max(count, c.numel() / length);
  }
  if (count > kMost) count = 0;
  for (int64_t choice = 0; choice < int64_t{1} << count; ++choice) {
    std::vector<Tensor> turned = cotangents;
    for (size_t i = 0; i < cotangents.size() && choice != 0; ++i) {
      const Vectors vectors = vectors_of(rule, i);
      if (vectors == Vectors::none || !cotangents[i].defined() || cotangents[i].numel() == 0) continue;
      Dims sizes(cotangents[i].sizes());
      sizes[static_cast<size_t>(cotangents[i].dim() + length_dim(vectors))] = 1;
      const Tensor signs = ones(sizes, cotangents[i].dtype());
      for (int64_t k = 0; k < signs.numel(); ++k) {
        if (choice >> k & 1) neg_(select(reshape(signs, {-1}), 0, k));
      }
      turned[i] = mul(cotangents[i], signs);
    }
    if (f(turned)) return true;
  }
  return false;
}

}  // namespace sconce::testing
