// `is`, and equality of enums.
#include "sconce/dispatch/op.h"
#include "sconce/generated/container_kernels.h"

namespace sconce::boxed {

void is_same(const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0].is_same(args[1]); }
void is_not_same(const Op&, KeySet, Value* args, Value* returns) { returns[0] = !args[0].is_same(args[1]); }
void value_eq(const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0].equals(args[1]); }
void value_ne(const Op&, KeySet, Value* args, Value* returns) { returns[0] = !args[0].equals(args[1]); }

}  // namespace sconce::boxed
