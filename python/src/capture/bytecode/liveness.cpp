#include "capture/bytecode/liveness.h"

#include <algorithm>

#include "capture/bytecode/stack_depth.h"

namespace sconce::python::capture {

namespace {

bool reads(Op op) {
  return op == Op::load_fast || op == Op::load_fast_check || op == Op::load_fast_and_clear || op == Op::delete_fast ||
         op == Op::make_cell;
}
bool writes(Op op) { return op == Op::store_fast; }

bool is_named(const std::vector<Owned>& names, const char* name) {
  return std::ranges::any_of(names,
                             [&](const Owned& n) { return PyUnicode_CompareWithASCIIString(n.get(), name) == 0; });
}

bool sees_own_frame(const Code& code) {
  for (const char* name : {"locals", "eval", "exec", "vars", "dir", "_getframe", "currentframe"})
    if (is_named(code.names, name)) return true;
  return false;
}

// A set of slots.
using Slots = std::vector<bool>;

bool add(Slots& into, const Slots& from) {
  bool grew = false;
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] && !into[i]) into[i] = grew = true;
  return grew;
}

}  // namespace

bool names_slot(Op op) {
  switch (op) {
    case Op::load_fast:
    case Op::load_fast_check:
    case Op::load_fast_and_clear:
    case Op::store_fast:
    case Op::delete_fast:
    case Op::load_closure:
    case Op::load_deref:
    case Op::store_deref:
    case Op::delete_deref:
    case Op::load_class_deref:
    case Op::load_from_dict_or_deref:
    case Op::make_cell:
      return true;
    default:
      return false;
  }
}

bool names_name(Op op) {
  switch (op) {
    case Op::load_global:
    case Op::store_global:
    case Op::delete_global:
    case Op::load_name:
    case Op::store_name:
    case Op::delete_name:
    case Op::load_attr:
    case Op::load_method:
    case Op::store_attr:
    case Op::delete_attr:
    case Op::import_name:
    case Op::import_from:
      return true;
    default:
      return false;
  }
}

bool is_cell_slot(const Code& code, int slot) { return code.kinds[slot] & 0xc0; }

std::vector<bool> live_locals(const Code& code, int index) {
  const auto& all = code.instructions;
  const size_t slots = code.locals.size();
  Slots plain(slots);
  for (size_t s = 0; s < slots; ++s) plain[s] = !is_cell_slot(code, static_cast<int>(s));
  if (sees_own_frame(code)) return plain;
  std::vector<Slots> live(all.size(), Slots(slots));
  for (bool again = true; again;) {
    again = false;
    for (size_t at = all.size(); at-- > 0;) {
      const Instruction& i = all[at];
      Slots out(slots);
      if (!ends_flow(i.op) && at + 1 < all.size()) add(out, live[at + 1]);
      if (is_jump(i.op)) add(out, live[i.target]);
      if (writes(i.op)) out[i.arg] = false;
      if (reads(i.op)) out[i.arg] = true;
      if (i.handler >= 0) add(out, live[code.handlers[i.handler].target]);
      again |= add(live[at], out);
    }
  }
  Slots found = std::move(live[index]);
  for (size_t s = 0; s < slots; ++s) found[s] = found[s] && plain[s];
  if (code.argument_count > 0 && plain[0] && is_named(code.locals, "__class__")) found[0] = true;
  return found;
}

}  // namespace sconce::python::capture
