#include "sconce/serialization/archive/save_archive.h"

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/serialization/archive/archive.h"
#include "sconce/serialization/file/records.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

using testing::error_of;
using testing::read_file;
using testing::TemporaryFolder;

std::string program(const std::string& name) {
  return testing::source_path("tests/conformance/programs/" + name + ".pt");
}

std::vector<std::string> record_names(const std::string& path) {
  const Records records(FileBytes::map(path));
  std::vector<std::string> names;
  for (const auto& record : records.zip().records()) names.emplace_back(record.name.substr(records.folder().size()));
  return names;
}

constexpr const char* kModule = R"(
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.w


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Part()
        self.b = self.a
        self.frozen = nn.Parameter(torch.zeros(3), requires_grad=False)
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
        self.names: List[str] = ["x", "y"]
        self.limits: Dict[str, Tuple[int, float]] = {"low": (1, 0.5)}

    def forward(self, x):
        self.count += 1
        return self.b(self.a(x)) + len(self.names)
)";

TEST(SaveArchive, AModuleOfTheTextIsLoadedAgain) {
  const TemporaryFolder folder;
  const std::string path = folder.file("whole.pt");
  jit::CompilationUnit unit = jit::compile(kModule);
  const jit::Module module = unit.module("Whole");
  module.save(path);
  const jit::Module loaded = jit::load(path);
  const Tensor x = scalar_tensor_of(3.0, DType::float32);
  EXPECT_EQ(loaded(x).repr(), module(x).repr());
  EXPECT_EQ(loaded.attr("names").repr(), "['x', 'y']");
  EXPECT_EQ(loaded.attr("limits").repr(), "{'low': (1, 0.5)}");
  // What was shared is shared, what required gradients requires them.
  EXPECT_TRUE(loaded.attr("a").is_same(loaded.attr("b")));
  const jit::NamedTensors parameters = loaded.named_parameters();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].first, "frozen");
  EXPECT_FALSE(parameters[0].second.requires_grad());
  EXPECT_EQ(parameters[1].first, "a.w");
  EXPECT_TRUE(parameters[1].second.requires_grad());
  EXPECT_EQ(folder.count(), 1u);
}

TEST(SaveArchive, RecordsAreInPyTorchsOrder) {
  const TemporaryFolder folder;
  const std::string path = folder.file("MLP.pt");
  jit::load(program("MLP")).save(path, {{"notes/a.txt", "hello"}, {"b", ""}});
  const std::vector<std::string> names = record_names(path);
  ASSERT_GE(names.size(), 8u);
  EXPECT_EQ(names[0], "extra/notes/a.txt");
  EXPECT_EQ(names[1], "extra/b");
  EXPECT_EQ(names[2], "data/0");
  EXPECT_EQ(names[names.size() - 3], "constants.pkl");
  EXPECT_EQ(names[names.size() - 2], ".data/version");
  EXPECT_EQ(names[names.size() - 1], "byteorder");
  jit::ExtraFiles extra;
  jit::load(path, &extra);
  EXPECT_EQ(extra, (jit::ExtraFiles{{"notes/a.txt", "hello"}, {"b", ""}}));
}

TEST(SaveArchive, TheSecondSaveIsTheFirst) {
  const TemporaryFolder folder;
  for (const char* name : {"MLP", "script_class", "enum_use", "named_tuple", "div_zero"}) {
    const std::string path = folder.file("again.pt");
    jit::load(program(name)).save(path);
    const std::string first = read_file(path);
    jit::load(path).save(path);
    EXPECT_EQ(read_file(path), first) << name;
  }
}

TEST(SaveArchive, ErrorsStillShowTheTextThatPeopleWrote) {
  const TemporaryFolder folder;
  const std::string path = folder.file("again.pt");
  jit::load(program("div_zero")).save(path);
  const jit::Module module = jit::load(path);
  const std::string text = error_of([&] { module(0); });
  EXPECT_NE(text.find("line 23, in forward\ndef div_zero(a: int) -> int:\n    return 1 // a\n"), text.npos) << text;
}

constexpr const char* kStateful = R"(
class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = 5

    @torch.jit.export
    def __getstate__(self) -> Tuple[int, str]:
        return (self.x + 1, "state")

    @torch.jit.export
    def __setstate__(self, state: Tuple[int, str]) -> None:
        self.x = state[0] * 10
        self.training = False

    def forward(self) -> int:
        return self.x
)";

TEST(SaveArchive, ObjectsThatPackThemselves) {
  const TemporaryFolder folder;
  const std::string path = folder.file("packed.pt");
  jit::CompilationUnit unit = jit::compile(kStateful);
  unit.module("Packed").save(path);
  EXPECT_EQ(jit::load(path)().to_int(), 60);
}

TEST(SaveArchive, LoadsFromMemory) {
  const std::string bytes = read_file(program("scalar_math"));
  const jit::Module module = jit::load(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(module(7, 3, 2.5).repr(), "(2, 1, 2.3333333333333335, 6.25, -7, 2.5, True)");
  EXPECT_ERROR(jit::load(std::as_bytes(std::span(std::string_view("hello")))), "<memory>: holds no program (text)");
}

TEST(SaveArchive, AFailedSaveLeavesTheOldFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("MLP.pt");
  const jit::Module module = jit::load(program("MLP"));
  module.save(path);
  const std::string before = read_file(path);
  EXPECT_ERROR(module.save(path, {{"../escape", ""}}), "MLP.pt: a record cannot have the name 'extra/../escape'");
  EXPECT_ERROR(module.save(path, {{"a", ""}, {"a", ""}}), "MLP.pt: there are two records 'extra/a'");
  EXPECT_ERROR(module.save(folder.path()), folder.path() + ": is a folder");
  EXPECT_ERROR(module.save("/dev/full"), "/dev/full: cannot be written: No space left on device");
  EXPECT_EQ(read_file(path), before);
  EXPECT_EQ(folder.count(), 1u);
}

TEST(SaveArchive, SavesOverTheFileThatItLiesIn) {
  const TemporaryFolder folder;
  const std::string path = folder.file("MLP.pt");
  jit::load(program("MLP")).save(path);
  const jit::Module module = jit::load(path);
  const std::string before = module.parameters().at(0).to_string();
  for (int i = 0; i < 3; ++i) module.save(path);
  EXPECT_EQ(module.parameters().at(0).to_string(), before);
  EXPECT_EQ(jit::load(path).parameters().at(0).to_string(), before);
}

TEST(SaveArchive, OnlyModulesAreSaved) {
  EXPECT_ERROR(save_archive(Value(5), "/nowhere/a.pt"),
               "only modules can be saved in an archive, got a value of type int");
}

}  // namespace
}  // namespace sconce
