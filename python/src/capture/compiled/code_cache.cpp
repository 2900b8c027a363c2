#include "capture/compiled/code_cache.h"

#include <algorithm>
#include <chrono>

#include "capture/code_state.h"
#include "capture/compiled/newcomers.h"
#include "capture/compiled/report.h"
#include "capture/evaluator/evaluate.h"
#include "capture/graph/compiled_graph.h"

namespace sconce::python::capture {
namespace {

// Every cache that lives, for reset_caches().
std::vector<CodeCache*>& all_caches() {
  static auto* all = new std::vector<CodeCache*>();
  return *all;
}
int next_frame_number = 0;

// A call of one makes an object and runs nothing.
bool is_generator(PyCodeObject* code) { return code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR); }

// After so many evaluations that captured nothing, with no entry in between, a function is left alone.
constexpr int kEmptyUntilGivenUp = 3;

// Is the call made from inside of an except block?
bool is_handling() {
  PyObject* handled = PyErr_GetHandledException();
  if (handled == nullptr) return false;
  const Owned owned = Owned::take(handled);
  return handled != Py_None;
}

constexpr uint8_t kFree = 0x80;  // of co_localspluskinds

std::vector<std::string> local_names(PyCodeObject* code, uint8_t kind) {
  std::vector<std::string> names;
  for (Py_ssize_t i = 0; i < code->co_nlocalsplus; ++i) {
    const auto kinds = static_cast<uint8_t>(PyBytes_AS_STRING(code->co_localspluskinds)[i]);
    if ((kind == kFree) == ((kinds & kFree) != 0))
      names.emplace_back(text_of(PyTuple_GET_ITEM(code->co_localsplusnames, i)));
  }
  return names;
}

// Where a number comes from.
struct NumberPlace {
  bool may_be_free = true;   // no default of a function, no attribute of a class: these are what the program is
  bool is_argument = false;  // an argument, or in a container that is one
};
NumberPlace number_place(const Sources& sources, SourceId id) {
  NumberPlace place{true, true};
  for (; id != kNoSource; id = sources.all()[static_cast<size_t>(id)].base) {
    const Step step = sources.all()[static_cast<size_t>(id)].step;
    if (step == Step::defaults || step == Step::keyword_defaults || step == Step::class_item || step == Step::builtin ||
        step == Step::code)
      place.may_be_free = false;
    if (step != Step::local && step != Step::element && step != Step::item) place.is_argument = false;
  }
  return place;
}

}  // namespace

void Answer::set(CacheEntry* e) {
  entry = e;
  ++e->uses;
}
void Answer::clear() {
  inputs.clear();
  if (entry && --entry->uses == 0 && !entry->in) delete entry;
  entry = nullptr;
}

CodeCache::CodeCache(PyCodeObject* code, std::shared_ptr<const CompileConfig> config)
    : code_(code), config_(std::move(config)), generator_(is_generator(code)), gave_up_(generator_) {
  all_caches().push_back(this);
}
CodeCache::~CodeCache() {
  std::erase(all_caches(), this);
  clear();
}

void CodeCache::drop(CacheEntry* entry) {
  std::erase(entries_, entry);
  entry->in = false;
  entry->guards->drop();
  if (entry->uses == 0) delete entry;
}
void CodeCache::clear() {
  gave_up_ = generator_;
  said_limit_ = false;
  compiled_ = calls_ = empty_ = 0;
  sizes_ = SizeHistory();
  // Entries own code that may own this very cache (a resume function in a loop): nothing of it is used from here on.
  std::vector<CacheEntry*> gone;
  gone.swap(entries_);
  for (CacheEntry* entry : gone) {
    entry->in = false;
    entry->guards->drop();
    if (entry->uses == 0) delete entry;
  }
}
void reset_caches() {
  const std::vector<CodeCache*> all = all_caches();
  for (CodeCache* cache : all) {
    if (std::find(all_caches().begin(), all_caches().end(), cache) != all_caches().end()) cache->clear();
  }
  next_frame_number = 0;
}

