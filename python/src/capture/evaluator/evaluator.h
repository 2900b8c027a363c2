// Evaluator: one evaluation of a function. Its parts stand in files by family: run.cpp (frames and instructions),
// names.cpp, operators.cpp, containers.cpp, attributes.cpp, calls.cpp, functions.cpp, builtins.cpp, generators.cpp,
// handled.cpp.
//
// An exception of the evaluated program is Python's own error indicator with a PythonError on its way; what cannot be
// evaluated throws Break.
#pragma once

#include <unordered_set>

#include "capture/bytecode/instruction.h"
#include "capture/evaluator/evaluate.h"
#include "capture/evaluator/frame.h"
#include "capture/evaluator/origins.h"
#include "capture/evaluator/reasons.h"
#include "capture/graph/modes.h"

namespace sconce::python::capture {

// Thrown when the instruction was reached at which this run was to end; the frames are as they were in front of it.
struct Stopped {};

// Note [Breaks in loops]
// A break in a loop comes back in each round. The code around it costs about a microsecond a time, and guards on what the
// rounds change (lengths of lists, numbers) ask for new entries. Unless what lies between two breaks is worth that, Python
// runs the loop, and the rest of its function, which is what PyTorch does with every such function; functions that are
// called from there are captured on their own.
struct LoopAhead {
  int64_t frame = 0;               // Frame::first of the one it is in
  std::vector<bool> members;       // its instructions
  size_t nodes = 0, elements = 0;  // recorded when its break was met
  size_t behind = 0;               // elements that the rest of a round may compute
};
// Is a graph worth a break? From 7 operators on 10,000 elements, where eager took 3.6 us a round and captured rounds 2.5;
// on 1,000 elements it was 0.7 and 1.4.
inline bool is_worth_break(size_t nodes, size_t elements) { return 512 * nodes + elements >= 32768; }

// Methods of Python that code of C may call: all but texts, texts too, or only __eq__ and __hash__, of keys of dicts alone.
enum class Looks : uint8_t { at_all, at_texts, at_equality, at_keys };

class CallbackScope;

class Evaluator {
 public:
  Evaluator(const EvaluateOptions& options, Sources& sources, Recorder& recorder, PyFunctionObject* function);
  ~Evaluator();

  // The evaluation of this thread, for objects of ours that code of C calls back; null: none.
  static Evaluator* current();

  // ---- frames (run.cpp, functions.cpp)
  std::unique_ptr<Frame> root_frame(std::span<PyObject* const> slots);
  Owned run(Frame& frame);
  // Binds arguments to a function's parameters. Throws PythonError when they do not fit.
  std::unique_ptr<Frame> enter_function(PyObject* function, Arguments args);
  Owned call_function(PyObject* function, Arguments args, bool plain = false);

  // A frame that code of C has entered: Note [Code of C that calls back].
  Owned run_callback(PyFunctionObject* function, PyObject* const* slots);

  // How many frames, outermost first, can be resumed: entered by call instructions, which push what they return.
  size_t resumable_frames() const;
  // The step in front of which a break can be that is due now.
  int64_t break_step() const;

  // ---- operators (operators.cpp)
  bool truth(PyObject* object);
  Owned negation(PyObject* object);  // not object: perhaps a value that comes later
  Owned unary(Op op, PyObject* a);
  Owned binary(int number, PyObject* a, PyObject* b);
  Owned compare(int how, PyObject* a, PyObject* b);
  bool is_same(PyObject* a, PyObject* b);
  bool contains(PyObject* container, PyObject* item);
  Owned subscript(PyObject* container, PyObject* key);
  void store_subscript(PyObject* container, PyObject* key, PyObject* value);  // value null: deletes
  Owned iterate(PyObject* object);
  Owned next(PyObject* iterator);  // null without an exception: the end
  Py_ssize_t length(PyObject* object);

