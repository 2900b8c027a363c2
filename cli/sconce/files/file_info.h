// What a file holds: the facts that `sconce info` shows. Gathered without running anything of the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graphs/operator_uses.h"
#include "sconce/serialization/file/file_kind.h"
#include "sconce/tensor/dtype.h"

namespace sconce::cli {

struct TensorInfo {
  std::string name;
  std::string role;  // "parameter", "buffer"; empty in files of tensors
  DType dtype = DType::float32;
  std::vector<int64_t> shape;
  uint64_t elements = 0, bytes = 0;
};

struct ModuleInfo {
  std::string path;         // "layers.0"; empty for the module itself
  std::string type;         // "__torch__.torch.nn.modules.linear.Linear"
  uint64_t parameters = 0;  // elements, with what is below it
};

struct RecordInfo {
  std::string name;
  uint64_t size = 0, stored_size = 0;
};

struct FileInfo {
  std::string path;
  FileKind kind = FileKind::unknown;
  uint64_t bytes = 0;
  std::optional<int> version;  // of archives
  bool has_bytecode = false;   // of TorchScript archives: for the lite interpreter
  std::string details;         // of pictures and sound: "3 x 480 x 640"
  std::string root;            // the class of the module
  bool training = false;
  std::vector<std::string> methods;                              // signatures
  std::vector<ModuleInfo> modules;                               // itself first
  std::vector<TensorInfo> tensors;                               // each once, under its first name
  uint64_t other_names = 0;                                      // of tensors that are there already
  std::vector<OperatorUse> operators;                            // by name
  bool operators_from_text = false;                              // when the program could not be compiled
  std::vector<RecordInfo> records;                               // of zip files
  std::vector<std::pair<std::string, uint64_t>> extra_files;     // name, bytes
  std::map<std::string, std::string> metadata;                   // of safetensors
  std::vector<std::pair<std::string, std::string>> unsupported;  // tensors that Sconce cannot use: name, what it is
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;  // what else there is: a heading, lines
  std::vector<std::string> input_rules;  // of exported programs: what they ask of their inputs
  std::string problem;                   // why the program cannot be loaded; empty when it can

  std::vector<std::string> missing() const;  // operators that do not exist
};

// Throws Error when the file cannot be read at all.
FileInfo read_file_info(const std::string& path);

}  // namespace sconce::cli
