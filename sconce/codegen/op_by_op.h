// The reference maker: op by op, as eager runs the calls of a nest.
#pragma once

#include "sconce/codegen/maker.h"

namespace sconce::codegen {

std::shared_ptr<const Kernel> make_op_by_op(const loops::Nest& nest);

}  // namespace sconce::codegen
