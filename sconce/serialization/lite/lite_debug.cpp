#include "sconce/serialization/lite/lite_debug.h"

#include <unordered_map>

#include "sconce/serialization/code/source_map.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/pickle/pickle_reader.h"

namespace sconce::lite {
namespace {

using Ranges = std::unordered_map<int64_t, Range>;
using Places = std::unordered_map<int64_t, DebugPlace>;

constexpr size_t kMaxInlined = 200;  // calls inside of calls

Ranges read_ranges(const Records& records) {
  Ranges ranges;
  for (const ZipReader::Record& record : records.zip().records()) {
    if (!record.name.ends_with(".debug_pkl")) continue;
    for (DebugRange& r : read_debug_ranges(records.zip().read(record), "debug record"))
      ranges.emplace(r.tag, std::move(r.range));
  }
  return ranges;
}

Range range_of(const Ranges& ranges, const Value& tag) {
  const auto found = ranges.find(tag.to_int());
  return found == ranges.end() ? Range() : found->second;
}

// ((class, instance), tag of the call, the call inside of it or None, function), from the outside in.
std::shared_ptr<const ir::InlinedCall> calls_of(const Ranges& ranges, const Value& stack) {
  std::shared_ptr<const ir::InlinedCall> calls;
  const Value* at = &stack;
  for (size_t depth = 0; !at->is_none(); ++depth) {
    const std::vector<Value>& parts = at->to_tuple().items;
    SCONCE_CHECK(parts.size() == 4 && depth < kMaxInlined, "a call stack has another form");
    auto call = std::make_shared<ir::InlinedCall>();
    call->function = parts[3].to_string_ref();
    call->call = range_of(ranges, parts[1]);
    call->outer = std::move(calls);
    calls = std::move(call);
    at = &parts[2];
  }
  return calls;
}

// (handle, tag, node kind, call stack) each.
Places read_places(const Records& records) {
  const Ranges ranges = read_ranges(records);
  PlainContext context;
  const Value map = read_pickle(records.read("callstack_debug_map.pkl"), "debug record", context);
  Places places;
  for (const Value& row : map.to_tuple().items) {
    const std::vector<Value>& parts = row.to_tuple().items;
    SCONCE_CHECK(parts.size() == 4, "a debug handle has another form");
    places.emplace(parts[0].to_int(), DebugPlace{range_of(ranges, parts[1]), calls_of(ranges, parts[3])});
  }
  return places;
}

}  // namespace

FindPlace read_debug_places(const Records& records, Tables& tables) {
  if (!records.find("mobile_debug_handles.pkl") || !records.find("callstack_debug_map.pkl")) return nullptr;
  try {
    PlainContext context;
    read_debug_handles(read_pickle(records.read("mobile_debug_handles.pkl"), "debug record", context), records.name(),
                       tables);
    return [places = std::make_shared<const Places>(read_places(records))](int64_t handle) {
      const auto found = places->find(handle);
      return found == places->end() ? DebugPlace() : found->second;
    };
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace sconce::lite
