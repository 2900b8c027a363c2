#include "capture/evaluator/evaluate.h"

#include <algorithm>

#include "capture/bytecode/flow.h"
#include "capture/code_state.h"
#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/interest.h"
#include "capture/output/emit.h"
#include "capture/output/rebuild.h"
#include "interop/torch_function.h"
#include "sconce/autograd/autocast_mode.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

GraphBreak describe(const Break& b, const Evaluator& e) {
  GraphBreak out;
  const ReasonRow& row = row_of(b.reason);
  out.code = row.code;
  out.reason = row.text;
  if (!b.detail.empty()) out.reason += ": " + b.detail;
  out.hint = row.hint;
  if (!e.frames.empty()) {
    const Frame& f = *e.frames.back();
    out.file = std::string(text_of(f.code->file.get()));
    out.function = std::string(text_of(f.code->name.get()));
    out.line = f.code->instructions[static_cast<size_t>(f.at)].location.line;
  }
  return out;
}

std::vector<std::string> names_of(const Code& code, bool free) {
  std::vector<std::string> all;
  for (size_t i = 0; i < code.locals.size(); ++i) {
    if (((code.kinds[i] & 0x80) != 0) == free) all.emplace_back(text_of(code.locals[i].get()));
  }
  return all;
}

// How a run ended.
struct Outcome {
  Trace trace;
  std::optional<Break> why;  // a break at `step`; none: the trace is whole
  GraphBreak shown;
  int64_t step = 0;
  bool met_tensors = false;
  bool recorded = false;          // an operator
  bool raised = false;            // an exception leaves the function: no break that anybody counts
  std::optional<LoopAhead> loop;  // that the break is in
};

// The outermost loop of the outermost frame that stands in one. Of those only that can be resumed in front of it.
std::optional<LoopAhead> loop_around_break(const Evaluator& e) {
  // What comes behind the break in a round was not seen: perhaps a few operators on the largest tensor in sight.
  int64_t largest = 0;
  const size_t count = std::min(e.resumable_frames(), e.frames.size());
  for (size_t i = 0; i < count; ++i) {
    const Frame& f = *e.frames[i];
    for (size_t slot = 0; slot < f.fast.size(); ++slot)
      if (f.fast[slot] != nullptr && is_tensor(f.fast[slot]))
        largest = std::max(largest, tensor_of(f.fast[slot]).numel());
  }
  for (size_t i = 0; i < count; ++i) {
    const Frame& f = *e.frames[i];
    std::vector<bool> members = loop_around(*f.code, f.at);
    if (members.empty()) continue;
    return LoopAhead{f.first, std::move(members), e.recorder.node_count(), e.recorder.element_count(),
                     4 * static_cast<size_t>(largest)};
  }
  return std::nullopt;
}

// What sizes that are not fixed have to be.
void add_relations(const Recorder& recorder, Sources& sources) {
  for (const Owned& relation : recorder.relations()) sources.guard(kNoSource, FactKind::relation, relation.get());
  if (PyObject* check = recorder.size_check()) sources.guard(kNoSource, FactKind::sizes, check);
}

