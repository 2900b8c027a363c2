// Normalised instructions to the bytes of the running version.
//
// Note [The end of a loop]
// for_iter has its target behind end_for (and pop_top in 3.13), since CPython jumps over them; it looks for them all
// the same when the iterator is a generator. Loops that lack them get some at the end of the code.
//
//   for_iter L          FOR_ITER X
//   ...                 ...
//   L: load_const       L: LOAD_CONST
//                       X: END_FOR; POP_TOP; JUMP_BACKWARD L
//
// Note [Where 3.13 looks for handlers]
// An exception that comes out of a call which CPython runs without a C call (functions, properties, generators,
// __getitem__) is looked up, in 3.13, for the unit before the instruction. Compilers always have one there in the same
// `try`; for code that begins a range with such an instruction a NOP is put before it.
#include <algorithm>

#include "capture/bytecode/code_tables.h"
#include "capture/bytecode/liveness.h"
#include "capture/bytecode/opcodes.h"
#include "capture/bytecode/stack_depth.h"

namespace sconce::python::capture {

namespace {

constexpr bool k312 = PY_VERSION_HEX >= 0x030c0000, k313 = PY_VERSION_HEX >= 0x030d0000;

[[noreturn]] void refuse(const char* what) {
  PyErr_Format(PyExc_ValueError, "cannot assemble: %s", what);
  throw PythonError();
}

// One instruction of CPython.
struct Unit {
  uint8_t opcode = 0;
  int32_t arg = 0;
  int target = -1;  // of jumps: index of an instruction, or with `direct` of a unit
  bool direct = false;
  bool backward = false;
  int caches = 0;
  int extensions = 0;  // EXTENDED_ARGs before it
  int start = 0;       // in units of two bytes, extensions first
  int handler = -1;
  Location location;

  int size() const { return extensions + 1 + caches; }
  int end() const { return start + size(); }
};

class Assembler {
 public:
  explicit Assembler(const Code& code) : code_(code), table_(opcodes()) {}

  Owned run() {
    const size_t count = code_.instructions.size();
    if (count == 0) refuse("there are no instructions");
    check_indices();
    find_targets();
    first_.assign(count, -1);
    for (at_ = 0; at_ < count;) {
      first_[at_] = static_cast<int>(units_.size());
      const Instruction& i = code_.instructions[at_];
      if (k313 && runs_frames(i.op) && i.handler != (units_.empty() ? -1 : units_.back().handler)) put("NOP");
      const size_t taken = emit();
      for (size_t i = 1; i < taken; ++i) first_[at_ + i] = first_[at_];  // never a target
      at_ += taken;
    }
    add_ends_of_loops();
    lay_out();
    return code_object();
  }

 private:
  void check_indices() const {
    const auto count = static_cast<int32_t>(code_.instructions.size());
    if (code_.kinds.size() != code_.locals.size()) refuse("locals and their kinds differ in number");
    for (const Instruction& i : code_.instructions) {
      if (is_jump(i.op) && (i.target < 0 || i.target >= count)) refuse("a jump leads to no instruction");
      if (i.handler >= static_cast<int32_t>(code_.handlers.size())) refuse("a handler is not there");
      const auto inside = [&](size_t size, int32_t index) {
        if (index < 0 || static_cast<size_t>(index) >= size) refuse("a constant, name or local is not there");
      };
      if (i.op == Op::load_const) inside(code_.constants.size(), i.arg);
      if (names_slot(i.op)) inside(code_.locals.size(), i.arg);
      if (names_name(i.op)) inside(code_.names.size(), i.arg);
    }
    for (const Handler& handler : code_.handlers)
      if (handler.target < 0 || handler.target >= count) refuse("a handler leads to no instruction");
  }

  void find_targets() {
    is_target_.assign(code_.instructions.size(), false);
    for (const Instruction& i : code_.instructions) {
      if (is_jump(i.op)) is_target_[i.target] = true;
      if (i.handler >= 0) is_target_[code_.handlers[i.handler].target] = true;
    }
  }

