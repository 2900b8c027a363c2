// Slow paths of instructions on containers and objects.
#pragma once

#include "sconce/base/budget.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/value_types.h"

namespace sconce::runtime {

void make_tuple(Slot* base, const Instruction& i);
void make_list(Slot* base, const Instruction& i);
void make_dict(Slot* base, const Instruction& i);
void unpack_tuple(Slot* base, const Instruction& i);
void unpack_list(Slot* base, const Instruction& i);
void tuple_get(Slot* base, const Instruction& i);
// Before a value of about `count` items is made.
inline void charge_items(size_t count) { Budget::charge_memory(count, sizeof(Value)); }

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
