#include "capture/output/emit.h"

#include <unordered_set>

#include "capture/bytecode/liveness.h"
#include "capture/bytecode/resume.h"
#include "capture/bytecode/stack_depth.h"
#include "capture/code_state.h"
#include "capture/frames/tail_call.h"
#include "capture/output/effects.h"
#include "capture/output/operands.h"
#include "capture/output/write_modes.h"

namespace sconce::python::capture {
namespace {

// Fetches what is needed, runs the graph, writes the effects: what every emitted code begins with.
void write_beginning(Evaluator& e, Writer& w, Rebuilder& rebuilder, Effects& effects, PyObject* globals, Trace& trace) {
  rebuilder.fetch(w);
  if (rebuilder.has(handled_mark())) {  // the exception that is being handled: set to another, and back
    static PyObject* const another = Owned::take(PyObject_CallNoArgs(PyExc_Exception)).give();
    const int before = w.temporary();
    w.constant(another);
    w.op(Op::push_exc_info);
    w.op(Op::pop_top);
    w.op(Op::copy, 1);
    w.op(Op::pop_except);
    w.op(Op::store_fast, before);
    rebuilder.place(handled_mark(), before);
  }
  if (trace.graph) {
    w.begin_call(trace.graph.get());
    for (SourceId id : trace.inputs) w.source(e.origins.sources(), id, globals);
    w.end_call(static_cast<int>(trace.inputs.size()));
    const int results = w.temporary();
    w.op(Op::store_fast, results);
    rebuilder.set_results(results);
  }
  effects.write(w, rebuilder, globals);
}

// Note [Handled exceptions]
void write_handled(Evaluator& e, Writer& w, Rebuilder& rebuilder) {
  if (e.handled() == handled_mark()) return;
  rebuilder.write(w, e.handled());
  w.op(Op::pop_except);
}

void finish_graph(Evaluator& e, const Rebuilder& rebuilder, Trace& trace) {
  trace.nodes = e.recorder.node_count();
  if (trace.nodes == 0 && rebuilder.outputs().empty()) return;
  trace.graph = e.recorder.finish(rebuilder.outputs());
  trace.inputs = e.recorder.inputs();
}

// What a weak reference leads to; empty when it is dead.
Owned live_object(PyObject* reference) {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* object = nullptr;
  check(PyWeakref_GetRef(reference, &object));
  return object == nullptr ? Owned() : Owned::take(object);
#else
  PyObject* object = PyWeakref_GetObject(reference);
  return object == Py_None ? Owned() : Owned::share(object);
#endif
}

// Resume code that equals an earlier one is that one: a loop with a break in it comes back to the same code object, and
// so to its entries of the cache.
Owned interned_code(Owned code) {
  static auto& known = *new std::unordered_map<Py_hash_t, std::vector<Owned>>;  // weak references; never taken apart
  static size_t most = 256;
  if (known.size() > most) {  // those of functions that are gone
    for (auto at = known.begin(); at != known.end();) {
      std::erase_if(at->second, [](const Owned& reference) { return !live_object(reference.get()); });
      at = at->second.empty() ? known.erase(at) : std::next(at);
    }
    most = std::max<size_t>(256, 2 * known.size());
  }
  const Py_hash_t hash = PyObject_Hash(code.get());
  if (hash == -1) throw PythonError();
  std::vector<Owned>& all = known[hash];
  for (size_t i = 0; i < all.size();) {
    Owned kept = live_object(all[i].get());  // held: comparing allocates, and the collector may run
    if (!kept) {
      all.erase(all.begin() + static_cast<ptrdiff_t>(i));
      continue;
    }
    const int same = PyObject_RichCompareBool(kept.get(), code.get(), Py_EQ);
    check(same);
    if (same) return kept;
    ++i;
  }
  all.push_back(Owned::take(PyWeakref_NewRef(code.get(), nullptr)));
  return code;
}

PyObject* types_member(const char* name) {
  const Owned module = Owned::take(PyImport_ImportModule("types"));
  return Owned::take(PyObject_GetAttrString(module.get(), name)).give();
}

// What lies on the stack of a frame that is resumed: an object of the evaluation, a local of the emitted code, a null.
struct Entry {
  PyObject* object = nullptr;
  int local = -1;
  bool null() const { return object == nullptr && local < 0; }
};

// Does the call look at the frame that it is made from: locals(), eval, sys._getframe? Then it stays in code with the
// function's own locals.
bool looks_at_frame(const Frame& f, const Instruction& in, const Operands& operands) {
  if (in.op != Op::call && in.op != Op::call_function_ex) return false;
  const size_t first = f.stack.size() - static_cast<size_t>(operands.pops);
  for (size_t i = first; i < first + 2; ++i) {
    PyObject* o = f.stack[i];
    if (o == nullptr || !PyCFunction_Check(o)) continue;
    const std::string_view name = reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
    for (const std::string_view one : {"locals", "vars", "dir", "eval", "exec", "_getframe", "globals"}) {
      if (name == one) return true;
    }
  }
  return false;
}

// Nulls that are moved on the stack (3.12: locals that a comprehension has put aside) cannot be put into locals.
bool handles_null(const Frame& f, const Instruction& in, const Operands& operands) {
  if (in.op == Op::call || in.op == Op::call_function_ex) return false;
  for (size_t i = f.stack.size() - static_cast<size_t>(operands.pops); i < f.stack.size(); ++i) {
    if (f.stack[i] == nullptr) return true;
  }
  return false;
}

// Modes that the program has entered and not left: the thread's from here on.
void write_function_modes(Evaluator& e, Rebuilder& rebuilder, Writer& w) {
  const Owned module = Owned::take(PyImport_ImportModule("sconce._sconce"));
  const Owned push = Owned::take(PyObject_GetAttrString(module.get(), "_push_torch_function_mode"));
  for (const Owned& mode : e.function_modes) {
    w.begin_call(push.get());
    rebuilder.write(w, mode.get());
    w.end_call(1);
    w.op(Op::pop_top);
  }
}

class BreakWriter {
 public:
  BreakWriter(Evaluator& e, Trace& trace)
      : e_(e), trace_(trace), root_(*e.frames.front()), effects_(e), rebuilder_(e, root_.globals), w_(*root_.code) {}

