#include "sconce/tensor/memory/mapped_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace sconce {
namespace {

constexpr size_t kPages = 8;

// Eight pages of a file, each filled with its number; mapped so that a write leaves the file as it is.
class Mapped {
 public:
  Mapped() {
    file_ = ::memfd_create("pages", 0);
    std::string content;
    for (size_t i = 0; i < kPages; ++i) content.append(page, static_cast<char>('a' + i));
    EXPECT_EQ(::pwrite(file_, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
    data = static_cast<char*>(::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file_, 0));
  }
  ~Mapped() {
    ::munmap(data, kPages * page);
    ::close(file_);
  }
  // Reads all pages, so that they are there.
  std::string text() const {
    std::string first;
    for (size_t i = 0; i < kPages; ++i) first += const_cast<volatile char*>(data)[i * page];
    return first;
  }
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  char* data;

 private:
  int file_;
};

TEST(MappedFiles, GiveBackWhatWasNotWritten) {
  const Mapped m;
  EXPECT_EQ(m.text(), "abcdefgh");
  EXPECT_EQ(give_back_pages(m.data, kPages * m.page), 0u);  // not known as a file
  add_mapped_file(m.data, kPages * m.page);
  m.data[3 * m.page] = 'X';
  const size_t given = give_back_pages(m.data, kPages * m.page);
  if (access("/proc/self/pagemap", R_OK) != 0) GTEST_SKIP() << "the system does not tell which pages were written";
  ASSERT_GT(given, 0u);
  EXPECT_EQ(given, 7 * m.page);
  EXPECT_EQ(give_back_pages(m.data, kPages * m.page), 0u);           // they are gone
  EXPECT_EQ(m.text(), "abcXefgh");                                   // and there again
  EXPECT_EQ(give_back_pages(m.data + 1, 3 * m.page), m.page * 2);    // whole pages alone
  EXPECT_EQ(give_back_pages(m.data + m.page, kPages * m.page), 0u);  // goes beyond the file
  remove_mapped_file(m.data);
  EXPECT_EQ(give_back_pages(m.data, kPages * m.page), 0u);
}

}  // namespace
}  // namespace sconce
