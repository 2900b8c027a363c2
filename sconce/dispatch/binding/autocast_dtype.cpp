// The dtype of autocast's regions, one for each thread.
#include "sconce/dispatch/binding/autocast.h"

namespace sconce {
namespace {

thread_local constinit DType dtype = DType::bfloat16;

}  // namespace

DType autocast_dtype() { return dtype; }
void set_autocast_dtype(DType to) { dtype = to; }

}  // namespace sconce