  Unit& put(uint8_t opcode, int32_t arg = 0) {
    const Instruction& i = code_.instructions[at_];
    Unit& u = units_.emplace_back();
    u.opcode = opcode;
    u.arg = arg;
    u.caches = table_.by_number[opcode].caches;
    u.handler = i.handler;
    u.location = i.location;
    return u;
  }
  Unit& put(const char* name, int32_t arg = 0) { return put(table_.number(name), arg); }
  Unit& put_jump(const char* name, int target) {
    Unit& u = put(name);
    u.target = target;
    return u;
  }

  // Note [Where 3.13 looks for handlers].
  static bool runs_frames(Op op) {
    switch (op) {
      case Op::call:
      case Op::call_function_ex:
      case Op::load_attr:
      case Op::load_method:
      case Op::load_super_attr:
      case Op::load_super_method:
      case Op::subscript:
      case Op::for_iter:
      case Op::send:
        return true;
      default:
        return false;
    }
  }

  // The instruction behind the one at hand, when both are to be one of CPython's.
  const Instruction* partner() const {
    if (at_ + 1 >= code_.instructions.size() || is_target_[at_ + 1]) return nullptr;
    const Instruction& next = code_.instructions[at_ + 1];
    return next.joined ? &next : nullptr;
  }
  static bool is_load(Op op) { return op == Op::load_fast || op == Op::load_closure; }

  // Units for the instruction at hand, with those behind it that it takes along; how many instructions these are.
  size_t emit() {
    const Instruction& i = code_.instructions[at_];
    if (const size_t taken = emit_joined(i)) return taken;
    switch (i.op) {
      case Op::load_global:
        put("LOAD_GLOBAL", i.arg << 1);
        return 1;
      case Op::load_fast:
        put("LOAD_FAST", i.arg);
        return 1;
      case Op::load_closure:
        put(k313 ? "LOAD_FAST" : "LOAD_CLOSURE", i.arg);
        return 1;
      case Op::load_fast_check:
        put(k312 ? "LOAD_FAST_CHECK" : "LOAD_FAST", i.arg);
        return 1;
      case Op::load_attr:
        put("LOAD_ATTR", k312 ? i.arg << 1 : i.arg);
        return 1;
      case Op::load_method:
        k312 ? put("LOAD_ATTR", i.arg << 1 | 1) : put("LOAD_METHOD", i.arg);
        return 1;
      case Op::load_super_attr:
      case Op::load_super_method:
        put("LOAD_SUPER_ATTR", (i.arg >> 1) << 2 | (i.arg & 1 ? 0 : 2) | (i.op == Op::load_super_method ? 1 : 0));
        return 1;
      case Op::compare:
        put_compare(i.arg, false);
        return 1;
      case Op::to_bool:
        return emit_to_bool();
      case Op::unary_positive:
        k312 ? put("CALL_INTRINSIC_1", 5) : put("UNARY_POSITIVE");
        return 1;
      case Op::list_to_tuple:
        k312 ? put("CALL_INTRINSIC_1", 6) : put("LIST_TO_TUPLE");
        return 1;
      case Op::async_gen_wrap:
        k312 ? put("CALL_INTRINSIC_1", 4) : put("ASYNC_GEN_WRAP");
        return 1;
      case Op::stop_iteration_error:
        put("CALL_INTRINSIC_1", 3);
        return 1;
      case Op::prep_reraise_star:
        k312 ? put("CALL_INTRINSIC_2", 1) : put("PREP_RERAISE_STAR");
        return 1;
      case Op::intrinsic:
        i.arg >= 256 ? put("CALL_INTRINSIC_2", i.arg - 256) : put("CALL_INTRINSIC_1", i.arg);
        return 1;
      case Op::format_value:
        emit_format(i.arg);
        return 1;
      case Op::convert_value:
        put(k313 ? "CONVERT_VALUE" : "FORMAT_VALUE", i.arg);
        return 1;
      case Op::end_send:
        if (k312) {
          put("END_SEND");
        } else {
          put("SWAP", 2);
          put("POP_TOP");
        }
        return 1;
      case Op::end_for:
        if (k312) put("END_FOR");
        return 1;
      case Op::call:
        emit_call(i);
        return 1;
      case Op::make_function:
        put("MAKE_FUNCTION", k313 ? 0 : i.arg);
        for (int bit = 8; k313 && bit; bit >>= 1)
          if (i.arg & bit) put("SET_FUNCTION_ATTRIBUTE", bit);
        return 1;
      case Op::unknown:
        put(static_cast<uint8_t>(i.arg & 255), i.arg >> 8);
        return 1;
      default:
        break;
    }
    if (is_jump(i.op)) {
      emit_jump(i);
      return 1;
    }
    const int number = table_.number(i.op);
    if (number < 0) {
      PyErr_Format(PyExc_ValueError, "cannot assemble: this version of Python has no %s", op_name(i.op));
      throw PythonError();
    }
    put(static_cast<uint8_t>(number), i.arg);
    return 1;
  }

