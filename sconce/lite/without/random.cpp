// Without random numbers: for models that have dropout and are not training.
#include "sconce/base/error.h"
#include "sconce/base/weak.h"
#include "sconce/kernels/draw.h"

namespace sconce {

SCONCE_WEAK void draw_into(const Tensor&, const Draw&, const Generator&) {
  fail_as(ErrorKind::not_implemented,
          "random numbers: this library was built without them, for a model that is not training");
}

}  // namespace sconce
