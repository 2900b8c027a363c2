// Digests of results: which bits every case had, written on one machine and compared on another.
#pragma once

#include <string>
#include <vector>

#include "sconce/testing/conformance/suite.h"

namespace sconce::cli {

// One line per case that passed: "ops/add.safetensors#3 90f2a61c0de3b577". Throws Error when the file cannot be written.
void write_bits(const std::vector<testing::FolderRecord>& folders, const std::string& path);

// Cases that passed with other bits than in such a file become failures, those of the operators in the list `may_differ`
// (a file, or empty) excepted; says how many had the same bits, and which operators had others. A case that the file
// lacks is not compared. Throws Error when a file cannot be read, or a line of it is no digest.
void compare_bits(std::vector<testing::FolderRecord>& folders, const std::string& path, const std::string& may_differ);

}  // namespace sconce::cli
