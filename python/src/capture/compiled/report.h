// Reports: what capture tells those who ask: logs, explain(), the trace page, counters. All go to one observer of Python,
// observer(event, facts); without one nothing is made.
#pragma once

#include <string>
#include <vector>

#include "capture/compiled/code_cache.h"

namespace sconce::python::capture {

// "compiled": code, function, frame, number, graph, new_code, guards (if the observer reads them), direct, breaks, in_loop (the break for which a
// loop was left to Python), nodes, seconds.
void report_compilation(PyCodeObject* code, PyFunctionObject* function, int frame, const CacheEntry& entry,
                        const Trace& trace, double seconds);
// "recompile": code, frame, number, reasons.
void report_recompile(PyCodeObject* code, int frame, int number, const std::vector<std::string>& reasons);
// A warning that names the limit, each guard that failed, and what to do; with `fail` an exception.
void report_limit(PyCodeObject* code, const char* name, int64_t limit, const std::vector<std::string>& reasons,
                  bool fail);
// Guards that do not hold right after they were made.
void report_unstable(PyCodeObject* code, const std::string& why);
// The exception of set_stance("fail_on_recompile").
void raise_recompile(PyCodeObject* code, const std::vector<std::string>& reasons);

}  // namespace sconce::python::capture
