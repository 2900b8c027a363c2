#include "files/selection.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "commands/commands.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/kernels/boxed/foreach.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/types/class_info.h"

namespace sconce::cli {
namespace {

// Whether an operator draws random numbers, and if so, whether only where an argument says that the model is training.
void add_draws(const Op& op, Selection& selection) {
  if (!op.has(Trait::random)) return;
  const std::vector<Argument>& arguments = op.schema().arguments;
  const bool asks = std::any_of(arguments.begin(), arguments.end(), [](const Argument& a) {
    return (a.name == "train" || a.name == "training") && a.type == bool_type();
  });
  (asks ? selection.drops_out : selection.draws) = true;
}

bool has_tensors(const Schema& schema) {
  const auto is_tensor = [](const Argument& a) { return a.type->annotation().find("Tensor") != std::string::npos; };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), is_tensor) ||
         std::any_of(schema.returns.begin(), schema.returns.end(), is_tensor);
}

void add_operator(const std::string& name, const std::string& file, Selection& selection) {
  // Instructions of the interpreter, which stand for no operator.
  for (const char* own : {"prim::TupleUnpack", "prim::Uninitialized", "prim::RaiseException"}) {
    if (name == own) return;
  }
  const Op* op = find_op(name);
  SCONCE_CHECK_AS(not_implemented, op, "{}: needs the operator {}, which does not exist", file, name);
  selection.operators.insert(op->qualified_name());
  add_draws(*op, selection);
  if (name.starts_with("quantized::") || name.find("quantize") != name.npos) selection.formats.insert("quantized");
  if (name.find("sparse") != name.npos) selection.formats.insert("sparse");
  for (const std::string& called : boxed::called_by_name(*op)) {
    for (const Op* overload : find_overloads(called)) {
      if (has_tensors(overload->schema()) && !overload->has(Trait::out))
        add_operator(overload->qualified_name(), file, selection);
    }
  }
}

void add_tensor(const Tensor& t, Selection& selection) {
  if (!t.defined()) return;
  selection.dtypes.insert(std::string(dtype_name(t.dtype())));
  if (is_quantized(t.dtype())) selection.formats.insert("quantized");
  if (t.layout() != Layout::strided) selection.formats.insert("sparse");
}

void add_tensors(const Value& v, Selection& selection, std::set<const void*>& seen) {
  if (v.is_tensor()) return add_tensor(v.to_tensor(), selection);
  if (v.is_object()) {
    if (!seen.insert(&v.to_object()).second) return;
    const std::vector<ClassInfo::Attribute>& attributes = v.to_object().type()->class_info()->attributes;
    for (size_t i = 0; i < attributes.size(); ++i) {
      const Value& slot = v.to_object().slot(i);
      selection.trains |= attributes[i].name == "training" && slot.is_bool() && slot.to_bool();
      add_tensors(slot, selection, seen);
    }
  } else if (v.is_tuple()) {
    for (const Value& item : v.to_tuple().items) add_tensors(item, selection, seen);
  } else if (v.is_list()) {
    for (const Value& item : v.to_list().values()) add_tensors(item, selection, seen);
  } else if (v.is_dict()) {
    v.to_dict().for_each([&](const Value&, const Value& item) { add_tensors(item, selection, seen); });
  }
}

// The constant that a register holds before an instruction, as far as the code before it says; null when it does not.
// Bytecode of archives is that of a stack: it copies constants there first.
const Value* constant_before(const runtime::Code& code, size_t instruction, uint32_t reg) {
  for (size_t n = instruction; reg < code.locals && n-- > 0;) {
    const runtime::Instruction& i = code.instructions[n];
    const bool copies =
        i.op == runtime::Opcode::copy || i.op == runtime::Opcode::copy_bits || i.op == runtime::Opcode::move;
    if (copies && i.a / 2 == reg) reg = i.b / 2;
  }
  return reg >= code.locals && reg - code.args < code.initial.size() ? &code.initial[reg - code.args] : nullptr;
}

