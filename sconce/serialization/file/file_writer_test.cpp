#include "sconce/serialization/file/file_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

namespace fs = std::filesystem;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;
using Temporary = FileWriter::Temporary;

void save(const std::string& path, const std::string& content, Temporary temporary = Temporary::unnamed) {
  FileWriter out(path, temporary);
  out.write(content);
  EXPECT_EQ(out.position(), content.size());
  out.commit();
}

mode_t mode_of(const std::string& path) {
  struct stat facts{};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0);
  return facts.st_mode & 0777;
}

// With both kinds of temporary file.
class FileWriterTest : public ::testing::TestWithParam<Temporary> {
 protected:
  TemporaryFolder folder;
  const std::string path = folder.file("a.pt");
};
INSTANTIATE_TEST_SUITE_P(Temporaries, FileWriterTest, ::testing::Values(Temporary::unnamed, Temporary::named));

TEST_P(FileWriterTest, WritesAndReplaces) {
  save(path, "old", GetParam());
  EXPECT_EQ(read_file(path), "old");
  save(path, "new", GetParam());
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(folder.count(), 1u);
}

TEST_P(FileWriterTest, WritesMoreThanItsBuffer) {
  std::string whole;
  FileWriter out(path, GetParam());
  for (const size_t size : {size_t{1}, size_t{700'000}, size_t{700'000}, size_t{3'000'000}, size_t{5}}) {
    whole.append(size, static_cast<char>('a' + size % 26));
    out.write(std::string(size, whole.back()));
  }
  out.commit();
  EXPECT_EQ(read_file(path), whole);
}

TEST_P(FileWriterTest, WithoutCommitNothingHappens) {
  write_file(path, "old");
  {
    FileWriter out(path, GetParam());
    out.write(std::string(2'000'000, 'x'));
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.count(), 1u);
}

TEST_P(FileWriterTest, KeepsTheModeOfTheOldFile) {
  write_file(path, "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  save(path, "new", GetParam());
  EXPECT_EQ(mode_of(path), 0640u);
  const mode_t before = ::umask(027);
  save(folder.file("b.pt"), "new", GetParam());
  ::umask(before);
  EXPECT_EQ(mode_of(folder.file("b.pt")), 0640u);
}

TEST_P(FileWriterTest, FollowsLinks) {
  fs::create_directory(folder.file("d"));
  const std::string target = folder.file("d/real.pt"), link = folder.file("link.pt");
  fs::create_symlink("d/real.pt", link);
  save(link, "first", GetParam());  // to nowhere, as yet
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(target), "first");
  save(link, "second", GetParam());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_FALSE(fs::is_symlink(target));
  EXPECT_EQ(read_file(target), "second");
  fs::create_symlink("loop", folder.file("loop"));
  EXPECT_ERROR(save(folder.file("loop"), "x", GetParam()), "cannot be looked at");
}

// The system's limit on the size of files stands for a full disk.
TEST_P(FileWriterTest, AFullDiskLeavesTheOldFile) {
  write_file(path, "old");
  struct rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const struct rlimit small{100'000, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string text = testing::error_of([&] { save(path, std::string(3'000'000, 'x'), GetParam()); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(text, path + ": cannot be written: File too large");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.count(), 1u);
}

TEST_P(FileWriterTest, AFolderThatVanishes) {
  const std::string inner = folder.file("inner");
  fs::create_directory(inner);
  FileWriter out(inner + "/a.pt", GetParam());
  out.write("x");
  fs::remove_all(inner);
  EXPECT_ERROR(out.commit(), inner + "/a.pt: cannot be");
  EXPECT_EQ(folder.count(), 0u);
}

// The administrator may write everywhere; tests that he runs become nobody for a while.
class AsNobody {
 public:
  explicit AsNobody(std::initializer_list<std::string> owned) {
    if (::geteuid() != 0) return;
    for (const std::string& path : owned) EXPECT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
    EXPECT_EQ(::seteuid(kNobody), 0);
    changed_ = true;
  }
  ~AsNobody() {
    if (changed_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }

 private:
  static constexpr uid_t kNobody = 65534;
  bool changed_ = false;
};

TEST_P(FileWriterTest, NoPermission) {
  write_file(path, "old");
  ASSERT_EQ(::chmod(path.c_str(), 0400), 0);
  {
    const AsNobody nobody({folder.path(), path});
    EXPECT_ERROR(save(path, "new", GetParam()), "a.pt: cannot be written: Permission denied");
    ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
    EXPECT_ERROR(save(folder.file("b.pt"), "new", GetParam()), "b.pt: cannot be written: Permission denied");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.count(), 1u);
}

TEST(FileWriter, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_ERROR(FileWriter(folder.path()), folder.path() + ": is a folder, not a file");
  EXPECT_ERROR(FileWriter(folder.file("new/")), "needs a name");
  EXPECT_ERROR(FileWriter(""), "needs a name");
  EXPECT_ERROR(FileWriter(folder.file("no/such.pt")), "its folder cannot be opened: No such file or directory");
  write_file(folder.file("a"), "");
  EXPECT_ERROR(FileWriter(folder.file("a/b.pt")), "Not a directory");
}

TEST(FileWriter, WritesToDevices) {
  save("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_ERROR(save("/dev/full", "x"), "/dev/full: cannot be written: No space left on device");
}

TEST(FileWriter, IsCompleteOnce) {
  const TemporaryFolder folder;
  FileWriter out(folder.file("a"));
  out.commit();
  EXPECT_ERROR(out.commit(), "is already complete");
  EXPECT_ERROR(out.write("x"), "is already complete");
  EXPECT_EQ(read_file(folder.file("a")), "");
}

}  // namespace
}  // namespace sconce
