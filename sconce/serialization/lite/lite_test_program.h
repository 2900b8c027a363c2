// Test programs: bytecode as text.
#pragma once

#include <sstream>

#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/lite/lite_load.h"

namespace sconce::lite {

// Lines "STOREN 1 2" (numbers that are 0 may be left out), operators "aten::add.Tensor 2".
struct ProgramText {
  std::string instructions = {};
  std::vector<std::string> operators = {};
  std::vector<Value> constants = {};
  std::vector<std::string> types = {};
  int64_t registers = 4;
  size_t arguments = 1;  // with self
};

inline Method method_of(const ProgramText& p, const std::string& name = "__torch__.M.forward") {
  Method m;
  m.name = name;
  std::istringstream lines(p.instructions);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string op;
    int32_t x = 0;
    uint16_t n = 0;
    if (!(words >> op)) continue;
    words >> x >> n;
    m.instructions.push_back({opcode_by_name(op).value(), x, n});
  }
  for (const std::string& o : p.operators) {
    std::istringstream words(o);
    std::string qualified;
    words >> qualified;
    OperatorRow row{qualified.substr(0, qualified.find('.')), "", {}};
    if (qualified.find('.') != qualified.npos) row.overload = qualified.substr(qualified.find('.') + 1);
    if (int64_t specified = 0; words >> specified) row.specified = specified;
    m.operators.push_back(row);
  }
  m.constants = p.constants;
  m.types = p.types;
  m.registers = p.registers;
  for (size_t i = 0; i < p.arguments; ++i) m.arguments.push_back({"a" + std::to_string(i), "Any", {}});
  m.returns.push_back({"", "Any", {}});
  return m;
}

// A file with such methods, and objects of its classes.
class TestFile {
 public:
  ir::CompilationUnit unit;
  Types types{unit, "test.ptl"};

  void define(std::vector<Method> methods, int archive_version = 10) {
    Tables tables;
    tables.version = kNewestBytecode;
    tables.methods = std::move(methods);
    define_methods(tables, archive_version, "test.ptl", unit, types, nullptr);
  }
  Value object(const std::string& class_name) { return make_ref<Object>(types.find_class(class_name)); }
  Value call(const std::string& method, std::vector<Value> args, const runtime::RunOptions& options = {}) {
    args.insert(args.begin(), object(method.substr(0, method.rfind('.'))));
    return runtime::run(*unit.find_function(method), args, options);
  }
};

// Runs one method with arguments after self.
inline Value run_program(const ProgramText& p, std::vector<Value> args = {}, const runtime::RunOptions& options = {}) {
  TestFile file;
  file.define({method_of(p)});
  return file.call("__torch__.M.forward", std::move(args), options);
}

}  // namespace sconce::lite
