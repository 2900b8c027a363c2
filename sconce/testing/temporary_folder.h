// Temporary folders: one for the files of a test, removed with everything in it.
#pragma once

#include <string>

namespace sconce::testing {

class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Error when the system gives none
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  size_t count() const;  // of the files in it, hidden ones, too

 private:
  std::string path_;
};

// The whole content of a file; throws Error when it cannot be read.
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);

}  // namespace sconce::testing
