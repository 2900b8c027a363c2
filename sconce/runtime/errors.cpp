// Errors of scripts: tracebacks and messages.
#include "sconce/runtime/bytecode/slots.h"
#include "sconce/runtime/execute.h"
#include "sconce/runtime/shown_frames.h"
#include "sconce/types/class_info.h"

namespace sconce::runtime {
namespace {

struct Reason {
  ErrorKind kind = ErrorKind::runtime;
  std::string text;
  std::string exception_class;
};

Reason reason_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ScriptError& e) {  // of a fork, or of a script that an operator called
    return {e.kind(), e.message(), {}};
  } catch (const RaisedError& e) {
    return {e.kind(), e.message(), e.exception_class()};
  } catch (const Error& e) {
    return {e.kind(), e.kind() == ErrorKind::key ? "KeyError: " + e.message() : e.message(), {}};
  } catch (const std::exception& e) {
    return {ErrorKind::runtime, e.what(), {}};
  } catch (...) {
    return {ErrorKind::runtime, "an unknown error", {}};
  }
}

template <class Kind>
bool is(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Kind&) {
    return true;
  } catch (...) {
    return false;
  }
}

void append_frames(std::vector<ShownFrame>& frames, const Code& code, const Instruction* pc) {
  if (const Site* site = code.site_of(pc)) append_frames(frames, code.name, site->range, site->inlined.get());
}

std::vector<ShownFrame> frames_of(const Execution& ex) {
  std::vector<ShownFrame> frames;
  for (const Frame& f : ex.frames) append_frames(frames, *f.code, f.pc);
  if (ex.code) append_frames(frames, *ex.code, ex.pc);
  return frames;
}

}  // namespace

std::string traceback_of(const Execution& ex, Range& at) {
  const std::vector<ShownFrame> frames = frames_of(ex);
  if (!frames.empty()) at = frames.back().at;
  if (const Range original = at.original()) at = original;
  return traceback_of(frames);
}

namespace {

void release_frame(const Code& code, Slot* base) {
  for (const uint32_t r : code.owned) release_slot(base[r]);
}

ScriptError script_error(const Execution& ex, const Reason& reason) {
  Range at;
  std::string text = "The following operation failed in the TorchScript interpreter.\n" + traceback_of(ex, at);
  text += (reason.exception_class.empty() ? "RuntimeError" : reason.exception_class) + ": " + reason.text;
  text += '\n';
  return ScriptError(reason.kind, std::move(text), reason.text, reason.exception_class, at);
}

// The error of the script. That there is no memory needs no traceback, which would need some.
std::exception_ptr error_to_tell(const Execution& ex, const std::exception_ptr& error) {
  // The error of a region of the function itself is that of the function.
  if (ex.code && ex.frames.empty() && ex.pc->op == Opcode::run_region && is<ScriptError>(error)) return error;
  if (is<std::bad_alloc>(error)) return error;
  try {
    return std::make_exception_ptr(script_error(ex, reason_of(error)));
  } catch (...) {
    return std::current_exception();
  }
}

// Leaves the context managers that were entered. The first error is the one to tell, not those of their methods.
void leave_entered(Execution& ex) {
  while (!ex.entered.empty()) {
    const Value object = std::move(ex.entered.back().object);
    ex.entered.pop_back();
    try {
      ir::Function* exit = ir::find_method(object.to_object().type(), "__exit__");
      std::vector<Value> args(exit->schema().arguments.size());
      args[0] = object;
      run(*exit, args);
    } catch (const std::exception&) {
    }
  }
}

}  // namespace

std::string current_lines() {
  std::string text;
  if (const Execution* ex = current_execution()) {
    for (const ShownFrame& f : frames_of(*ex)) {
      const Range original = f.at.original();
      text += (original ? original : f.at).highlight(f.function);
    }
  }
  return text;
}

ScriptError::ScriptError(ErrorKind kind, std::string what, std::string reason, std::string exception_class, Range at)
    : Error(kind, std::move(what)),
      reason_(std::move(reason)),
      exception_class_(std::move(exception_class)),
      at_(std::move(at)) {}
ScriptError::~ScriptError() = default;

RaisedError::RaisedError(std::string message, std::string exception_class)
    : Error(ErrorKind::runtime, std::move(message)), exception_class_(std::move(exception_class)) {}
RaisedError::~RaisedError() = default;

const Site* Code::site_of(const Instruction* pc) const {
  const auto index = static_cast<uint32_t>(pc - instructions.data());
  const auto after =
      std::upper_bound(sites.begin(), sites.end(), index, [](uint32_t i, const Site& site) { return i < site.first; });
  return after == sites.begin() ? nullptr : &*(after - 1);
}

void fail_execution(Execution& ex) {
  const std::exception_ptr error = error_to_tell(ex, std::current_exception());
  leave_entered(ex);
  if (ex.code) release_frame(*ex.code, ex.base);
  for (const Frame& f : ex.frames) release_frame(*f.code, f.base);
  ex.frames.clear();
  ex.code = nullptr;
  ex.base = nullptr;
  std::rethrow_exception(error);
}

}  // namespace sconce::runtime
