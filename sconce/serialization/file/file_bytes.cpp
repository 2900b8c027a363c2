#include "sconce/serialization/file/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sconce/base/error.h"

namespace sconce {
namespace {

constexpr size_t kAlignment = 64;  // as archives align their tensors

[[noreturn]] void cannot(const char* what, const std::string& path) {
  fail("{}: cannot be {}: {}", path, what, std::strerror(errno));
}

}  // namespace

std::shared_ptr<const FileBytes> FileBytes::map(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not block
  if (file < 0) cannot("opened", path);
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{file};
  struct stat facts;
  if (::fstat(file, &facts) != 0) cannot("looked at", path);
  SCONCE_CHECK(S_ISREG(facts.st_mode), "{}: is not a file", path);
  std::shared_ptr<FileBytes> result(new FileBytes);
  result->name_ = path;
  result->size_ = static_cast<size_t>(facts.st_size);
  if (result->size_ == 0) return result;
  void* data = ::mmap(nullptr, result->size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED) cannot("mapped", path);
  result->data_ = static_cast<std::byte*>(data);
  result->mapped_ = true;
  return result;
}

std::shared_ptr<const FileBytes> FileBytes::copy(std::span<const std::byte> bytes, std::string name) {
  std::shared_ptr<FileBytes> result(new FileBytes);
  result->name_ = std::move(name);
  result->size_ = bytes.size();
  if (bytes.empty()) return result;
  const size_t room = (bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  result->data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, room));
  SCONCE_CHECK(result->data_, "{}: no memory for {} bytes", result->name_, bytes.size());
  std::memcpy(result->data_, bytes.data(), bytes.size());
  return result;
}

std::shared_ptr<const FileBytes> FileBytes::borrow(std::span<std::byte> bytes, std::string name,
                                                   std::shared_ptr<void> owner) {
  std::shared_ptr<FileBytes> result(new FileBytes);
  result->name_ = std::move(name);
  result->data_ = bytes.data();
  result->size_ = bytes.size();
  result->owner_ = std::move(owner);
  return result;
}

FileBytes::~FileBytes() {
  if (owner_) return;
  if (mapped_) {
    ::munmap(data_, size_);
  } else {
    std::free(data_);
  }
}

}  // namespace sconce
