#include "capture/bytecode/resume.h"

#include <string>

#include "capture/bytecode/liveness.h"
#include "capture/bytecode/stack_depth.h"

namespace sconce::python::capture {

namespace {

[[noreturn]] void refuse(const char* what) {
  PyErr_Format(PyExc_ValueError, "cannot resume: %s", what);
  throw PythonError();
}

class Resumer {
 public:
  Resumer(const Code& original, int index, const ResumeShape& shape)
      : original_(original), index_(index), shape_(shape) {}

  ResumeCode run() {
    if (original_.flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) refuse("generators keep their frame");
    if (index_ < 0 || index_ >= static_cast<int>(original_.instructions.size())) refuse("there is no such instruction");
    const Op op = original_.instructions[index_].op;
    if (index_ == 0 || op == Op::copy_free_vars || op == Op::resume) refuse("the function has not begun");
    copy_facts();
    lay_out_locals();
    add_prefix();
    add_rest();
    result_.code = assemble(code_);
    return std::move(result_);
  }

 private:
  static std::vector<Owned> shared(const std::vector<Owned>& objects) {
    std::vector<Owned> copies;
    copies.reserve(objects.size());
    for (const Owned& o : objects) copies.push_back(Owned::share(o.get()));
    return copies;
  }

  void copy_facts() {
    code_.constants = shared(original_.constants);
    code_.names = shared(original_.names);
    code_.flags = original_.flags & ~(CO_VARARGS | CO_VARKEYWORDS);
    code_.first_line = original_.first_line;
    code_.name = Owned::share(original_.name.get());
    code_.qualified_name = Owned::share(original_.qualified_name.get());
    code_.file = Owned::share(original_.file.get());
  }

  int add_local(Owned name, uint8_t kind) {
    code_.locals.push_back(std::move(name));
    code_.kinds.push_back(kind);
    return static_cast<int>(code_.locals.size()) - 1;
  }
  void add_argument(Owned name, ResumeCode::Argument::From from, int index) {
    add_local(std::move(name), 0x20);
    result_.arguments.push_back({from, index});
  }

  // super() without arguments looks for self in the first argument of the frame, and for __class__ in its closure.
  bool may_call_super() const {
    for (size_t s = 0; s < original_.locals.size(); ++s)
      if ((original_.kinds[s] & 0x80) && PyUnicode_CompareWithASCIIString(original_.locals[s].get(), "__class__") == 0)
        return original_.argument_count > 0;
    return false;
  }

  // Slots that instructions name which can still be reached.
  std::vector<bool> used_slots() const {
    std::vector<bool> used(original_.locals.size());
    const std::vector<int> depths = stack_depths(original_, index_, static_cast<int>(shape_.nulls.size()));
    for (size_t at = 0; at < original_.instructions.size(); ++at) {
      const Instruction& i = original_.instructions[at];
      if (depths[at] >= 0 && names_slot(i.op)) used[static_cast<size_t>(i.arg)] = true;
    }
    return used;
  }

  // Arguments, other locals, and for all cells the closure.
  void lay_out_locals() {
    using From = ResumeCode::Argument::From;
    slot_.assign(original_.locals.size(), -1);
    if (may_call_super() && is_cell_slot(original_, 0)) add_argument(text("___self"), From::cell_contents, 0);
    for (const int s : shape_.locals) {
      if (s < 0 || static_cast<size_t>(s) >= slot_.size() || slot_[s] >= 0 || is_cell_slot(original_, s))
        refuse("a local that is passed is not one of the function, is a cell, or is passed twice");
      slot_[s] = static_cast<int>(code_.locals.size());
      add_argument(Owned::share(original_.locals[s].get()), From::local, s);
    }
    for (size_t i = 0; i < shape_.nulls.size(); ++i) {
      stack_slot_.push_back(shape_.nulls[i] ? -1 : static_cast<int>(code_.locals.size()));
      if (!shape_.nulls[i]) add_argument(text("___stack" + std::to_string(i)), From::stack, static_cast<int>(i));
    }
    code_.argument_count = static_cast<int>(code_.locals.size());
    // What was on the stack of code that is resumed code itself is not carried along: a loop with a break in it comes
    // back to the same code, and not to one with more locals each time.
    const std::vector<bool> used = used_slots();
    const auto is_left = [&](size_t s) {
      return used[s] || std::string_view(text_of(original_.locals[s].get())).substr(0, 8) != "___stack";
    };
    for (size_t s = 0; s < slot_.size(); ++s)
      if (slot_[s] < 0 && !is_cell_slot(original_, static_cast<int>(s)) && is_left(s))
        slot_[s] = add_local(Owned::share(original_.locals[s].get()), 0x20);
    for (size_t s = 0; s < slot_.size(); ++s) {
      if (slot_[s] >= 0 || !is_cell_slot(original_, static_cast<int>(s))) continue;
      slot_[s] = add_local(Owned::share(original_.locals[s].get()), 0x80);
      result_.closure.push_back(static_cast<int>(s));
    }
  }

  void put(Op op, int32_t arg = 0, int32_t target = -1) {
    Instruction& i = code_.instructions.emplace_back();
    i.op = op;
    i.arg = arg;
    i.target = target;
    i.location = original_.instructions[index_].location;
  }

