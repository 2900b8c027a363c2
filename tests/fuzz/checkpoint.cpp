#include <cstdlib>

#include "sconce/serialization/archive/saved_context.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "tests/fuzz/small_storage.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {
namespace {

// Storages of a few bytes.
class SmallStorages final : public SavedContext {
 public:
  using SavedContext::SavedContext;
  Tensor storage(const std::string&, std::optional<DType> dtype, int64_t count) override {
    return small_storage(dtype, count);
  }
};

}  // namespace

void checkpoint(std::string_view bytes) {
  SmallStorages context("checkpoint");
  try {
    const Value v = read_pickle(bytes, "checkpoint", context);
    UnsupportedTensors unsupported;
    unsigned sum = 0;
    for (const auto& [name, t] : flatten_tensors(v, &unsupported)) {
      if (t.device().type != DeviceType::cpu || !t.is_contiguous() || t.numel() > 4096) continue;
      for (size_t i = 0; i < static_cast<size_t>(t.numel()) * t.item_size(); ++i) sum += t.data<uint8_t>()[i];
    }
    find_opaque(v);
    if (sum == 0) v.repr();  // walks over all of it
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace sconce::fuzz
