#include "sconce/executor/graph_backend.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "sconce/lowering/dialect.h"

namespace sconce::executor {
namespace {

constexpr const char* kOwn = "sconce";
constexpr uint32_t kNotAsked = ~0u;  // the environment

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<GraphBackend>> backends;  // number 1 is the first
  std::deque<std::string> names{kOwn};                  // by number; they stay where they are
};
// Never destroyed: threads may run plans while the process ends.
Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}
constinit std::atomic<uint32_t> chosen{kNotAsked};

// The number of a name. The registry is locked.
uint32_t find(const Registry& r, const std::string& name, const char* who) {
  std::string known;
  for (uint32_t i = 0; i < r.names.size(); ++i) {
    if (r.names[i] == name) return i;
    known += (i ? ", " : "") + r.names[i];
  }
  fail_as(ErrorKind::value, "{}: there is no backend '{}'; known are: {}", who, name, known);
}

}  // namespace

Callable::~Callable() = default;
GraphBackend::~GraphBackend() = default;
BackendError::~BackendError() = default;

// Plans hold objects of a backend's classes, and nobody knows when the last of them is gone.
void keep_code(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || !info.dli_fname) return;
  static_cast<void>(dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

void register_backend(std::shared_ptr<GraphBackend> backend) {
  SCONCE_CHECK_AS(value, backend != nullptr, "register_backend: null is no backend");
  const std::string name = backend->name(), dialect = backend->wants();
  SCONCE_CHECK_AS(value, !name.empty(), "register_backend: a backend has an empty name");
  SCONCE_CHECK_AS(value, lowering::find_dialect(dialect), "backend '{}' wants the dialect '{}'; known are: {}", name,
                  dialect, lowering::dialect_names());
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (const std::string& known : r.names)
    SCONCE_CHECK_AS(value, known != name, "register_backend: there is a backend '{}' already", name);
  r.backends.reserve(r.backends.size() + 1);
  keep_code(*reinterpret_cast<void* const*>(backend.get()));  // its table of virtual functions
  r.names.push_back(name);
  r.backends.push_back(std::move(backend));
}

std::vector<std::string> list_backends() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return {r.names.begin(), r.names.end()};
}

void set_backend(const std::string& name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  chosen.store(find(r, name, "set_backend"));
}

std::string current_backend() {
  const uint32_t number = current_backend_number();
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return r.names[number];
}

uint32_t current_backend_number() {
  const uint32_t known = chosen.load(std::memory_order_relaxed);
  if (known != kNotAsked) [[likely]]
    return known;
  const char* setting = std::getenv("SCONCE_BACKEND");
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const uint32_t number = setting && *setting ? find(r, setting, "SCONCE_BACKEND") : 0;
  uint32_t none = kNotAsked;
  return chosen.compare_exchange_strong(none, number) ? number : none;
}

uint32_t backend_number(const std::string& name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return find(r, name, "backend");
}

std::shared_ptr<GraphBackend> backend_of_number(uint32_t number) {
  if (number == 0) return nullptr;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return r.backends.at(number - 1);
}

const char* backend_name(uint32_t number) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return number < r.names.size() ? r.names[number].c_str() : nullptr;
}

}  // namespace sconce::executor