// Objects of one class of which one was written must stay objects of their own: what was read of the others was read as if
// they were not written.
void add_distinct(Evaluator& e) {
  bool any = e.recorder.reshapes_inputs();
  for (auto& [object, entry] : e.origins.entries())
    any = any || (entry.order != 0 && e.origins.has_other_content(object));
  if (!any) return;
  std::unordered_map<const void*, std::pair<std::vector<SourceId>, bool>> groups;  // by class; is one written?
  for (auto& [object, entry] : e.origins.entries()) {
    if (entry.source == kNoSource || entry.identity_guarded || entry.globals || is_immutable(object)) continue;
    const bool is_tensor = e.recorder.is_fake(object);
    const bool is_dict_of_instance = entry.items != kNoSource;
    const SourceId id = is_dict_of_instance ? entry.items : entry.source;
    PyObject* owner = is_dict_of_instance ? e.origins.owner_of(id) : object;
    if (owner == nullptr || PyModule_Check(owner)) continue;
    if (const Origins::Entry* of = e.origins.find(owner); of != nullptr && of->identity_guarded) continue;
    static const char tensors = 0;
    auto& [ids, written] = groups[is_tensor ? static_cast<const void*>(&tensors) : Py_TYPE(owner)];
    ids.push_back(id);
    written = written || e.origins.has_other_content(object) || (is_tensor && e.recorder.reshapes_inputs());
  }
  for (auto& [type, group] : groups) {
    if (!group.second) continue;
    std::sort(group.first.begin(), group.first.end());
    group.first.erase(std::unique(group.first.begin(), group.first.end()), group.first.end());
    if (group.first.size() < 2) continue;
    const Owned ids = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(group.first.size())));
    for (size_t i = 0; i < group.first.size(); ++i)
      PyTuple_SET_ITEM(ids.get(), static_cast<Py_ssize_t>(i), PyLong_FromLong(group.first[i]));
    e.origins.sources().guard(kNoSource, FactKind::distinct, ids.get());
  }
}

// No garbage collection while it lives: an evaluation makes many objects and no cycles of note, and a collection among all
// objects of a large program takes longer than the capture of a model.
class NoCollection {
 public:
  NoCollection() : was_on_(PyGC_Disable() != 0) {}
  ~NoCollection() {
    if (was_on_) PyGC_Enable();
  }
  NoCollection(const NoCollection&) = delete;

 private:
  bool was_on_;
};

// The text of the exception that is set, which stays.
std::string pending_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const Owned shown = value == nullptr ? Owned() : Owned::take(PyObject_Str(value));
  PyErr_Restore(type, value, trace);
  return shown ? std::string(text_of(shown.get())) : "";
}

Outcome run_once(PyFunctionObject* function, std::span<PyObject* const> slots, const EvaluateOptions& options,
                 int64_t stop_at, const GraphBreak* reason, std::optional<LoopAhead> loop) {
  Outcome out;
  out.trace.sources = std::make_unique<Sources>();
  const std::shared_ptr<const Code> code = decode(reinterpret_cast<PyCodeObject*>(function->func_code));
  out.trace.locals = names_of(*code, false);
  out.trace.free_variables = names_of(*code, true);
  const ModesScope modes;
  const AskOverrideScope overrides(ask_override);
  const autograd::AutocastOfMeta fakes_too;
  const std::unique_ptr<Recorder> recorder = make_recorder(options.backend, options.backend_options);
  Evaluator e(options, *out.trace.sources, *recorder, function);
  e.origins.free_dims = options.free_dims;
  e.origins.free_number = options.free_number;
  e.origins.local_names = out.trace.locals;
  e.origins.free_names = out.trace.free_variables;
  e.stop_at = stop_at;
  e.loop_ahead = std::move(loop);
  e.on_stop = [&] {
    if (reason != nullptr) out.trace.breaks.push_back(*reason);
    if (reason != nullptr && e.leaves_loop) out.trace.in_loop = *reason;
    e.check_generators();
    emit_break(e, out.trace);
    add_relations(*recorder, *out.trace.sources);
    add_distinct(e);
  };
  const auto ended = [&](const Break& b) {
    out.why = b;
    out.shown = describe(b, e);
    out.step = e.break_step();
    out.loop = loop_around_break(e);
  };
  e.on_break = ended;
  const std::unique_ptr<Frame> root = e.root_frame(slots);
  try {
    const Owned result = e.run(*root);
    e.check_generators();
    emit_return(e, *root, result.get(), out.trace);
    add_relations(*recorder, *out.trace.sources);
    add_distinct(e);
  } catch (const Break& b) {
    if (!out.why) ended(b);
  } catch (const Stopped&) {
  } catch (const Unrebuildable& u) {
    const auto at = e.births.find(u.object);
    out.why = Break{Reason::escapes, u.what};
    out.shown.code = row_of(Reason::escapes).code;
    out.shown.reason = std::string(row_of(Reason::escapes).text) + ": " + u.what;
    out.shown.hint = row_of(Reason::escapes).hint;
    out.step = at == e.births.end() ? 1 : at->second;
    if (const auto raise = e.raises.find(u.object); raise != e.raises.end()) {
      out.step = raise->second;  // what Python raises itself has its traceback and context
      out.raised = true;
    }
  } catch (const PythonError&) {
    // The program raises: where the exception came up first, so that all handlers on its way run as Python runs them. No
    // break in the user's sense, so it has no code.
    if (!out.why) {
      out.why = Break{Reason::exception, {}};
      out.step = e.raised_at(root->step);
      out.raised = true;
      if (PyErr_ExceptionMatches(PyExc_SystemError)) {  // no program raises it: capture used CPython wrongly
        out.raised = false;
        out.shown = describe(Break{Reason::unknown_callable, "code of C that failed: " + pending_error()}, e);
      }
    }
    PyErr_Clear();
  }
  out.trace.none_handled = e.none_handled;
  out.recorded = recorder->node_count() > 0;
  out.met_tensors = recorder->node_count() > 0 || !recorder->inputs().empty();
  return out;
}

