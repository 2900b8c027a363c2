#include "bench/rows/script_rows.h"

#include <fstream>
#include <memory>
#include <sstream>

#include "bench/rows/inputs.h"
#include "sconce/frontend/script/program/program.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/types/class_info.h"

namespace sconce::bench {
namespace {

constexpr int64_t kTurns = 1000;

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  SCONCE_CHECK(file.good(), "cannot read {}", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A result as a tensor: numbers as they are, of a list the last item, of a string its length.
Tensor as_tensor(const Value& v) {
  if (v.is_tensor()) return v.to_tensor();
  if (v.is_string()) return scalar_tensor_of(static_cast<int64_t>(v.to_string_ref().size()), DType::float32);
  if (v.is_list()) return as_tensor(v.to_list().get(v.to_list().size() - 1));
  return scalar_tensor_of(v.to_scalar(), DType::float32);
}

class ScriptWork final : public Work {
 public:
  ScriptWork(std::shared_ptr<script::Program> program, ir::Function& function, std::vector<Value> args, bool first_call)
      : program_(std::move(program)), function_(function), args_(std::move(args)), first_call_(first_call) {}
  void run(int64_t calls) override {
    for (int64_t i = 0; i < calls; ++i) call();
  }
  Tensor result() override { return as_tensor(call()); }

 private:
  Value call() {
    if (first_call_) function_.drop_executable();
    std::vector<Value> args = args_;
    return runtime::run(function_, args);
  }
  std::shared_ptr<script::Program> program_;
  ir::Function& function_;
  std::vector<Value> args_;
  bool first_call_;  // every call compiles the graph again
};

Row function_row(const std::string& source, std::string name, std::string function, std::vector<Value> args) {
  return {std::move(name), [=]() -> std::unique_ptr<Work> {
            auto program = std::make_shared<script::Program>(source);
            ir::Function* f = program->find_function(function);
            SCONCE_CHECK(f, "scripts.py has no function {}", function);
            return std::make_unique<ScriptWork>(program, *f, args, false);
          }};
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

// l[r] = kind of x_r and the tensor after it, 1,000 times; peer_worker.py writes the same text.
std::string many_kinds(const std::string& kinds) {
  std::vector<std::string> lines;
  std::istringstream stream(kinds);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::string text = "def many_kinds(x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor) -> List[Tensor]:\n";
  for (int r = 0; r < 5; ++r) text += "    x" + std::to_string(r) + " = x" + std::to_string(r) + ".clone()\n";
  text += "    l = [x0, x1, x2, x3, x4]\n";
  const size_t count = 5 * lines.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * 37 % count, r = at / lines.size();
    std::string line = lines[at % lines.size()];
    replace_all(line, "{x}", "x" + std::to_string(r));
    replace_all(line, "{y}", "x" + std::to_string((r + 1) % 5));
    text += "    l[" + std::to_string(r) + "] = " + line + "\n";
  }
  return text + "    l.append(x0)\n    return l\n";
}

// The parameters of a module and its submodules, in order, become numbers that PyTorch's side has, too.
void fill_parameters(Object& module, uint32_t& seed) {
  const std::vector<ClassInfo::Attribute>& attributes = module.type()->class_info()->attributes;
  for (size_t i = 0; i < attributes.size(); ++i) {
    const Value& v = module.slot(i);
    if (v.is_object()) fill_parameters(v.to_object(), seed);
    if (v.is_tensor()) module.set_slot(i, uniform(v.to_tensor().sizes(), ++seed, -0.125f, 0.125f));
  }
}

Row mlp_row(const std::string& source, std::string name, bool first_call) {
  return {std::move(name), [=]() -> std::unique_ptr<Work> {
            auto program = std::make_shared<script::Program>(source);
            Value module = program->build_module("Mlp");
            uint32_t seed = 0;
            fill_parameters(module.to_object(), seed);
            ir::Function* forward = ir::find_method(module.to_object().type(), "forward");
            return std::make_unique<ScriptWork>(program, *forward, std::vector<Value>{module, uniform({1, 64}, 1000)},
                                                first_call);
          }};
}

}  // namespace

std::vector<Row> script_rows(const std::string& folder) {
  const std::string source = read_text(folder + "/scripts.py");
  std::vector<Row> rows;
  for (const std::string name : {"int_loop", "float_loop", "list_append", "list_get", "dict_update", "dict_update_str",
                                 "str_concat", "method_call"}) {
    rows.push_back(function_row(source, "script " + name, name, {kTurns}));
  }
  rows.push_back(function_row(source, "script add_loop", "add_loop", {uniform({8}, 1), kTurns}));
  std::vector<Value> inputs;
  for (uint32_t r = 0; r < 5; ++r) inputs.emplace_back(uniform({8}, r + 1, 0.125f, 0.875f));
  rows.push_back(
      function_row(many_kinds(read_text(folder + "/script_kinds.txt")), "script of 200 kinds", "many_kinds", inputs));
  rows.push_back(mlp_row(source, "script MLP-50", false));
  rows.push_back(mlp_row(source, "script MLP-50, first call", true));
  return rows;
}

}  // namespace sconce::bench
