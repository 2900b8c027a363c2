#include "sconce/codegen/cuda/compiled_text.h"

#include <cstdio>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/base/logs.h"
#include "sconce/codegen/cuda/background.h"

namespace sconce::cuda {
namespace {

uint64_t hash_of(std::string_view text, uint64_t seed) {
  uint64_t h = 0xcbf29ce484222325 ^ seed;
  for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return h;
}

}  // namespace

CompiledText::CompiledText(Device device, std::string source, const char* entry)
    : device_(device),
      source_(std::move(source)),
      entry_(entry),
      key_(fmt::format("{}/{:016x}{:016x}", entry, hash_of(source_, 0), hash_of(source_, 0x9e3779b97f4a7c15))) {}

void CompiledText::begin() {
  in_background([self = shared_from_this()] { self->make(); });
}

const Kernel& CompiledText::wait() {
  if (const Kernel* known = find()) return *known;
  make();
  const Kernel* made = find();
  if (!made) fail("{}", why_);
  return *made;
}

void CompiledText::make() {
  const std::lock_guard lock(mutex_);
  if (find() || !why_.empty()) return;
  try {
    kernel_.store(&find_kernel(device_, key_, [this] { return source_; }, entry_), std::memory_order_release);
  } catch (const std::exception& e) {
    why_ = e.what();
    if (is_logged(LogTag::kernels)) std::fprintf(stderr, "[kernels] %s: %s\n", key_.c_str(), why_.c_str());
  }
}

}  // namespace sconce::cuda
