#include "files/model_file.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command_limits.h"
#include "commands/commands.h"
#include "files/program_file.h"
#include "sconce/api/asks_for_gradients.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/library.h"
#include "sconce/dispatch/registry.h"
#include "sconce/executor/graph_backend.h"
#include "sconce/serialization/archive/package.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/serialization/exported/exported_program.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/file/stray_text.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::cli {

void add_ops_option(App command, std::vector<std::string>& libraries) {
  command.add_option("--ops", libraries, "Loads this library of custom operators first; repeatable")
      .type_name("LIB.so")
      .allow_extra_args(false);
}

void add_model_options(App command, ModelOptions& o) {
  command
      .add_option("FILE", o.file,
                  "The program: .pt, .ptl, .pt2, .scx, or its text (- reads the text from standard input)")
      .required()
      .type_name("");
  command
      .add_option("--module", o.module,
                  "Of program text: builds this module, by its name or as a call of its constructor")
      .type_name("CLASS");
  command.add_option("--seed", o.seed, "Seed of random numbers, as torch.manual_seed").type_name("N");
  command.add_flag("--lite", o.lite, "Takes the bytecode of an archive that has code, too");
  add_ops_option(command, o.libraries);
}

Archive load_program(const FileBytesPtr& file, FileKind kind, bool lite, int8_t device_index) {
  if (lite && kind == FileKind::torchscript && !has_bytecode(Records(file)))
    throw UsageError(fmt::format("{}: --lite: the archive has no bytecode; sconce convert {} FILE.ptl writes some",
                                 file->name(), file->name()));
  if (lite && (kind == FileKind::exported_program || kind == FileKind::compiled))
    throw UsageError(fmt::format("{}: --lite: {} {} has no bytecode", file->name(),
                                 kind == FileKind::compiled ? "a" : "an", kind_name(kind)));
  LoadOptions options = load_options();
  options.device_index = device_index;
  if (lite || kind == FileKind::lite) return load_lite_archive(file, options);
  if (kind == FileKind::compiled) return load_compiled(file, options);
  if (kind == FileKind::package) return load_package(file, {}, options);
  return kind == FileKind::exported_program ? load_exported_program(file, options) : load_archive(file, options);
}

void load_libraries(const std::vector<std::string>& libraries) {
  for (const std::string& path : libraries) {
    const auto registered = [] {
      return all_ops().size() + custom_class_names().size() + executor::list_backends().size();
    };
    const size_t before = registered();
    // A bare name would be looked for in the system's folders; here it is a file of this one.
    load_library(path.find('/') == path.npos ? fmt::format("./{}", path) : path);
    if (registered() == before)
      fmt::print(stderr, "sconce: {}: the library registers no operators, classes or backends\n", path);
  }
}

ModelFile::ModelFile(const ModelOptions& options) : file_(options.file) {
  load_libraries(options.libraries);
  if (options.seed) manual_seed(*options.seed);
  load(options);
}
ModelFile::ModelFile(const ModelOptions& options, const std::string& text)
    : file_(options.file), kind_(FileKind::text) {
  load_libraries(options.libraries);
  if (options.seed) manual_seed(*options.seed);
  load_text(text, options);
}
ModelFile::~ModelFile() = default;

void ModelFile::load(const ModelOptions& options) {
  if (file_ == "-") {
    kind_ = FileKind::text;
    return load_text(read_text(file_), options);
  }
  const FileBytesPtr bytes = open_file(file_);
  kind_ = kind_of(bytes);
  switch (kind_) {
    case FileKind::text:
      check_is_program_text(bytes);
      return load_text(std::string(reinterpret_cast<const char*>(bytes->bytes().data()), bytes->bytes().size()),
                       options);
    case FileKind::torchscript:
    case FileKind::lite:
    case FileKind::exported_program:
    case FileKind::compiled:
      if (!options.module.empty())
        throw UsageError(fmt::format("--module builds a module of program text; {} is a {}", file_, kind_name(kind_)));
      {
        Archive archive = load_program(bytes, kind_, options.lite, options.device_index);
        device_ = archive.device;
        unit_ = std::move(archive.unit);
        module_.emplace(unit_, std::move(archive.module));
        extra_files_ = std::move(archive.extra_files);
      }
      return;
    case FileKind::package: {  // --module chooses one of several
      Archive archive = load_package(bytes, options.module, load_options());
      unit_ = std::move(archive.unit);
      module_.emplace(unit_, std::move(archive.module));
      return;
    }
    default:
      fail("{}: there is no program in a file of this kind ({}){}", file_, kind_name(kind_), program_hint(kind_));
  }
}

void ModelFile::load_text(const std::string& text, const ModelOptions& options) {
  if (options.lite) throw UsageError(fmt::format("{}: --lite: program text has no bytecode", file_));
  program_ = std::make_unique<ProgramFile>(file_, text);
  function_names_ = program_->program().function_names();  // now: values of inputs are functions that are added later
  unit_ = program_->program().shared_unit();
  if (!options.module.empty()) module_.emplace(unit_, program_->build(options.module));
}

std::vector<std::string> ModelFile::method_names() const { return module_ ? module_->method_names() : function_names_; }

jit::Function ModelFile::method(const std::string& name) const {
  const std::vector<std::string> names = method_names();
  const auto has = [&](const std::string& n) { return std::find(names.begin(), names.end(), n) != names.end(); };
  const std::string wanted = !name.empty() ? name : has("forward") ? "forward" : names.size() == 1 ? names[0] : "";
  if (has(wanted)) {
    if (module_) return module_->method(wanted);
    return jit::Function(unit_, &program_->function(wanted));
  }
  const std::string known = names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "));
  const std::string modules = module_ || program_->modules().empty()
                                  ? ""
                                  : fmt::format(" (--module builds {})", fmt::join(program_->modules(), " or "));
  if (wanted.empty()) throw UsageError(fmt::format("{}: --method must say what to call: {}{}", file_, known, modules));
  throw UsageError(fmt::format("{}: there is no method '{}': {}{}", file_, wanted, known, modules));
}

Value ModelFile::call(const std::string& name, std::vector<Value> args, jit::NamedValues kwargs) const {
  const jit::Function function = method(name);
  if (!asks_for_gradients_) asks_for_gradients_ = jit::asks_for_gradients(function);
  std::optional<InferenceMode> mode;
  if (!*asks_for_gradients_) mode.emplace();
  if (module_ && function.name() == "forward") return module_->call(std::move(args), std::move(kwargs));
  return function.call(std::move(args), std::move(kwargs));
}

}  // namespace sconce::cli
