// The frame hook (PEP 523): calls of functions that capture has entries for run other code in the same frame.
//
// frame enters -> entry of its code object (co_extra) -> FrameEntry::enter -> other code, same frame -> CPython's
// evaluator
//
// The hook is in while a compiled region runs, in any thread; all other time Python runs as it is.
#pragma once

#include <memory>

#include "object.h"

namespace sconce::python::capture {

// What is asked when a function of a code object is called. Generators, coroutines, traced and profiled frames are left
// alone, and so are frames that a thread enters while it is inside of enter().
class FrameEntry {
 public:
  virtual ~FrameEntry() = default;
  // The code to run in place of the function's own: same arguments and free variables, no generator
  // (check_replacement). Null: its own. `locals`: the arguments where they lie in the frame, *args and **kwargs among
  // them, borrowed. Throws PythonError for an exception that the caller of the function sees.
  virtual Owned enter(PyFunctionObject* function, PyObject* const* locals) = 0;
};

// Takes the place of the entry that the code object has; null: frames of it are of no interest any more.
void set_frame_entry(PyCodeObject* code, std::shared_ptr<FrameEntry> entry);
std::shared_ptr<FrameEntry> frame_entry(PyCodeObject* code);

// Called for frames of code objects that nobody has decided about (CodeState::met), while the hook is in; it may set an
// entry and says so by setting `met`.
void set_newcomer_callback(void (*callback)(PyCodeObject*));

// Throws PythonError (ValueError) when frames of `code` cannot run `other`.
void check_replacement(PyCodeObject* code, PyCodeObject* other);

// The hook is in while one of these lives; they nest and count over all threads.
class HookScope {
 public:
  HookScope();
  ~HookScope();
  HookScope(const HookScope&) = delete;
};

// Called from a function of C that emitted code (CodeState::original) calls before it changes anything: runs the program's
// function from its start, with the arguments that lie in the frame, and nothing of it is captured. Empty: it was called by
// other code. Throws PythonError for an exception of the function.
Owned run_caller_eagerly();

// Frames that this thread enters meanwhile are of no interest: for code that belongs to capture itself.
class HookPause {
 public:
  HookPause();
  ~HookPause();
  HookPause(const HookPause&) = delete;

 private:
  bool before_;
};

// Frames that this thread enters meanwhile are answered by a function of ours: it gets the function that was called and
// its arguments where they lie in the frame, *args and **kwargs among them, and returns what the frame returns; null with
// an exception of Python set. While it runs nothing is redirected.
class FrameRedirect {
 public:
  using Answer = PyObject* (*)(PyFunctionObject* function, PyObject* const* slots);
  explicit FrameRedirect(Answer answer);
  ~FrameRedirect();
  FrameRedirect(const FrameRedirect&) = delete;

 private:
  Answer before_;
};

}  // namespace sconce::python::capture
