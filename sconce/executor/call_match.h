// Call matching: whether a call's arguments are of the kind that a plan was made for, by comparing them where they lie.
// It says what a comparison of signatures (signature.h) says, without writing one down first; only for calls without
// containers and texts.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sconce/executor/signature.h"

namespace sconce::executor {

class CallMatch {
 public:
  // Nothing where an argument is a container, a text or of an unknown kind.
  static std::optional<CallMatch> make(std::span<const Value> args);

  // Whether `args` have the signature of those that it was made of. Then `tensors`, which must be empty, gets those
  // among them. `records`: autograd sees the call (records_gradients()), so that no tensor may require grad.
  bool holds(std::span<const Value> args, bool records, SmallVector<TensorImpl*, 8>& tensors) const;

 private:
  struct Expected {
    Tag tag;
    uint32_t words;  // of a tensor: sizes and strides, from `first` on
    uint32_t first;
    uint32_t same;  // of a tensor: the first of the call's tensors that is the same one, by number
    uint64_t bits;  // the payload, or the facts of a tensor that matter
  };
  std::vector<Expected> args_;
  std::vector<int64_t> dims_;
  bool is_distinct_ = true;  // no tensor stands twice
};

}  // namespace sconce::executor
