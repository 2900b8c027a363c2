// Questions about devices beside the CPU, answered by the library of their backend: backend_library.h.
#include "sconce/base/error.h"
#include "sconce/dispatch/op.h"
#include "sconce/generated/device_kernels.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce::boxed {
namespace {

DeviceType type_of(const Value& value) { return parse_device(value.to_string_ref()).type; }

const DeviceQueries& queries_of(const Value& value) {
  const DeviceType type = type_of(value);
  const DeviceQueries* queries = find_queries(type);
  SCONCE_CHECK(queries, "there is no device {}: {}", to_string(Device(type)),
               find_backend(type) ? "it answers no questions" : why_no_backend(type));
  return *queries;
}

int index_of(const Value& value) {
  const int64_t index = value.to_int();
  SCONCE_CHECK(index >= -1 && index < 128, "device index must be from -1 to 127, got {}", index);
  return static_cast<int>(index);
}

}  // namespace

void sconce_device_count(const Op&, KeySet, Value* args, Value* returns) {
  const DeviceQueries* queries = find_queries(type_of(args[0]));
  returns[0] = int64_t{queries ? queries->count() : 0};
}
void sconce_why_no_device(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = why_no_backend(type_of(args[0]));
}
void sconce_current_device(const Op&, KeySet, Value* args, Value* returns) {
  queries_of(args[0]);
  returns[0] = int64_t{resolve_device(Device(type_of(args[0]))).index};
}
void sconce_set_device(const Op&, KeySet, Value* args, Value*) { queries_of(args[0]).set_current(index_of(args[1])); }
void sconce_synchronize_device(const Op&, KeySet, Value* args, Value*) {
  queries_of(args[0]);
  const Device device = resolve_device(Device(type_of(args[0]), static_cast<int8_t>(index_of(args[1]))));
  backend_of(device).synchronize(device);
}
void sconce_device_name(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = queries_of(args[0]).name(index_of(args[1]));
}
void sconce_device_facts(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = Value(queries_of(args[0]).facts(index_of(args[1])));
}
void sconce_device_memory(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = Value(queries_of(args[0]).memory(index_of(args[1])));
}
void sconce_reset_device_peaks(const Op&, KeySet, Value* args, Value*) {
  queries_of(args[0]).reset_peaks(index_of(args[1]));
}
void sconce_seed_device(const Op&, KeySet, Value* args, Value*) {
  queries_of(args[0]).seed(index_of(args[1]), static_cast<uint64_t>(args[2].to_int()));
}
void sconce_empty_device_cache(const Op&, KeySet, Value* args, Value*) { queries_of(args[0]).empty_cache(); }

}  // namespace sconce::boxed
