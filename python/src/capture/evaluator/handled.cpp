// The exception that is being handled, as sys.exception() and `raise` see it.
//
// Note [Handled exceptions]
// CPython keeps it for the thread and for each generator; functions share that of whoever calls them. An except block sets
// it and puts the one before on the stack, from where the end of the block takes it back. So emitted code has to leave it
// as the program would: an except block that was entered before a break and left behind it is left by other code than it
// was entered by. Which exception was handled when the function was called no guard checks, but that there was none, where
// the program asks; where it comes to it otherwise, a mark stands for it, and emitted code puts in what it finds.
#include "capture/evaluator/evaluator.h"

namespace sconce::python::capture {

PyObject* handled_mark() {
  static PyObject* const mark =
      Owned::take(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).give();
  return mark;
}

void Evaluator::set_handled(Owned exception) {
  handled_ = std::move(exception);
  show_handled();
}

// For code of C, which asks CPython.
void Evaluator::show_handled() {
  PyObject* top = handled_.get();
  for (size_t i = handled_below_.size(); i-- > 0 && top == Py_None;) top = handled_below_[i].get();
  if (top == handled_mark()) top = handled_before_.get();
  PyErr_SetHandledException(top == Py_None ? nullptr : top);
}

PyObject* Evaluator::handled_anywhere() {
  PyObject* top = handled_.get();
  for (size_t i = handled_below_.size(); i-- > 0 && top == Py_None;) top = handled_below_[i].get();
  if (top != handled_mark()) return top;
  if (!handled_before_ || handled_before_.get() == Py_None) {
    none_handled = true;
    return Py_None;
  }
  break_here(Reason::unknown_object, "the exception that was being handled when the function was called");
}

void Evaluator::enter_handled(Frame& generator) {
  handled_below_.push_back(std::move(handled_));
  handled_ = generator.handled ? std::move(generator.handled) : Owned::share(Py_None);
  show_handled();
}

void Evaluator::leave_handled(Frame& generator) {
  generator.handled = std::move(handled_);
  handled_ = std::move(handled_below_.back());
  handled_below_.pop_back();
  show_handled();
}

}  // namespace sconce::python::capture
