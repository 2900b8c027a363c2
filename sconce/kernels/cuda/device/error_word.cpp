#include "sconce/kernels/cuda/device/error_word.h"

#include <array>
#include <atomic>
#include <mutex>
#include <string_view>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/context.h"

namespace sconce::cuda {
namespace {

constexpr unsigned kMapped = 2;  // CU_MEMHOSTALLOC_DEVICEMAP

std::mutex mutex;
std::array<std::atomic<ErrorWord*>, kMostDevices> words;

std::vector<const char*>& names() {
  static auto& all = *new std::vector<const char*>;
  return all;
}

}  // namespace

void* error_word(Device device) {
  std::atomic<ErrorWord*>& slot = words[static_cast<size_t>(use(device))];
  if (ErrorWord* word = slot.load(std::memory_order_acquire)) return word;
  const std::lock_guard lock(mutex);
  if (ErrorWord* word = slot.load(std::memory_order_acquire)) return word;
  void* data = nullptr;
  check_device(driver().cuMemHostAlloc(&data, sizeof(ErrorWord), kMapped), device, "cuMemHostAlloc");
  auto* word = new (data) ErrorWord{};
  slot.store(word, std::memory_order_release);
  return word;
}

int operator_number(const char* name) {
  const std::lock_guard lock(mutex);
  auto& all = names();
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::string_view(all[i]) == name) return static_cast<int>(i + 1);
  }
  all.push_back(name);
  return static_cast<int>(all.size());
}

void throw_reported(Device device) {
  const int index = device.index < 0 ? current_index() : int{device.index};
  ErrorWord* word = words[static_cast<size_t>(index)].load();
  if (!word || __atomic_load_n(&word->operator_number, __ATOMIC_ACQUIRE) == 0) [[likely]]
    return;
  const int number = __atomic_exchange_n(&word->operator_number, 0, __ATOMIC_ACQ_REL);
  if (number == 0) return;  // another thread took it
  const char* name = "a kernel";
  {
    const std::lock_guard lock(mutex);
    if (number > 0 && static_cast<size_t>(number) <= names().size()) name = names()[static_cast<size_t>(number) - 1];
  }
  if (word->kind == ErrorWord::of_probability)
    fail("{}: expects every p to be in [0, 1], element {} is not", name, word->index);
  fail_as(ErrorKind::index, "{}: index {} is out of range for size {}", name, word->index, word->size);
}

void forget_error_words() {
  for (auto& word : words) keep_forgotten(word.exchange(nullptr));
}

}  // namespace sconce::cuda
