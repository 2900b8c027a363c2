#include "sconce/kernels/cpu/gemm/packed_weights.h"

#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "sconce/tensor/memory/write_count.h"

namespace sconce {
namespace {

constexpr std::align_val_t kAlignment{64};

using PackedKey = std::vector<uint64_t>;

struct Shared {
  std::mutex mutex;
  std::map<PackedKey, std::weak_ptr<const PackedWeights>> known;
};

Shared& shared() {
  static auto* const all = new Shared;  // never destroyed: plans may outlive the end of main
  return *all;
}

PackedKey key_of(const Tensor& t, uint64_t form) {
  PackedKey key = {reinterpret_cast<uint64_t>(t.storage()), reinterpret_cast<uint64_t>(t.data()), write_count(t), form,
                   static_cast<uint64_t>(t.dtype())};
  for (const int64_t size : t.sizes()) key.push_back(static_cast<uint64_t>(size));
  for (const int64_t stride : t.strides()) key.push_back(static_cast<uint64_t>(stride));
  return key;
}

}  // namespace

PackedWeights::PackedWeights(size_t bytes) : data_(::operator new(bytes, kAlignment)), bytes_(bytes) {}
PackedWeights::~PackedWeights() { ::operator delete(data_, kAlignment); }

std::shared_ptr<const PackedWeights> packed_weights(const Tensor& weight, uint64_t form, size_t bytes,
                                                    FunctionRef<void(void* packed)> pack) {
  const PackedKey key = key_of(weight, form);
  Shared& all = shared();
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.known.find(key);
    if (found != all.known.end()) {
      if (std::shared_ptr<const PackedWeights> alive = found->second.lock()) return alive;
    }
  }
  // The storage is kept with what was made of it: no other one gets its address, which is part of the key.
  struct Kept {
    Kept(size_t bytes, Storage* from) : packed(bytes), storage(Ref<Storage>::share(from)) {}
    PackedWeights packed;
    Ref<Storage> storage;
  };
  auto kept = std::make_shared<Kept>(bytes, weight.storage());
  pack(kept->packed.data());
  std::shared_ptr<const PackedWeights> made(kept, &kept->packed);
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.known, [](const auto& entry) { return entry.second.expired(); });
  all.known[key] = made;
  return made;
}

}  // namespace sconce
