#include "capture/output/operands.h"

#include <bit>

namespace sconce::python::capture {

Operands operands_of(const Instruction& in) {
  const int n = in.arg;
  switch (in.op) {
    case Op::nop:
    case Op::jump:
    case Op::delete_global:
      return {0, 0, 0};
    case Op::pop_top:
    case Op::store_global:
    case Op::delete_attr:
    case Op::pop_except:
    case Op::return_value:
      return {1, 0, 0};
    case Op::load_const:
    case Op::load_global:
    case Op::load_build_class:
    case Op::load_assertion_error:
      return {0, 1, 0};
    case Op::unary_positive:
    case Op::unary_negative:
    case Op::unary_not:
    case Op::unary_invert:
    case Op::to_bool:
    case Op::convert_value:
    case Op::get_iter:
    case Op::load_attr:
    case Op::list_to_tuple:
      return {1, 1, 0};
    case Op::load_method:
    case Op::import_from:
    case Op::before_with:
    case Op::get_len:
    case Op::match_mapping:
    case Op::match_sequence:
    case Op::push_exc_info:
      return {1, 2, 0};
    case Op::binary_op:
    case Op::compare:
    case Op::is_op:
    case Op::contains_op:
    case Op::subscript:
    case Op::import_name:
      return {2, 1, 0};
    case Op::store_attr:
    case Op::delete_subscript:
      return {2, 0, 0};
    case Op::store_subscript:
      return {3, 0, 0};
    case Op::check_exc_match:
      return {2, 2, 0};
    case Op::match_keys:
      return {2, 3, 0};
    case Op::load_super_attr:
    case Op::match_class:
      return {3, 1, 0};
    case Op::load_super_method:
      return {3, 2, 0};
    case Op::with_except_start:
      return {4, 5, 0};
    case Op::build_tuple:
    case Op::build_list:
    case Op::build_set:
    case Op::build_string:
    case Op::build_slice:
      return {n, 1, 0};
    case Op::build_map:
      return {2 * n, 1, 0};
    case Op::build_const_key_map:
      return {n + 1, 1, 0};
    case Op::format_value:
      return {n & 4 ? 2 : 1, 1, 0};
    case Op::list_append:
    case Op::set_add:
    case Op::list_extend:
    case Op::set_update:
    case Op::dict_update:
    case Op::dict_merge:
      return {n + 1, n, 0};
    case Op::map_add:
      return {n + 2, n, 0};
    case Op::unpack_sequence:
      return {1, n, 0};
    case Op::unpack_ex:
      return {1, (n & 255) + 1 + (n >> 8), 0};
    case Op::jump_if_true:
    case Op::jump_if_false:
    case Op::jump_if_none:
    case Op::jump_if_not_none:
      return {1, 0, 0};
    case Op::jump_if_true_or_pop:
    case Op::jump_if_false_or_pop:
      return {1, 0, 1};
    case Op::for_iter:
      return {1, 2, 0};
    case Op::call:
      return {n + 2, 1, 0};
    case Op::call_function_ex:
      return {3 + (n & 1), 1, 0};
    case Op::make_function:
      return {1 + std::popcount(static_cast<unsigned>(n)), 1, 0};
    case Op::raise_varargs:
      return {n, 0, 0};
    case Op::reraise:
      return {1, 0, 0};
    default:
      return {};
  }
}

}  // namespace sconce::python::capture
