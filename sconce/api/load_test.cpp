#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sconce/api/jit.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/file/zip_writer.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce::jit {
namespace {

TEST(Load, FromMemory) {
  const std::string bytes = testing::read_file(testing::source_path("tests/conformance/programs/scalar_math.pt"));
  const Module module = load(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(module(7, 3, 2.5).repr(), "(2, 1, 2.3333333333333335, 6.25, -7, 2.5, True)");
}

// Bytecode alone is a program, too.
TEST(Load, ALiteArchiveWithoutCode) {
  const testing::TemporaryFolder folder;
  load(testing::source_path("tests/conformance/programs/MLP.pt")).save_lite(folder.file("m.ptl"), {{"note", "hi"}});
  const Records records(FileBytes::map(folder.file("m.ptl")));
  FileWriter out(folder.file("bare.ptl"));
  ZipWriter zip(out, "bare");
  for (const ZipReader::Record& record : records.zip().records()) {
    const std::string name(record.name.substr(records.folder().size()));
    if (!name.starts_with("code/")) zip.add(name, records.zip().read(record));
  }
  zip.finish();
  out.commit();
  ExtraFiles extra;
  const Module bare = load(folder.file("bare.ptl"), &extra), whole = load(folder.file("m.ptl"));
  EXPECT_EQ(extra, (ExtraFiles{{"note", "hi"}}));
  const Tensor x = empty_tensor({2, 4}, DType::float32);
  std::fill_n(x.data<float>(), 8, 0.5f);
  EXPECT_EQ(bare(x).repr(), whole(x).repr());
  EXPECT_ERROR(bare.save(folder.file("again.pt")), "again.pt: cannot be saved: function ");
  EXPECT_FALSE(std::filesystem::exists(folder.file("again.pt")));
}

TEST(Load, SaysWhatAFileIsThatHoldsNoProgram) {
  EXPECT_ERROR(load(std::as_bytes(std::span(std::string_view("hello")))), "<memory>: holds no program (text)");
  EXPECT_ERROR(load("/nowhere.pt"), "/nowhere.pt: cannot be opened");
}

}  // namespace
}  // namespace sconce::jit
