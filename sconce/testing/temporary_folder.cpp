#include "sconce/testing/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sconce/base/error.h"

namespace sconce::testing {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() : path_((fs::temp_directory_path() / "sconce-test-XXXXXX").string()) {
  SCONCE_CHECK(::mkdtemp(path_.data()), "{}: cannot be made: {}", path_, std::strerror(errno));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::permissions(path_, fs::perms::owner_all, ignored);
  fs::remove_all(path_, ignored);
}

size_t TemporaryFolder::count() const {
  return static_cast<size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  SCONCE_CHECK(in, "{}: cannot be opened: {}", path, std::strerror(errno));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  SCONCE_CHECK(out.flush(), "{}: cannot be written: {}", path, std::strerror(errno));
}

}  // namespace sconce::testing
