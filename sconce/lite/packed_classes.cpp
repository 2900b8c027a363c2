#include "sconce/lite/packed_classes.h"

#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/runtime/value_types.h"

namespace sconce::lite {
namespace {

const Op& method_of(TypePtr type, std::string_view name, size_t count) {
  const Op* op = find_class_method(type, name);
  SCONCE_CHECK(op, "{} has no method '{}'", type->name(), name);
  const size_t wanted = op->schema().arguments.size();
  SCONCE_CHECK(wanted == count, "{}() takes {} arguments, got {}", name, wanted, count);
  return *op;
}

Value call(TypePtr type, std::string_view name, std::span<Value> args) {
  Value result;
  method_of(type, name, args.size()).call_boxed(args.data(), &result);
  return result;
}

void restore(TypePtr type, std::span<Value> args) {
  const Op& op = method_of(type, "__setstate__", args.size());
  const TypePtr wanted = op.schema().arguments[1].type;
  SCONCE_CHECK(runtime::convert_argument(args[1], wanted), "the state of {} is no {}", type->name(),
               wanted->annotation());
  Value result;
  op.call_boxed(args.data(), &result);
}

}  // namespace

constinit const CustomClasses packed_classes{find_custom_class, call, restore};

}  // namespace sconce::lite
