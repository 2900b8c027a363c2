#include "sconce/serialization/code/code_printer.h"

#include <tuple>

#include "sconce/serialization/code/class_printer.h"
#include "sconce/serialization/code/function_printer.h"

namespace sconce {
namespace {

struct File {
  std::string qualifier;
  NameTable names;
  TaggedText text;
};

}  // namespace

PrintedCode print_code(const std::vector<TypePtr>& classes, const std::vector<ir::Function*>& functions) {
  CodeTables tables;
  tables.for_file = true;
  for (TypePtr type : classes) tables.type(type);
  for (ir::Function* f : functions) tables.function(*f);
  std::vector<std::unique_ptr<File>> files;
  std::unordered_map<std::string, File*> by_qualifier;
  // Printing finds more.
  for (size_t i = 0; i < tables.definitions().size(); ++i) {
    const CodeTables::Definition definition = tables.definitions()[i];
    const size_t dot = definition.name.rfind('.');
    SCONCE_CHECK(dot != std::string::npos && definition.name.starts_with("__torch__."),
                 "'{}' is no name for a definition of an archive: it must begin with '__torch__.'", definition.name);
    const std::string qualifier = definition.name.substr(0, dot), name = definition.name.substr(dot + 1);
    File*& file = by_qualifier[qualifier];
    if (!file) {
      files.push_back(std::make_unique<File>());
      file = files.back().get();
      file->qualifier = qualifier;
    }
    file->text.set_range(file->text.last_range());
    if (const auto* type = std::get_if<TypePtr>(&definition.what)) {
      file->text.add(print_class(*type, name, tables, file->names));
    } else {
      file->text.add(FunctionPrinter(tables, file->names, 0).print(*std::get<ir::Function*>(definition.what), name));
    }
  }
  PrintedCode code;
  for (const auto& file : files) {
    PrintedFile& printed = code.files.emplace_back();
    printed.qualifier = std::move(file->qualifier);
    std::tie(printed.text, printed.ranges) = std::move(file->text).take();
    std::erase_if(printed.ranges, [](const PrintedRange& r) { return !r.range; });
  }
  code.constants = tables.take_constants();
  code.version = tables.version();
  return code;
}

std::string print_function(ir::Function& function) {
  CodeTables tables;
  NameTable names;
  return FunctionPrinter(tables, names, 0).print(function, function.short_name()).text();
}

}  // namespace sconce
