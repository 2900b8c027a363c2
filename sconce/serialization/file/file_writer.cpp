#include "sconce/serialization/file/file_writer.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "sconce/base/error.h"

namespace sconce {
namespace {

constexpr size_t kBufferSize = size_t{1} << 20;
constexpr size_t kLargestWrite = size_t{1} << 30;  // of one system call; more than 2 GiB would be cut short
constexpr int kMaxLinks = 40;                      // as the kernel follows
constexpr int kNameAttempts = 100;
constexpr mode_t kPermissions = 0777;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash + 1);
}
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

// Where the path leads when all links of its last part are followed; the file itself need not exist.
std::string behind_links(std::string path) {
  for (int links = 0; links <= kMaxLinks; ++links) {
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
    if (size < 0) return path;  // no link, or nothing is there
    target.resize(static_cast<size_t>(size));
    path = target.starts_with('/') ? target : folder_of(path) + "/" + target;
  }
  errno = ELOOP;
  return {};
}

std::string new_temporary_name() {
  uint64_t bits = 0;
  if (::getrandom(&bits, sizeof(bits), 0) != sizeof(bits)) bits = static_cast<uint64_t>(::getpid());
  return fmt::format(".sconce-save-{:016x}.tmp", bits);
}

std::string handle_path(int file) { return fmt::format("/proc/self/fd/{}", file); }

}  // namespace

FileWriter::FileWriter(std::string path, Temporary temporary) : path_(std::move(path)) {
  SCONCE_CHECK(!path_.empty(), "a file needs a name to be written");
  struct stat old{};
  const bool exists = ::stat(path_.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) cannot("looked at");
  SCONCE_CHECK(!exists || !S_ISDIR(old.st_mode), "{}: is a folder, not a file", path_);
  SCONCE_CHECK(path_.back() != '/', "{}: a file needs a name to be written", path_);
  try {
    if (exists && !S_ISREG(old.st_mode)) {
      direct_ = true;
      file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      if (file_ < 0) cannot("opened for writing");
      return;
    }
    target_ = behind_links(path_);
    if (target_.empty()) cannot("looked at");
    // Replacing needs a folder that can be written to; the file itself must allow it, too, as if it were overwritten.
    if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) cannot("written");
    open_folder();
    if (temporary == Temporary::named || !open_unnamed()) open_named();
    if (exists) {
      // The file keeps its owner if the system allows it; it is not an error if not.
      if (::fchown(file_, old.st_uid, old.st_gid) != 0) errno = 0;
      if (::fchmod(file_, old.st_mode & kPermissions) != 0) cannot("given the mode of the old one");
    }
  } catch (...) {
    close_all();
    throw;
  }
}

FileWriter::~FileWriter() { close_all(); }

void FileWriter::close_all() noexcept {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlinkat(folder_, temporary_.c_str(), 0);
  if (folder_ >= 0) ::close(folder_);
  file_ = folder_ = -1;
  temporary_.clear();
}

void FileWriter::cannot(const char* what) const { fail("{}: cannot be {}: {}", path_, what, std::strerror(errno)); }

void FileWriter::open_folder() {
  folder_ = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) fail("{}: cannot be written: its folder cannot be opened: {}", path_, std::strerror(errno));
}

bool FileWriter::open_unnamed() {
  file_ = ::openat(folder_, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file_ < 0) {
    // The errors of file systems and kernels without such files.
    if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT) return false;
    cannot("written");
  }
  // It gets its name through this path.
  if (::access(handle_path(file_).c_str(), F_OK) == 0) return true;
  ::close(file_);
  file_ = -1;
  return false;
}

void FileWriter::open_named() {
  for (int i = 0; i < kNameAttempts; ++i) {
    std::string name = new_temporary_name();
    file_ = ::openat(folder_, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file_ >= 0) {
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  cannot("written");
}

// Gives the unnamed file a name, which the renaming needs: a link cannot replace a file.
void FileWriter::name_file() {
  for (int i = 0; i < kNameAttempts; ++i) {
    std::string name = new_temporary_name();
    if (::linkat(AT_FDCWD, handle_path(file_).c_str(), folder_, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  cannot("written");
}

void FileWriter::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), kLargestWrite));
    if (written < 0) {
      if (errno == EINTR) continue;
      cannot("written");
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void FileWriter::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void FileWriter::write(std::span<const std::byte> bytes) {
  SCONCE_CHECK(file_ >= 0, "{}: is already complete", path_);
  position_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferSize) flush();
  if (bytes.size() >= kBufferSize) return write_through(bytes);
  if (buffer_.capacity() == 0) buffer_.reserve(kBufferSize);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void FileWriter::commit() {
  SCONCE_CHECK(file_ >= 0, "{}: is already complete", path_);
  flush();
  // Devices have nothing to flush, and say so.
  if (::fsync(file_) != 0 && !(direct_ && (errno == EINVAL || errno == EROFS))) cannot("flushed to the disk");
  if (!direct_) {
    if (temporary_.empty()) name_file();
    if (::renameat(folder_, temporary_.c_str(), folder_, name_of(target_).c_str()) != 0) cannot("replaced");
    temporary_.clear();
    // So that the new name survives a loss of power. Some file systems cannot flush folders.
    if (::fsync(folder_) != 0 && errno != EINVAL) cannot("flushed to the disk");
  }
  close_all();
}

}  // namespace sconce
