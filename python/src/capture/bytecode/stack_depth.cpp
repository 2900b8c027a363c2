#include "capture/bytecode/stack_depth.h"

#include <algorithm>
#include <bit>

namespace sconce::python::capture {

int stack_effect(const Instruction& i, bool jumps) {
  const int n = i.arg;
  switch (i.op) {
    case Op::nop:
    case Op::resume:
    case Op::swap:
    case Op::delete_fast:
    case Op::delete_global:
    case Op::delete_name:
    case Op::delete_deref:
    case Op::load_from_dict_or_deref:
    case Op::load_from_dict_or_globals:
    case Op::make_cell:
    case Op::copy_free_vars:
    case Op::load_attr:
    case Op::unary_positive:
    case Op::unary_negative:
    case Op::unary_not:
    case Op::unary_invert:
    case Op::to_bool:
    case Op::convert_value:
    case Op::list_to_tuple:
    case Op::jump:
    case Op::get_iter:
    case Op::check_exc_match:
    case Op::check_eg_match:
    case Op::yield_value:
    case Op::get_yield_from_iter:
    case Op::get_awaitable:
    case Op::get_aiter:
    case Op::async_gen_wrap:
    case Op::stop_iteration_error:
    case Op::setup_annotations:
    case Op::unknown:
      return 0;
    case Op::push_null:
    case Op::copy:
    case Op::load_const:
    case Op::load_fast:
    case Op::load_fast_check:
    case Op::load_fast_and_clear:
    case Op::load_global:
    case Op::load_name:
    case Op::load_locals:
    case Op::load_closure:
    case Op::load_deref:
    case Op::load_class_deref:
    case Op::load_method:
    case Op::load_build_class:
    case Op::load_assertion_error:
    case Op::get_len:
    case Op::push_exc_info:
    case Op::before_with:
    case Op::with_except_start:
    case Op::return_generator:
    case Op::get_anext:
    case Op::before_async_with:
    case Op::import_from:
    case Op::match_keys:
    case Op::match_mapping:
    case Op::match_sequence:
      return 1;
    case Op::pop_top:
    case Op::store_fast:
    case Op::store_global:
    case Op::store_name:
    case Op::store_deref:
    case Op::delete_attr:
    case Op::load_super_method:
    case Op::binary_op:
    case Op::compare:
    case Op::is_op:
    case Op::contains_op:
    case Op::subscript:
    case Op::list_append:
    case Op::set_add:
    case Op::list_extend:
    case Op::set_update:
    case Op::dict_update:
    case Op::dict_merge:
    case Op::jump_if_true:
    case Op::jump_if_false:
    case Op::jump_if_none:
    case Op::jump_if_not_none:
    case Op::return_value:
    case Op::reraise:
    case Op::pop_except:
    case Op::prep_reraise_star:
    case Op::end_send:
    case Op::cleanup_throw:
    case Op::import_name:
    case Op::import_star:
    case Op::print_expr:
      return -1;
    case Op::store_attr:
    case Op::load_super_attr:
    case Op::delete_subscript:
    case Op::map_add:
    case Op::end_async_for:
    case Op::match_class:
      return -2;
    case Op::store_subscript:
      return -3;
    case Op::jump_if_true_or_pop:
    case Op::jump_if_false_or_pop:
      return jumps ? 0 : -1;
    case Op::for_iter:
      return jumps ? -1 : 1;
    case Op::end_for:
      return PY_VERSION_HEX >= 0x030d0000 ? -1 : -2;
    case Op::send:
      return jumps && send_pops_receiver ? -1 : 0;
    case Op::build_slice:
    case Op::build_tuple:
    case Op::build_list:
    case Op::build_set:
    case Op::build_string:
      return 1 - n;
    case Op::build_map:
      return 1 - 2 * n;
    case Op::build_const_key_map:
    case Op::raise_varargs:
      return -n;
    case Op::format_value:
      return n & 4 ? -1 : 0;
    case Op::unpack_sequence:
      return n - 1;
    case Op::unpack_ex:
      return (n & 255) + (n >> 8);
    case Op::call:
      return -n - 1;
    case Op::call_function_ex:
      return -2 - (n & 1);
    case Op::make_function:
      return -std::popcount(static_cast<unsigned>(n) & 15);
    case Op::intrinsic:
      return n >= 256 ? -1 : 0;
  }
  return 0;
}

bool ends_flow(Op op) {
  return op == Op::return_value || op == Op::raise_varargs || op == Op::reraise || op == Op::jump;
}

bool is_jump(Op op) {
  switch (op) {
    case Op::jump:
    case Op::jump_if_true:
    case Op::jump_if_false:
    case Op::jump_if_none:
    case Op::jump_if_not_none:
    case Op::jump_if_true_or_pop:
    case Op::jump_if_false_or_pop:
    case Op::for_iter:
    case Op::send:
      return true;
    default:
      return false;
  }
}

std::vector<int> stack_depths(const Code& code, int start, int depth) {
  const auto& all = code.instructions;
  std::vector<int> depths(all.size(), -1);
  std::vector<int> open;
  const auto reach = [&](int64_t at, int d) {
    if (at < 0 || at >= static_cast<int64_t>(all.size()) || d < 0) {
      PyErr_SetString(PyExc_ValueError, "bytecode runs out of its instructions, or pops from an empty stack");
      throw PythonError();
    }
    if (depths[at] >= 0) return;
    depths[at] = d;
    open.push_back(static_cast<int>(at));
  };
  if (!all.empty()) reach(start, depth);
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    const Instruction& i = all[at];
    if (is_jump(i.op)) reach(i.target, depths[at] + stack_effect(i, true));
    if (!ends_flow(i.op)) reach(at + 1, depths[at] + stack_effect(i, false));
    if (i.handler >= 0) {
      const Handler& handler = code.handlers[i.handler];
      reach(handler.target, handler.depth + (handler.push_lasti ? 2 : 1));
    }
  }
  return depths;
}

int stack_size(const Code& code, const std::vector<int>& depths) {
  int most = 0;
  for (size_t at = 0; at < depths.size(); ++at) {
    if (depths[at] < 0) continue;
    const Instruction& i = code.instructions[at];
    most = std::max({most, depths[at], depths[at] + stack_effect(i, false)});
    if (is_jump(i.op)) most = std::max(most, depths[at] + stack_effect(i, true));
    // Parts of one instruction of CPython and forms that it lacks: assemble.cpp copies or pushes one value more.
    if (PY_VERSION_HEX >= 0x030c0000 && (i.op == Op::jump_if_true_or_pop || i.op == Op::jump_if_false_or_pop))
      most = std::max(most, depths[at] + 1);
    // A call with keywords has their names on the stack (3.13).
    if (PY_VERSION_HEX >= 0x030d0000 && i.op == Op::call && i.names) most = std::max(most, depths[at] + 1);
  }
  return most;
}

}  // namespace sconce::python::capture
