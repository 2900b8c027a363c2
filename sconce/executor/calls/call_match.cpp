#include "sconce/executor/calls/call_match.h"

#include <algorithm>

namespace sconce::executor {
namespace {

bool is_word(Tag tag) {
  return tag == Tag::none || tag == Tag::boolean || tag == Tag::integer || tag == Tag::real || tag == Tag::device ||
         tag == Tag::object;
}

// The number of the first that is `t`; `count`: none is.
size_t find_same(TensorImpl* const* tensors, size_t count, const TensorImpl* t) {
  return static_cast<size_t>(std::find(tensors, tensors + count, t) - tensors);
}

// One bit of 64 by address: two tensors with different ones are not the same.
uint64_t bit_of(const TensorImpl* t) {
  return uint64_t{1} << (reinterpret_cast<uintptr_t>(t) / alignof(TensorImpl) & 63);
}

// Two words at once.
using Words2 = int64_t __attribute__((vector_size(16), aligned(8), may_alias));
const Words2& words_at(const int64_t* p) { return *reinterpret_cast<const Words2*>(p); }

}  // namespace

std::optional<CallMatch> CallMatch::make(std::span<const Value> args) {
  CallMatch match;
  TensorImpl* tensors[MatchedTensors::kMost];
  size_t count = 0;
  for (const Value& v : args) {
    Expected e{{}, v.is_none() ? 0 : v.bits(), v.tag(), 0, 0, match.dims_.size()};
    if (v.is_tensor()) {
      const Tensor& t = v.to_tensor();
      if (!is_plain(t) || count == MatchedTensors::kMost) return std::nullopt;
      e.bits = t.impl()->meta;
      match.all_ &= e.bits;
      match.any_ |= e.bits;
      e.words = static_cast<uint16_t>(2 * t.dim());
      e.same = static_cast<uint16_t>(find_same(tensors, count, t.impl()));
      tensors[count++] = t.impl();
      const int64_t* dims = t.impl()->dims;
      std::copy(dims, dims + kInlineWords, e.dims);
      if (e.words > kInlineWords) match.dims_.insert(match.dims_.end(), dims + kInlineWords, dims + e.words);
    } else if (!is_word(v.tag())) {
      return std::nullopt;
    }
    match.args_.push_back(e);
  }
  return match;
}

bool CallMatch::holds(std::span<const Value> args, bool records, MatchedTensors& found) const {
  if (args.size() != args_.size()) return false;
  uint64_t seen = 0, differ = 0;  // differ: facts that some tensor has otherwise
  Words2 dims{};
  size_t count = 0;
  const Expected* e = args_.data();
  for (const Value& v : args) {
    if (v.tag() != e->tag) return false;
    if (e->tag == Tag::tensor) {
      TensorImpl* t = v.to_tensor().impl();
      const uint64_t bit = bit_of(t);
      differ |= t->meta ^ e->bits;
      // Words behind sizes and strides are 0.
      dims |= (words_at(t->dims) ^ words_at(e->dims)) | (words_at(t->dims + 2) ^ words_at(e->dims + 2));
      if (e->words > kInlineWords) [[unlikely]] {
        if (!std::equal(t->dims + kInlineWords, t->dims + e->words, dims_.data() + e->first)) return false;
      }
      if ((seen & bit) != 0 || e->same != count) [[unlikely]] {
        if (find_same(found.tensors, count, t) != e->same) return false;
      }
      seen |= bit;
      found.tensors[count++] = t;
    } else if (v.bits() != e->bits && e->tag != Tag::none) {
      return false;
    }
    ++e;
  }
  if (((differ & ~kUnsigned) | static_cast<uint64_t>(dims[0] | dims[1])) != 0) return false;
  uint64_t all = all_, any = any_;
  if (differ != 0) [[unlikely]] {
    all = ~uint64_t{0};
    any = 0;
    for (size_t i = 0; i < count; ++i) {
      all &= found.tensors[i]->meta;
      any |= found.tensors[i]->meta;
    }
  }
  if (records && (any & (TensorImpl::requires_grad | TensorImpl::is_view)) != 0) {
    for (const Value& v : args) {
      if (v.is_tensor() && v.to_tensor().requires_grad()) return false;
    }
  }
  found.count = count;
  found.all = all;
  found.any = any;
  return true;
}

}  // namespace sconce::executor
