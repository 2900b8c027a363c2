#include "sconce/testing/conformance/program_cases.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/frontend/script/program/program.h"
#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/compare/compare_graphs.h"
#include "sconce/testing/compiled/lowered_call.h"
#include "sconce/testing/conformance/module_state.h"
#include "sconce/testing/conformance/script_call.h"
#include "sconce/testing/source_tree.h"
#include "sconce/types/class_info.h"

namespace sconce::testing {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  SCONCE_CHECK(file, "{}: cannot be read", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The name behind the last `def` (or `class`) of the outermost level; the text may be indented as a whole.
std::string defined_name(std::string_view source, std::string_view keyword) {
  std::string name;
  size_t outermost = source.size();
  for (size_t start = 0; start < source.size();) {
    const size_t end = std::min(source.find('\n', start), source.size());
    std::string_view line = source.substr(start, end - start);
    start = end + 1;
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(indent);
    if (indent > outermost || !line.starts_with(keyword) || !line.substr(keyword.size()).starts_with(' ')) continue;
    outermost = indent;
    line.remove_prefix(keyword.size() + 1);
    name = line.substr(0, line.find_first_of("(: "));
  }
  return name;
}

// A compiled program, and what its calls are made on.
struct Compiled {
  std::unique_ptr<script::Program> program;
  ir::Function* function = nullptr;
  std::optional<Value> self;
};

std::string state_path(const std::string& name) {
  return source_path(fmt::format("tests/conformance/programs_state/{}.safetensors", name));
}

void load_state(const Value& module, const SafetensorsFile& state) {
  for (const auto& entry : state.entries()) write_state(module, entry.name, state.tensor(entry.name));
}

Compiled compile(const Json& description) {
  const std::string source = description.at("source").get<std::string>();
  Compiled result;
  script::ProgramOptions prelude;
  prelude.name = "programs_prelude.py";
  result.program =
      std::make_unique<script::Program>(read_text(source_path("tests/conformance/programs_prelude.py")), prelude);
  result.program->define(source);
  if (const std::string name = defined_name(source, "class");
      !name.empty() && source.find("nn.Module") != source.npos) {
    result.self = result.program->build_module(name);
    result.function = ir::find_method(result.self->to_object().type(), "forward");
    SCONCE_CHECK(result.function != nullptr, "{} has no forward", name);
    // Without a recorded state, the module's own constructor is all.
    if (const std::string path = state_path(name); std::filesystem::exists(path)) {
      load_state(*result.self, SafetensorsFile::open(path));
    }
  } else {
    result.function = result.program->find_function(defined_name(source, "def"));
    SCONCE_CHECK(result.function != nullptr, "the source defines no function");
  }
  return result;
}

// PyTorch's text is read, verified and printed back as it was.
Difference check_graph_text(const std::string& text) {
  const std::shared_ptr<ir::Graph> graph = ir::parse_graph(text);
  ir::verify(*graph);
  const std::string printed = graph->to_string();
  if (printed == text) return {};
  size_t at = 0, line = 1;
  while (at < std::min(text.size(), printed.size()) && text[at] == printed[at]) line += text[at++] == '\n';
  return fmt::format("the recorded graph prints otherwise from line {} on:\n{}", line, printed);
}

CaseResult compare_with_recorded(ir::Function& function, const std::string& text) {
  if (Difference d = check_graph_text(text)) return CaseResult::failure(*d);
  const ir::Graph& graph = *function.graph();
  ir::verify(graph);
  if (Difference d = compare_structure(graph, *ir::parse_graph(text), {.ranges = true}))
    return CaseResult::failure("graph: " + *d);
  return CaseResult::pass();
}

ScriptCall call_of(ir::Function& function, const RunOptions& options) {
  return options.lowered.empty() ? ScriptCall() : lowered_call(function, options.lowered);
}

class ProgramCases final : public CaseKind {
 public:
  std::string_view name() const override { return "programs"; }
  bool matches(const CaseFile& file) const override {
    const Json& first = file.at(0);
    return file.has_program() && first.contains("source") && first.contains("graph") && !first.contains("seed");
  }
  bool is_case(const Json&) const override { return true; }
  std::string subject(const Json&) const override { return ""; }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions& options) const override {
    try {
      const Compiled compiled = compile(file.at(0));
      if (index == 0) return compare_with_recorded(*compiled.function, file.at(0).at("graph").get<std::string>());
      const ScriptCall how = call_of(*compiled.function, options);
      for (size_t i = 1; compiled.self && i < index; ++i) {
        repeat_script_call(*compiled.function, compiled.self, file, file.at(i), how);
      }
      return run_script_call(*compiled.function, compiled.self, file, file.at(index), how);
    } catch (const std::exception& error) {
      return CaseResult::failure(error.what());
    }
  }
};

// Programs of our own (tools/record_scripts.py): the text is complete in itself and `program` names the callee.
class ScriptCases final : public CaseKind {
 public:
  std::string_view name() const override { return "scripts"; }
  bool matches(const CaseFile& file) const override { return file.at(0).contains("program"); }
  bool is_case(const Json&) const override { return true; }
  std::string subject(const Json&) const override { return ""; }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions& options) const override {
    const Json& first = file.at(0);
    try {
      const std::string name = first.at("program").get<std::string>();
      script::Program program(first.at("source").get<std::string>());
      ir::Function* function = program.find_function(name);
      std::optional<Value> self;
      if (!function) {
        manual_seed(first.at("seed").get<uint64_t>());
        self = program.build_module(name);
        function = ir::find_method(self->to_object().type(), "forward");
      }
      SCONCE_CHECK(function != nullptr, "the source has no '{}' to call", name);
      if (index == 0) return compare_with_recorded(*function, first.at("graph").get<std::string>());
      const ScriptCall how = call_of(*function, options);
      for (size_t i = 1; self && i < index; ++i) repeat_script_call(*function, self, file, file.at(i), how);
      return run_script_call(*function, self, file, file.at(index), how);
    } catch (const std::exception& error) {
      return CaseResult::failure(error.what());
    }
  }
};

class JitSuiteCases final : public CaseKind {
 public:
  std::string_view name() const override { return "jit_suite"; }
  bool matches(const CaseFile& file) const override {
    const Json& first = file.at(0);
    const Json* source = find_member(first, "source");
    return file.has_program() && source && source->is_string() && first.contains("graph") && first.contains("seed");
  }
  bool is_case(const Json& json) const override { return json.contains("inputs"); }
  std::string subject(const Json&) const override { return ""; }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions& options) const override {
    try {
      const std::string text = file.at(0).at("source").get<std::string>();
      const script::Program program(text);
      ir::Function* function = program.find_function(defined_name(text, "def"));
      SCONCE_CHECK(function != nullptr, "the source defines no function");
      return run_script_call(*function, {}, file, file.at(index), call_of(*function, options));
    } catch (const std::exception& error) {
      return CaseResult::failure(error.what());
    }
  }
};

}  // namespace

const CaseKind& program_cases() {
  static const ProgramCases kind;
  return kind;
}

const CaseKind& script_cases() {
  static const ScriptCases kind;
  return kind;
}

const CaseKind& jit_suite_cases() {
  static const JitSuiteCases kind;
  return kind;
}

}  // namespace sconce::testing
