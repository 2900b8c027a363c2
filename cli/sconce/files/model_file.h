// A program that a command loads and calls: a TorchScript archive (.pt), a lite archive (.ptl), an exported program
// (.pt2), a compiled file (.scx), or program text with functions and modules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sconce/api/jit.h"
#include "sconce/serialization/archive/archive.h"
#include "sconce/serialization/file/file_kind.h"
#include "text/options.h"

namespace sconce::cli {

class ProgramFile;

struct ModelOptions {
  std::string file;
  std::string module;                  // of program text: "Net", "Net(4, bias=False)"
  std::vector<std::string> libraries;  // --ops
  std::optional<uint64_t> seed;        // before anything is built or read
  bool lite = false;                   // bytecode rather than code, where an archive has both
  int8_t device_index = -1;            // of a compiled file for a device: which one
};
// FILE, --module, --ops, --seed and --lite; FILE is required.
void add_model_options(App command, ModelOptions& options);
// --ops alone.
void add_ops_option(App command, std::vector<std::string>& libraries);
// Loads libraries of custom operators. Throws Error naming the one that cannot be loaded.
void load_libraries(const std::vector<std::string>& libraries);

// The module in a .pt, .ptl, .pt2 or .scx file; `lite` and `device_index` as above. Throws Error.
Archive load_program(const FileBytesPtr& file, FileKind kind, bool lite = false, int8_t device_index = -1);

class ModelFile {
 public:
  // Loads the libraries, then the file. Throws Error; UsageError when the file holds no program.
  explicit ModelFile(const ModelOptions& options);
  // Of program text that was read already.
  ModelFile(const ModelOptions& options, const std::string& text);
  ~ModelFile();

  const std::string& file() const { return file_; }
  FileKind kind() const { return kind_; }
  // Of a compiled file: where it was put.
  Device device() const { return device_; }
  // Empty for program text without --module.
  const std::optional<jit::Module>& module() const { return module_; }
  const jit::UnitPtr& unit() const { return unit_; }
  const jit::ExtraFiles& extra_files() const { return extra_files_; }
  // Null unless the file is program text.
  ProgramFile* program() const { return program_.get(); }

  // What can be called: the module's methods, or the text's functions.
  std::vector<std::string> method_names() const;
  // By name; an empty one is forward, or the only function. Throws UsageError when there is none.
  jit::Function method(const std::string& name) const;
  // Calls it, in inference mode unless the program runs backward itself. Of a module, forward runs the module's hooks,
  // too. Throws what the program throws.
  Value call(const std::string& name, std::vector<Value> args, jit::NamedValues kwargs) const;

 private:
  void load(const ModelOptions& options);
  void load_text(const std::string& text, const ModelOptions& options);

  std::string file_;
  FileKind kind_ = FileKind::unknown;
  Device device_;
  jit::UnitPtr unit_;
  std::optional<jit::Module> module_;
  jit::ExtraFiles extra_files_;
  std::unique_ptr<ProgramFile> program_;
  std::vector<std::string> function_names_;         // of text
  mutable std::optional<bool> asks_for_gradients_;  // known at the first call
};

}  // namespace sconce::cli
