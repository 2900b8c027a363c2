#include "graphs/graph_source.h"

#include <cstring>

#include <fmt/format.h>

#include "command_limits.h"
#include "commands/commands.h"
#include "files/program_file.h"
#include "sconce/ir/graph_parser.h"
#include "sconce/serialization/file/file_bytes.h"

namespace sconce::cli {
namespace {

bool is_graph_text(std::string_view text) {
  while (true) {
    const size_t start = text.find_first_not_of(" \t\r\n");
    if (start == text.npos) return false;
    text.remove_prefix(start);
    if (text[0] != '#') return text.starts_with("graph(");
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

// A method of the module, or of one below it: "layer1.0.forward".
ir::Function& module_method(const jit::Module& module, const std::string& path, const std::string& file) {
  const size_t dot = path.rfind('.');
  const std::string name = dot == path.npos ? path : path.substr(dot + 1);
  const jit::Module owner = dot == path.npos ? module : module.submodule(path.substr(0, dot));
  if (!owner.has_method(name))
    throw UsageError(fmt::format("{}: {} has no method '{}'", file, owner.type_name(), name));
  return owner.method(name).function();
}

}  // namespace

GraphSource::GraphSource(const ModelOptions& options, const std::string& function) {
  load_libraries(options.libraries);
  std::string text;  // of standard input, which can be read only once
  if (options.file == "-" || kind_of(open_file(options.file)) == FileKind::text) {
    text = read_text(options.file);
    if (is_graph_text(text)) {
      if (!function.empty() || !options.module.empty())
        throw UsageError("--function and --module need program text, this is one graph");
      graphs_.push_back({"", ir::parse_graph(text), nullptr});
      return;
    }
  }
  model_ = options.file == "-" ? std::make_unique<ModelFile>(options, text) : std::make_unique<ModelFile>(options);
  if (const std::optional<jit::Module>& module = model_->module()) {
    if (!function.empty()) {
      add(module_method(*module, function, options.file));
    } else {
      for (const std::string& name : module->method_names()) add(module->method(name).function());
    }
  } else if (!function.empty()) {
    add(model_->program()->function(function));
  } else {
    const bool only_functions = model_->program()->modules().empty();
    for (const NamedFunction& f : model_->program()->functions()) {
      if (!f.function && only_functions) fail("{}", f.message);
      if (f.function) add(*f.function);
    }
  }
}

void GraphSource::add(ir::Function& f) {
  f.ensure_defined();
  graphs_.push_back({f.name(), f.graph(), &f});
}

}  // namespace sconce::cli
