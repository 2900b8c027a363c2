// Reference counting: counted objects, and Ref<T>, the intrusive pointer that owns them.
//
// Note [One count word]
// The strong count is the low half of one 64-bit word, the weak count its high half. So `word == 1` means: one owner
// and no weak handle, and the last owner frees without a locked instruction. That is only right because weak handles
// count in the same word: a weak handle elsewhere could otherwise revive the object between the test and the free.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sconce/base/export.h"

namespace sconce {

class RefCount {
 public:
  // A new object has one owner.
  void retain() noexcept { word_.fetch_add(1, std::memory_order_relaxed); }
  // True when the caller dropped the last owner and must destroy the object.
  [[nodiscard]] bool release() noexcept {
    if (word_.load(std::memory_order_acquire) == 1) return true;
    return static_cast<uint32_t>(word_.fetch_sub(1, std::memory_order_acq_rel)) == 1;
  }
  bool unique() const noexcept { return word_.load(std::memory_order_acquire) == 1; }
  // For objects that are found again through pointers which do not own them: the last owner always releases with a
  // locked instruction, so that try_retain (which fails once the object has no owner) cannot revive a dying one.
  void disable_shortcut() noexcept { word_.fetch_add(uint64_t{1} << 32, std::memory_order_relaxed); }
  [[nodiscard]] bool try_retain() noexcept {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while (static_cast<uint32_t>(word) != 0) {
      if (word_.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  uint32_t owners() const noexcept { return static_cast<uint32_t>(word_.load(std::memory_order_relaxed)); }

  // The word of an object without owners is free: it links the objects that wait to be deleted.
  void set_next(void* next) noexcept { word_.store(reinterpret_cast<uintptr_t>(next), std::memory_order_relaxed); }
  void* next() const noexcept { return reinterpret_cast<void*>(word_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<uint64_t> word_{1};
};

// Base of everything that a Value can own besides tensors: strings, lists, dicts, tuples, objects, ...
class Counted {
 public:
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  virtual ~Counted() = default;
  RefCount count;

 protected:
  Counted() = default;
};

inline void retain(Counted* p) noexcept {
  if (p) p->count.retain();
}
// Deletes an object without owners. A long chain of objects, each owning the next, needs no stack frame for each: from
// some depth on they wait in a list until those above them are gone.
SCONCE_API void destroy(Counted* p) noexcept;
inline void release(Counted* p) noexcept {
  if (p && p->count.release()) destroy(p);
}

// Owning pointer to T, for which retain(T*) and release(T*) exist. Null is allowed.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref& other) : p_(other.p_) { retain(p_); }
  Ref(Ref&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  template <class U>
    requires std::convertible_to<U*, T*>
  Ref(Ref<U> other) : p_(other.leak()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Ref() { release(p_); }

  // Takes over one count of `p`.
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  // Adds a count.
  static Ref share(T* p) {
    retain(p);
    return adopt(p);
  }
  T* leak() { return std::exchange(p_, nullptr); }

  T* get() const { return p_; }
  T& operator*() const { return *p_; }
  T* operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.p_ == b.p_; }

 private:
  T* p_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace sconce
