#include "sconce/serialization/file/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/tensor/memory/mapped_files.h"

namespace sconce {
namespace {

constexpr size_t kAlignment = 64;  // as archives align their tensors

[[noreturn]] void cannot(const char* what, const std::string& path) {
  fail("{}: cannot be {}: {}", path, what, std::strerror(errno));
}

}  // namespace

namespace {

bool others_may_write(const struct stat& facts) {
  return facts.st_uid != ::geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

std::byte* new_memory(size_t size, const std::string& name) {
  const size_t room = (size + kAlignment - 1) / kAlignment * kAlignment;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, room));
  SCONCE_CHECK(data, "{}: no memory for {} bytes", name, size);
  return data;
}

void read_all(int file, std::byte* to, size_t size, const std::string& path) {
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::read(file, to + done, std::min<size_t>(size - done, size_t{1} << 30));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot("read", path);
    SCONCE_CHECK(count > 0, "{}: was cut from {} to {} bytes while it was read", path, size, done);
    done += static_cast<size_t>(count);
  }
}

}  // namespace

std::shared_ptr<const FileBytes> FileBytes::map(const std::string& path) { return open(path, How::map); }
std::shared_ptr<const FileBytes> FileBytes::read(const std::string& path) { return open(path, How::read); }
std::shared_ptr<const FileBytes> FileBytes::read_or_map(const std::string& path) { return open(path, How::safest); }

std::shared_ptr<const FileBytes> FileBytes::open(const std::string& path, How how) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not block
  if (file < 0) cannot("opened", path);
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{file};
  struct stat facts;
  if (::fstat(file, &facts) != 0) cannot("looked at", path);
  const char* what = S_ISDIR(facts.st_mode) ? "a folder" : S_ISFIFO(facts.st_mode) ? "a pipe" : "a device or socket";
  SCONCE_CHECK(S_ISREG(facts.st_mode), "{}: is not a file, but {}", path, what);
  std::shared_ptr<FileBytes> result(new FileBytes);
  result->name_ = path;
  result->size_ = static_cast<size_t>(facts.st_size);
  if (result->size_ == 0) return result;
  if (how == How::read || (how == How::safest && others_may_write(facts))) {
    result->data_ = new_memory(result->size_, path);
    read_all(file, result->data_, result->size_, path);
    return result;
  }
  void* data = ::mmap(nullptr, result->size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED) cannot("mapped", path);
  result->data_ = static_cast<std::byte*>(data);
  result->mapped_ = true;
  add_mapped_file(data, result->size_);
  return result;
}

std::shared_ptr<const FileBytes> FileBytes::copy(std::span<const std::byte> bytes, std::string_view name) {
  std::shared_ptr<FileBytes> result(new FileBytes);
  result->name_ = name;
  result->size_ = bytes.size();
  if (bytes.empty()) return result;
  result->data_ = new_memory(bytes.size(), result->name_);
  std::memcpy(result->data_, bytes.data(), bytes.size());
  return result;
}

std::shared_ptr<const FileBytes> FileBytes::borrow(std::span<std::byte> bytes, std::string_view name,
                                                   const std::shared_ptr<void>& owner) {
  std::shared_ptr<FileBytes> result(new FileBytes);
  result->name_ = name;
  result->data_ = bytes.data();
  result->size_ = bytes.size();
  result->owner_ = owner;
  return result;
}

FileBytes::~FileBytes() {
  if (owner_) return;
  if (mapped_) {
    remove_mapped_file(data_);
    ::munmap(data_, size_);
  } else {
    std::free(data_);
  }
}

}  // namespace sconce