  void add_prefix() {
    if (!result_.closure.empty()) put(Op::copy_free_vars, static_cast<int32_t>(result_.closure.size()));
    put(Op::resume);
    for (const int slot : stack_slot_) {
      if (slot < 0) {
        put(Op::push_null);
      } else if (PY_VERSION_HEX >= 0x030c0000) {
        put(Op::load_fast_and_clear, slot);  // the argument holds nothing alive that the stack would have dropped
      } else {
        put(Op::load_fast, slot);
        put(Op::delete_fast, slot);
      }
    }
    // A comprehension that has put the cell of its variable aside makes one of nothing (3.12).
    if (const Instruction& i = original_.instructions[index_]; i.op == Op::make_cell) {
      put(Op::load_fast_and_clear, slot_[i.arg]);
      put(Op::pop_top);
    }
    put(Op::jump);  // its target is known when the rest is laid out
  }

  // Instructions that can still be reached, in their order.
  void add_rest() {
    const std::vector<int> depths = stack_depths(original_, index_, static_cast<int>(shape_.nulls.size()));
    const auto& all = original_.instructions;
    std::vector<bool> kept(all.size());
    for (size_t at = 0; at < all.size(); ++at) {
      if (depths[at] < 0) continue;
      kept[at] = true;
      if (all[at].op != Op::for_iter) continue;
      // end_for before the target, with pop_top (3.13), which flow never comes to.
      for (int back = all[at].target - 1; back >= 0 && back >= all[at].target - 2; --back) {
        if (depths[back] >= 0) break;
        kept[back] = all[back].op == Op::end_for || all[back].op == Op::pop_top;
        if (all[back].op == Op::end_for) break;
      }
    }
    std::vector<int> moved(all.size(), -1), handlers(original_.handlers.size(), -1);
    auto next = static_cast<int>(code_.instructions.size());
    for (size_t at = 0; at < all.size(); ++at)
      if (kept[at]) moved[at] = next++;
    code_.instructions.back().target = moved[index_];
    std::vector<std::pair<size_t, int>> unbound;  // instructions that read cells of the function, and the stack there
    for (size_t at = 0; at < all.size(); ++at) {
      if (!kept[at]) continue;
      Instruction i = all[at];
      if (names_slot(i.op)) i.arg = slot_[i.arg];
      if (i.target >= 0) i.target = moved[i.target];
      if (i.handler >= 0 && depths[at] >= 0) {
        int& handler = handlers[i.handler];
        if (handler < 0) {
          handler = static_cast<int>(code_.handlers.size());
          code_.handlers.push_back(original_.handlers[i.handler]);
          code_.handlers.back().target = moved[code_.handlers.back().target];
        }
        i.handler = handler;
      } else {
        i.handler = -1;
      }
      code_.instructions.push_back(i);
      const bool reads_cell = i.op == Op::load_deref || i.op == Op::delete_deref;
      // An argument (0x20 beside the cell's 0x40) is bound unless it is deleted, which nobody does to a cell.
      if (reads_cell && depths[at] >= 0 && (original_.kinds[all[at].arg] & 0xe0) == 0x40)
        unbound.emplace_back(code_.instructions.size() - 1, depths[at]);
    }
    for (const auto& [at, depth] : unbound) name_unbound(at, depth);
  }

  // A cell of the function is a free variable here, of which CPython says NameError when it is empty, where the function
  // itself raises UnboundLocalError: a handler for the instruction says the same.
  void name_unbound(size_t at, int depth) {
    const Instruction reads = code_.instructions[at];
    const auto append = [&](Op op, int32_t arg = 0) {
      Instruction& i = code_.instructions.emplace_back();
      i.op = op;
      i.arg = arg;
      i.location = reads.location;
      i.handler = reads.handler;
    };
    const auto constant = [&](Owned object) {
      code_.constants.push_back(std::move(object));
      append(Op::load_const, static_cast<int32_t>(code_.constants.size()) - 1);
    };
    Handler handler;
    handler.target = static_cast<int32_t>(code_.instructions.size());
    handler.depth = depth;
    append(Op::pop_top);
    if (!null_is_above) append(Op::push_null);
    constant(Owned::share(PyExc_UnboundLocalError));
    if (null_is_above) append(Op::push_null);
    constant(
        Owned::take(PyUnicode_FromFormat("cannot access local variable '%U' where it is not associated with a value",
                                         code_.locals[static_cast<size_t>(reads.arg)].get())));
    append(Op::call, 1);
    append(Op::raise_varargs, 1);
    code_.handlers.push_back(handler);
    code_.instructions[at].handler = static_cast<int32_t>(code_.handlers.size()) - 1;
  }

  const Code& original_;
  int index_;
  const ResumeShape& shape_;
  Code code_;
  ResumeCode result_;
  std::vector<int> slot_, stack_slot_;  // where slots of the original, and entries of the stack, have come to lie
};

}  // namespace

ResumeCode resume_code(const Code& original, int index, const ResumeShape& shape) {
  return Resumer(original, index, shape).run();
}

}  // namespace sconce::python::capture
