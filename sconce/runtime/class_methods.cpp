#include "sconce/runtime/class_methods.h"

#include <algorithm>

#include "sconce/ir/function.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/types/class_info.h"

namespace sconce::runtime {
namespace {

// Owns the methods of all classes, as long as the process.
ir::CompilationUnit& class_unit() {
  static ir::CompilationUnit& unit = *[] {
    auto* made = new ir::CompilationUnit;
    made->keep_types_forever();
    return made;
  }();
  return unit;
}

// One operator over the arguments as they stand, its result in register 0. The caller gives `self` away like every
// other argument, which is why the functions have no self_type().
std::shared_ptr<Code> code_of_method(const std::string& name, const Op& op) {
  auto code = std::make_shared<Code>();
  const std::vector<Argument>& arguments = op.schema().arguments;
  const auto count = static_cast<uint32_t>(arguments.size());
  code->name = name;
  code->unit = &class_unit();
  code->args = count;
  code->results = 1;
  code->locals = code->frame = std::max(count, 1u);
  code->total = code->frame + count + 1;
  for (uint32_t r = 0; r < code->locals; ++r) code->owned.push_back(r);
  code->initial.resize(code->frame - count);
  code->arg_tags.assign(count, 0);
  OpCall& call = code->op_calls.emplace_back();
  call.op = &op;
  for (uint32_t i = 0; i < count; ++i) {
    code->arg_types.push_back(arguments[i].type);
    call.args.push_back((2 * i) | kMoves);
  }
  call.results.push_back(0);
  call.result_tags.push_back(0);
  Instruction run{};
  run.op = Opcode::call_op;
  run.op_call = &call;
  Instruction leave{};
  leave.op = Opcode::ret;
  leave.a = 1;
  code->instructions = {run, leave};
  return code;
}

}  // namespace

void define_class_methods(const CustomClass& made) {
  ClassInfo& info = *made.type->class_info();
  ir::CompilationUnit& unit = class_unit();
  // Some may be there, if there was no memory for all of them: the class is new.
  info.methods.clear();
  info.statics.clear();
  info.properties.clear();
  if (!unit.find_type(made.type->name())) unit.add_type(made.type);
  for (const CustomClass::Method& method : made.methods) {
    const std::string name = made.type->name() + "." + method.name;
    if (unit.find_function(name)) unit.remove_function(name);
    ir::Function& function = unit.add_function(name);
    Schema schema = method.op->schema();
    schema.name = method.name;
    schema.overload.clear();
    function.set_schema(std::move(schema));
    function.set_no_graph("is a method of a C++ class");
    function.executable(
        [&](ir::Function&) { return std::make_unique<CodeExecutable>(code_of_method(method.name, *method.op)); });
    (method.is_static ? info.statics : info.methods).emplace_back(method.name, &function);
  }
  for (const CustomClass::Property& p : made.properties) {
    info.properties.push_back({p.name, info.find_method(p.getter), info.find_method(p.setter)});
  }
}

}  // namespace sconce::runtime