  void run() {
    Frame& innermost = *e_.frames.back();
    if (e_.leaves_loop && e_.frames.size() == 1 &&
        !is_worth_break(e_.recorder.node_count(), e_.recorder.element_count())) {
      trace_.breaks.clear();  // nothing is broken in two: the whole function is left to Python
      return;
    }
    const Instruction& in = instruction(innermost);
    const Modes now = Modes::current();
    effects_.scan(rebuilder_);
    for (size_t i = 0; i < e_.frames.size(); ++i) scan(*e_.frames[i]);
    for (size_t i = 0; i < e_.frames.size(); ++i) scan_carried(*e_.frames[i]);
    if (e_.handled() != handled_mark()) note(e_.handled());
    for (const Owned& mode : e_.function_modes) note(mode.get());
    finish_graph(e_, rebuilder_, trace_);
    const Operands operands = operands_of(in);
    const bool in_place = !e_.leaves_loop && e_.frames.size() == 1 && operands.pops >= 0 &&
                          !looks_at_frame(innermost, in, operands) && !handles_null(innermost, in, operands);
    if (!in_place && e_.frames.size() == 1 && !trace_.graph && effects_.empty()) return;         // nothing is gained
    if (!trace_.graph && effects_.empty() && e_.frames.size() == 1 && ends_flow(in.op)) return;  // neither here
    write_beginning(e_, w_, rebuilder_, effects_, root_.globals, trace_);
    w_.location = in.location;
    for (PyObject* object : scanned_) rebuilder_.settle(w_, object);
    write_modes(e_.modes_before, now, w_);
    write_function_modes(e_, rebuilder_, w_);
    write_handled(e_, w_, rebuilder_);
    drop_arguments();
    if (in_place) {
      execute(in, operands);
    } else {
      leave_through(e_.frames.size() - 1, innermost.at, stack_of(innermost, innermost.stack.size()));
    }
    trace_.code = w_.finish();
  }

