// Errors of calls in lite libraries, which have no schemas to name arguments by, and every operator on the CPU alone.
// In place of dispatch/printing/op_errors.cpp.
#include "sconce/dispatch/printing/op_errors.h"

#include "sconce/dispatch/printing/tensor_text.h"

namespace sconce {

void name_call(Error& error, const Op& op, const Value*) {
  if (error.op().empty() && !is_internal(op)) error.set_op(op.qualified_name(), {});
}

void Op::no_kernel(KeySet keys) const {
  fail_as(ErrorKind::not_implemented, "{}: no kernel for {}: a lite library has the CPU alone", qualified_name(),
          keys.has(Key::cuda)   ? "CUDA"
          : keys.has(Key::meta) ? "Meta"
                                : "PrivateUse1");
}

}  // namespace sconce
