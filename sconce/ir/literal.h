// IR literals: constants as IR text writes them, 1, 2.5, "text", [1, 2], (1, None), {5}, __torch__.Color.RED.
#pragma once

#include <string>

#include "sconce/ir/text_cursor.h"
#include "sconce/types/value.h"

namespace sconce::ir {

// The text of an attribute's value. Bools are 1 and 0 at the top and True and False inside containers; a tensor of more
// than ten elements is "<Tensor>", which cannot be read back, and an object is "<C object>".
SCONCE_API std::string literal_text(const sconce::Value& v);
// The same without the difference at the top.
SCONCE_API std::string nested_literal_text(const sconce::Value& v);
// A string in double quotes, with C's escapes.
std::string quoted(std::string_view text);
std::string tensor_literal_text(const Tensor& t);

// Reads one. `type` says what an ambiguous text means (1 is True for bool, 1.0 for float, "cpu" is a Device); null:
// take it literally. Members of an enum that its type does not know yet are added to it.
sconce::Value read_literal(TextCursor& in, TypePtr type, const FindType& find);
// {5}, or " 1  2 [ CPULongType{2} ]". `dtype` of a 0-dim one comes from the type where it is refined.
Tensor read_tensor_literal(TextCursor& in, TypePtr type);
// A type: everything up to the first ',', ')', ']' or '=' outside of brackets.
TypePtr read_type(TextCursor& in, const FindType& find);

}  // namespace sconce::ir
