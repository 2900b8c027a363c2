// Bytes of a code object to normalised instructions.
#include "capture/bytecode/code_tables.h"
#include "capture/bytecode/opcodes.h"
#include "capture/code_state.h"

namespace sconce::python::capture {

namespace {

[[noreturn]] void broken(const char* what) {
  PyErr_Format(PyExc_ValueError, "bytecode that no compiler of Python writes: %s", what);
  throw PythonError();
}

std::vector<Owned> shared_items(PyObject* tuple) {
  std::vector<Owned> found;
  found.reserve(static_cast<size_t>(PyTuple_GET_SIZE(tuple)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) found.push_back(Owned::share(PyTuple_GET_ITEM(tuple, i)));
  return found;
}

class Decoder {
 public:
  explicit Decoder(PyCodeObject* code)
      : source_(code), bytes_(Owned::take(PyCode_GetCode(code))), code_(std::make_shared<Code>()) {
    at_ = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes_.get()));
    units_ = static_cast<size_t>(PyBytes_GET_SIZE(bytes_.get())) / 2;
  }

  std::shared_ptr<const Code> run() {
    copy_facts();
    places_ = read_locations(source_->co_linetable, source_->co_firstlineno, units_);
    const std::vector<HandlerRange> ranges = read_handlers(source_->co_exceptiontable);
    handler_at_.assign(units_, -1);
    for (const HandlerRange& range : ranges) {
      if (range.start < 0 || range.end > static_cast<int>(units_)) broken("a handler covers more than there is");
      for (int u = range.start; u < range.end; ++u) handler_at_[u] = static_cast<int32_t>(code_->handlers.size());
      code_->handlers.push_back(range.handler);
    }
    index_at_.assign(units_ + 1, -1);
    code_->instructions.reserve(units_ / 2);
    for (size_t unit = 0; unit < units_;) unit = read_one(unit);
    for (Instruction& i : code_->instructions)
      if (i.target >= 0) i.target = index_of(i.target);
    for (Handler& handler : code_->handlers) handler.target = index_of(handler.target);
    return code_;
  }

 private:
  void copy_facts() {
    Code& c = *code_;
    c.original = source_;
    c.constants = shared_items(source_->co_consts);
    c.names = shared_items(source_->co_names);
    c.locals = shared_items(source_->co_localsplusnames);
    const auto* kinds = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(source_->co_localspluskinds));
    c.kinds.assign(kinds, kinds + source_->co_nlocalsplus);
    c.argument_count = source_->co_argcount;
    c.positional_only = source_->co_posonlyargcount;
    c.keyword_only = source_->co_kwonlyargcount;
    c.flags = source_->co_flags;
    c.first_line = source_->co_firstlineno;
    c.name = Owned::share(source_->co_name);
    c.qualified_name = Owned::share(source_->co_qualname);
    c.file = Owned::share(source_->co_filename);
  }

  int32_t index_of(int32_t unit) const {
    if (unit < 0 || unit > static_cast<int32_t>(units_) || index_at_[unit] < 0)
      broken("a jump leads between instructions");
    return index_at_[unit];
  }

  Instruction& add(Op op, int32_t arg) {
    Instruction& i = code_->instructions.emplace_back();
    i.op = op;
    i.arg = arg;
    i.offset = static_cast<int32_t>(start_ * 2);
    i.handler = handler_at_[start_];
    i.location = places_[unit_];
    return i;
  }
  void add_two(Op first, int32_t arg, Op second, int32_t other) {
    add(first, arg);
    add(second, other).joined = true;
  }

  // A cell is loaded for closures alone; 3.13 has no other word for that.
  Op load_of(int32_t slot) const {
    if (slot < 0 || static_cast<size_t>(slot) >= code_->kinds.size()) broken("a local that is not there");
    const bool cell = code_->kinds[slot] & 0xc0;
    return cell && PY_VERSION_HEX >= 0x030d0000 ? Op::load_closure : Op::load_fast;
  }

  PyObject* names_at(int32_t constant) const {
    if (constant < 0 || static_cast<size_t>(constant) >= code_->constants.size() ||
        !PyTuple_CheckExact(code_->constants[constant].get()))
      broken("names of arguments are no tuple");
    return code_->constants[constant].get();
  }

  // Reads the instruction at `unit` with what extends it; the unit behind it.
  size_t read_one(size_t unit) {
    const Opcodes& table = opcodes();
    start_ = unit;
    uint32_t arg = 0;
    const Opcode* opcode = nullptr;
    for (;; ++unit) {
      if (unit >= units_) broken("it ends inside of an instruction");
      opcode = &table.by_number[at_[2 * unit]];
      arg = arg << 8 | at_[2 * unit + 1];
      if (opcode->form != Form::extended) break;
    }
    unit_ = unit;
    const auto next = static_cast<int32_t>(unit + 1 + opcode->caches);
    // Parts that belong to an instruction to come (names of arguments) have its index.
    index_at_[start_] = static_cast<int32_t>(code_->instructions.size());
    normalise(*opcode, static_cast<int32_t>(arg), next);
    return static_cast<size_t>(next);
  }

