// What instructions do with containers and objects when it is more than a few machine instructions.
#pragma once

#include "sconce/runtime/bytecode/code.h"

namespace sconce::runtime {

// Does a value have a type, judged by what it is at run time? Lists and dicts know their element types.
bool is_instance(const Value& v, TypePtr type);

// x.tolist() as the type that the program expects: nested lists as deep as the tensor, or a number.
Value tensor_to_list(const Tensor& t, TypePtr type);

void make_tuple(Slot* base, const Instruction& i);
void make_list(Slot* base, const Instruction& i);
void make_dict(Slot* base, const Instruction& i);
void unpack_tuple(Slot* base, const Instruction& i);
void unpack_list(Slot* base, const Instruction& i);
void tuple_get(Slot* base, const Instruction& i);
void str_concat(Slot* base, const Instruction& i);
void dict_get(Slot* base, const Instruction& i, bool word);
void dict_set(Slot* base, const Instruction& i);
void list_set_value(Slot* base, const Instruction& i);
void list_append_value(Slot* base, const Instruction& i);
void get_slot(Slot* base, const Instruction& i);
void set_slot(Slot* base, const Instruction& i);
void tolist_of(Slot* base, const Instruction& i);
void warn(const Value& message, BuildSite& site, const Site* place);

[[noreturn]] SCONCE_COLD void wrong_tag(Tag got, Tag wanted);
[[noreturn]] SCONCE_COLD void fail_list_index();
[[noreturn]] SCONCE_COLD void fail_storage(const List& list, std::string_view wanted);

}  // namespace sconce::runtime