  // Two that CPython has one opcode for; 0 when it has none.
  size_t emit_joined(const Instruction& i) {
    const Instruction* next = partner();
    if (!next) return 0;
    if (!null_is_above && i.op == Op::push_null && next->op == Op::load_global) {
      put("LOAD_GLOBAL", next->arg << 1 | 1);
      return 2;
    }
    if (null_is_above && i.op == Op::load_global && next->op == Op::push_null) {
      put("LOAD_GLOBAL", i.arg << 1 | 1);
      return 2;
    }
    if (!k312) return 0;
    if (i.op == Op::load_const && next->op == Op::return_value) {
      put("RETURN_CONST", i.arg);
      return 2;
    }
    if (i.op == Op::build_slice && i.arg == 2 && (next->op == Op::subscript || next->op == Op::store_subscript)) {
      put(next->op == Op::subscript ? "BINARY_SLICE" : "STORE_SLICE");
      return 2;
    }
    if (!k313) return 0;
    if (i.op == Op::compare && next->op == Op::to_bool) {
      put_compare(i.arg, true);
      return 2;
    }
    if (i.arg > 15 || next->arg > 15) return 0;
    const char* name = is_load(i.op) && is_load(next->op)                     ? "LOAD_FAST_LOAD_FAST"
                       : i.op == Op::store_fast && is_load(next->op)          ? "STORE_FAST_LOAD_FAST"
                       : i.op == Op::store_fast && next->op == Op::store_fast ? "STORE_FAST_STORE_FAST"
                                                                              : nullptr;
    if (!name) return 0;
    put(name, i.arg << 4 | next->arg);
    return 2;
  }

  // Later versions say beside the operator which outcomes make it true: 1 unordered, 2 less, 4 greater, 8 equal.
  void put_compare(int32_t op, bool to_bool) {
    static constexpr int outcomes[] = {2, 10, 8, 7, 4, 12};
    if (op < 0 || op > 5) refuse("compare knows 0 to 5");
    put("COMPARE_OP", k313 ? op << 5 | (to_bool ? 16 : 0) | outcomes[op] : k312 ? op << 4 | outcomes[op] : op);
  }

  size_t emit_to_bool() {
    if (k313) {
      put("TO_BOOL");
      return 1;
    }
    const Op next = at_ + 1 < code_.instructions.size() ? code_.instructions[at_ + 1].op : Op::nop;
    if (next != Op::jump_if_true && next != Op::jump_if_false && next != Op::unary_not) {
      put("UNARY_NOT");
      put("UNARY_NOT");
    }
    return 1;
  }

  void emit_format(int32_t flags) {
    if (!k313) {
      put("FORMAT_VALUE", flags);
      return;
    }
    const int conversion = flags & 3;
    if (conversion && (flags & 4)) put("SWAP", 2);
    if (conversion) put("CONVERT_VALUE", conversion);
    if (conversion && (flags & 4)) put("SWAP", 2);
    put(flags & 4 ? "FORMAT_WITH_SPEC" : "FORMAT_SIMPLE");
  }

  void emit_call(const Instruction& i) {
    if (i.names) {
      int index = -1;
      for (size_t c = 0; c < code_.constants.size() && index < 0; ++c)
        if (code_.constants[c].get() == i.names) index = static_cast<int>(c);
      if (index < 0) refuse("the names of a call are no constant of the code");
      Unit& names = put(k313 ? "LOAD_CONST" : "KW_NAMES", index);
      if (i.names_location.line >= 0) names.location = i.names_location;
    }
    if (!k312) put("PRECALL", i.arg);
    put(k313 && i.names ? "CALL_KW" : "CALL", i.arg);
  }

