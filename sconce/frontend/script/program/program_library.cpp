// The library's classes and functions as definitions of a program: modules of torch.nn, torch.nn.init, ...
#include <map>

#include "sconce/frontend/script/program/program_state.h"
#include "sconce/frontend/script/program/script_library.h"

namespace sconce::script {
namespace {

constexpr std::string_view kModules = "torch/nn/modules/";

// "torch.nn.modules.linear" for torch/nn/modules/linear.py; all files of torch/nn/functional/ are one module.
std::string python_module(std::string_view path) {
  std::string name(path.substr(0, path.size() - 3));
  for (char& c : name) c = c == '/' ? '.' : c;
  if (name.starts_with("torch.nn.functional.")) return "torch.nn.functional";
  return name;
}

// Names at the left margin behind `class ` and `def `: the definitions of a file, without parsing it.
void each_definition(std::string_view text, const std::function<void(std::string_view)>& found) {
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    for (const std::string_view keyword : {"class ", "def "}) {
      if (!line.starts_with(keyword)) continue;
      const std::string_view name = line.substr(keyword.size());
      found(name.substr(0, name.find_first_of("(: ")));
    }
    start = end + 1;
  }
}

// Where a Python path of the library is defined: "torch.nn.Linear" and "torch.nn.modules.linear.Linear" -> its file.
const std::map<std::string, const LibrarySource*, std::less<>>& index() {
  static const auto made = [] {
    std::map<std::string, const LibrarySource*, std::less<>> files;
    for (const LibrarySource& source : library_sources()) {
      const std::string module = python_module(source.path);
      each_definition(source.text(), [&](std::string_view name) {
        files.emplace(module + "." + std::string(name), &source);
        if (!source.path.starts_with(kModules)) return;
        files.emplace("torch.nn." + std::string(name), &source);
        files.emplace("torch.nn.modules." + std::string(name), &source);
      });
    }
    return files;
  }();
  return made;
}

}  // namespace

Definition* ProgramState::library_definition(std::string_view path) {
  const auto found = index().find(path);
  if (found == index().end()) return nullptr;
  const LibrarySource& source = *found->second;
  Scope*& scope = library_[source.path];
  if (!scope) {
    scope = &add_scope("__torch__." + python_module(source.path), syntax::Dialect::python);
    scope->is_library = true;
    const auto text = std::make_shared<Source>(std::string(source.path), source.text());
    scope->add(syntax::parse(text, syntax::Dialect::python));
  }
  return scope->find(path.substr(path.rfind('.') + 1));
}

}  // namespace sconce::script
