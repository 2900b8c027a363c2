#include "sconce/lite/debug_places.h"

#include "sconce/runtime/shown_frames.h"
#include "sconce/serialization/lite/lite_debug.h"

namespace sconce::lite {
namespace {

class ArchivePlaces final : public Places {
 public:
  ArchivePlaces(const StackProgram& program, Tables tables, FindPlace find)
      : program_(program), tables_(std::move(tables)), find_(std::move(find)) {}

  std::string traceback(const Activation* innermost) const override {
    std::vector<const Activation*> calls;
    for (const Activation* call = innermost; call; call = call->caller) calls.push_back(call);
    std::vector<runtime::ShownFrame> frames;  // the outermost first
    for (; !calls.empty(); calls.pop_back()) {
      const Activation& call = *calls.back();
      const auto& handles = tables_.methods[static_cast<size_t>(call.method - program_.methods.data())].debug_handles;
      if (handles.empty()) continue;
      const DebugPlace place = find_(handles[static_cast<size_t>(call.at - call.method->code.data())]);
      runtime::append_frames(frames, call.method->short_name(), place.range, place.inlined.get());
    }
    return runtime::traceback_of(frames);
  }

 private:
  const StackProgram& program_;
  const Tables tables_;
  const FindPlace find_;
};

}  // namespace

std::unique_ptr<Places> read_archive_places(const Records& records, const StackProgram& program) {
  Tables tables;
  for (const StackMethod& m : program.methods) {
    Method& method = tables.methods.emplace_back();
    method.name = m.name;
    method.instructions.assign(m.code.begin(), m.code.end());
  }
  FindPlace find = read_debug_places(records, tables);
  if (!find) return nullptr;
  return std::make_unique<ArchivePlaces>(program, std::move(tables), std::move(find));
}

}  // namespace sconce::lite
