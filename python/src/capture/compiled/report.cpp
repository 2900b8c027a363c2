#include "capture/compiled/report.h"

namespace sconce::python::capture {
namespace {

Owned list_of(const std::vector<std::string>& texts) {
  Owned list = Owned::take(PyList_New(0));
  for (const std::string& line : texts) check(PyList_Append(list.get(), text(line).get()));
  return list;
}

void put(PyObject* dict, const char* key, Owned value) { check(PyDict_SetItemString(dict, key, value.get())); }
Owned number(int64_t n) { return Owned::take(PyLong_FromLongLong(n)); }
Owned or_none(const Owned& object) { return Owned::share(object ? object.get() : Py_None); }

void tell(const char* event, const Owned& facts) {
  const Owned observer = Owned::share(settings().observer.get());
  const HookPause pause;
  Owned::take(PyObject_CallFunction(observer.get(), "sO", event, facts.get()));
}

bool is_heard() { return static_cast<bool>(settings().observer); }

std::string place_of(PyCodeObject* code) {
  return "'" + std::string(text_of(code->co_name)) + "' (" + std::string(text_of(code->co_filename)) + ":" +
         std::to_string(code->co_firstlineno) + ")";
}

Owned exception_class(const char* name) {
  const Owned module = Owned::take(PyImport_ImportModule("sconce.compiler._errors"));
  return Owned::take(PyObject_GetAttrString(module.get(), name));
}

}  // namespace

void report_compilation(PyCodeObject* code, PyFunctionObject* function, int frame, const CacheEntry& entry,
                        const Trace& trace, double seconds) {
  if (!is_heard()) return;
  const Owned facts = Owned::take(PyDict_New());
  put(facts.get(), "code", Owned::share(reinterpret_cast<PyObject*>(code)));
  put(facts.get(), "function", Owned::share(reinterpret_cast<PyObject*>(function)));
  put(facts.get(), "frame", number(frame));
  put(facts.get(), "number", number(entry.number));
  put(facts.get(), "graph", or_none(entry.graph));
  put(facts.get(), "new_code", or_none(entry.code));
  // Texts of guards take longer than evaluating.
  if (settings().observer_reads_guards) put(facts.get(), "guards", list_of(entry.guards->texts()));
  put(facts.get(), "direct", Owned::share(entry.result ? Py_True : Py_False));
  put(facts.get(), "nodes", number(static_cast<int64_t>(trace.nodes)));
  put(facts.get(), "seconds", Owned::take(PyFloat_FromDouble(seconds)));
  const Owned breaks = Owned::take(PyList_New(0));
  const auto row = [](const GraphBreak& b) {
    return Owned::take(Py_BuildValue("(sssssi)", b.code.c_str(), b.reason.c_str(), b.hint.c_str(), b.file.c_str(),
                                     b.function.c_str(), b.line));
  };
  for (const GraphBreak& b : trace.breaks) check(PyList_Append(breaks.get(), row(b).get()));
  put(facts.get(), "breaks", Owned::share(breaks.get()));
  put(facts.get(), "in_loop", trace.in_loop ? row(*trace.in_loop) : Owned::share(Py_None));
  tell("compiled", facts);
}

void report_recompile(PyCodeObject* code, int frame, int n, const std::vector<std::string>& reasons) {
  if (!is_heard()) return;
  const Owned facts = Owned::take(PyDict_New());
  put(facts.get(), "code", Owned::share(reinterpret_cast<PyObject*>(code)));
  put(facts.get(), "frame", number(frame));
  put(facts.get(), "number", number(n));
  put(facts.get(), "reasons", list_of(reasons));
  tell("recompile", facts);
}

void report_limit(PyCodeObject* code, const char* name, int64_t limit, const std::vector<std::string>& reasons,
                  bool fail) {
  std::string message = std::string("sconce.compile hit config.") + name + " (" + std::to_string(limit) +
                        ")\n   function: " + place_of(code) + "\n";
  message += "   guards that failed, one for each entry:\n";
  for (const std::string& reason : reasons) message += "    - " + reason + "\n";
  message +=
      "From now on calls that no entry takes run as they are, uncompiled. What to do: pass what changes as a tensor, "
      "mark "
      "sizes that change (sconce.compiler.mark_dynamic, dynamic=True), leave a function that changes each time out "
      "(sconce.compiler.disable), or raise sconce._dynamo.config." +
      std::string(name) + ". SCONCE_LOGS=\"recompiles\" shows every recompilation.";
  if (fail) {
    const Owned type = exception_class("FailOnRecompileLimitHit");
    PyErr_SetString(type.get(), message.c_str());
    throw PythonError();
  }
  // A log, as PyTorch has it: a warning could be recorded, or made an exception, by the very program that is compiled.
  const HookPause pause;
  const Owned logging = Owned::take(PyImport_ImportModule("logging"));
  const Owned logger = Owned::take(PyObject_CallMethod(logging.get(), "getLogger", "s", "sconce._dynamo"));
  Owned::take(PyObject_CallMethod(logger.get(), "warning", "ss", "%s", message.c_str()));
}

void report_unstable(PyCodeObject* code, const std::string& why) {
  if (!is_heard()) return;
  const Owned facts = Owned::take(PyDict_New());
  put(facts.get(), "code", Owned::share(reinterpret_cast<PyObject*>(code)));
  put(facts.get(), "why", text(why));
  tell("unstable", facts);
}

void raise_recompile(PyCodeObject* code, const std::vector<std::string>& reasons) {
  std::string message =
      "Detected recompile when torch.compile stance is 'fail_on_recompile'. function: " + place_of(code);
  for (const std::string& reason : reasons) message += "\n    - " + reason;
  if (reasons.empty()) message += "\n    it was not compiled before";
  const Owned type = exception_class("RecompileError");
  PyErr_SetString(type.get(), message.c_str());
}

}  // namespace sconce::python::capture
