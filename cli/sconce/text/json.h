// Values as JSON: what --json prints.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sconce/types/value.h"
#include "text/options.h"

namespace sconce::cli {

// --json: the same words in every command.
void add_json_option(App command, bool& json);

// None, bools, ints, floats, strings, lists and tuples as JSON has them; dicts with string keys as objects, others as
// lists of pairs; floats that JSON cannot write as "nan", "inf", "-inf"; complex numbers as [real, imaginary]; a tensor
// as {"dtype": "float32", "shape": [2], "data": [1.0, 2.0]}; everything else as its repr.
nlohmann::ordered_json to_json(const Value& v);

// One line. Bytes that are no UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& json);
// The same, to standard output.
void print_json(const nlohmann::ordered_json& json);

}  // namespace sconce::cli
