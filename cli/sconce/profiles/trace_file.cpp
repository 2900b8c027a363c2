#include "profiles/trace_file.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "sconce/serialization/file/file_writer.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

Json name_event(const char* what, size_t thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", thread}, {"args", {{"name", name}}}};
}

std::string line(const Json& event) { return event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace

void write_trace(const std::string& path, const std::string& program, const std::vector<TraceSlice>& slices) {
  FileWriter out(path);
  out.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" +
            line(name_event("process_name", 0, "sconce " + program)));
  uint64_t origin = UINT64_MAX;
  size_t threads = 0;
  for (const TraceSlice& s : slices) {
    origin = std::min(origin, s.begin);
    threads = std::max(threads, s.thread + 1);
  }
  for (size_t t = 0; t < threads; ++t) {
    out.write(",\n" + line(name_event("thread_name", t, t == 0 ? "main" : "fork " + std::to_string(t))));
  }
  // Outer slices before those inside: viewers nest by that where times are equal.
  std::vector<const TraceSlice*> order;
  order.reserve(slices.size());
  for (const TraceSlice& s : slices) order.push_back(&s);
  std::stable_sort(order.begin(), order.end(), [](const TraceSlice* a, const TraceSlice* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end > b->end;
  });
  for (const TraceSlice* s : order) {
    Json event{{"name", s->name},
               {"cat", s->category},
               {"ph", "X"},
               {"pid", 1},
               {"tid", s->thread},
               {"ts", static_cast<double>(s->begin - origin) / 1e3},
               {"dur", static_cast<double>(s->end - s->begin) / 1e3}};
    if (!s->inputs.empty()) event["args"]["inputs"] = s->inputs;
    if (!s->place.empty()) event["args"]["source"] = s->place;
    out.write(",\n" + line(event));
  }
  out.write("\n]}\n");
  out.commit();
}

}  // namespace sconce::cli
