#include "capture/frames/frame_doors.h"

#include <map>

#include "capture/bytecode/liveness.h"
#include "capture/bytecode/resume.h"
#include "capture/bytecode/stack_depth.h"
#include "capture/frames/frame_hook.h"
#include "capture/frames/frame_layout.h"

namespace sconce::python::capture {

namespace {

PyCodeObject* code_object(PyObject* object) {
  if (!PyCode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "a code object was expected, but got %s", Py_TYPE(object)->tp_name);
    throw PythonError();
  }
  return reinterpret_cast<PyCodeObject*>(object);
}

// An entry that asks a function of Python: (function, arguments) -> code object or None.
class AskingEntry final : public FrameEntry {
 public:
  explicit AskingEntry(PyObject* asked) : asked_(Owned::share(asked)) {}
  Owned enter(PyFunctionObject* function, PyObject* const* locals) override {
    auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
    const int count = code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
                      !!(code->co_flags & CO_VARKEYWORDS);
    Owned arguments = Owned::take(PyTuple_New(count));
    for (int i = 0; i < count; ++i) PyTuple_SET_ITEM(arguments.get(), i, Py_NewRef(locals[i]));
    Owned found = Owned::take(
        PyObject_CallFunctionObjArgs(asked_.get(), reinterpret_cast<PyObject*>(function), arguments.get(), nullptr));
    if (found.get() == Py_None) return Owned();
    code_object(found.get());
    return found;
  }

 private:
  Owned asked_;
};

// _capture_set_entry(code, function or None)
PyObject* set_entry(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *code = nullptr, *asked = nullptr;
    if (!PyArg_ParseTuple(args, "O!O", &PyCode_Type, &code, &asked)) throw PythonError();
    set_frame_entry(code_object(code), asked == Py_None ? nullptr : std::make_shared<AskingEntry>(asked));
    Py_RETURN_NONE;
  });
}

// _capture_hooked(function): its result, with the hook in.
PyObject* hooked(PyObject*, PyObject* function) {
  return guarded([&] {
    const HookScope scope;
    return Owned::take(PyObject_CallNoArgs(function)).give();
  });
}

// _capture_toggle(n): the hook goes in and out, n times.
PyObject* toggle(PyObject*, PyObject* count) {
  return guarded([&]() -> PyObject* {
    for (long n = PyLong_AsLong(count); n > 0; --n) const HookScope scope;
    Py_RETURN_NONE;
  });
}

// Where a function is broken: what the instruction finds in the frame goes into resume code, which is called.
struct Break {
  std::shared_ptr<const Code> code;
  int index = 0, depth = 0;
  int result = 0;  // the slot of the local that the broken code has more; others lie behind it
  std::vector<bool> live;
  Owned original;  // keeps what `code` was decoded from
  Owned instead;   // called with the resumed function and its arguments, where one was given
  std::map<std::pair<std::vector<bool>, std::vector<int>>, ResumeCode> made;
};
constexpr const char* kBreak = "sconce.break";

// The slot of a frame of broken code for one of the original.
PyObject*& slot_in(Frame* frame, const Break& at, int slot) {
  return slots_of(frame)[slot >= at.result ? slot + 1 : slot];
}

Owned closure_of(const ResumeCode& resumed, Frame* frame, const Break& at) {
  Owned closure = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(resumed.closure.size())));
  for (size_t i = 0; i < resumed.closure.size(); ++i) {
    PyObject* cell = slot_in(frame, at, resumed.closure[i]);
    cell = cell && PyCell_Check(cell) ? Py_NewRef(cell) : Owned::take(PyCell_New(nullptr)).give();
    PyTuple_SET_ITEM(closure.get(), static_cast<Py_ssize_t>(i), cell);
  }
  return closure;
}

// Called by the frame that is broken.
PyObject* go_on(PyObject* capsule, PyObject*) {
  return guarded([&] {
    auto& at = *static_cast<Break*>(PyCapsule_GetPointer(capsule, kBreak));
    Frame* frame = current_frame(PyThreadState_Get());
    PyObject** stack = stack_of(frame);
    ResumeShape shape;
    for (int i = 0; i < at.depth; ++i) shape.nulls.push_back(stack[i] == nullptr);
    for (size_t s = 0; s < at.live.size(); ++s)
      if (at.live[s] && slot_in(frame, at, static_cast<int>(s))) shape.locals.push_back(static_cast<int>(s));
    auto found = at.made.find({shape.nulls, shape.locals});
    if (found == at.made.end())
      found = at.made.emplace(std::pair(shape.nulls, shape.locals), resume_code(*at.code, at.index, shape)).first;
    const ResumeCode& resumed = found->second;
    const Owned function =
        Owned::take(PyFunction_New(resumed.code.get(), reinterpret_cast<PyObject*>(frame->f_globals)));
    if (!resumed.closure.empty()) check(PyFunction_SetClosure(function.get(), closure_of(resumed, frame, at).get()));
    std::vector<Owned> kept;
    std::vector<PyObject*> arguments;
    for (const ResumeCode::Argument& a : resumed.arguments) {
      switch (a.from) {
        case ResumeCode::Argument::From::local:
          kept.push_back(Owned::take(std::exchange(slot_in(frame, at, a.index), nullptr)));
          break;
        case ResumeCode::Argument::From::stack:
          kept.push_back(Owned::take(std::exchange(stack[a.index], Py_NewRef(Py_None))));
          break;
        case ResumeCode::Argument::From::cell_contents:
          kept.push_back(Owned::take(PyCell_Get(slot_in(frame, at, a.index))));
          break;
      }
      arguments.push_back(kept.back().get());
    }
    for (size_t s = 0; s < at.live.size(); ++s)  // what is dead keeps nothing alive
      if (!is_cell_slot(*at.code, static_cast<int>(s))) Py_CLEAR(slot_in(frame, at, static_cast<int>(s)));
    for (int i = 0; i < at.depth; ++i)
      if (stack[i] == nullptr) stack[i] = Py_NewRef(Py_None);  // the frame pops them
    if (at.instead) arguments.insert(arguments.begin(), function.get());
    PyObject* callee = at.instead ? at.instead.get() : function.get();
    return Owned::take(PyObject_Vectorcall(callee, arguments.data(), arguments.size(), nullptr)).give();
  });
}