// Numbers that stand for dtypes, where they are constants of the code.
void add_named_dtypes(const runtime::Code& code, Selection& selection) {
  for (size_t n = 0; n < code.instructions.size(); ++n) {
    const runtime::Instruction& instruction = code.instructions[n];
    if (runtime::opcode_info(instruction.op).operands[3] != 'o' || !instruction.op_call->op) continue;
    const runtime::OpCall& call = *instruction.op_call;
    const std::vector<Argument>& arguments = call.op->schema().arguments;
    for (size_t i = 0; i < arguments.size() && i < call.args.size(); ++i) {
      if (arguments[i].name != "dtype") continue;
      const Value* v = constant_before(code, n, call.args[i] / 2);
      if (v && v->is_int()) selection.dtypes.insert(std::string(dtype_name(dtype_from_number(v->to_int()))));
    }
  }
}

void add_code_dtypes(ir::CompilationUnit& unit, Selection& selection) {
  std::set<const void*> seen;
  for (ir::Function* f : unit.functions()) {
    if (!f->is_defined() || f->has_graph()) continue;
    const auto& code = *static_cast<runtime::CodeExecutable&>(f->executable({})).code;
    for (const Value& v : code.initial) add_tensors(v, selection, seen);
    add_named_dtypes(code, selection);
  }
}

// The default dtype, which every program meets, and those of indices and comparisons, where an operator may make them.
void add_usual(Selection& selection) {
  selection.dtypes.insert("float32");
  const bool floats_alone = std::all_of(selection.operators.begin(), selection.operators.end(), [](const auto& name) {
    const Op* op = find_op(name);
    return op && (op->has(Trait::keeps_floats) || !has_tensors(op->schema()));
  });
  if (!floats_alone) selection.dtypes.insert({"int64", "bool"});
}

// The operators of the lite archive that a module becomes.
std::vector<std::string> operators_when_lite(const jit::Module& module) {
  const std::string path = std::filesystem::temp_directory_path() / fmt::format("sconce-select-{}.ptl", ::getpid());
  struct Remove {
    const std::string& path;
    ~Remove() { ::unlink(path.c_str()); }
  } remove{path};
  module.save_lite(path);
  return lite_operators(FileBytes::read(path));
}

// ---- runs ----

// Sees the operators that the interpreter calls, and the tensors that they are given.
class Recorder final : public runtime::Observer {
 public:
  Recorder(Selection& selection, bool dtypes) : selection_(selection), dtypes_(dtypes) {
    runtime::observe_all_runs(this);
  }
  ~Recorder() override { runtime::observe_all_runs(nullptr); }
  Recorder(const Recorder&) = delete;

  void before(const runtime::Code& code, size_t instruction, const Value* registers) override {
    const runtime::Instruction& i = code.instructions[instruction];
    if (runtime::opcode_info(i.op).operands[3] != 'o' || !i.op_call->op) return;
    add_operator(i.op_call->op->qualified_name(), "the run", selection_);
    if (!dtypes_) return;
    std::set<const void*> seen;
    for (const runtime::Operand operand : i.op_call->args) {
      const Value& v = registers[operand / 2];
      if (!v.is_object()) add_tensors(v, selection_, seen);
    }
  }

 private:
  Selection& selection_;
  const bool dtypes_;
};

}  // namespace

std::string Selection::text() const {
  std::string text = "# What a library needs for these models: cmake -DSCONCE_SELECT=FILE builds it (docs/small.md).\n";
  for (const std::string& origin : origins) text += fmt::format("# {}\n", origin);
  const auto lines = [&](const char* key, const std::set<std::string>& words) {
    for (const std::string& word : words) text += fmt::format("{} {}\n", key, word);
  };
  lines("level", levels);
  lines("dtype", dtypes);
  lines("format", formats);
  lines("file", kinds);
  if (drops_out && !draws && !trains) text += "random no\n";
  if (places) text += "places yes\n";
  if (is_partial) text += "missing allowed\n";
  lines("op", operators);
  return text;
}

