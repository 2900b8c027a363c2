// Rows that are one call of an operator each, at least one for every family, with the sizes of real models. They are
// listed in bench/families.json, which peer_worker.py reads, too:
//
//   {"row": name, "op": "aten::name.overload", "args": [...], keyword: value, "result"?: which result is compared}
//
// An argument is what it is in a conformance case, or a tensor made of the same numbers on both sides (inputs.h):
//   {"tensor": sizes, "low"?: -1, "high"?: 1, "dtype"?: "bfloat16", "format"?: "channels_last", "transpose"?: dims}
//   {"index": sizes, "below": n}  {"mask": sizes}  {"ramp": [n]}  {"gram": [..., n]}
#pragma once

#include "bench/rows/rows.h"

namespace sconce::bench {

// Throws Error when the file cannot be read. A row whose operator does not exist throws when it is made.
std::vector<Row> family_rows(const std::string& path);

}  // namespace sconce::bench
