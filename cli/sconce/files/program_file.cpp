#include "files/program_file.h"

#include <fmt/format.h>

#include "commands/commands.h"
#include "sconce/types/class_info.h"
#include "text/call_text.h"

namespace sconce::cli {
namespace {

script::ProgramOptions options_for(const std::string& path) {
  script::ProgramOptions options;
  options.name = source_name(path);
  options.compile_all = false;
  return options;
}

// What the language knows by name, or needs no code for.
bool is_known_module(std::string_view path) {
  const std::string_view root = path.substr(0, path.find('.'));
  for (const char* known : {"torch", "typing", "typing_extensions", "math", "cmath", "enum", "collections",
                            "dataclasses", "abc", "functools", "__future__", "warnings"}) {
    if (root == known) return true;
  }
  return false;
}

}  // namespace

ProgramFile::ProgramFile(const std::string& path) : ProgramFile(path, read_text(path)) {}
ProgramFile::ProgramFile(const std::string& path, const std::string& text)
    : path_(path),
      tree_(syntax::parse(std::make_shared<Source>(source_name(path), text))),
      program_(text, options_for(path)) {}

std::vector<NamedFunction> ProgramFile::functions() {
  std::vector<NamedFunction> out;
  const auto add = [&](std::string name, ir::Function* f) {
    NamedFunction& named = out.emplace_back();
    named.name = std::move(name);
    try {
      f->ensure_defined();
      named.function = f;
    } catch (const CompileError& e) {
      named.error = e.reason();
      named.message = e.message();
    }
  };
  for (syntax::StmtPtr s : tree_->body) {
    if (const auto* def = syntax::as<syntax::FunctionDef>(s)) {
      if (ir::Function* f = program_.find_function(def->name)) add(def->name, f);
    } else if (const auto* c = syntax::as<syntax::ClassDef>(s)) {
      const TypePtr type = program_.find_class(c->name);
      if (!type || !type->class_info()) continue;
      for (const auto& [name, method] : type->class_info()->methods) add(c->name + "." + name, method);
    }
  }
  return out;
}

std::vector<std::string> ProgramFile::skipped_imports() const {
  std::vector<std::string> out;
  for (syntax::StmtPtr s : tree_->body) {
    const auto* import = syntax::as<syntax::Import>(s);
    if (!import) continue;
    const auto add = [&](const std::string& module) {
      if (!is_known_module(module))
        out.push_back(fmt::format("{}:{}: the import of {}", source_name(path_), import->range.line(), module));
    };
    if (!import->module.empty()) {
      add(import->module);
    } else {
      for (const syntax::Import::Alias& alias : import->names) add(alias.name);
    }
  }
  return out;
}

std::vector<std::string> ProgramFile::modules() {
  std::vector<std::string> out;
  for (syntax::StmtPtr s : tree_->body) {
    const auto* c = syntax::as<syntax::ClassDef>(s);
    if (c && !program_.find_class(c->name)) out.push_back(c->name);
  }
  return out;
}

ir::Function& ProgramFile::function(const std::string& name) {
  ir::Function* found = program_.find_function(name);
  const size_t dot = name.find('.');
  if (!found && dot != name.npos) {
    const TypePtr type = program_.find_class(name.substr(0, dot));
    if (type && type->class_info()) found = type->class_info()->find_method(name.substr(dot + 1));
  }
  if (!found) throw UsageError(fmt::format("there is no function '{}' in {}", name, path_));
  found->ensure_defined();
  return *found;
}

Value ProgramFile::build(const std::string& call) {
  const CallText made = split_call(call);
  bool found = false;
  for (const std::string& name : modules()) found |= name == made.callee;
  if (!found) throw UsageError(fmt::format("there is no module class '{}' in {}", made.callee, path_));
  const CallValues values = evaluate_arguments(program_, made, "--module");
  return program_.build_module(made.callee, values.args, values.kwargs);
}

std::vector<NamedFunction> ProgramFile::methods(const Value& module) {
  std::vector<NamedFunction> out;
  for (const auto& [name, method] : module.to_object().type()->class_info()->methods)
    out.push_back({name, method, "", ""});
  return out;
}

}  // namespace sconce::cli