// The exception of fullgraph=True.
void raise_unsupported(const GraphBreak& b) {
  const Owned module = Owned::take(PyImport_ImportModule("sconce.compiler._errors"));
  const Owned error =
      Owned::take(PyObject_CallMethod(module.get(), "unsupported", "sssiss", b.code.c_str(), b.reason.c_str(),
                                      b.hint.c_str(), b.line, b.file.c_str(), b.function.c_str()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

}  // namespace

Trace evaluate(PyFunctionObject* function, std::span<PyObject* const> slots, const EvaluateOptions& options) {
  if (reinterpret_cast<PyCodeObject*>(function->func_code)->co_flags &
      (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))
    return {};
  // The body of a class, text given to exec: names in a dict, which no resume function would have.
  if (!(reinterpret_cast<PyCodeObject*>(function->func_code)->co_flags & CO_OPTIMIZED)) return {};
  const NoCollection alone;
  GraphBreak reason;
  int64_t stop_at = options.break_at;
  if (stop_at >= 0) {
    const ReasonRow& row = row_of(Reason::forced);
    reason = {row.code, row.text, row.hint, {}, {}, 0};
  }
  bool counted = stop_at >= 0;
  const CodeState* kept = find_code_state(reinterpret_cast<PyCodeObject*>(function->func_code));
  const std::string again = kept == nullptr ? "" : kept->again;
  const bool interesting = options.everything || may_meet_tensors(function, slots);
  const bool whole = reads_frame(*decode(reinterpret_cast<PyCodeObject*>(function->func_code)));
  std::optional<LoopAhead> loop;
  for (int attempt = 0; attempt < 8; ++attempt) {
    Outcome out = run_once(function, slots, options, stop_at, counted ? &reason : nullptr, std::exchange(loop, {}));
    if (!interesting && !out.met_tensors) return {};
    if (!out.why) return std::move(out.trace);
    if (options.fullgraph && !out.raised) {
      raise_unsupported(out.shown);
      throw PythonError();
    }
    if (whole) {
      if (!out.raised) reason = out.shown;
      counted = !out.raised;
      break;
    }
    if (stop_at >= 0 && out.step >= stop_at) break;  // nothing earlier to break at
    // What stands at the first break may keep it from being there: the reason is the first one all the same.
    if (stop_at < 0) reason = out.shown;
    if (stop_at < 0 && !out.raised && !options.every_round) loop = std::move(out.loop);
    if (stop_at < 0 || out.raised) counted = !out.raised;
    if (stop_at < 0 && !out.recorded && place_of(out.shown) == again) counted = false;
    stop_at = out.step;
  }
  Trace nothing;
  if (counted) nothing.breaks.push_back(reason);
  return nothing;
}

}  // namespace sconce::python::capture