  void emit_jump(const Instruction& i) {
    const bool back = i.target <= static_cast<int32_t>(at_);
    switch (i.op) {
      case Op::jump:
        put_jump(!back   ? "JUMP_FORWARD"
                 : i.arg ? "JUMP_BACKWARD_NO_INTERRUPT"
                         : "JUMP_BACKWARD",
                 i.target)
            .backward = back;
        return;
      case Op::send:
        if (back) refuse("send leads backward");
        put_jump("SEND", i.target);
        return;
      case Op::for_iter:
        loops_.push_back({units_.size(), i.target});
        put_jump("FOR_ITER", i.target);
        return;
      case Op::jump_if_true_or_pop:
      case Op::jump_if_false_or_pop:
        if (!k312 && !back) {
          put_jump(i.op == Op::jump_if_true_or_pop ? "JUMP_IF_TRUE_OR_POP" : "JUMP_IF_FALSE_OR_POP", i.target);
        } else {
          put("COPY", 1);
          if (k313) put("TO_BOOL");
          put_test(i.op == Op::jump_if_true_or_pop ? Op::jump_if_true : Op::jump_if_false, i.target, back);
          put("POP_TOP");
        }
        return;
      default:
        put_test(i.op, i.target, back);
    }
  }

  void put_test(Op op, int target, bool back) {
    const auto pick = [&](const char* when_true, const char* when_false, const char* none, const char* not_none) {
      return op == Op::jump_if_true    ? when_true
             : op == Op::jump_if_false ? when_false
             : op == Op::jump_if_none  ? none
                                       : not_none;
    };
    if (!k312) {
      const char* name = back ? pick("POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE",
                                     "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE")
                              : pick("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE",
                                     "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE");
      put_jump(name, target).backward = back;
    } else if (!back) {
      put_jump(pick("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"), target);
    } else {  // later versions test forward alone: the other way around, over a jump back
      Unit& over = put(pick("POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_IF_NONE"));
      over.target = static_cast<int>(units_.size()) + 1;
      over.direct = true;
      put_jump("JUMP_BACKWARD", target).backward = true;
    }
  }

  // Note [The end of a loop].
  void add_ends_of_loops() {
    for (const auto& [unit, target] : loops_) {
      if (!k312) {
        if (first_[target] <= static_cast<int>(unit)) refuse("for_iter leads backward");
        continue;
      }
      const auto& all = code_.instructions;
      const int end = target - (k313 ? 2 : 1);
      const bool there = end >= 0 && all[end].op == Op::end_for && (!k313 || all[end + 1].op == Op::pop_top);
      if (there && first_[end] > static_cast<int>(unit)) {
        units_[unit].target = first_[end];
      } else {
        units_[unit].target = static_cast<int>(units_.size());
        at_ = static_cast<size_t>(target);  // place and handler of what follows
        put("END_FOR");
        if (k313) put("POP_TOP");
        put_jump("JUMP_BACKWARD", target).backward = true;
      }
      units_[unit].direct = true;
    }
  }

  static int extensions_for(int32_t arg) {
    const auto value = static_cast<uint32_t>(arg);
    return value > 0xffffff ? 3 : value > 0xffff ? 2 : value > 0xff ? 1 : 0;
  }

  // Places of all units. An argument that grows moves what is behind it, which may make others grow: until none does.
  void lay_out() {
    for (Unit& u : units_) u.extensions = extensions_for(u.arg);
    for (bool again = true; again;) {
      again = false;
      int at = 0;
      for (Unit& u : units_) {
        u.start = at;
        at += u.size();
      }
      length_ = at;
      for (Unit& u : units_) {
        if (u.target < 0) continue;
        const Unit& to = units_[u.direct ? u.target : first_[u.target]];
        u.arg = u.backward ? u.end() - to.start : to.start - u.end();
        if (u.arg < 0) refuse("a jump leads the wrong way");
        const int needed = extensions_for(u.arg);
        if (needed > u.extensions) {
          u.extensions = needed;
          again = true;
        }
      }
    }
  }

