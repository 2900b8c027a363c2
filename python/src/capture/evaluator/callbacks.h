// Callbacks: functions of Python that code of C calls while it works for the evaluated program (__hash__ of a key,
// __eq__ of an element, __add__ under sum) are evaluated as all others are.
//
// Note [Code of C that calls back]
// The frame hook sees each frame that CPython enters. While a CallbackScope is on, the evaluator takes the frame's
// arguments, evaluates the function, and the frame returns what came of it. A break in there is kept in
// Evaluator::interrupt while an exception of Python takes its way out (Note [Breaks through code of C]): nothing can be
// resumed inside, so the break is at the instruction that called the code of C.
#pragma once

#include <optional>

#include "capture/frames/frame_hook.h"

namespace sconce::python::capture {

class Evaluator;

// What a call of CPython needs that may call back. One is made in front of Evaluator::prepare, which says whether objects
// with methods of Python are among the arguments (want); it is on from start() to its end.
class CallbackScope {
 public:
  explicit CallbackScope(Evaluator& e);
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  void want() { wanted_ = true; }
  void start();

 private:
  Evaluator& e_;
  CallbackScope* before_;
  std::optional<HookScope> hook_;
  std::optional<FrameRedirect> redirect_;
  bool wanted_ = false;
};

}  // namespace sconce::python::capture
