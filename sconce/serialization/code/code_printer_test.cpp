// Printed code is compiled again, and prints the same. code_printer.test has programs and their text.
#include "sconce/serialization/code/code_printer.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/frontend/script/program/program.h"
#include "sconce/frontend/script/program/program_state.h"
#include "sconce/serialization/archive/archive.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/source_tree.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

// A range whose source somebody else keeps.
Range borrowed(const Place& place) { return {SourcePtr(SourcePtr(), place.source), place.begin, place.end}; }

// The places that printed code comes from, as a file's debug records give them.
class PrintedMap final : public SourceMap {
 public:
  explicit PrintedMap(std::vector<PrintedRange> ranges) : ranges_(std::move(ranges)) {}
  Range original(const Range& written) const noexcept override {
    Place found;
    for (const PrintedRange& r : ranges_) {
      if (r.offset <= written.begin) found = r.range;
    }
    return borrowed(found);
  }

 private:
  const std::vector<PrintedRange> ranges_;
};

std::shared_ptr<script::ProgramState> compile(const PrintedCode& code) {
  auto program = std::make_shared<script::ProgramState>();
  program->archive_version = code.version;
  program->constants = code.constants;
  program->load = [&code](std::string_view qualifier) -> SourcePtr {
    for (const PrintedFile& f : code.files) {
      if (f.qualifier != qualifier) continue;
      return std::make_shared<Source>("code/" + f.qualifier, f.text, 1, std::make_shared<PrintedMap>(f.ranges));
    }
    return nullptr;
  };
  return program;
}

std::string text_of(const PrintedCode& code) {
  std::string text = "version " + std::to_string(code.version) + "\n";
  for (const PrintedFile& f : code.files) {
    text += "# " + f.qualifier + "\n" + f.text;
    for (const PrintedRange& r : f.ranges)
      text += std::to_string(r.offset) + ": " + borrowed(r.range).to_string() + "\n";
  }
  for (const Value& v : code.constants) text += v.type()->annotation() + "\n";
  return text;
}

void expect_stable(const std::vector<TypePtr>& classes, const std::vector<ir::Function*>& functions,
                   const std::string& what) {
  const PrintedCode first = print_code(classes, functions);
  const auto program = compile(first);
  std::vector<TypePtr> classes_again;
  std::vector<ir::Function*> functions_again;
  for (TypePtr type : classes) classes_again.push_back(program->find_type(type->name()));
  for (ir::Function* f : functions) {
    script::Definition* definition = program->find_definition(f->name());
    ASSERT_TRUE(definition) << what;
    functions_again.push_back(definition->scope->functions_of(*definition).at(0));
  }
  program->unit.define_all();
  EXPECT_EQ(text_of(first), text_of(print_code(classes_again, functions_again))) << what;
}

// The files of the module M of a program.
std::string printed(const std::string& source) {
  jit::CompilationUnit unit = jit::compile(source);
  const TypePtr type = unit.build("M", {}).value().to_object().type();
  const PrintedCode code = print_code({type});
  expect_stable({type}, {}, source);
  std::string text;
  for (const PrintedFile& f : code.files) text += "file " + f.qualifier + "\n" + f.text;
  if (code.version != 3) text += "version " + std::to_string(code.version) + "\n";
  for (size_t i = 0; i < code.constants.size(); ++i) {
    text += "c" + std::to_string(i) + " = " + code.constants[i].repr() + "\n";
  }
  return text;
}

TEST(CodePrinterGolden, PrintsAsExpected) {
  testing::check_golden_file(testing::source_path("sconce/serialization/code/code_printer.test"), printed);
}

// Every program of the compiler's own golden files.
TEST(CodePrinterPrograms, PrintTheSameAfterCompilingIt) {
  size_t count = 0;
  for (const std::string& path : testing::files_below("sconce/frontend/script", ".test")) {
    for (const auto& [title, source] : testing::golden_sources(path)) {
      std::optional<script::Program> program;
      try {
        program.emplace(source);
      } catch (const CompileError&) {
        continue;  // a case of what is refused
      }
      const std::vector<TypePtr>& types = program->unit().types();
      std::vector<ir::Function*> functions;
      for (ir::Function* f : program->unit().functions()) {
        const std::string qualifier = f->name().substr(0, f->name().rfind('.'));
        if (!program->unit().find_type(qualifier)) functions.push_back(f);
      }
      expect_stable(types, functions, path + ": " + title);
      ++count;
    }
  }
  EXPECT_GT(count, 100u);
}

TEST(CodePrinterRanges, StatementsComeFromTheTextThatPeopleWrote) {
  const std::string source =
      "class M(nn.Module):\n    def forward(self, x):\n        y = x + 1\n        return y.relu()\n";
  jit::CompilationUnit unit = jit::compile(source, {.name = "m.py"});
  const PrintedCode code = print_code({unit.build("M", {}).value().to_object().type()});
  const PrintedFile& file = code.files.at(0);
  const PrintedMap map(file.ranges);
  const auto place = [&](std::string_view text) {
    Range at;
    at.begin = static_cast<uint32_t>(file.text.find(text));
    return map.original(at).to_string();
  };
  EXPECT_EQ(place("y = torch.add"), "m.py:3:12");
  EXPECT_EQ(place("torch.relu"), "m.py:4:15");
}

TEST(CodePrinterErrors, OverloadsThatNoNameMeans) {
  jit::CompilationUnit unit = jit::compile("def f(x):\n    return torch.ops.aten.view.dtype(x, torch.int32)\n");
  EXPECT_NE(
      testing::error_of([&] { unit.function("f").code(); }).find("__torch__.f: an archive cannot say aten::view.dtype"),
      std::string::npos);
}

TEST(CodePrinterErrors, TwoClassesOfOneName) {
  jit::CompilationUnit one = jit::compile("class M(nn.Module):\n    def forward(self, x):\n        return x\n");
  jit::CompilationUnit two = jit::compile("class M(nn.Module):\n    def forward(self, x):\n        return x + 1\n");
  const TypePtr a = one.build("M", {}).value().to_object().type(), b = two.build("M", {}).value().to_object().type();
  EXPECT_NE(testing::error_of([&] { print_code({a, b}); }).find("two different definitions are called '__torch__.M'"),
            std::string::npos);
}

class CodePrinter : public ::testing::TestWithParam<const char*> {};

TEST_P(CodePrinter, PrintsTheSameAfterCompilingIt) {
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_path(GetParam()))) {
    if (entry.path().extension() != ".pt") continue;
    const Archive archive = load_archive(entry.path().string());
    expect_stable({archive.module.to_object().type()}, {}, entry.path().string());
  }
}
INSTANTIATE_TEST_SUITE_P(Archives, CodePrinter,
                         ::testing::Values("tests/conformance/programs", "tests/conformance/programs_1_13",
                                           "tests/conformance/traced"));

}  // namespace
}  // namespace sconce
