#include "sconce/executor/call_match.h"

#include <cstring>

namespace sconce::executor {
namespace {

bool is_word(Tag tag) {
  return tag == Tag::none || tag == Tag::boolean || tag == Tag::integer || tag == Tag::real || tag == Tag::device ||
         tag == Tag::object;
}

// The number of the first of `tensors` that is the last of them.
uint32_t first_same(const SmallVector<TensorImpl*, 8>& tensors) {
  uint32_t i = 0;
  while (tensors[i] != tensors.back()) ++i;
  return i;
}

}  // namespace

std::optional<CallMatch> CallMatch::make(std::span<const Value> args) {
  CallMatch match;
  SmallVector<TensorImpl*, 8> tensors;
  for (const Value& v : args) {
    Expected e{v.tag(), 0, static_cast<uint32_t>(match.dims_.size()), 0, v.is_none() ? 0 : v.bits()};
    if (v.is_tensor()) {
      const Tensor& t = v.to_tensor();
      if (!is_plain(t)) return std::nullopt;
      tensors.push_back(t.impl());
      e.bits = t.impl()->meta & ~kUnsigned;
      e.words = 2 * static_cast<uint32_t>(t.dim());
      e.same = first_same(tensors);
      match.is_distinct_ = match.is_distinct_ && e.same + 1 == tensors.size();
      match.dims_.insert(match.dims_.end(), t.sizes().begin(), t.sizes().end());
      match.dims_.insert(match.dims_.end(), t.strides().begin(), t.strides().end());
    } else if (!is_word(v.tag())) {
      return std::nullopt;
    }
    match.args_.push_back(e);
  }
  return match;
}

bool CallMatch::holds(std::span<const Value> args, bool records, SmallVector<TensorImpl*, 8>& tensors) const {
  if (args.size() != args_.size()) return false;
  const uint64_t refused = records ? TensorImpl::requires_grad : 0;
  uint64_t seen = 0;  // bits of addresses: two tensors with different ones are not the same
  bool may_repeat = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const Value& v = args[i];
    const Expected& e = args_[i];
    if (v.tag() != e.tag) return false;
    if (e.tag != Tag::tensor) {
      if (e.tag != Tag::none && v.bits() != e.bits) return false;
      continue;
    }
    TensorImpl* t = v.to_tensor().impl();
    if ((t->meta & ~kUnsigned) != e.bits || (t->meta & refused) != 0) return false;
    const int64_t* dims = dims_.data() + e.first;
    for (uint32_t k = 0; k < e.words; ++k) {
      if (t->dims[k] != dims[k]) return false;
    }
    const uint64_t bit = uint64_t{1} << (reinterpret_cast<uintptr_t>(t) / sizeof(TensorImpl) & 63);
    may_repeat |= (seen & bit) != 0;
    seen |= bit;
    tensors.push_back(t);
  }
  if (is_distinct_ && !may_repeat) return true;
  SmallVector<TensorImpl*, 8> before;
  for (size_t i = 0, k = 0; i < args.size(); ++i) {
    if (args_[i].tag != Tag::tensor) continue;
    before.push_back(tensors[k++]);
    if (first_same(before) != args_[i].same) return false;
  }
  return true;
}

}  // namespace sconce::executor
