#include "sconce/autograd/meta.h"

#include "sconce/autograd/hook_lists.h"

namespace sconce::autograd {

Meta::Meta() = default;
Meta::~Meta() {
  if (retained) forget_tensor(*retained);
}

Meta& make_meta(const Tensor& t) {
  if (Meta* known = meta_of(t)) return *known;
  auto* made = new Meta;
  attach_meta(*t.impl(), made);
  return *made;
}

}  // namespace sconce::autograd