  // ---- attributes (attributes.cpp)
  Owned get_attribute(PyObject* object, PyObject* name);
  // Null without an exception when there is none: AttributeError was raised.
  Owned find_attribute(PyObject* object, PyObject* name);
  void set_attribute(PyObject* object, PyObject* name, PyObject* value);  // value null: deletes
  Owned generic_attribute(PyObject* object, PyObject* name);              // object.__getattribute__
  void generic_set(PyObject* object, PyObject* name, PyObject* value);    // object.__setattr__
  Owned registered_attribute(PyObject* module, PyObject* name);           // nn.Module.__getattr__
  // The special method of an object's class, bound; null: none.
  Owned special(PyObject* object, const char* name);
  // The same, but only when it is a function of Python.
  Owned python_special(PyObject* object, PyObject* name);

  // ---- calls (calls.cpp, builtins.cpp)
  Owned call(PyObject* callable, Arguments args, bool plain = false);
  Owned call_marked(PyObject* callable, const Arguments& args, bool constant);
  // Lets CPython call code of C. `blind`: it looks at no element of containers.
  Owned native(PyObject* callable, Arguments& args, bool blind);
  Owned call_c(PyObject* callable, const Arguments& args);
  Owned call_exactly(PyObject* callable, std::span<PyObject* const> args);
  Owned instantiate(PyTypeObject* type, Arguments args);
  Owned make_instance(PyTypeObject* type, Arguments args);  // type.__call__
  // Makes an argument of code of C safe: outside containers become shadows. False: code of Python could run inside.
  bool prepare(Owned& arg, bool blind, int depth = 0);
  bool prepare_contents(PyObject* container, int depth);  // the same for what it holds
  // Is it from outside and of a kind that cannot be copied? Code of C must not look at it: nothing would guard what it saw.
  bool is_opaque(PyObject* object);
  // The same for a key of a dict or an element of a set, which is hashed and compared.
  bool prepare_key(Owned& key);
  // The same in front of a lookup in a dict, which may call back from here on. Breaks when code of C must not look at it.
  void prepare_lookup(CallbackScope& calls_back, PyObject* dict, Owned& key, const char* what);

  // After code of C failed: throws what that means, a Break or the program's exception.
  [[noreturn]] void failed();

  // ---- operators on fakes (overrides.cpp)
  // Recorder::call, or what modes and classes with __torch_function__ make of it.
  Owned record(PyObject* target, std::span<PyObject* const> args, PyObject* names);
  bool is_overridden(std::span<PyObject* const> args, PyObject* names) const;
  Owned call_overridden(PyObject* target, std::span<PyObject* const> args, PyObject* names);
  std::vector<Owned> function_modes;  // that the program has entered, the innermost last

  // ---- generators (generators.cpp)
  Owned make_generator(std::unique_ptr<Frame> frame);
  // Runs it to the next yield; null without an exception: it returned, and `returned` has the value.
  // `thrown`: an exception that is raised where the generator stands; null: none.
  Owned resume_generator(PyObject* generator, PyObject* sent, Owned& returned, PyObject* thrown = nullptr);
  // Throws Unrebuildable when a generator lives that was left in the middle of a try: Note [Generators that die].
  void check_generators();

  // ---- the exception that is being handled (handled.cpp): Note [Handled exceptions]
  // None, an exception, or handled_mark(). Borrowed.
  PyObject* handled() const { return handled_.get(); }
  void set_handled(Owned exception);
  // What sys.exception() gives. Breaks when only the caller of the function knows. Borrowed.
  PyObject* handled_anywhere();
  bool none_handled = false;  // it was none, and the program has seen that
  void enter_handled(Frame& generator);
  void leave_handled(Frame& generator);
  Modes modes_before = Modes::current();

  // The step at which the exception that is set was first raised, in the innermost frame that can be resumed.
  int64_t raised_at(int64_t otherwise);
  // Remembers that step.
  void note_raised();
  // The traceback of an exception that is handled, made when it is asked for. It must not leave the evaluation.
  Owned traceback_of(PyObject* error);

  // A result of code of C, as the stack holds it.
  Owned canonical(Owned object) {
    PyObject* original = origins.canonical(object.get());
    return original == object.get() ? std::move(object) : Owned::share(original);
  }
  // Remembers that the object was made by this instruction, for those that cannot be made again.
  void born(PyObject* object);

