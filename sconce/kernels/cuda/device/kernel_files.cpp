#include "sconce/kernels/cuda/device/kernel_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "sconce/base/error.h"

namespace sconce::cuda {
namespace {

constexpr char kMagic[16] = "sconce kernel 1";
constexpr std::string_view kEnding = ".kernel";
constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kDefaultMegabytes = 1024;
constexpr size_t kLargestFile = 256 * kMiB;  // larger ones are not ours
constexpr time_t kOldTemporary = 3600;       // seconds; what a process that was killed left behind

struct Header {
  char magic[16];
  uint64_t key_bytes, image_bytes;
  uint64_t hash;  // of key and image
};

// Multiply and fold, eight bytes at a time. Not for adversaries: who may write the folder may run code anyway.
uint64_t hash_of(std::string_view bytes, uint64_t seed) {
  uint64_t hash = seed ^ (bytes.size() * 0x9e3779b97f4a7c15u);
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    const auto product = static_cast<unsigned __int128>(hash ^ word) * 0xd6e8feb86659fd93u;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ std::rotl(hash, 23);
  }
  return hash;
}

uint64_t hash_of(std::string_view key, std::string_view image) { return hash_of(image, hash_of(key, 1)); }

std::optional<std::string> read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string bytes;
  struct stat facts;
  bool is_whole =
      ::fstat(file, &facts) == 0 && facts.st_size >= 0 && static_cast<size_t>(facts.st_size) <= kLargestFile;
  if (is_whole) bytes.resize(static_cast<size_t>(facts.st_size));
  for (size_t at = 0; is_whole && at < bytes.size();) {
    const ssize_t got = ::read(file, bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    is_whole = got > 0;
    if (is_whole) at += static_cast<size_t>(got);
  }
  ::close(file);
  return is_whole ? std::optional(std::move(bytes)) : std::optional(std::string());
}

bool write_file(const std::string& path, std::initializer_list<std::string_view> parts) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool is_whole = true;
  for (std::string_view part : parts) {
    while (is_whole && !part.empty()) {
      const ssize_t written = ::write(file, part.data(), part.size());
      if (written < 0 && errno == EINTR) continue;
      is_whole = written > 0;
      if (is_whole) part.remove_prefix(static_cast<size_t>(written));
    }
  }
  return ::close(file) == 0 && is_whole;
}

bool make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (slash == path.npos) return true;
  }
}

std::string from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

}  // namespace

std::string kernel_folder() {
  const std::string named = from_environment("SCONCE_KERNEL_CACHE");
  if (named == "off") return "";
  if (!named.empty()) return named;
  if (const std::string caches = from_environment("XDG_CACHE_HOME"); !caches.empty()) return caches + "/sconce/kernels";
  const std::string home = from_environment("HOME");
  return home.empty() ? "" : home + "/.cache/sconce/kernels";
}

size_t kernel_folder_bytes() {
  const std::string text = from_environment("SCONCE_KERNEL_CACHE_MB");
  if (text.empty()) return kDefaultMegabytes * kMiB;
  SCONCE_CHECK_AS(value, text.size() <= 9 && text.find_first_not_of("0123456789") == text.npos,
                  "SCONCE_KERNEL_CACHE_MB must be a number of megabytes, got '{}'", text);
  return std::stoul(text) * kMiB;
}

KernelFiles::KernelFiles(std::string folder, size_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {
  while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
  if (!folder_.empty() && !make_folders(folder_)) folder_.clear();
}

std::string KernelFiles::path_of(std::string_view key) const {
  return fmt::format("{}/{:016x}{:016x}{}", folder_, hash_of(key, 2), hash_of(key, 3), kEnding);
}

std::optional<std::string> KernelFiles::find(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = path_of(key);
  const std::optional<std::string> bytes = read_file(path);
  if (!bytes) return std::nullopt;
  Header header;
  const std::string_view rest = std::string_view(*bytes).substr(std::min(sizeof header, bytes->size()));
  if (bytes->size() >= sizeof header) std::memcpy(&header, bytes->data(), sizeof header);
  if (bytes->size() < sizeof header || std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 ||
      header.key_bytes > rest.size() || header.image_bytes != rest.size() - header.key_bytes ||
      header.hash != hash_of(rest.substr(0, header.key_bytes), rest.substr(header.key_bytes))) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  if (rest.substr(0, header.key_bytes) != key) return std::nullopt;  // another text of the same name
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);                   // used now
  return std::string(rest.substr(header.key_bytes));
}

void KernelFiles::store(std::string_view key, std::string_view image) {
  if (folder_.empty()) return;
  Header header{.magic = {}, .key_bytes = key.size(), .image_bytes = image.size(), .hash = hash_of(key, image)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  static std::atomic<unsigned> count = 0;
  const std::string path = path_of(key);
  const std::string beside = fmt::format("{}.{}.{}", path, ::getpid(), count.fetch_add(1));
  if (!write_file(beside, {{reinterpret_cast<const char*>(&header), sizeof header}, key, image}) ||
      ::rename(beside.c_str(), path.c_str()) != 0) {
    ::unlink(beside.c_str());
    return;
  }
  // Once in a process and then after every sixteenth of what fits.
  stored_bytes_ += sizeof header + key.size() + image.size();
  if (is_pruned_ && stored_bytes_ < most_bytes_ / 16) return;
  prune();
  is_pruned_ = true;
  stored_bytes_ = 0;
}

void KernelFiles::prune() const {
  DIR* folder = folder_.empty() ? nullptr : ::opendir(folder_.c_str());
  if (!folder) return;
  struct File {
    std::string path;
    timespec used;
    size_t bytes;
  };
  std::vector<File> files;
  size_t total = 0;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    const std::string path = folder_ + "/" + entry->d_name;
    struct stat facts;
    if (name.find(kEnding) == name.npos || ::stat(path.c_str(), &facts) != 0) continue;
    if (!name.ends_with(kEnding)) {
      if (::time(nullptr) - facts.st_mtime > kOldTemporary) ::unlink(path.c_str());
      continue;
    }
    files.push_back({path, facts.st_mtim, static_cast<size_t>(facts.st_size)});
    total += files.back().bytes;
  }
  ::closedir(folder);
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.path) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.path);
  });
  for (const File& file : files) {
    if (total <= most_bytes_) break;
    if (::unlink(file.path.c_str()) == 0) total -= file.bytes;
  }
}

}  // namespace sconce::cuda