 private:
  const Instruction& instruction(const Frame& f) const { return f.code->instructions[static_cast<size_t>(f.at)]; }

  // Arguments that the program has deleted or written over, and nothing needs: the frame must not keep them alive.
  void drop_arguments() {
    for (size_t i = 0; i < root_.given.size(); ++i) {
      PyObject* given = root_.given[i];
      if (given == nullptr || root_.raw[i] || is_immutable(given) || is_cell_slot(*root_.code, static_cast<int>(i)))
        continue;
      PyObject* seen = e_.origins.seen_as(given);
      if (root_.fast[i] == given || root_.fast[i] == seen || rebuilder_.has(given) || rebuilder_.has(seen)) continue;
      w_.op(Op::delete_fast, static_cast<int>(i));
    }
  }

  void note(PyObject* object) {
    if (object == nullptr) return;
    rebuilder_.scan(object);
    scanned_.push_back(object);
  }
  void scan(Frame& f) {
    for (size_t i = 0; i < f.stack.size(); ++i) note(f.stack[i]);
    for (size_t i = 0; i < f.fast.size(); ++i) {
      if (f.fast[i] == nullptr || (!f.raw.empty() && f.raw[i])) continue;
      if (is_cell_slot(*f.code, static_cast<int>(i)) || wanted(f, i)) note(f.fast[i]);
      if (PyCell_Check(f.fast[i]) && i == 0) {  // self, for super()
        if (PyObject* self = e_.origins.cell_contents(f.fast[i])) note(self);
      }
    }
  }
  // Is the local read by whatever may come next?
  bool wanted(Frame& f, size_t slot) {
    const std::vector<bool>& live = live_at(f, f.at);
    if (live[slot]) return true;
    if (is_carried(f, slot)) return true;
    const Instruction& in = instruction(f);
    if (in.target >= 0 && live_at(f, in.target)[slot]) return true;
    return in.handler >= 0 && live_at(f, f.code->handlers[static_cast<size_t>(in.handler)].target)[slot];
  }
  // A local that nobody reads again holds its object all the same. What was made here, and stays here, nobody can tell from
  // what is gone; an object from outside, or one that leaves, may have weak references or a finaliser.
  bool is_carried(Frame& f, size_t slot) {
    if (!f.raw.empty() && f.raw[slot]) return true;
    PyObject* object = f.fast[slot];
    if (is_immutable(object) || PyCell_Check(object)) return false;
    if (carried_.contains(object)) return true;
    const Origins::Entry* entry = e_.recorder.is_fake(object) ? nullptr : e_.origins.find(object);
    return entry != nullptr && entry->source != kNoSource;
  }
  // Those that leave in some other way.
  void scan_carried(Frame& f) {
    for (size_t i = 0; i < f.fast.size(); ++i) {
      PyObject* object = f.fast[i];
      if (object == nullptr || (!f.raw.empty() && f.raw[i]) || is_immutable(object) || PyCell_Check(object)) continue;
      if (!rebuilder_.has(e_.origins.canonical(object))) continue;
      carried_.insert(object);
      note(object);
    }
  }
  const std::vector<bool>& live_at(Frame& f, int index) {
    std::vector<bool>& live = live_[{&f, index}];
    if (live.empty()) live = live_locals(*f.code, index);
    return live;
  }

  std::vector<Entry> stack_of(Frame& f, size_t count) const {
    std::vector<Entry> all;
    for (size_t i = 0; i < count; ++i) all.push_back({f.stack[i], -1});
    return all;
  }
  // A local is emptied: the frame stands in the traceback of an exception that lay there, and would keep it alive.
  void push(const Entry& entry) {
    if (entry.local >= 0) {
      w_.op(Op::load_fast, entry.local);
      w_.op(Op::delete_fast, entry.local);
    } else if (entry.object != nullptr) {
      rebuilder_.write(w_, entry.object);
    } else {
      w_.op(Op::push_null);
    }
  }
  int popped() {
    const int local = w_.temporary();
    w_.op(Op::store_fast, local);
    return local;
  }