  void normalise(const Opcode& opcode, int32_t arg, int32_t next) {
    switch (opcode.form) {
      case Form::absent:
        add(Op::unknown, at_[2 * unit_] | arg << 8);
        return;
      case Form::ignored:
      case Form::extended:
        return;
      case Form::same: {
        Instruction& i = add(opcode.op, arg);
        if (opcode.op == Op::call && names_) {
          i.names = std::exchange(names_, nullptr);
          i.names_location = names_location_;
        }
        return;
      }
      case Form::attribute:
        if (PY_VERSION_HEX < 0x030c0000)
          add(Op::load_attr, arg);
        else
          add(arg & 1 ? Op::load_method : Op::load_attr, arg >> 1);
        return;
      case Form::super_attribute:
        add(arg & 1 ? Op::load_super_method : Op::load_super_attr, (arg >> 2) << 1 | (arg & 2 ? 0 : 1));
        return;
      case Form::global:
        if (!(arg & 1))
          add(Op::load_global, arg >> 1);
        else if (null_is_above)
          add_two(Op::load_global, arg >> 1, Op::push_null, 0);
        else
          add_two(Op::push_null, 0, Op::load_global, arg >> 1);
        return;
      case Form::closure_or_local:
        add(load_of(arg), arg);
        return;
      case Form::compare:
        add(Op::compare, PY_VERSION_HEX >= 0x030d0000 ? arg >> 5 : PY_VERSION_HEX >= 0x030c0000 ? arg >> 4 : arg);
        if (PY_VERSION_HEX >= 0x030d0000 && (arg & 16)) add(Op::to_bool, 0).joined = true;
        return;
      case Form::forward:
        add(opcode.op, 0).target = next + arg;
        return;
      case Form::backward: {
        Instruction& i = add(opcode.op, 0);
        i.target = next - arg;
        if (i.target < 0) broken("a jump leads before the start");
        if (opcode.op == Op::jump && opcode.name == no_interrupt()) i.arg = 1;
        return;
      }
      case Form::loop:  // end_for and, in 3.13, pop_top are jumped over
        add(Op::for_iter, 0).target = next + arg +
                                      (PY_VERSION_HEX >= 0x030d0000   ? 2
                                       : PY_VERSION_HEX >= 0x030c0000 ? 1
                                                                      : 0);
        return;
      case Form::keyword_names:
        names_ = names_at(arg);
        names_location_ = places_[unit_];
        return;
      case Form::call_with_names: {
        auto& all = code_->instructions;
        if (all.empty() || all.back().op != Op::load_const || all.back().joined) {
          add(Op::unknown, at_[2 * unit_] | arg << 8);  // names that are computed
          return;
        }
        PyObject* names = names_at(all.back().arg);
        const int32_t offset = all.back().offset;
        const Location location = all.back().location;
        all.pop_back();
        index_at_[start_] = static_cast<int32_t>(all.size());
        Instruction& i = add(Op::call, arg);
        i.names = names;
        i.names_location = location;
        i.offset = offset;
        return;
      }
      case Form::constant_return:
        add_two(Op::load_const, arg, Op::return_value, 0);
        return;
      case Form::load_load:
        add_two(load_of(arg >> 4), arg >> 4, load_of(arg & 15), arg & 15);
        return;
      case Form::store_load:
        add_two(Op::store_fast, arg >> 4, load_of(arg & 15), arg & 15);
        return;
      case Form::store_store:
        add_two(Op::store_fast, arg >> 4, Op::store_fast, arg & 15);
        return;
      case Form::read_slice:
      case Form::write_slice:
        add_two(Op::build_slice, 2, opcode.op, 0);
        return;
      case Form::format_simple:
        add(Op::format_value, 0);
        return;
      case Form::format_with:
        add(Op::format_value, 4);
        return;
      case Form::function:
        add(Op::make_function, PY_VERSION_HEX >= 0x030d0000 ? 0 : arg);
        return;
      case Form::function_attribute: {
        // Attributes lie below the code in the order of their bits, so that they are set from the highest down.
        Instruction* made = code_->instructions.empty() ? nullptr : &code_->instructions.back();
        if (made && made->op == Op::make_function && (made->arg == 0 || (made->arg & -made->arg) > arg)) {
          made->arg |= arg;
          index_at_[start_] = -1;
        } else {
          add(Op::unknown, at_[2 * unit_] | arg << 8);
        }
        return;
      }
      case Form::intrinsic_1:
      case Form::intrinsic_2:
        add_intrinsic(arg + (opcode.form == Form::intrinsic_2 ? 256 : 0));
        return;
    }
  }

  // Those that 3.11 had opcodes for, with the same effect on the stack.
  void add_intrinsic(int32_t number) {
    switch (number) {
      case 3:
        add(Op::stop_iteration_error, 0);
        return;
      case 4:
        add(Op::async_gen_wrap, 0);
        return;
      case 5:
        add(Op::unary_positive, 0);
        return;
      case 6:
        add(Op::list_to_tuple, 0);
        return;
      case 257:
        add(Op::prep_reraise_star, 0);
        return;
      default:
        add(Op::intrinsic, number);
    }
  }

  static const char* no_interrupt() {
    static const char* name = opcodes().by_number[opcodes().number("JUMP_BACKWARD_NO_INTERRUPT")].name;
    return name;
  }

  PyCodeObject* source_;
  Owned bytes_;
  std::shared_ptr<Code> code_;
  const uint8_t* at_ = nullptr;
  size_t units_ = 0, start_ = 0, unit_ = 0;  // of the instruction that is read: with what extends it, itself
  std::vector<Location> places_;
  std::vector<int32_t> handler_at_, index_at_;  // of units
  PyObject* names_ = nullptr;                   // of the call to come
  Location names_location_;
};

}  // namespace

std::shared_ptr<const Code> decode(PyCodeObject* code) {
  CodeState& state = code_state(code);
  if (!state.decoded) state.decoded = Decoder(code).run();
  return state.decoded;
}

}  // namespace sconce::python::capture
