#include "sconce/testing/second_device/device_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/testing/second_device/second_device.h"

namespace sconce::testing {
namespace {

constexpr size_t kBytes = size_t{4} << 30;  // of addresses; pages exist once they are used
constexpr size_t kAlignment = 64;
constexpr int kPoison = 0xff;  // NaN in floating dtypes, -1 in integers

// What the signal handler reads and writes: plain data.
char* shown_range = nullptr;
std::atomic<size_t> touches{0}, first_touch{0};
struct sigaction action_before;

size_t rounded(size_t nbytes) { return (nbytes + kAlignment - 1) / kAlignment * kAlignment; }

void* map(int file, int rights) {
  void* at = ::mmap(nullptr, kBytes, rights, MAP_SHARED | MAP_NORESERVE, file, 0);
  SCONCE_CHECK(at != MAP_FAILED, "second device: mmap: {}", std::strerror(errno));
  return at;
}

// The first touch is noted and lifts the protection; a fault elsewhere is what it would be without us.
void on_fault(int signal, siginfo_t* info, void* context) {
  auto* at = static_cast<char*>(info->si_addr);
  if (at >= shown_range && at < shown_range + kBytes) {
    if (touches.fetch_add(1) == 0) first_touch = static_cast<size_t>(at - shown_range);
    ::mprotect(shown_range, kBytes, PROT_READ | PROT_WRITE);
  } else if (action_before.sa_flags & SA_SIGINFO) {
    action_before.sa_sigaction(signal, info, context);
  } else {
    ::sigaction(signal, &action_before, nullptr);
    if (info->si_code <= 0) ::raise(signal);  // it was sent, by raise() for one: no instruction is there to fault again
  }
}

}  // namespace

DeviceMemory& DeviceMemory::instance() {
  static auto& memory = *new DeviceMemory;  // tensors may outlive static destructors
  return memory;
}

DeviceMemory::DeviceMemory() {
  const int file = ::memfd_create("second_device", MFD_CLOEXEC);
  SCONCE_CHECK(file >= 0 && ::ftruncate(file, static_cast<off_t>(kBytes)) == 0, "second device: no memory: {}",
               std::strerror(errno));
  shown_ = static_cast<char*>(map(file, PROT_NONE));
  used_ = static_cast<char*>(map(file, PROT_READ | PROT_WRITE));
  ::close(file);
  free_[0] = kBytes;
  shown_range = shown_;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, &action_before);
}

void* DeviceMemory::allocate(size_t nbytes) {
  const size_t need = rounded(nbytes);
  const std::lock_guard lock(mutex_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [at, size] = *it;
    if (size < need) continue;
    free_.erase(it);
    if (size > need) free_[at + need] = size - need;
    taken_[at] = need;
    std::memset(used_ + at, kPoison, need);
    return shown_ + at;
  }
  fail("second device: out of memory: {} bytes wanted of {}", nbytes, kBytes);
}

void DeviceMemory::release(void* shown) noexcept {
  const std::lock_guard lock(mutex_);
  const auto taken = taken_.find(static_cast<size_t>(static_cast<char*>(shown) - shown_));
  if (taken == taken_.end()) return;
  const auto it = free_.insert({taken->first, taken->second}).first;
  taken_.erase(taken);
  if (const auto next = std::next(it); next != free_.end() && it->first + it->second == next->first) {
    it->second += next->second;
    free_.erase(next);
  }
  if (it != free_.begin()) {
    const auto before = std::prev(it);
    if (before->first + before->second == it->first) {
      before->second += it->second;
      free_.erase(it);
    }
  }
}

void* DeviceMemory::inside(const void* shown) const {
  if (shown == nullptr) return nullptr;
  const auto* at = static_cast<const char*>(shown);
  SCONCE_CHECK(at >= shown_ && at < shown_ + kBytes, "second device: given an address that is not its own");
  return used_ + (at - shown_);
}

std::string DeviceMemory::take_touch() {
  const size_t count = touches.exchange(0);
  if (count == 0) return {};
  ::mprotect(shown_, kBytes, PROT_NONE);
  return fmt::format("host code touched memory of {} (first at byte {})", to_string(kSecondDevice), first_touch.load());
}

size_t DeviceMemory::allocated() {
  const std::lock_guard lock(mutex_);
  size_t total = 0;
  for (const auto& [at, size] : taken_) total += size;
  return total;
}

}  // namespace sconce::testing
