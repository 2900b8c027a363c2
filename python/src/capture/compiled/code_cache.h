// CodeCache: what was compiled for one code object under one configuration. An entry is a trace with its guards; a call takes the first entry whose
// guards hold (the most recently used stands first), otherwise the function is evaluated and a new entry made.
//
// Note [Locks of the cache]
// The interpreter's lock protects the lists. It may be given up wherever Python runs: while evaluating, in backends, in
// observers, in the graph. So an entry that is in use is counted, a list is read by position, and a thread that comes back
// from evaluating looks again whether another thread has made an entry meanwhile. No lock of our own exists.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/compiled/dynamic_sizes.h"
#include "capture/compiled/settings.h"
#include "capture/frames/frame_hook.h"
#include "capture/guards/guards.h"
#include "capture/trace.h"
#include "object.h"
#include "sconce/base/small_vector.h"

namespace sconce::python::capture {

struct CacheEntry {
  std::unique_ptr<Guards> guards;
  Owned graph, code;
  Owned function;  // of `code`, for calls without a frame; made at the first
  std::optional<Recipe> result;
  int number = 0;                                     // of the compilation: the 1 of "0/1"
  int uses = 0;                                       // calls that run it now
  bool in = true;                                     // the cache has it
  bool none_handled = false;                          // as Trace has it
  bool is_plain() const { return !code && !result; }  // nothing was captured: the function runs as it is
};

// What answers a call: an entry, counted while this lives; none: the function runs as it is.
class Answer {
 public:
  Answer() = default;
  Answer(const Answer&) = delete;
  ~Answer() { clear(); }
  void set(CacheEntry* entry);
  void clear();

  CacheEntry* entry = nullptr;
  FoundInputs inputs;  // for its graph
};

class CodeCache {
 public:
  CodeCache(PyCodeObject* code, std::shared_ptr<const CompileConfig> config);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;

  // Throws PythonError.
  void find_or_compile(PyFunctionObject* function, PyObject* const* slots, Answer& answer);
  // Nothing is gained by asking: the function runs as it is from now on.
  bool gave_up() const { return gave_up_; }

  // From now on entries have code, too: frames run it.
  void need_code() { need_code_ = true; }

  void clear();  // does not look at the code: of a cycle, the collector may have freed it before
  int traverse(visitproc visit, void* arg);
  const std::vector<CacheEntry*>& entries() const { return entries_; }
  // The one that answered last, if it is one without code of Python; else null.
  CacheEntry* last_used() const { return entries_.empty() || !entries_.front()->result ? nullptr : entries_.front(); }
  size_t compilations() const { return static_cast<size_t>(compiled_); }

 private:
  bool find(PyObject* const* slots, PyObject* closure, Answer& answer);
  // False when what was captured does not hold right after.
  bool compile(PyFunctionObject* function, PyObject* const* slots, Answer& answer);
  void drop(CacheEntry* entry);
  void drop_dead();
  bool over_limit(const std::vector<std::string>& reasons);
  void note_sizes(PyObject* const* slots);
  std::vector<std::string> reasons(PyFunctionObject* function, PyObject* const* slots);

  PyCodeObject* code_;  // kept by those who hold this
  std::shared_ptr<const CompileConfig> config_;
  std::vector<CacheEntry*> entries_;
  SizeHistory sizes_;
  int frame_number_ = -1;  // the 0 of "0/1"
  int compiled_ = 0, calls_ = 0, empty_ = 0;
  const bool generator_;
  bool gave_up_ = false, said_limit_ = false, need_code_ = false;
};

// Resume functions and functions met in a compiled region: compiled with the same configuration.
Owned make_compiled(PyObject* function, std::shared_ptr<const CompileConfig> config);

// Drops all entries of all functions (sconce.compiler.reset).
void reset_caches();

}  // namespace sconce::python::capture
