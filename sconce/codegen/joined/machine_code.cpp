#include "sconce/codegen/joined/machine_code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

#include "sconce/codegen/joined/loop_emitter.h"

namespace sconce::codegen {

MachineCode::MachineCode(std::span<const uint8_t> bytes) : used_(bytes.size()) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_ = (used_ + page - 1) / page * page;
  memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) throw std::bad_alloc();
  std::memcpy(memory_, bytes.data(), used_);
  if (mprotect(memory_, size_, PROT_READ | PROT_EXEC) != 0) {
    munmap(memory_, size_);
    throw std::bad_alloc();
  }
}

MachineCode::~MachineCode() { munmap(memory_, size_); }

namespace {

struct Cache {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<const MachineCode>> codes;
  size_t next_sweep = 64;
};

Cache& cache() {
  static Cache* const the_cache = new Cache;  // never destroyed: kernels of static objects may outlive it
  return *the_cache;
}

}  // namespace

std::shared_ptr<const MachineCode> machine_code(const Body& body, int level) {
  if (level < 3) return nullptr;
  const std::string key = static_cast<char>(level) + key_of(body);
  Cache& c = cache();
  {
    const std::lock_guard lock(c.mutex);
    const auto found = c.codes.find(key);
    if (found != c.codes.end()) {
      if (auto code = found->second.lock()) return code;
    }
  }
  const std::vector<uint8_t> bytes = emit_loop(body, level);
  if (bytes.empty()) return nullptr;
  auto code = std::make_shared<const MachineCode>(bytes);
  const std::lock_guard lock(c.mutex);
  if (c.codes.size() >= c.next_sweep) {
    std::erase_if(c.codes, [](const auto& entry) { return entry.second.expired(); });
    c.next_sweep = c.codes.size() * 2 + 64;
  }
  c.codes[key] = code;
  return code;
}

}  // namespace sconce::codegen
