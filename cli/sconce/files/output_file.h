// --out FILE: results to files.
#pragma once

#include <string>

#include "sconce/types/value.h"

namespace sconce::cli {

// By the name's ending: .npy (one tensor), .npz and .safetensors (every tensor in the value: "output", or keys and
// numbers of what holds it, with dots), .pth (the whole value, for torch.load), .json, .png (a picture). The file is
// written whole or not at all. Throws UsageError for another ending, Error when the value does not fit.
void write_output(const std::string& path, const Value& value);
// Throws UsageError when the ending is none of these: before a long run.
void check_output_path(const std::string& path);
// The endings: ".npy, .npz, ..."
std::string output_endings();

}  // namespace sconce::cli
