// InlineVector<T, N>: a vector with a small buffer, whose first N elements, of any T, need no allocation. For members
// that nearly always hold a few things; SmallVector is the one for plain numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace sconce {

template <class T, size_t N>
class InlineVector {
 public:
  InlineVector() = default;
  explicit InlineVector(size_t count) { resize(count); }
  InlineVector(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }
  InlineVector(std::vector<T> items) {
    reserve(items.size());
    for (T& item : items) push_back(std::move(item));
  }
  InlineVector(const InlineVector& other) {
    reserve(other.size_);
    for (const T& item : other) push_back(item);
  }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(InlineVector other) noexcept {
    clear_all();
    take(other);
    return *this;
  }
  ~InlineVector() { clear_all(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(T item) { emplace_back(std::move(item)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) grow(size_ + 1);
    T* made = new (data_ + size_) T(std::forward<Args>(args)...);
    ++size_;
    return *made;
  }
  void resize(size_t count) {
    reserve(count);
    while (size_ < count) emplace_back();
    while (size_ > count) data_[--size_].~T();
  }
  void reserve(size_t count) {
    if (count > capacity_) grow(count);
  }
  void clear() { resize(0); }

 private:
  T* own() { return reinterpret_cast<T*>(storage_); }
  void grow(size_t least) {
    const size_t capacity = std::max(least, size_t{capacity_} * 2);
    T* bigger = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), bigger);
    const auto size = size_;
    clear_all();
    data_ = bigger;
    size_ = size;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void clear_all() noexcept {
    std::destroy(begin(), end());
    if (data_ != own()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = own();
    size_ = 0;
    capacity_ = N;
  }
  // Takes the elements of another one, which is left empty; this one must be empty.
  void take(InlineVector& other) noexcept {
    if (other.data_ != other.own()) {
      data_ = std::exchange(other.data_, other.own());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
    } else {
      std::uninitialized_move(other.begin(), other.end(), data_);
      size_ = other.size_;
      other.clear_all();
    }
  }

  T* data_ = own();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) unsigned char storage_[N * sizeof(T)];
};

}  // namespace sconce