  // The last thing that the code does: Note [Tail calls].
  // `gone`: objects that the frame must not hold from here on.
  void end_with(Frame& f, int index, const std::vector<Entry>& stack, std::span<PyObject* const> gone = {}) {
    w_.begin_call(tail_call_function());
    const int arguments = push_resume(f, index, stack, true);
    for (PyObject* object : gone) rebuilder_.forget(w_, object);
    w_.end_call(arguments + 1);
    w_.op(Op::return_value);
  }
  // Calls the rest of a frame that others wait for; its result is on the stack then.
  void resume(Frame& f, int index, const std::vector<Entry>& stack, int handler) {
    const int arguments = push_resume(f, index, stack, false);
    w_.end_call(arguments);
    w_.code().instructions.back().handler = handler;
  }

  // The rest of a frame from an instruction on, as a function (for a call, if it is not an argument itself), and what it
  // takes. Returns how many arguments these are.
  int push_resume(Frame& f, int index, const std::vector<Entry>& stack, bool as_argument) {
    // Ways that meet behind jumps and nops are one: a loop comes back to the resume function of its first round.
    for (int steps = 0; steps < 8; ++steps) {
      const Instruction& in = f.code->instructions[static_cast<size_t>(index)];
      if (in.op != Op::nop && in.op != Op::jump) break;
      index = in.op == Op::nop ? index + 1 : in.target;
    }
    ResumeShape shape;
    for (const Entry& entry : stack) shape.nulls.push_back(entry.null());
    const std::vector<bool>& live = live_at(f, index);
    for (size_t i = 0; i < f.fast.size(); ++i) {
      if (f.fast[i] != nullptr && !is_cell_slot(*f.code, static_cast<int>(i)) && (live[i] || is_carried(f, i)))
        shape.locals.push_back(static_cast<int>(i));
    }
    ResumeCode made = resume_code(*f.code, index, shape);
    const Owned code = interned_code(std::move(made.code));
    if (&f == e_.frames.back() && index == f.at && !trace_.breaks.empty())
      code_state(reinterpret_cast<PyCodeObject*>(code.get())).again = place_of(trace_.breaks.back());
    const bool left = e_.leaves_loop && &f == e_.frames.back();  // Note [Breaks in loops]
    if (left) code_state(reinterpret_cast<PyCodeObject*>(code.get())).met = true;
    if (made.closure.empty()) {
      Owned function = Owned::take(PyFunction_New(code.get(), f.globals));
      if (e_.options.resume && !left) function = e_.options.resume(function.get());
      if (as_argument)
        w_.constant(function.get());
      else
        w_.begin_call(function.get());
    } else {
      static PyObject* const function_type = types_member("FunctionType");
      static PyObject* const cell_type = types_member("CellType");
      if (!null_is_above && !as_argument) w_.op(Op::push_null);
      w_.begin_call(function_type);
      w_.constant(code.get());
      w_.constant(f.globals);
      w_.constant(f.code->name.get());
      w_.constant(Py_None);
      for (int slot : made.closure) {
        PyObject* cell = f.fast[static_cast<size_t>(slot)];
        if (cell != nullptr && PyCell_Check(cell)) {
          rebuilder_.write(w_, cell);
        } else {
          w_.begin_call(cell_type);
          w_.end_call(0);
        }
      }
      w_.op(Op::build_tuple, static_cast<int>(made.closure.size()));
      w_.end_call(5);
      if (null_is_above && !as_argument) w_.op(Op::push_null);
      if (e_.options.resume_code && !left) e_.options.resume_code(code.get());
    }
    for (const ResumeCode::Argument& argument : made.arguments) {
      const auto slot = static_cast<size_t>(argument.index);
      switch (argument.from) {
        case ResumeCode::Argument::From::stack:
          push(stack[slot]);
          break;
        case ResumeCode::Argument::From::local:
          if (!f.raw.empty() && f.raw[slot])
            w_.op(Op::load_fast, argument.index);
          else
            rebuilder_.write(w_, f.fast[slot]);
          break;
        case ResumeCode::Argument::From::cell_contents: {
          PyObject* cell = f.fast[slot];
          PyObject* self = cell != nullptr && PyCell_Check(cell) ? e_.origins.cell_contents(cell) : cell;
          if (self == nullptr)
            w_.constant(Py_None);
          else
            rebuilder_.write(w_, self);
          break;
        }
      }
    }
    return static_cast<int>(made.arguments.size());
  }

