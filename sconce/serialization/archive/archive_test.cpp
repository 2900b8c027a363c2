#include "sconce/serialization/archive/archive.h"

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/file/zip_writer.h"
#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

using testing::error_of;

std::string program(const std::string& name) {
  return testing::source_path("tests/conformance/programs/" + name + ".pt");
}

std::string bytes_of(const std::string& path) {
  const FileBytesPtr file = FileBytes::map(path);
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

Archive load_bytes(const std::string& bytes) {
  return load_archive(FileBytes::copy(std::as_bytes(std::span(bytes)), "bytes"));
}

TEST(Archive, LoadsAndRuns) {
  const jit::Module module = jit::load(program("scalar_math"));
  EXPECT_EQ(module(7, 3, 2.5).repr(), "(2, 1, 2.3333333333333335, 6.25, -7, 2.5, True)");
}

TEST(Archive, TensorsLieInTheFileAndWritesStayPrivate) {
  const std::string path = program("MLP");
  const std::string before = bytes_of(path);
  const jit::Module module = jit::load(path);
  const Tensor weight = module.parameters().at(0);
  EXPECT_EQ(weight.storage()->kind, Storage::Kind::foreign);
  weight.data<float>()[0] += 1;
  EXPECT_EQ(bytes_of(path), before);
}

TEST(Archive, ErrorsShowTheTextThatPeopleWrote) {
  const jit::Module module = jit::load(program("div_zero"));
  const std::string text = error_of([&] { module(0); });
  EXPECT_NE(text.find("Traceback of TorchScript, serialized code"), text.npos) << text;
  EXPECT_NE(text.find("line 23, in forward\ndef div_zero(a: int) -> int:\n    return 1 // a\n"), text.npos) << text;
}

TEST(Archive, SaysWhatIsWrongWithAFile) {
  EXPECT_NE(error_of([] { load_archive("/nowhere.pt"); }).find("/nowhere.pt: cannot be opened"), std::string::npos);
  EXPECT_NE(error_of([] { load_bytes("junk"); }).find("is not a zip file"), std::string::npos);
  EXPECT_NE(error_of([] { load_bytes(""); }).find("is not a zip file"), std::string::npos);
}

// Whatever happens to the bytes of a file: it loads, or an Error says why not.
TEST(Archive, BrokenFilesAreRefused) {
  const std::string whole = bytes_of(program("script_class"));
  size_t loaded = 0, refused = 0;
  const auto attempt = [&](const std::string& bytes) {
    try {
      load_bytes(bytes);
      ++loaded;
    } catch (const Error&) {
      ++refused;
    }
  };
  for (size_t n = 0; n < whole.size(); n += 13) attempt(whole.substr(0, n));
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    attempt(changed);
  }
  EXPECT_GT(refused, whole.size() / 13);
  EXPECT_GT(loaded, 0u);  // padding may be anything
}

TEST(Archive, OneErrorNamesAllMissingOperators) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("m.pt");
  FileWriter out(path);
  ZipWriter zip(out, "m");
  using namespace std::string_literals;
  zip.add("data.pkl", "\x80\2c__torch__.a\nM\n)\x81}(X\x08\0\0\0training\x88ub."s);
  zip.add("code/__torch__/a.py",
          "class M(Module):\n  training : bool\n"
          "  def forward(self: __torch__.a.M, x: Tensor) -> Tensor:\n"
          "    return __torch__.b.f(ops.custom.first(x), )\n");
  zip.add("code/__torch__/b.py", "def f(x: Tensor) -> Tensor:\n  return torch.no_such(ops.custom.first(x))\n");
  zip.add("constants.pkl", "\x80\2)."s);
  zip.add("version", "3\n");
  zip.finish();
  out.commit();
  LoadOptions strict;
  strict.strict = true;
  const std::string text = error_of([&] { load_archive(FileBytes::map(path), strict); });
  EXPECT_TRUE(text.starts_with(path + ": Unknown builtin ops (2):\n  custom::first, code/__torch__/a.py:4:25\n"
                                      "  aten::no_such, code/__torch__/b.py:2:9:\n"))
      << text;
}

// A pickle that may refer to nothing.
struct Nothing final : PickleContext {
  Tensor storage(const std::string&, std::optional<DType>, int64_t) override { fail("no storages"); }
  TypePtr find_class(const std::string& name) override { fail("no class {}", name); }
  TypePtr find_type(std::string_view text) override { return parse_type(text); }
  Value build(TypePtr, Value) override { fail("no objects"); }
};

Value unpickle(std::string_view body) {
  Nothing context;
  return read_pickle("\x80\x02" + std::string(body) + ".", "pickle", context);
}

TEST(Pickle, ReadsNumbersTextsAndContainers) {
  using namespace std::string_literals;
  EXPECT_EQ(unpickle("K\x07").to_int(), 7);
  EXPECT_EQ(unpickle("J\xfe\xff\xff\xff"s).to_int(), -2);
  EXPECT_EQ(unpickle("\x8a\x02\x00\x80"s).to_int(), -32768);
  EXPECT_EQ(unpickle("G\x3f\xf8\x00\x00\x00\x00\x00\x00"s).to_double(), 1.5);
  EXPECT_EQ(unpickle("(K\x01NX\x02\x00\x00\x00hit"s).repr(), "(1, None, 'hi')");
  EXPECT_EQ(unpickle("}(K\x01]K\x02\x61u"s).to_dict().size(), 1u);
  EXPECT_EQ(unpickle("ctorch.jit._pickle\nbuild_intlist\n(](K\x01K\x02\x65tR"s).to_list().ints(), IntList({1, 2}));
}

TEST(Pickle, RefusesWhatIsNotOnTheList) {
  using namespace std::string_literals;
  const auto why = [](std::string_view body) { return error_of([&] { unpickle(body); }); };
  EXPECT_NE(why("cos\nsystem\nX\x02\x00\x00\x00ls\x85R"s).find("'os.system' is not on the list"), std::string::npos);
  EXPECT_NE(why("\xff"s).find("unknown opcode 255"), std::string::npos);
  EXPECT_NE(why("NN"s).find("items on the stack"), std::string::npos);
  EXPECT_NE(why("0"s).find("the stack is empty"), std::string::npos);
  EXPECT_NE(why("h\x05"s).find("memo 5 is empty"), std::string::npos);
  EXPECT_NE(why("X\xff\xff\xff\xff"s).find("unexpected end"), std::string::npos);
  EXPECT_NE(why(")" + std::string(2000, '\x85')).find("nested more than 1000 deep"), std::string::npos);
}

}  // namespace
}  // namespace sconce
