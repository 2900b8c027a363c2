#include "sconce/dispatch/prepare.h"

namespace sconce {

PreparedCall::~PreparedCall() = default;

}  // namespace sconce
