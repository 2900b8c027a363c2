// Call matching: whether a call's arguments are of the kind that a plan was made for, by comparing them where they lie.
// It says what a comparison of signatures (signature.h) says, without writing one down first; only for calls without
// containers and texts, of up to kMostTensors tensors.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sconce/executor/signature.h"

namespace sconce::executor {

// The tensors of a call that was matched, and what all or some of them have (TensorImpl::meta).
struct MatchedTensors {
  static constexpr size_t kMost = 24;
  TensorImpl* tensors[kMost];
  size_t count = 0;
  uint64_t all = ~uint64_t{0}, any = 0;
};

class SCONCE_API CallMatch {
 public:
  // Nothing where an argument is a container, a text or of an unknown kind, or where there are too many tensors.
  static std::optional<CallMatch> make(std::span<const Value> args);

  // Whether `args` have the signature of those that it was made of. Then `found`, which must be new, has the tensors
  // among them. `records`: autograd sees the call (records_gradients()), so that no tensor may require grad.
  bool holds(std::span<const Value> args, bool records, MatchedTensors& found) const;

 private:
  static constexpr size_t kInlineWords = 4;
  struct alignas(64) Expected {
    int64_t dims[kInlineWords];
    uint64_t bits;  // the payload, or the facts of a tensor
    Tag tag;
    uint16_t words;  // of a tensor: sizes and strides
    uint16_t same;   // of a tensor: the first of the call's tensors that is the same one, by number
    size_t first;    // of its further words
  };
  std::vector<Expected> args_;
  std::vector<int64_t> dims_;
  uint64_t all_ = ~uint64_t{0}, any_ = 0;  // of the tensors that it was made of
};

}  // namespace sconce::executor