  Origins origins;
  Recorder& recorder;
  const EvaluateOptions& options;
  std::vector<Frame*> frames;                  // the active ones, outermost first
  int64_t steps = 0;                           // instructions so far
  int64_t stop_at = -1;                        // the step in front of which to stop
  std::function<void()> on_stop;               // called there
  std::optional<LoopAhead> loop_ahead;         // perhaps to stop in front of
  bool leaves_loop = false;                    // stopped there: the rest of that function is left to Python
  std::function<void(const Break&)> on_break;  // called where a Break begins its way, while all frames stand
  std::optional<Break> interrupt;              // a break that passes through code of C
  std::unordered_map<PyObject*, int64_t> births;
  std::unordered_map<PyObject*, int64_t> raises;  // exceptions, and the outermost frame's step when each came up
  std::vector<Owned> kept;
  std::unordered_map<PyObject*, Owned> addresses;  // of objects that the program has made: later.h
  CallbackScope* callbacks = nullptr;              // of the code of C that is about to run; null: it must not call back
  std::unordered_set<PyObject*> handles;           // of hooks, which the graph registers: they must not be looked at
  int64_t writes = 0;                              // instructions and calls so far that write to objects
  std::unordered_set<PyTypeObject*> changing_classes;  // whose methods wrote to objects when code of C called them

 private:
  enum class Next { go_on, jumped, returned };
  Next step(Frame& f, const Instruction& in);
  Next step_names(Frame& f, const Instruction& in);
  Next step_containers(Frame& f, const Instruction& in);
  Next step_exceptions(Frame& f, const Instruction& in);
  Next step_calls(Frame& f, const Instruction& in);
  Next step_generators(Frame& f, const Instruction& in);
  Next step_patterns(Frame& f, const Instruction& in);
  bool unwind(Frame& f);
  bool assert_in_graph(Frame& f, int jump);

  Owned load_global(Frame& f, PyObject* name);
  Owned load_fast(Frame& f, int slot);
  Owned call_known(PyObject* callable, Arguments& args, bool& done);
  Owned call_operator(PyObject* callable, Arguments& args);
  Owned owner_of(PyObject* method, PyObject* self);
  Owned call_module(PyObject* module, Arguments args, bool plain);
  Owned class_attribute(PyTypeObject* type, PyObject* name);
  Owned super_attribute(PyObject* super, PyObject* name);
  Owned tensor_attribute(PyObject* fake, PyObject* name);
  Owned module_attribute(PyObject* module, PyObject* name);
  Owned bind(PyObject* found, PyObject* object, PyTypeObject* type, bool& bound);
  Owned build_class(Arguments& args);
  Owned import_name(Frame& f, PyObject* name, PyObject* fromlist, PyObject* level);
  Owned function_default(PyObject* function, Py_ssize_t i);

  PyFunctionObject* function_;
  // What code of C that is about to run asks objects for.
  Looks looks_ = Looks::at_all;
  Evaluator* before_;
  Owned handled_before_;              // really, when the evaluation began; null: none
  Owned handled_;                     // of the innermost generator, or of the function
  std::vector<Owned> handled_below_;  // of those that wait for it
  void show_handled();

  friend struct Builtins;
};

// Stands for the exception that was being handled when the function was called, if any. Borrowed.
PyObject* handled_mark();
// Interned names.
PyObject* interned(const char* text);
// A method of C that a class has under another name: __setattr__ = dict.__setitem__. Slots of C do not lead to it.
bool is_renamed_special(PyObject* found, PyObject* name);
// Does the class have methods of Python that code of C would call: __eq__, __iter__, __len__ ...
bool has_python_specials(PyTypeObject* type, Looks looks = Looks::at_all);
// Does the code ask for the variables of its own frame: locals(), eval ... Only the frame itself has them all.
bool reads_frame(const Code& code);
// A generator from outside that loses its variable may be closed by that, and then its finally runs: Python's to do.
void check_overwritten(PyObject* object);
// Is the object of a class that is written in Python?
inline bool is_heap_instance(PyObject* o) { return (Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0; }

// For AskOverrideScope: Note [Functions that are taken over].
PyObject* ask_override(PyObject* object, PyObject* function, PyObject* types, PyObject* args, PyObject* kwargs);

[[noreturn]] void break_here(Reason reason, std::string detail = {});
[[noreturn]] void raise(PyObject* type, const char* format, ...);

}  // namespace sconce::python::capture
