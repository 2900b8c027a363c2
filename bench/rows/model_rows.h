// Rows that load a program file ("load resnet18") and run it ("model resnet18"). They are listed in bench/models.json,
// which peer_worker.py reads, too:
//
//   {"model": name, "file": path from the repository's root, "args": [...]}
//
// with arguments as in family_rows.h. Files that are not there make no rows.
#pragma once

#include "bench/rows/rows.h"

namespace sconce::bench {

// Throws Error when the list cannot be read.
std::vector<Row> model_rows(const std::string& path, const std::string& root);

}  // namespace sconce::bench
