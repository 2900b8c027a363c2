#include "sconce/kernels/cpu/gemm/packed_weights.h"

#include <chrono>
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

constexpr size_t kKeyWords = 5;  // before sizes and strides

PackedKey key_of(const Tensor& t, uint64_t form) {
  PackedKey key = {reinterpret_cast<uint64_t>(t.storage()), reinterpret_cast<uint64_t>(t.data()), write_count(t), form,
                   static_cast<uint64_t>(t.dtype())};
  for (const int64_t size : t.sizes()) key.push_back(static_cast<uint64_t>(size));
  for (const int64_t stride : t.strides()) key.push_back(static_cast<uint64_t>(stride));
  return key;
}

thread_local constinit bool packs_later = false;
constinit std::atomic<int64_t> next_packing{0};  // nanoseconds of the steady clock

int64_t now() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

// The storage is kept with what was made of it: no other one gets its address, which is part of the key.
struct Kept {
  template <class... T>
  explicit Kept(Storage* from, T&&... packed_args)
      : packed(std::forward<T>(packed_args)...), storage(Ref<Storage>::share(from)) {}
  PackedWeights packed;
  Ref<Storage> storage;
};

}  // namespace

PackedWeights::PackedWeights(size_t bytes) : data_(::operator new(bytes, kAlignment)), bytes_(bytes) {}
PackedWeights::PackedWeights(void* data, size_t bytes, std::shared_ptr<const void> owner)
    : data_(data), bytes_(bytes), owner_(std::move(owner)) {}
PackedWeights::~PackedWeights() {
  if (!owner_) ::operator delete(data_, kAlignment);
}

PackedPtr packed_weights(const Tensor& weight, uint64_t form, size_t bytes, FunctionRef<void(void* packed)> pack) {
  const PackedKey key = key_of(weight, form);
  Shared& all = shared();
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.known.find(key);
    if (found != all.known.end()) {
      if (PackedPtr alive = found->second.lock(); alive && alive->bytes() == bytes) return alive;
    }
  }
  auto kept = std::make_shared<Kept>(weight.storage(), bytes);
  pack(kept->packed.data());
  PackedPtr made(kept, &kept->packed);
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.known, [](const auto& entry) { return entry.second.expired(); });
  all.known[key] = made;
  return made;
}

PackLater::PackLater() noexcept : before_(std::exchange(packs_later, true)) {}
PackLater::~PackLater() { packs_later = before_; }

LazyWeights::LazyWeights(const Tensor& weight, uint64_t form, size_t bytes, std::function<void(void* packed)> pack)
    : weight_(weight), form_(form), bytes_(bytes), pack_(std::move(pack)) {
  constexpr size_t kSmall = size_t{64} << 10;  // packed in some microseconds
  if (packs_later && bytes > kSmall) {
    Shared& all = shared();
    const std::lock_guard lock(all.mutex);
    const auto found = all.known.find(key_of(weight, form));
    if (found != all.known.end()) packed_ = found->second.lock();
    if (packed_ && packed_->bytes() != bytes) packed_.reset();
  } else {
    packed_ = packed_weights(weight, form, bytes, pack_);
  }
  if (packed_) data_.store(packed_->data(), std::memory_order_release);
}

const void* LazyWeights::try_pack(bool is_due) const {
  const int64_t start = now();
  if (!is_due && start < next_packing.load(std::memory_order_relaxed)) return nullptr;
  if (is_taken_.exchange(true, std::memory_order_acq_rel)) return data_.load(std::memory_order_acquire);
  try {
    packed_ = packed_weights(weight_, form_, bytes_, pack_);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  data_.store(packed_->data(), std::memory_order_release);
  const int64_t end = now();
  next_packing.store(end + (end - start), std::memory_order_relaxed);
  return packed_->data();
}

PackedPtr adopt_packed(const Tensor& weight, uint64_t form, void* data, size_t bytes,
                       std::shared_ptr<const void> owner) {
  auto kept = std::make_shared<Kept>(weight.storage(), data, bytes, std::move(owner));
  PackedPtr adopted(kept, &kept->packed);
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  all.known[key_of(weight, form)] = adopted;
  return adopted;
}

std::vector<PackedForm> packed_forms_of(const Storage* storage) {
  std::vector<PackedForm> forms;
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  const auto address = reinterpret_cast<uint64_t>(storage);
  for (auto at = all.known.lower_bound({address}); at != all.known.end() && at->first[0] == address; ++at) {
    const PackedKey& key = at->first;
    const auto rank = static_cast<ptrdiff_t>((key.size() - kKeyWords) / 2);
    const auto dims = key.begin() + kKeyWords;
    PackedForm form{static_cast<int64_t>(key[1] - reinterpret_cast<uint64_t>(storage->data)),
                    static_cast<DType>(key[4]),
                    {dims, dims + rank},
                    {dims + rank, dims + 2 * rank},
                    key[3],
                    at->second.lock()};
    if (form.packed) forms.push_back(std::move(form));
  }
  return forms;
}

}  // namespace sconce
