#include "sconce/serialization/file/zip_writer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "sconce/serialization/file/records.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

using testing::read_file;
using testing::TemporaryFolder;
using Content = std::vector<std::pair<std::string, std::string>>;

void write_zip(const std::string& path, const Content& content, bool deflate = false) {
  FileWriter out(path);
  ZipWriter zip(out, archive_folder(path));
  for (const auto& [name, text] : content) zip.add(name, text, deflate);
  zip.finish();
  out.commit();
}

TEST(ZipWriter, TheReaderFindsWhatWasWritten) {
  const TemporaryFolder folder;
  const Content content = {{"data/0", "01234567"}, {"empty", ""}, {"code/__torch__.py", std::string(5000, 'c')}};
  for (const bool deflate : {false, true}) {
    const std::string path = folder.file("m.pt");
    write_zip(path, content, deflate);
    const Records records(FileBytes::map(path));
    EXPECT_EQ(records.folder(), "m/");
    ASSERT_EQ(records.zip().records().size(), content.size());
    for (const auto& [name, text] : content) {
      EXPECT_EQ(records.read(name), text);
      EXPECT_EQ(records.find(name)->offset % 64, 0u);
      // What does not become smaller is stored.
      EXPECT_EQ(records.find(name)->deflated, deflate && text.size() > 1000) << name;
    }
  }
}

// The first record of a real archive: `m1/data/0`, 8 bytes.
TEST(ZipWriter, LaysRecordsOutAsPyTorchDoes) {
  const TemporaryFolder folder;
  write_zip(folder.file("m1.pt"), {{"data/0", "01234567"}});
  const std::string bytes = read_file(folder.file("m1.pt"));
  using namespace std::string_literals;
  EXPECT_EQ(bytes.substr(0, 39), "PK\3\4\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x09\0\x19\0m1/data/0"s);
  EXPECT_EQ(bytes.substr(39, 33), "FB\x15\0ZZZZZZZZZZZZZZZZZZZZZ01234567"s);
  EXPECT_EQ(bytes.substr(72, 4), "PK\7\x08");
  EXPECT_EQ(bytes.substr(80, 8), "\x08\0\0\0\x08\0\0\0"s);
  EXPECT_EQ(bytes.substr(88, 6), "PK\1\2\0\0"s);
  EXPECT_EQ(bytes.size(), 88u + (46 + 9) + 56 + 20 + 22);
}

TEST(ZipWriter, TheSameRecordsGiveTheSameBytes) {
  const TemporaryFolder folder;
  const Content content = {{"a", "1"}, {"b", std::string(1000, 'x')}};
  write_zip(folder.file("m.pt"), content, true);
  const std::string first = read_file(folder.file("m.pt"));
  write_zip(folder.file("m.pt"), content, true);
  EXPECT_EQ(read_file(folder.file("m.pt")), first);
}

TEST(ZipWriter, RefusesNamesThatAReaderWouldRefuse) {
  const TemporaryFolder folder;
  const auto why = [&](const Content& content) {
    return testing::error_of([&] { write_zip(folder.file("m.pt"), content); });
  };
  EXPECT_EQ(why({{"a", ""}, {"a", ""}}), folder.file("m.pt: there are two records 'a'"));
  for (const std::string name : {"../a", "a/../b", "a\\b", "a/", ""}) {
    EXPECT_EQ(why({{name, ""}}), folder.file("m.pt: a record cannot have the name '" + name + "'"));
  }
  EXPECT_NE(why({{std::string(5000, 'x'), ""}}).find("cannot have the name"), std::string::npos);
  EXPECT_EQ(folder.count(), 0u);
}

TEST(ZipWriter, NothingComesAfterTheEnd) {
  const TemporaryFolder folder;
  FileWriter out(folder.file("m.pt"));
  ZipWriter zip(out, "m");
  zip.finish();
  EXPECT_ERROR(zip.finish(), "is already complete");
  EXPECT_ERROR(zip.add("a", "x"), "comes after the end");
}

TEST(ZipWriter, ArchiveFolderIsTheNameWithoutExtension) {
  EXPECT_EQ(archive_folder("dir/a.b.pt"), "a.b");
  EXPECT_EQ(archive_folder("model"), "model");
  EXPECT_EQ(archive_folder("dir.d/model"), "model");
  EXPECT_EQ(archive_folder(".pt"), "archive");
  EXPECT_EQ(archive_folder("...pt"), "archive");
  EXPECT_EQ(archive_folder(""), "archive");
}

// A record of more than 4 GiB, and one behind it.
TEST(ZipWriterSlow, WritesRecordsOfMoreThan4GiB) {
  const char* wanted = std::getenv("SCONCE_LARGE_FILES");
  if (!wanted) GTEST_SKIP() << "writes 4 GiB; set SCONCE_LARGE_FILES=1 to run it";
  const TemporaryFolder folder;
  const std::string path = folder.file("large.pt");
  {
    std::string large((size_t{1} << 32) + 10, '\0');
    large.back() = 'x';
    write_zip(path, {{"data/0", large}, {"data/1", "after"}});
  }
  const Records records(FileBytes::map(path));
  EXPECT_EQ(records.find("data/0")->size, (uint64_t{1} << 32) + 10);
  EXPECT_EQ(records.find("data/0")->offset % 64, 0u);
  EXPECT_EQ(records.find("data/1")->offset % 64, 0u);
  EXPECT_GT(records.find("data/1")->offset, uint64_t{1} << 32);
  EXPECT_EQ(records.read("data/1"), "after");
  records.zip().check(*records.find("data/0"));
}

}  // namespace
}  // namespace sconce