void CodeCache::drop_dead() {
  for (size_t i = entries_.size(); i-- > 0;)
    if (entries_[i]->guards->is_dead()) drop(entries_[i]);
}

int CodeCache::traverse(visitproc visit, void* arg) {
  for (CacheEntry* entry : entries_) {
    if (const int status = entry->guards->traverse(visit, arg)) return status;
    Py_VISIT(entry->graph.get());
    Py_VISIT(entry->code.get());
    // A code object is no container to the collector: its constants, resume functions among them, are visited for it
    // where nobody else has it.
    if (entry->code && Py_REFCNT(entry->code.get()) == (entry->function ? 2 : 1))
      Py_VISIT(reinterpret_cast<PyCodeObject*>(entry->code.get())->co_consts);
    Py_VISIT(entry->function.get());
  }
  return 0;
}

bool CodeCache::find(PyObject* const* slots, PyObject* closure, Answer& answer) {
  const bool unasked = settings().skip_guards;
  for (size_t i = 0; i < entries_.size(); ++i) {
    CacheEntry* entry = entries_[i];
    if (entry->none_handled && is_handling()) continue;
    answer.set(entry);
    const bool holds = unasked ? entry->guards->fetch(slots, closure, answer.inputs)
                               : entry->guards->check(slots, closure, answer.inputs);
    if (holds && entry->in) {
      if (i > 0) {  // most recently used first
        const auto at = std::find(entries_.begin(), entries_.end(), entry);
        if (at != entries_.end()) std::rotate(entries_.begin(), at, at + 1);
      }
      return true;
    }
    answer.clear();
  }
  return false;
}

std::vector<std::string> CodeCache::reasons(PyFunctionObject* function, PyObject* const* slots) {
  std::vector<std::string> all;
  for (CacheEntry* entry : entries_) {
    all.push_back(std::to_string(frame_number_) + "/" + std::to_string(entry->number) + ": " +
                  entry->guards->why(slots, function->func_closure));
  }
  return all;
}

void CodeCache::find_or_compile(PyFunctionObject* function, PyObject* const* slots, Answer& answer) {
  if (find(slots, function->func_closure, answer)) return;
  const Settings& s = settings();
  ++calls_;
  if (s.stance == Stance::eager_on_recompile) return;
  if (s.stance == Stance::eager_then_compile && calls_ == 1) {
    note_sizes(slots);
    return;
  }
  drop_dead();
  const std::vector<std::string> why = reasons(function, slots);
  if (s.stance == Stance::fail_on_recompile) {
    raise_recompile(code_, why);
    throw PythonError();
  }
  if (over_limit(why)) return;
  if (!why.empty()) report_recompile(code_, frame_number_, compiled_, why);
  // A module that loads itself when it is first asked changes under capture, once.
  if (!compile(function, slots, answer)) compile(function, slots, answer);
}

// dynamic sizes of the first call that was not compiled count, too
void CodeCache::note_sizes(PyObject* const* slots) {
  const std::vector<std::string> names = local_names(code_, 0);
  const int count = code_->co_argcount + code_->co_kwonlyargcount;
  for (int i = 0; i < count; ++i) sizes_.free_dims(*config_, "L['" + names[static_cast<size_t>(i)] + "']", slots[i]);
}

bool CodeCache::over_limit(const std::vector<std::string>& why) {
  const Settings& s = settings();
  const bool many = static_cast<int64_t>(entries_.size()) >= s.recompile_limit;
  const bool too_many = compiled_ >= s.accumulated_limit;
  if (!many && !too_many) return false;
  if (!said_limit_ || s.fail_on_limit) {
    said_limit_ = true;
    report_limit(code_, many ? "recompile_limit" : "accumulated_recompile_limit",
                 many ? s.recompile_limit : s.accumulated_limit, why, s.fail_on_limit);
  }
  return true;
}