  // A handler of the emitted code for what a frame's instruction raises; its target is set by land_handler.
  int new_handler(Frame& f) {
    const int of = instruction(f).handler;
    if (of < 0) return -1;
    Handler h;
    h.push_lasti = f.code->handlers[static_cast<size_t>(of)].push_lasti;
    w_.code().handlers.push_back(h);
    return static_cast<int>(w_.code().handlers.size()) - 1;
  }
  // Here comes an exception of the frame's instruction: on the stack as its handler expects it.
  std::vector<Entry> land_handler(Frame& f, int handler) {
    const Handler& of = f.code->handlers[static_cast<size_t>(instruction(f).handler)];
    w_.code().handlers[static_cast<size_t>(handler)].target = static_cast<int32_t>(w_.here());
    const int error = popped();
    int lasti = -1;
    if (of.push_lasti) lasti = popped();
    std::vector<Entry> stack = stack_of(f, static_cast<size_t>(of.depth));
    if (of.push_lasti) stack.push_back({nullptr, lasti});
    stack.push_back({nullptr, error});
    return stack;
  }

  // Resumes frame number `at` at an instruction, and all that wait for it one after the other; returns what the first
  // returns.
  void leave_through(size_t at, int index, const std::vector<Entry>& stack) {
    Frame& f = *e_.frames[at];
    if (at == 0) {
      end_with(f, index, stack);
      return;
    }
    Frame& waiting = *e_.frames[at - 1];
    // Frames without a handler let an exception through to the next one that has one.
    size_t handling = at - 1;
    while (handling > 0 && instruction(*e_.frames[handling]).handler < 0) --handling;
    const int handler = new_handler(*e_.frames[handling]);
    w_.location = instruction(waiting).location;
    resume(f, index, stack, handler);
    std::vector<Entry> next = stack_of(waiting, waiting.stack.size());
    next.push_back({nullptr, popped()});
    leave_through(at - 1, waiting.at + 1, next);
    if (handler >= 0) {
      Frame& catching = *e_.frames[handling];
      const std::vector<Entry> raised = land_handler(catching, handler);
      const int target = catching.code->handlers[static_cast<size_t>(instruction(catching).handler)].target;
      leave_through(handling, target, raised);
    }
  }