  Owned bytes() const {
    std::string out;
    out.reserve(static_cast<size_t>(length_) * 2);
    const uint8_t extend = table_.number("EXTENDED_ARG");
    for (const Unit& u : units_) {
      for (int e = u.extensions; e > 0; --e) {
        out += static_cast<char>(extend);
        out += static_cast<char>(static_cast<uint32_t>(u.arg) >> (8 * e));
      }
      out += static_cast<char>(u.opcode);
      out += static_cast<char>(u.arg);
      out.append(static_cast<size_t>(u.caches) * 2, '\0');
    }
    return Owned::take(PyBytes_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size())));
  }

  Owned locations() const {
    std::vector<PlacedRun> runs;
    runs.reserve(units_.size());
    for (const Unit& u : units_) runs.push_back({u.location, u.size()});
    return write_locations(runs, code_.first_line);
  }

  Owned handlers() const {
    std::vector<HandlerRange> ranges;
    int open = -1;
    for (const Unit& u : units_) {
      if (u.handler != open && u.handler >= 0) {
        HandlerRange& range = ranges.emplace_back();
        range.start = u.start;
        range.handler = code_.handlers[u.handler];
        range.handler.target = units_[first_[range.handler.target]].start;
      }
      open = u.handler;
      if (open >= 0) ranges.back().end = u.end();
    }
    return write_handlers(ranges);
  }

  static Owned tuple_of(const std::vector<Owned>& objects) {
    Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(objects.size())));
    for (size_t i = 0; i < objects.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(objects[i].get()));
    return tuple;
  }
  Owned locals_of(uint8_t kind) const {
    std::vector<Owned> found;
    for (size_t i = 0; i < code_.locals.size(); ++i)
      if (code_.kinds[i] & kind) found.push_back(Owned::share(code_.locals[i].get()));
    return tuple_of(found);
  }

  Owned code_object() const {
    const Owned made_bytes = bytes(), consts = tuple_of(code_.constants), names = tuple_of(code_.names);
    const Owned varnames = locals_of(0x20), cells = locals_of(0x40), free = locals_of(0x80);
    const Owned places = locations(), table = handlers();
    int size = stack_size(code_, stack_depths(code_));
    if (code_.original) size = std::max(size, code_.original->co_stacksize);
#if PY_VERSION_HEX >= 0x030c0000
    PyCodeObject* made = PyUnstable_Code_NewWithPosOnlyArgs(
#else
    PyCodeObject* made = PyCode_NewWithPosOnlyArgs(
#endif
        code_.argument_count, code_.positional_only, code_.keyword_only,
        static_cast<int>(PyTuple_GET_SIZE(varnames.get())), size, code_.flags, made_bytes.get(), consts.get(),
        names.get(), varnames.get(), free.get(), cells.get(), code_.file.get(), code_.name.get(),
        code_.qualified_name.get(), code_.first_line, places.get(), table.get());
    Owned code = Owned::take(reinterpret_cast<PyObject*>(made));
    check_layout(made);
    return code;
  }

  // CPython orders locals itself: they must have come to lie where instructions look for them.
  void check_layout(PyCodeObject* made) const {
    bool same = static_cast<size_t>(made->co_nlocalsplus) == code_.locals.size();
    for (size_t i = 0; same && i < code_.locals.size(); ++i)
      same = PyUnicode_Compare(PyTuple_GET_ITEM(made->co_localsplusnames, static_cast<Py_ssize_t>(i)),
                               code_.locals[i].get()) == 0;
    if (!same) refuse("locals are not in the order: arguments, others, cells that are no arguments, free variables");
  }

  const Code& code_;
  const Opcodes& table_;
  size_t at_ = 0;
  std::vector<Unit> units_;
  std::vector<int> first_;  // units of instructions
  std::vector<bool> is_target_;
  std::vector<std::pair<size_t, int>> loops_;  // units of for_iter, and their targets
  int length_ = 0;
};

}  // namespace

Owned assemble(const Code& code) { return Assembler(code).run(); }

}  // namespace sconce::python::capture