bool CodeCache::compile(PyFunctionObject* function, PyObject* const* slots, Answer& answer) {
  if (frame_number_ < 0) frame_number_ = next_frame_number++;
  const int number = compiled_++;
  const Owned code_kept = Owned::share(reinterpret_cast<PyObject*>(code_));
  EvaluateOptions options;
  const Settings& s = settings();
  options.backend = s.stance_backend ? s.stance_backend.get() : config_->backend.get();
  options.backend_options = config_->options.get();
  options.fullgraph = config_->fullgraph;
  std::vector<std::string> locals = local_names(code_, 0), free = local_names(code_, kFree);
  options.free_dims = [&](const Sources& sources, SourceId source, PyObject* tensor) {
    return sizes_.free_dims(*config_, is_parameter(tensor) ? std::string() : sources.text(source, locals, free),
                            tensor);
  };
  options.free_number = [&](const Sources& sources, SourceId source, PyObject* number, PyObject* owner) {
    const NumberPlace place = number_place(sources, source);
    if (!place.may_be_free) return false;
    std::string text = sources.text(source, locals, free);
    // Two modules of one class have their own numbers, which do not change by that.
    if (owner) text += "@" + std::to_string(reinterpret_cast<uintptr_t>(owner));
    return sizes_.free_number(*config_, text, number, place.is_argument);
  };
  options.resume = [&](PyObject* resumed) { return make_compiled(resumed, config_); };
  options.resume_code = [](PyObject* code) { expect_frames(reinterpret_cast<PyCodeObject*>(code)); };
  options.every_round = s.every_round;
  options.everything = s.without_tensors || config_->fullgraph;
  options.code_always = need_code_;
  const auto arguments = static_cast<size_t>(code_->co_argcount + code_->co_kwonlyargcount) +
                         !!(code_->co_flags & CO_VARARGS) + !!(code_->co_flags & CO_VARKEYWORDS);
  const auto start = std::chrono::steady_clock::now();
  Trace trace = [&] {
    const EvaluatingScope evaluating;
    const HookPause pause;
    return evaluate(function, std::span(slots, arguments), options);
  }();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

  const bool is_guarded = trace.sources != nullptr;  // otherwise nothing came of it, and nobody knows for which calls
  if (!is_guarded) trace.sources = std::make_unique<Sources>();
  auto entry = std::make_unique<CacheEntry>();
  entry->number = number;
  entry->guards = std::make_unique<Guards>(
      *trace.sources, trace.inputs, trace.locals.empty() ? std::move(locals) : trace.locals,
      trace.free_variables.empty() ? std::move(free) : trace.free_variables, function->func_globals);
  entry->graph = std::move(trace.graph);
  if (entry->graph) {
    std::vector<uint32_t> outside;
    for (size_t i = 0; i < trace.inputs.size(); ++i)
      if (trace.sources->all()[static_cast<size_t>(trace.inputs[i])].step != Step::local)
        outside.push_back(static_cast<uint32_t>(i));
    set_outside_inputs(entry->graph.get(), std::move(outside));
  }
  entry->code = std::move(trace.code);
  if (entry->code) code_state(reinterpret_cast<PyCodeObject*>(entry->code.get())).original = code_;
  entry->result = std::move(trace.result);
  entry->none_handled = trace.none_handled;
  if (entry->code) {
    check_replacement(code_, reinterpret_cast<PyCodeObject*>(entry->code.get()));
    leave_alone(entry->code.get());
  }

  if (find(slots, function->func_closure, answer)) return true;  // of another thread
  if (entry->is_plain() && ++empty_ >= kEmptyUntilGivenUp && static_cast<int>(entries_.size()) < empty_)
    gave_up_ = true;
  // What was just captured holds now, unless capturing changed it; then the function runs as it is.
  if (!entry->guards->check(slots, function->func_closure, answer.inputs)) {
    answer.inputs.clear();
    report_unstable(code_, entry->guards->why(slots, function->func_closure));
    return false;
  }
  if (!is_guarded) {
    report_compilation(code_, function, frame_number_, *entry, trace, took.count());
    return true;
  }
  entries_.insert(entries_.begin(), entry.release());
  answer.set(entries_.front());
  answer.inputs.own_all();  // observers may call the function
  report_compilation(code_, function, frame_number_, *answer.entry, trace, took.count());
  return true;
}

}  // namespace sconce::python::capture
