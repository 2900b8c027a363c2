// Lists, dicts and tuples as arrays of their items, in which a dict has keys and values in turn. A call each, where a
// function that makes or takes apart all kinds of them would hold the code of all.
#pragma once

#include <span>

#include "sconce/types/value.h"

namespace sconce {

Value new_list(TypePtr element);
Value new_dict(TypePtr key, TypePtr value);
// Of as many Nones, which its maker replaces.
Value new_tuple(size_t count, TypePtr named = nullptr);
Value new_object(TypePtr type);

// The items become None.
Value list_of(TypePtr element, std::span<Value> items);
Value dict_of(TypePtr key, TypePtr value, std::span<Value> items);

size_t item_count(const Value& container);
void copy_items(const Value& container, Value* to);  // which are Nones

}  // namespace sconce