PyMethodDef going_on = {"go_on", go_on, METH_NOARGS, nullptr};

// A copy of the code that, where the instruction would come, calls `callable` and returns what it returns.
Owned broken_code(const Code& original, int index, int depth, int result, PyObject* callable) {
  Code code;
  const auto copy = [](const std::vector<Owned>& from, std::vector<Owned>& to) {
    for (const Owned& o : from) to.push_back(Owned::share(o.get()));
  };
  copy(original.constants, code.constants);
  copy(original.names, code.names);
  code.handlers = original.handlers;
  code.argument_count = original.argument_count;
  code.positional_only = original.positional_only;
  code.keyword_only = original.keyword_only;
  code.flags = original.flags;
  code.first_line = original.first_line;
  code.name = Owned::share(original.name.get());
  code.qualified_name = Owned::share(original.qualified_name.get());
  code.file = Owned::share(original.file.get());
  code.instructions = original.instructions;
  // A local more, for the result; it lies behind the function's own locals, before cells.
  copy(original.locals, code.locals);
  code.locals.insert(code.locals.begin() + result, text("___result"));
  code.kinds = original.kinds;
  code.kinds.insert(code.kinds.begin() + result, 0x20);
  for (Instruction& i : code.instructions) {
    if (names_slot(i.op) && i.arg >= result) ++i.arg;
    if (i.target > index) ++i.target;
  }
  for (Handler& h : code.handlers)
    if (h.target > index) ++h.target;
  Instruction leave;
  leave.op = Op::jump;
  leave.target = static_cast<int32_t>(code.instructions.size()) + 1;
  leave.location = original.instructions[index].location;
  code.instructions.insert(code.instructions.begin() + index, leave);
  const auto put = [&](Op op, int32_t arg) {
    Instruction& i = code.instructions.emplace_back();
    i.op = op;
    i.arg = arg;
    i.location = leave.location;
  };
  if (!null_is_above) put(Op::push_null, 0);
  put(Op::load_const, static_cast<int32_t>(code.constants.size()));
  code.constants.push_back(Owned::share(callable));
  if (null_is_above) put(Op::push_null, 0);
  put(Op::call, 0);
  put(Op::store_fast, result);
  for (int i = 0; i < depth; ++i) put(Op::pop_top, 0);
  put(Op::load_fast, result);
  put(Op::return_value, 0);
  return assemble(code);
}

// _capture_break(function, index[, instead]): a copy of the function that breaks before the instruction, and goes on in
// resume code; or in `instead`, called with the resumed function and what would be its arguments. None for an
// instruction that is never reached, or before the function has begun.
PyObject* break_at(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *function = nullptr, *instead = nullptr;
    int index = 0;
    if (!PyArg_ParseTuple(args, "O!i|O", &PyFunction_Type, &function, &index, &instead)) throw PythonError();
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    auto at = std::make_unique<Break>();
    at->code = decode(code);
    at->index = index;
    if (instead) at->instead = Owned::share(instead);
    at->original = Owned::share(PyFunction_GET_CODE(function));
    const auto& all = at->code->instructions;
    if (index < 0 || index >= static_cast<int>(all.size())) {
      PyErr_SetString(PyExc_IndexError, "there is no such instruction");
      throw PythonError();
    }
    if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))
      resume_code(*at->code, index, {});  // says that it cannot
    at->depth = stack_depths(*at->code)[index];
    int begin = 0;
    while (all[begin].op != Op::resume) ++begin;
    if (at->depth < 0 || index <= begin) Py_RETURN_NONE;
    at->live = live_locals(*at->code, index);
    const std::vector<uint8_t>& kinds = at->code->kinds;
    while (static_cast<size_t>(at->result) < kinds.size() && (kinds[at->result] & 0x20)) ++at->result;
    const Owned capsule = Owned::take(PyCapsule_New(
        at.get(), kBreak, [](PyObject* c) { delete static_cast<Break*>(PyCapsule_GetPointer(c, kBreak)); }));
    const Break& kept = *at.release();
    const Owned callable = Owned::take(PyCFunction_New(&going_on, capsule.get()));
    const Owned broken = broken_code(*kept.code, index, kept.depth, kept.result, callable.get());
    Owned made = Owned::take(PyFunction_New(broken.get(), PyFunction_GET_GLOBALS(function)));
    const auto set = [&](int (*setter)(PyObject*, PyObject*), PyObject* value) {
      if (value) check(setter(made.get(), value));
    };
    set(PyFunction_SetDefaults, PyFunction_GET_DEFAULTS(function));
    set(PyFunction_SetKwDefaults, PyFunction_GET_KW_DEFAULTS(function));
    set(PyFunction_SetClosure, PyFunction_GET_CLOSURE(function));
    return made.give();
  });
}

PyMethodDef doors[] = {{"_capture_set_entry", set_entry, METH_VARARGS, nullptr},
                       {"_capture_hooked", hooked, METH_O, nullptr},
                       {"_capture_toggle", toggle, METH_O, nullptr},
                       {"_capture_break", break_at, METH_VARARGS, nullptr},
                       {}};

}  // namespace

void add_frame_doors(PyObject* module) { check(PyModule_AddFunctions(module, doors)); }

}  // namespace sconce::python::capture