  // The instruction itself, as Python runs it, and then the rest of the function.
  void execute(Instruction in, Operands operands) {
    Frame& f = root_;
    const Instruction original = in;
    const size_t depth = f.stack.size();
    const size_t below = depth - static_cast<size_t>(operands.pops);
    for (size_t i = below; i < depth; ++i) push({f.stack[i], -1});
    const int handler = new_handler(f);
    // An exception that leaves has this frame in its traceback: a local with the exception would keep both alive.
    std::vector<PyObject*> raised_here;
    if (in.op == Op::raise_varargs || in.op == Op::reraise)
      for (size_t i = below; i < depth; ++i) raised_here.push_back(f.stack[i]);
    if (handler < 0)
      for (PyObject* error : raised_here) rebuilder_.forget(w_, error);
    in.handler = handler;
    in.offset = -1;
    in.joined = false;
    int at = f.at;
    bool method = false;
    switch (in.op) {
      case Op::load_const:
        in.arg = w_.constant_index(f.code->constants[static_cast<size_t>(in.arg)].get());
        break;
      case Op::load_method:
      case Op::load_super_method:
        method = true;
        in.op = in.op == Op::load_method ? Op::load_attr : Op::load_super_attr;
        [[fallthrough]];
      case Op::load_super_attr:
      case Op::load_global:
      case Op::store_global:
      case Op::delete_global:
      case Op::load_attr:
      case Op::store_attr:
      case Op::delete_attr:
      case Op::import_name:
      case Op::import_from:
        if (in.op == Op::load_super_attr)  // its lowest bit is a flag
          in.arg = w_.name_index(f.code->names[static_cast<size_t>(original.arg >> 1)].get()) << 1 | (original.arg & 1);
        else
          in.arg = w_.name_index(f.code->names[static_cast<size_t>(original.arg)].get());
        break;
      case Op::reraise:
        in.arg = 0;  // the offset that it would go back to is one of the original code
        break;
      default:
        if (in.names != nullptr) (void)w_.constant_index(in.names);
        break;
    }
    if (in.op == Op::to_bool) {  // with the jump that it is for
      const Instruction& next = f.code->instructions[static_cast<size_t>(at) + 1];
      if (next.op == Op::jump_if_true || next.op == Op::jump_if_false) {
        w_.copy(in);
        in = next;
        in.handler = handler;
        in.offset = -1;
        in.joined = false;
        ++at;
        operands = {1, 0, 0};
      }
    }
    const size_t written = w_.here();
    w_.copy(in);
    if (in.op == Op::return_value) return;
    const auto rest = [&](int index, int pushed) {
      std::vector<Entry> stack = stack_of(f, below);
      std::vector<int> locals(static_cast<size_t>(pushed));
      for (size_t i = locals.size(); i-- > 0;) locals[i] = popped();
      for (int local : locals) stack.push_back({nullptr, local});
      end_with(f, index, stack);
    };
    if (method) {
      std::vector<Entry> stack = stack_of(f, below);
      const int found = popped();
      if (null_is_above) stack.push_back({nullptr, found});
      stack.push_back({});
      if (!null_is_above) stack.push_back({nullptr, found});
      end_with(f, at + 1, stack);
    } else if (in.op == Op::jump) {
      w_.code().instructions.pop_back();
      rest(in.target, 0);
    } else if (!ends_flow(in.op)) {
      rest(at + 1, operands.pushes);
    }
    if (in.target >= 0 && in.op != Op::jump) {
      w_.land(written);
      rest(in.target, operands.jumping);
    }
    if (handler >= 0) {
      const std::vector<Entry> raised = land_handler(f, handler);
      end_with(f, f.code->handlers[static_cast<size_t>(original.handler)].target, raised, raised_here);
    }
  }

  Evaluator& e_;
  Trace& trace_;
  Frame& root_;
  Effects effects_;
  Rebuilder rebuilder_;
  Writer w_;
  std::vector<PyObject*> scanned_;
  std::unordered_set<PyObject*> carried_;
  struct At {
    Frame* frame;
    int index;
    bool operator==(const At&) const = default;
  };
  struct AtHash {
    size_t operator()(const At& a) const { return std::hash<void*>()(a.frame) * 31 + static_cast<size_t>(a.index); }
  };
  std::unordered_map<At, std::vector<bool>, AtHash> live_;
};

}  // namespace

void emit_return(Evaluator& e, Frame& root, PyObject* result, Trace& trace) {
  Effects effects(e);
  Rebuilder rebuilder(e, root.globals);
  const Modes now = Modes::current();
  effects.scan(rebuilder);
  rebuilder.scan(result);
  const bool same_handled = e.handled() == handled_mark();
  if (!same_handled) rebuilder.scan(e.handled());
  for (const Owned& mode : e.function_modes) rebuilder.scan(mode.get());
  finish_graph(e, rebuilder, trace);
  if (!trace.graph && effects.empty()) return;  // the function itself does as well
  if (effects.empty() && same_handled && e.function_modes.empty() && now.same(e.modes_before) &&
      now.saves_inference == e.modes_before.saves_inference) {
    trace.result = rebuilder.recipe(result);
    if (trace.result && !e.options.code_always) return;
  }
  Writer w(*root.code);
  write_beginning(e, w, rebuilder, effects, root.globals, trace);
  write_modes(e.modes_before, now, w);
  write_function_modes(e, rebuilder, w);
  write_handled(e, w, rebuilder);
  rebuilder.write(w, result);
  w.op(Op::return_value);
  trace.code = w.finish();
}

void emit_break(Evaluator& e, Trace& trace) { BreakWriter(e, trace).run(); }

}  // namespace sconce::python::capture
