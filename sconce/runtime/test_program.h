// Test programs, as IR text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sconce/ir/graph_parser.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/types/class_info.h"

namespace sconce::runtime {

// Gives `function` the graph of a text, and the schema that follows from it.
inline ir::Function& set_body(ir::Function& function, std::string_view text, const FindType& find = {}) {
  auto graph = ir::parse_graph(text, find);
  Schema schema;
  schema.name = function.name();
  for (const ir::Value* v : graph->inputs()) {
    Argument a;
    a.name = std::string(v->base_name());
    a.type = v->type();
    schema.arguments.push_back(std::move(a));
  }
  for (const ir::Value* v : graph->outputs()) {
    Argument a;
    a.type = v->type();
    schema.returns.push_back(std::move(a));
  }
  function.set_schema(std::move(schema));
  function.set_graph(std::move(graph));
  return function;
}

// A program: functions by name, methods as "Class.method".
class Program {
 public:
  ir::CompilationUnit unit;

  ir::Function& add(const std::string& name, std::string_view text) {
    return set_body(unit.add_function(name), text, find());
  }
  TypePtr add_class(const std::string& name, std::vector<std::pair<std::string, TypePtr>> attributes,
                    bool is_module = false) {
    const TypePtr type = make_class_type(name);
    type->class_info()->is_module = is_module;
    for (auto& [attribute, t] : attributes) type->class_info()->attributes.push_back({attribute, t, {}});
    unit.add_type(type);
    return type;
  }
  ir::Function& add_method(TypePtr type, const std::string& name, std::string_view text) {
    ir::Function& f = unit.add_function(type->name() + "." + name);
    f.set_self_type(type);
    type->class_info()->methods.emplace_back(name, &f);
    return set_body(f, text, find());
  }
  Value call(const std::string& name, std::vector<Value> args, const RunOptions& options = {}) {
    return run(*unit.find_function(name), args, options);
  }
  FindType find() {
    return [this](std::string_view name) { return unit.find_type(name); };
  }
};

// Runs one graph.
inline Value run_text(std::string_view text, std::vector<Value> args, const RunOptions& options = {}) {
  Program program;
  return run(program.add("f", text), args, options);
}
inline std::string disassemble_text(std::string_view text) {
  Program program;
  return disassemble(program.add("f", text));
}

}  // namespace sconce::runtime
