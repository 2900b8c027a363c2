#include "capture/bytecode/opcodes.h"

#include <cstring>
#include <memory>

namespace sconce::python::capture {

namespace {

constexpr int kNo = -1;  // the version has no such opcode

struct Row {
  const char* name;
  Op op;
  Form form;
  int8_t caches[3];  // in 3.11, 3.12, 3.13
};

// One row for each opcode of each version. Numbers are not written here: the interpreter tells them.
constexpr Row kRows[] = {
    {"CACHE", Op::nop, Form::ignored, {0, 0, 0}},
    {"EXTENDED_ARG", Op::nop, Form::extended, {0, 0, 0}},
    {"NOP", Op::nop, Form::same, {0, 0, 0}},
    {"RESUME", Op::resume, Form::same, {0, 0, 0}},
    {"PUSH_NULL", Op::push_null, Form::same, {0, 0, 0}},
    {"POP_TOP", Op::pop_top, Form::same, {0, 0, 0}},
    {"COPY", Op::copy, Form::same, {0, 0, 0}},
    {"SWAP", Op::swap, Form::same, {0, 0, 0}},

    {"LOAD_CONST", Op::load_const, Form::same, {0, 0, 0}},
    {"LOAD_FAST", Op::load_fast, Form::closure_or_local, {0, 0, 0}},
    {"LOAD_FAST_CHECK", Op::load_fast_check, Form::same, {kNo, 0, 0}},
    {"LOAD_FAST_AND_CLEAR", Op::load_fast_and_clear, Form::same, {kNo, 0, 0}},
    {"LOAD_FAST_LOAD_FAST", Op::load_fast, Form::load_load, {kNo, kNo, 0}},
    {"STORE_FAST", Op::store_fast, Form::same, {0, 0, 0}},
    {"STORE_FAST_LOAD_FAST", Op::store_fast, Form::store_load, {kNo, kNo, 0}},
    {"STORE_FAST_STORE_FAST", Op::store_fast, Form::store_store, {kNo, kNo, 0}},
    {"DELETE_FAST", Op::delete_fast, Form::same, {0, 0, 0}},
    {"LOAD_GLOBAL", Op::load_global, Form::global, {5, 4, 4}},
    {"STORE_GLOBAL", Op::store_global, Form::same, {0, 0, 0}},
    {"DELETE_GLOBAL", Op::delete_global, Form::same, {0, 0, 0}},
    {"LOAD_NAME", Op::load_name, Form::same, {0, 0, 0}},
    {"STORE_NAME", Op::store_name, Form::same, {0, 0, 0}},
    {"DELETE_NAME", Op::delete_name, Form::same, {0, 0, 0}},
    {"LOAD_LOCALS", Op::load_locals, Form::same, {kNo, 0, 0}},
    {"LOAD_CLOSURE", Op::load_closure, Form::same, {0, 0, kNo}},
    {"LOAD_DEREF", Op::load_deref, Form::same, {0, 0, 0}},
    {"STORE_DEREF", Op::store_deref, Form::same, {0, 0, 0}},
    {"DELETE_DEREF", Op::delete_deref, Form::same, {0, 0, 0}},
    {"LOAD_CLASSDEREF", Op::load_class_deref, Form::same, {0, kNo, kNo}},
    {"LOAD_FROM_DICT_OR_DEREF", Op::load_from_dict_or_deref, Form::same, {kNo, 0, 0}},
    {"LOAD_FROM_DICT_OR_GLOBALS", Op::load_from_dict_or_globals, Form::same, {kNo, 0, 0}},
    {"MAKE_CELL", Op::make_cell, Form::same, {0, 0, 0}},
    {"COPY_FREE_VARS", Op::copy_free_vars, Form::same, {0, 0, 0}},
    {"LOAD_ATTR", Op::load_attr, Form::attribute, {4, 9, 9}},
    {"LOAD_METHOD", Op::load_method, Form::same, {10, kNo, kNo}},
    {"STORE_ATTR", Op::store_attr, Form::same, {4, 4, 4}},
    {"DELETE_ATTR", Op::delete_attr, Form::same, {0, 0, 0}},
    {"LOAD_SUPER_ATTR", Op::load_super_attr, Form::super_attribute, {kNo, 1, 1}},
    {"LOAD_BUILD_CLASS", Op::load_build_class, Form::same, {0, 0, 0}},
    {"LOAD_ASSERTION_ERROR", Op::load_assertion_error, Form::same, {0, 0, 0}},

    {"UNARY_POSITIVE", Op::unary_positive, Form::same, {0, kNo, kNo}},
    {"UNARY_NEGATIVE", Op::unary_negative, Form::same, {0, 0, 0}},
    {"UNARY_NOT", Op::unary_not, Form::same, {0, 0, 0}},
    {"UNARY_INVERT", Op::unary_invert, Form::same, {0, 0, 0}},
    {"TO_BOOL", Op::to_bool, Form::same, {kNo, kNo, 3}},
    {"BINARY_OP", Op::binary_op, Form::same, {1, 1, 1}},
    {"COMPARE_OP", Op::compare, Form::compare, {2, 1, 1}},
    {"IS_OP", Op::is_op, Form::same, {0, 0, 0}},
    {"CONTAINS_OP", Op::contains_op, Form::same, {0, 0, 1}},
    {"BINARY_SUBSCR", Op::subscript, Form::same, {4, 1, 1}},
    {"STORE_SUBSCR", Op::store_subscript, Form::same, {1, 1, 1}},
    {"DELETE_SUBSCR", Op::delete_subscript, Form::same, {0, 0, 0}},
    {"BUILD_SLICE", Op::build_slice, Form::same, {0, 0, 0}},
    {"BINARY_SLICE", Op::subscript, Form::read_slice, {kNo, 0, 0}},
    {"STORE_SLICE", Op::store_subscript, Form::write_slice, {kNo, 0, 0}},

    {"BUILD_TUPLE", Op::build_tuple, Form::same, {0, 0, 0}},
    {"BUILD_LIST", Op::build_list, Form::same, {0, 0, 0}},
    {"BUILD_SET", Op::build_set, Form::same, {0, 0, 0}},
    {"BUILD_MAP", Op::build_map, Form::same, {0, 0, 0}},
    {"BUILD_CONST_KEY_MAP", Op::build_const_key_map, Form::same, {0, 0, 0}},
    {"BUILD_STRING", Op::build_string, Form::same, {0, 0, 0}},
    {"FORMAT_VALUE", Op::format_value, Form::same, {0, 0, kNo}},
    {"CONVERT_VALUE", Op::convert_value, Form::same, {kNo, kNo, 0}},
    {"FORMAT_SIMPLE", Op::format_value, Form::format_simple, {kNo, kNo, 0}},
    {"FORMAT_WITH_SPEC", Op::format_value, Form::format_with, {kNo, kNo, 0}},
    {"LIST_APPEND", Op::list_append, Form::same, {0, 0, 0}},
    {"SET_ADD", Op::set_add, Form::same, {0, 0, 0}},
    {"MAP_ADD", Op::map_add, Form::same, {0, 0, 0}},
    {"LIST_EXTEND", Op::list_extend, Form::same, {0, 0, 0}},
    {"SET_UPDATE", Op::set_update, Form::same, {0, 0, 0}},
    {"DICT_UPDATE", Op::dict_update, Form::same, {0, 0, 0}},
    {"DICT_MERGE", Op::dict_merge, Form::same, {0, 0, 0}},
    {"LIST_TO_TUPLE", Op::list_to_tuple, Form::same, {0, kNo, kNo}},
    {"UNPACK_SEQUENCE", Op::unpack_sequence, Form::same, {1, 1, 1}},
    {"UNPACK_EX", Op::unpack_ex, Form::same, {0, 0, 0}},
    {"GET_LEN", Op::get_len, Form::same, {0, 0, 0}},

    {"JUMP_FORWARD", Op::jump, Form::forward, {0, 0, 0}},
    {"JUMP_BACKWARD", Op::jump, Form::backward, {0, 0, 1}},
    {"JUMP_BACKWARD_NO_INTERRUPT", Op::jump, Form::backward, {0, 0, 0}},
    {"JUMP_IF_FALSE_OR_POP", Op::jump_if_false_or_pop, Form::forward, {0, kNo, kNo}},
    {"JUMP_IF_TRUE_OR_POP", Op::jump_if_true_or_pop, Form::forward, {0, kNo, kNo}},
    {"POP_JUMP_FORWARD_IF_FALSE", Op::jump_if_false, Form::forward, {0, kNo, kNo}},
    {"POP_JUMP_FORWARD_IF_TRUE", Op::jump_if_true, Form::forward, {0, kNo, kNo}},
    {"POP_JUMP_FORWARD_IF_NONE", Op::jump_if_none, Form::forward, {0, kNo, kNo}},
    {"POP_JUMP_FORWARD_IF_NOT_NONE", Op::jump_if_not_none, Form::forward, {0, kNo, kNo}},
    {"POP_JUMP_BACKWARD_IF_FALSE", Op::jump_if_false, Form::backward, {0, kNo, kNo}},
    {"POP_JUMP_BACKWARD_IF_TRUE", Op::jump_if_true, Form::backward, {0, kNo, kNo}},
    {"POP_JUMP_BACKWARD_IF_NONE", Op::jump_if_none, Form::backward, {0, kNo, kNo}},
    {"POP_JUMP_BACKWARD_IF_NOT_NONE", Op::jump_if_not_none, Form::backward, {0, kNo, kNo}},
    {"POP_JUMP_IF_FALSE", Op::jump_if_false, Form::forward, {kNo, 0, 1}},
    {"POP_JUMP_IF_TRUE", Op::jump_if_true, Form::forward, {kNo, 0, 1}},
    {"POP_JUMP_IF_NONE", Op::jump_if_none, Form::forward, {kNo, 0, 1}},
    {"POP_JUMP_IF_NOT_NONE", Op::jump_if_not_none, Form::forward, {kNo, 0, 1}},
    {"GET_ITER", Op::get_iter, Form::same, {0, 0, 0}},
    {"FOR_ITER", Op::for_iter, Form::loop, {0, 1, 1}},
    {"END_FOR", Op::end_for, Form::same, {kNo, 0, 0}},

    {"PRECALL", Op::nop, Form::ignored, {1, kNo, kNo}},
    {"KW_NAMES", Op::nop, Form::keyword_names, {0, 0, kNo}},
    {"CALL", Op::call, Form::same, {4, 3, 3}},
    {"CALL_KW", Op::call, Form::call_with_names, {kNo, kNo, 0}},
    {"CALL_FUNCTION_EX", Op::call_function_ex, Form::same, {0, 0, 0}},
    {"MAKE_FUNCTION", Op::make_function, Form::function, {0, 0, 0}},
    {"SET_FUNCTION_ATTRIBUTE", Op::make_function, Form::function_attribute, {kNo, kNo, 0}},
    {"RETURN_VALUE", Op::return_value, Form::same, {0, 0, 0}},
    {"RETURN_CONST", Op::return_value, Form::constant_return, {kNo, 0, 0}},

    {"RAISE_VARARGS", Op::raise_varargs, Form::same, {0, 0, 0}},
    {"RERAISE", Op::reraise, Form::same, {0, 0, 0}},
    {"PUSH_EXC_INFO", Op::push_exc_info, Form::same, {0, 0, 0}},
    {"POP_EXCEPT", Op::pop_except, Form::same, {0, 0, 0}},
    {"CHECK_EXC_MATCH", Op::check_exc_match, Form::same, {0, 0, 0}},
    {"CHECK_EG_MATCH", Op::check_eg_match, Form::same, {0, 0, 0}},
    {"PREP_RERAISE_STAR", Op::prep_reraise_star, Form::same, {0, kNo, kNo}},
    {"BEFORE_WITH", Op::before_with, Form::same, {0, 0, 0}},
    {"WITH_EXCEPT_START", Op::with_except_start, Form::same, {0, 0, 0}},

    {"RETURN_GENERATOR", Op::return_generator, Form::same, {0, 0, 0}},
    {"YIELD_VALUE", Op::yield_value, Form::same, {0, 0, 0}},
    {"SEND", Op::send, Form::forward, {0, 1, 1}},
    {"END_SEND", Op::end_send, Form::same, {kNo, 0, 0}},
    {"GET_YIELD_FROM_ITER", Op::get_yield_from_iter, Form::same, {0, 0, 0}},
    {"GET_AWAITABLE", Op::get_awaitable, Form::same, {0, 0, 0}},
    {"GET_AITER", Op::get_aiter, Form::same, {0, 0, 0}},
    {"GET_ANEXT", Op::get_anext, Form::same, {0, 0, 0}},
    {"BEFORE_ASYNC_WITH", Op::before_async_with, Form::same, {0, 0, 0}},
    {"END_ASYNC_FOR", Op::end_async_for, Form::same, {0, 0, 0}},
    {"ASYNC_GEN_WRAP", Op::async_gen_wrap, Form::same, {0, kNo, kNo}},
    {"CLEANUP_THROW", Op::cleanup_throw, Form::same, {kNo, 0, 0}},

    {"IMPORT_NAME", Op::import_name, Form::same, {0, 0, 0}},
    {"IMPORT_FROM", Op::import_from, Form::same, {0, 0, 0}},
    {"IMPORT_STAR", Op::import_star, Form::same, {0, kNo, kNo}},
    {"MATCH_CLASS", Op::match_class, Form::same, {0, 0, 0}},
    {"MATCH_KEYS", Op::match_keys, Form::same, {0, 0, 0}},
    {"MATCH_MAPPING", Op::match_mapping, Form::same, {0, 0, 0}},
    {"MATCH_SEQUENCE", Op::match_sequence, Form::same, {0, 0, 0}},
    {"SETUP_ANNOTATIONS", Op::setup_annotations, Form::same, {0, 0, 0}},
    {"PRINT_EXPR", Op::print_expr, Form::same, {0, kNo, kNo}},
    {"CALL_INTRINSIC_1", Op::intrinsic, Form::intrinsic_1, {kNo, 0, 0}},
    {"CALL_INTRINSIC_2", Op::intrinsic, Form::intrinsic_2, {kNo, 0, 0}},
};

constexpr const char* kOpNames[] = {
    "nop", "resume", "push_null", "pop_top", "copy", "swap",
    // Names.
    "load_const", "load_fast", "load_fast_check", "load_fast_and_clear", "store_fast", "delete_fast", "load_global",
    "store_global", "delete_global", "load_name", "store_name", "delete_name", "load_locals", "load_closure",
    "load_deref", "store_deref", "delete_deref", "load_class_deref", "load_from_dict_or_deref",
    "load_from_dict_or_globals", "make_cell", "copy_free_vars", "load_attr", "load_method", "store_attr", "delete_attr",
    "load_super_attr", "load_super_method", "load_build_class", "load_assertion_error",
    // Operators.
    "unary_positive", "unary_negative", "unary_not", "unary_invert", "to_bool", "binary_op", "compare", "is_op",
    "contains_op", "subscript", "store_subscript", "delete_subscript", "build_slice",
    // Containers and texts.
    "build_tuple", "build_list", "build_set", "build_map", "build_const_key_map", "build_string", "format_value",
    "convert_value", "list_append", "set_add", "map_add", "list_extend", "set_update", "dict_update", "dict_merge",
    "list_to_tuple", "unpack_sequence", "unpack_ex", "get_len",
    // Jumps.
    "jump", "jump_if_true", "jump_if_false", "jump_if_none", "jump_if_not_none", "jump_if_true_or_pop",
    "jump_if_false_or_pop", "get_iter", "for_iter", "end_for",
    // Calls.
    "call", "call_function_ex", "make_function", "return_value",
    // Exceptions and contexts.
    "raise_varargs", "reraise", "push_exc_info", "pop_except", "check_exc_match", "check_eg_match", "prep_reraise_star",
    "before_with", "with_except_start",
    // Generators and coroutines.
    "return_generator", "yield_value", "send", "end_send", "get_yield_from_iter", "get_awaitable", "get_aiter",
    "get_anext", "before_async_with", "end_async_for", "async_gen_wrap", "cleanup_throw", "stop_iteration_error",
    // Imports, patterns, rest.
    "import_name", "import_from", "import_star", "match_class", "match_keys", "match_mapping", "match_sequence",
    "setup_annotations", "print_expr", "intrinsic", "unknown"};
static_assert(std::size(kOpNames) == static_cast<size_t>(Op::unknown) + 1);

constexpr int kVersion = PY_MINOR_VERSION - 11;
static_assert(kVersion >= 0 && kVersion < 3, "bytecode of this Python is not known");

[[noreturn]] void disagree(const char* name, const char* what) {
  PyErr_Format(PyExc_ImportError, "opcode %s of this interpreter %s: sconce was built for another version", name, what);
  throw PythonError();
}

// Units of cache behind an opcode, as the interpreter tells.
long caches_of(PyObject* entries, PyObject* name, PyObject* number) {
  Owned found;
  if (PyDict_Check(entries)) {  // 3.13: by name, those that have some
    PyObject* count = PyDict_GetItemWithError(entries, name);
    return count ? PyLong_AsLong(count) : 0;
  }
  found = Owned::take(PyObject_GetItem(entries, number));
  return PyLong_AsLong(found.get());
}

Opcodes read() {
  Opcodes made;
  made.by_op.fill(-1);
  const Owned module = Owned::take(PyImport_ImportModule("opcode"));
  const Owned map = Owned::take(PyObject_GetAttrString(module.get(), "opmap"));
  const Owned caches = Owned::take(PyObject_GetAttrString(module.get(), "_inline_cache_entries"));
  for (const Row& row : kRows) {
    const bool ours = row.caches[kVersion] != kNo;
    const Owned name = text(row.name);
    PyObject* number = PyDict_GetItemWithError(map.get(), name.get());
    const long n = number ? PyLong_AsLong(number) : -1;
    const bool theirs = n >= 0 && n < 256;  // above: words of the compiler that no code object holds
    if (!ours && !theirs) continue;
    if (ours != theirs) disagree(row.name, ours ? "is missing" : "is new");
    if (caches_of(caches.get(), name.get(), number) != row.caches[kVersion]) disagree(row.name, "has other caches");
    made.by_number[static_cast<size_t>(n)] = {row.name, row.op, row.form, static_cast<uint8_t>(row.caches[kVersion])};
    if (row.form == Form::same) made.by_op[static_cast<size_t>(row.op)] = static_cast<int16_t>(n);
  }
  return made;
}

}  // namespace

uint8_t Opcodes::number(const char* name) const {
  for (size_t i = 0; i < by_number.size(); ++i)
    if (by_number[i].name && std::strcmp(by_number[i].name, name) == 0) return static_cast<uint8_t>(i);
  PyErr_Format(PyExc_ValueError, "this version of Python has no instruction %s", name);
  throw PythonError();
}

const Opcodes& opcodes() {
  static std::unique_ptr<const Opcodes> read_once;  // under the lock of Python; an error leaves it for the next call
  if (!read_once) read_once = std::make_unique<Opcodes>(read());
  return *read_once;
}

const char* op_name(Op op) { return kOpNames[static_cast<size_t>(op)]; }

}  // namespace sconce::python::capture
