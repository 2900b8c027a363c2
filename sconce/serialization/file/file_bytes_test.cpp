#include "sconce/serialization/file/file_bytes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

std::string content(const FileBytesPtr& file) {
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

TEST(FileBytes, ACopyDoesNotSeeLaterChanges) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("f");
  write(path, std::string(10'000, 'a'));
  const FileBytesPtr copy = FileBytes::read(path), mapped = FileBytes::map(path);
  EXPECT_EQ(content(copy), content(mapped));
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  EXPECT_EQ(content(copy), std::string(10'000, 'a'));
  EXPECT_EQ(content(FileBytes::read(path)), "");
}

// A mapped file that is cut short would end this process: what is read instead of mapped does not.
TEST(FileBytes, FilesThatOthersMayWriteAreRead) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("f");
  for (const mode_t mode : {0664, 0646}) {
    write(path, std::string(10'000, 'b'));
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const FileBytesPtr file = FileBytes::read_or_map(path);
    ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    EXPECT_EQ(content(file), std::string(10'000, 'b'));
  }
}

TEST(FileBytes, OnlyFilesAreOpened) {
  const testing::TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_ERROR(FileBytes::map(pipe), "pipe: is not a file, but a pipe");
  EXPECT_ERROR(FileBytes::read(pipe), "is not a file, but a pipe");
  EXPECT_ERROR(FileBytes::read("/dev/zero"), "/dev/zero: is not a file, but a device");
  EXPECT_ERROR(FileBytes::map("/dev/zero"), "/dev/zero: is not a file, but a device");
  EXPECT_ERROR(FileBytes::read_or_map("/tmp"), "/tmp: is not a file, but a folder");
  EXPECT_ERROR(FileBytes::map("/nowhere"), "cannot be opened");
}

}  // namespace
}  // namespace sconce
