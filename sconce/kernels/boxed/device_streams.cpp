// Streams, events and generators of devices beside the CPU, by number: backend_library.h.
#include "sconce/base/error.h"
#include "sconce/dispatch/op.h"
#include "sconce/generated/device_kernels.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce::boxed {
namespace {

DeviceType type_of(const Value& value) { return parse_device(value.to_string_ref()).type; }

const DeviceQueries& queries_of(DeviceType type) {
  const DeviceQueries* queries = find_queries(type);
  SCONCE_CHECK(queries, "there is no device {}: {}", to_string(Device(type)),
               find_backend(type) ? "it answers no questions" : why_no_backend(type));
  return *queries;
}
const DeviceStreams& streams_of(const Value& value) { return queries_of(type_of(value)).streams; }

int index_of(const Value& value) {
  const int64_t index = value.to_int();
  SCONCE_CHECK(index >= -1 && index < 128, "device index must be from -1 to 127, got {}", index);
  return static_cast<int>(index);
}
// args[0] is a type, args[1] an index.
Device device_of(const Value* args) {
  return resolve_device(Device(type_of(args[0]), static_cast<int8_t>(index_of(args[1]))));
}

}  // namespace

void sconce_device_random_state(const Op&, KeySet, Value* args, Value* returns) {
  const auto [seed, offset] = queries_of(type_of(args[0])).random_state(index_of(args[1]));
  returns[0] = Value(std::vector<int64_t>{static_cast<int64_t>(seed), static_cast<int64_t>(offset)});
}
void sconce_set_device_random_state(const Op&, KeySet, Value* args, Value*) {
  queries_of(type_of(args[0]))
      .set_random_state(index_of(args[1]), static_cast<uint64_t>(args[2].to_int()),
                        static_cast<uint64_t>(args[3].to_int()));
}
void sconce_new_stream(const Op&, KeySet, Value* args, Value* returns) {
  const DeviceStreams& streams = streams_of(args[0]);
  returns[0] = streams.make(device_of(args), args[2].to_bool());
}
void sconce_current_stream(const Op&, KeySet, Value* args, Value* returns) {
  const DeviceStreams& streams = streams_of(args[0]);
  returns[0] = streams.current(device_of(args));
}
void sconce_set_stream(const Op&, KeySet, Value* args, Value*) {
  const DeviceStreams& streams = streams_of(args[0]);
  streams.set_current(device_of(args), args[2].to_int());
}
void sconce_stream_address(const Op&, KeySet, Value* args, Value* returns) {
  const DeviceStreams& streams = streams_of(args[0]);
  returns[0] = static_cast<int64_t>(streams.address(device_of(args), args[2].to_int()));
}
void sconce_is_stream_done(const Op&, KeySet, Value* args, Value* returns) {
  const DeviceStreams& streams = streams_of(args[0]);
  returns[0] = streams.is_done(device_of(args), args[2].to_int());
}
void sconce_wait_for_stream(const Op&, KeySet, Value* args, Value*) {
  const DeviceStreams& streams = streams_of(args[0]);
  streams.wait(device_of(args), args[2].to_int());
}
void sconce_new_event(const Op&, KeySet, Value* args, Value* returns) {
  const DeviceStreams& streams = streams_of(args[0]);
  returns[0] = streams.make_event(device_of(args), args[2].to_bool());
}
void sconce_release_event(const Op&, KeySet, Value* args, Value*) {
  streams_of(args[0]).release_event(args[1].to_int());
}
void sconce_record_event(const Op&, KeySet, Value* args, Value*) {
  streams_of(args[0]).record_event(args[1].to_int(), args[2].to_int());
}
void sconce_let_stream_wait(const Op&, KeySet, Value* args, Value*) {
  const DeviceStreams& streams = streams_of(args[0]);
  streams.wait_for(device_of(args), args[2].to_int(), args[3].to_int());
}
void sconce_is_event_done(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = streams_of(args[0]).is_event_done(args[1].to_int());
}
void sconce_wait_for_event(const Op&, KeySet, Value* args, Value*) { streams_of(args[0]).wait_event(args[1].to_int()); }
void sconce_event_distance(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = streams_of(args[0]).distance(args[1].to_int(), args[2].to_int());
}
void sconce_record_stream(const Op&, KeySet, Value* args, Value*) {
  const Tensor& tensor = args[0].to_tensor();
  queries_of(tensor.device().type).streams.record_use(tensor, args[1].to_int());
}

}  // namespace sconce::boxed
