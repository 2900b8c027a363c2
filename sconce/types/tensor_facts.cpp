#include "sconce/types/tensor_facts.h"

namespace sconce {
namespace {

std::string size_text(int64_t n) {
  if (n >= 0) return std::to_string(n);
  return n == TensorFacts::kUnknown ? "*" : "SS(" + std::to_string(n) + ")";
}

}  // namespace

std::string facts_text(const TensorFacts& facts) {
  std::string inside;
  const auto add = [&](const std::string& text) { inside += (inside.empty() ? "" : ", ") + text; };
  if (facts.sizes) {
    for (int64_t n : *facts.sizes) add(size_text(n));
  }
  if (facts.strides && !facts.strides->empty()) {
    std::string list;
    for (int64_t n : *facts.strides) list += (list.empty() ? "" : ", ") + size_text(n);
    add("strides=[" + list + "]");
  }
  if (facts.requires_grad) add(std::string("requires_grad=") + (*facts.requires_grad ? "1" : "0"));
  if (facts.device) add("device=" + to_string(*facts.device));
  // Float(2, 3) with a rank, FloatTensor without.
  std::string text(facts.dtype ? dtype_legacy_name(*facts.dtype) : "");
  if (!facts.sizes || !facts.dtype) text += "Tensor";
  if (facts.sizes || !inside.empty()) text += "(" + inside + ")";
  return facts.undefined ? text + "[Undefined]" : text;
}

TensorFacts facts_of(const Tensor& t) {
  TensorFacts facts;
  facts.dtype = t.dtype();
  facts.device = t.device();
  facts.sizes = t.sizes().vec();
  facts.strides = t.strides().vec();
  facts.requires_grad = t.requires_grad();
  return facts;
}

TensorFacts common_facts(const TensorFacts& a, const TensorFacts& b) {
  TensorFacts both;
  if (a.dtype == b.dtype) both.dtype = a.dtype;
  if (a.device == b.device) both.device = a.device;
  if (a.requires_grad == b.requires_grad) both.requires_grad = a.requires_grad;
  const auto merge = [](const std::optional<std::vector<int64_t>>& x, const std::optional<std::vector<int64_t>>& y) {
    std::optional<std::vector<int64_t>> out;
    if (!x || !y || x->size() != y->size()) return out;
    out = *x;
    for (size_t i = 0; i < out->size(); ++i) {
      if ((*out)[i] != (*y)[i]) (*out)[i] = TensorFacts::kUnknown;
    }
    return out;
  };
  both.sizes = merge(a.sizes, b.sizes);
  both.strides = merge(a.strides, b.strides);
  both.undefined = a.undefined && b.undefined;
  both.inferred = a.inferred && b.inferred;
  return both;
}

}  // namespace sconce
