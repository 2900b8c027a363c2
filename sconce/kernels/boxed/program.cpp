// Statements of programs around their tensors: assertions, printing, sizes as lists.
#include "sconce/base/text/program_output.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/program_kernels.h"
#include "sconce/tensor/strides.h"
#include "sconce/types/value.h"

namespace sconce::boxed {
namespace {

void check_range(const Value* args) {
  const Scalar size = args[0].to_scalar();
  const int64_t low = args[1].is_none() ? INT64_MIN : args[1].to_int(),
                high = args[2].is_none() ? INT64_MAX : args[2].to_int();
  SCONCE_CHECK(low <= high, "Max must be greater than or equal to min. Got min={} max={}", low, high);
  SCONCE_CHECK(static_cast<double>(low) <= size.to_double() && size.to_double() <= static_cast<double>(high),
               "Invalid value range for {} between [{}, {}].", size.to_string(), low, high);
}

}  // namespace

void infer_size(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = Value(IntList(broadcast_sizes(args[0].to_list().ints(), args[1].to_list().ints())));
}
void size_if_not_equal(const Op&, KeySet, Value* args, Value* returns) {
  if (args[0].to_list().ints() == args[1].to_list().ints())
    returns[0] = Value();
  else
    returns[0] = std::move(args[0]);
}
void unwrap_optional(const Op&, KeySet, Value* args, Value* returns) {
  SCONCE_CHECK(!args[0].is_none(), "Unwrapping null optional");
  returns[0] = std::move(args[0]);
}
void device_from_name(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = parse_device(args[0].to_string_ref());
}
void device_with_index(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = parse_device(args[0].to_string_ref() + ":" + std::to_string(args[1].to_int()));
}
void print_line(const Op&, KeySet, Value* args, Value*) { print_text(args[0].to_string_ref() + "\n"); }
void assert_scalar(const Op&, KeySet, Value* args, Value*) {
  SCONCE_CHECK(args[0].to_scalar().to_bool(), "{}", args[1].to_string_ref());
}
void constrain_range(const Op&, KeySet, Value* args, Value*) { check_range(args); }
void constrain_range_for_size(const Op&, KeySet, Value* args, Value*) {
  SCONCE_CHECK(args[2].is_none() || args[2].to_int() > 2,
               "Max value to constrain_range_for_size must be greater than 2. got: {}", args[2].to_int());
  check_range(args);
}

// The functional forms return a copy of their token.
void functional_assert_scalar(const Op& op, KeySet keys, Value* args, Value* returns) {
  assert_scalar(op, keys, args, returns);
  returns[0] = sconce::clone(args[2].to_tensor(), {});
}
void functional_constrain_range(const Op&, KeySet, Value* args, Value* returns) {
  check_range(args);
  returns[0] = sconce::clone(args[3].to_tensor(), {});
}
void functional_constrain_range_for_size(const Op& op, KeySet keys, Value* args, Value* returns) {
  constrain_range_for_size(op, keys, args, returns);
  returns[0] = sconce::clone(args[3].to_tensor(), {});
}

void wait_for_future(const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0].to_future().value(); }

}  // namespace sconce::boxed