bool is_lite_file(const std::string& path) {
  const FileBytesPtr file = FileBytes::map(path);
  const FileKind kind = kind_of(file);
  return kind == FileKind::lite || (kind == FileKind::torchscript && has_bytecode(Records(file)));
}

Selection read_selection(const std::string& path) {
  Selection selection;
  bool no_random = false;
  std::istringstream lines(read_text(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.starts_with("# ") && line.find(": ") == line.npos) selection.origins.push_back(line.substr(2));
    line = line.substr(0, line.find('#'));
    while (!line.empty() && line.back() == ' ') line.pop_back();
    if (line.empty()) continue;
    const size_t space = line.find(' ');
    const std::string key = line.substr(0, space), word = space == line.npos ? "" : line.substr(space + 1);
    selection.is_partial |= line == "missing allowed";
    selection.places |= line == "places yes";
    no_random |= line == "random no";
    if (line == "missing allowed" || line == "places yes" || line == "random no") continue;
    std::set<std::string>* words = key == "op"       ? &selection.operators
                                   : key == "dtype"  ? &selection.dtypes
                                   : key == "format" ? &selection.formats
                                   : key == "level"  ? &selection.levels
                                   : key == "file"   ? &selection.kinds
                                                     : nullptr;
    if (!words || word.empty())
      throw UsageError(
          fmt::format("{}:{}: '{}' is no line of a selection: op, dtype, format, level or file", path, number, line));
    words->insert(word);
  }
  for (const std::string& name : selection.operators) {
    if (const Op* op = find_op(name)) add_draws(*op, selection);
  }
  selection.trains = selection.drops_out && !no_random;
  return selection;
}

void select_model(const ModelFile& model, const FileBytesPtr& file, bool dtypes, Selection& selection) {
  selection.origins.push_back(file->name());
  selection.kinds.insert(model.kind() == FileKind::compiled ? "scx" : "ptl");
  std::set<const void*> seen;
  Selection held;  // by the model: formats of its tensors and whether it is training count in any case
  if (is_lite_file(file->name())) {
    for (const std::string& name : lite_operators(file)) add_operator(name, file->name(), selection);
    add_tensors(model.module()->value(), held, seen);
    add_code_dtypes(*model.unit(), held);
  } else if (model.kind() == FileKind::compiled) {
    const CompiledInfo info = describe_compiled(file);
    for (const std::string& name : info.operators) add_operator(name, file->name(), selection);
    for (const DType dtype : info.dtypes) {
      if (dtypes) selection.dtypes.insert(std::string(dtype_name(dtype)));
    }
  } else if (model.kind() == FileKind::torchscript) {
    for (const std::string& name : operators_when_lite(*model.module())) add_operator(name, file->name(), selection);
    add_tensors(model.module()->value(), held, seen);
  } else {
    throw UsageError(
        fmt::format("{}: a lite library runs .ptl and .scx files; `sconce convert` and `sconce compile` make "
                    "them",
                    file->name()));
  }
  selection.formats.insert(held.formats.begin(), held.formats.end());
  selection.trains |= held.trains;
  if (dtypes) {
    selection.dtypes.insert(held.dtypes.begin(), held.dtypes.end());
    add_usual(selection);
  }
}

void select_run(const ModelFile& model, const FileBytesPtr& file, const std::string& method, CallValues inputs,
                bool dtypes, Selection& selection) {
  selection.origins.push_back(model.file() + ", what a run calls");
  {
    const Recorder recorder(selection, dtypes);
    model.call(method, std::move(inputs.args), std::move(inputs.kwargs));
  }
  // Arithmetic of numbers and lists is instructions of the interpreter, which dispatch does not see.
  Selection all;
  select_model(model, file, false, all);
  selection.kinds.insert(all.kinds.begin(), all.kinds.end());
  selection.formats.insert(all.formats.begin(), all.formats.end());
  selection.trains |= all.trains;
  for (const std::string& name : all.operators) {
    if (!has_tensors(find_op(name)->schema())) selection.operators.insert(name);
    selection.is_partial |= !selection.operators.contains(name);
  }
  if (dtypes) add_usual(selection);
}

}  // namespace sconce::cli
