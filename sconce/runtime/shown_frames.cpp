#include "sconce/runtime/shown_frames.h"

namespace sconce::runtime {

void append_frames(std::vector<ShownFrame>& frames, std::string_view function, const Range& at,
                   const ir::InlinedCall* inlined) {
  std::vector<const ir::InlinedCall*> calls;
  for (const ir::InlinedCall* c = inlined; c; c = c->outer.get()) calls.push_back(c);
  for (auto c = calls.rbegin(); c != calls.rend(); ++c) {
    frames.push_back({function, (*c)->call});
    function = (*c)->function;
    function.remove_prefix(function.rfind('.') + 1);  // as a function's own name is shown
  }
  frames.push_back({function, at});
}

std::string traceback_of(std::span<const ShownFrame> frames) {
  std::string ran, written;
  for (const ShownFrame& f : frames) {
    ran += f.at.highlight(f.function);
    const Range original = f.at.original();
    if (original) written += original.highlight(f.function);
  }
  if (written.empty()) return "Traceback of TorchScript (most recent call last):\n" + ran;
  return "Traceback of TorchScript, serialized code (most recent call last):\n" + ran +
         "\nTraceback of TorchScript, original code (most recent call last):\n" + written;
}

}  // namespace sconce::runtime
