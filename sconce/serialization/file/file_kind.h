// File type detection: finds the kind of a file by its content, not by its name.
#pragma once

#include <string>

#include "sconce/serialization/file/file_bytes.h"

namespace sconce {

enum class FileKind : uint8_t {
  unknown,
  torchscript,        // .pt, with or without bytecode
  lite,               // .ptl, with bytecode and without code (torch writes both: that is a TorchScript archive)
  exported_program,   // .pt2
  compiled,           // .scx: calls recorded by `sconce compile`
  package,            // of torch.package: pickles, Python source, TorchScript modules
  state_dict,         // .pth: torch.save of any value
  legacy_state_dict,  // the same, not in a zip file
  safetensors,
  npy,
  npz,
  png,
  jpeg,
  wav,
  text,  // program text, graph text
};

// Looks at the first bytes, and into the directory of a zip file. Throws Error for a zip file that is broken.
SCONCE_API FileKind kind_of(const FileBytesPtr& file);
// "TorchScript archive", "safetensors file", ...
SCONCE_API const char* kind_name(FileKind kind);
// For a file of a kind that holds no program: what to do to get one; empty, or "; " and a sentence.
SCONCE_API const char* program_hint(FileKind kind);

}  // namespace sconce
