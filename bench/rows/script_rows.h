// Rows that run scripts: the functions of bench/scripts.py with 1,000 turns each, its module, and 1,000 operators of
// the 200 kinds of bench/script_kinds.txt. Our frontend and torch.jit.script compile the same text.
#pragma once

#include "bench/rows/rows.h"

namespace sconce::bench {

// Throws Error when the files cannot be read. `folder` has scripts.py and script_kinds.txt.
std::vector<Row> script_rows(const std::string& folder);

}  // namespace sconce::bench
