// What capture keeps with a code object (co_extra): it goes when the code object goes.
#pragma once

#include <memory>
#include <string>

#include "object.h"

namespace sconce::python::capture {

struct Code;
class FrameEntry;

struct CodeState {
  std::shared_ptr<const Code> decoded;   // by decode()
  std::shared_ptr<FrameEntry> on_entry;  // by set_frame_entry(); null: frames of this code are of no interest
  Owned answering;                       // by the frame hook: code that returns what a callback came to
  std::string again;  // of resume code: code and place of the break that it begins with, which was counted before
  PyCodeObject* original = nullptr;  // of emitted code: the program's, which lives while this one runs
  bool met = false;                  // the newcomers' callback has decided
};

// The number of our slot in co_extra; -1 before it is asked for.
extern Py_ssize_t code_state_slot;

// Null when nothing is kept. Reads memory alone: the frame hook asks for every frame.
inline CodeState* find_code_state(PyCodeObject* code) {
  struct Extra {  // as CPython lays it out
    Py_ssize_t size;
    void* slots[1];
  };
  const auto* extra = static_cast<const Extra*>(code->co_extra);
  if (extra == nullptr || extra->size <= code_state_slot || code_state_slot < 0) return nullptr;
  return static_cast<CodeState*>(extra->slots[code_state_slot]);
}
// Made when there is none. Throws PythonError.
CodeState& code_state(PyCodeObject* code);

}  // namespace sconce::python::capture
