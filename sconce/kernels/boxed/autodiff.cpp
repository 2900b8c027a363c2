// The sum of two gradients, either of which may be missing.
#include "sconce/dispatch/op.h"
#include "sconce/generated/autodiff_kernels.h"
#include "sconce/ops.h"

namespace sconce::boxed {

void prim_AutogradAdd(const Op&, KeySet, Value* args, Value* returns) {
  if (args[0].is_none())
    returns[0] = std::move(args[1]);
  else if (args[1].is_none())
    returns[0] = std::move(args[0]);
  else
    returns[0] = add(args[0].to_tensor(), args[1].to_tensor());
}

}  // namespace sconce::boxed
