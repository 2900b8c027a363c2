// SmallVector<T, N>: a vector with a small buffer, whose first N elements, of trivially copyable T, need no allocation.
// Dims is the one that holds sizes and strides while they are computed.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "sconce/base/list_ref.h"

namespace sconce {

template <class T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() = default;
  explicit SmallVector(size_t count, T value = T()) { resize(count, value); }
  SmallVector(ListRef<T> list) { append(list); }
  SmallVector(std::initializer_list<T> list) { append(ListRef<T>(list)); }
  SmallVector(const SmallVector& other) { append(ListRef<T>(other)); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      size_ = 0;
      append(ListRef<T>(other));
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      free_heap();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { free_heap(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  void pop_back() { --size_; }
  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }
  void append(ListRef<T> list) {
    if (size_ + list.size() > capacity_) grow(size_ + list.size());
    if (!list.empty()) std::memmove(data_ + size_, list.data(), list.size() * sizeof(T));
    size_ += list.size();
  }
  void resize(size_t count, T value = T()) {
    if (count > capacity_) grow(count);
    for (size_t i = size_; i < count; ++i) data_[i] = value;
    size_ = count;
  }
  void insert(size_t at, T value) {
    push_back(value);
    for (size_t i = size_ - 1; i > at; --i) data_[i] = data_[i - 1];
    data_[at] = value;
  }
  void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; ++i) data_[i] = data_[i + 1];
    --size_;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) { return ListRef<T>(a) == ListRef<T>(b); }

 private:
  __attribute__((noinline)) void grow(size_t need) {
    size_t capacity = capacity_ * 2;
    if (capacity < need) capacity = need;
    T* heap = new T[capacity];
    for (size_t i = 0; i < size_; ++i) heap[i] = data_[i];
    free_heap();
    data_ = heap;
    capacity_ = capacity;
  }
  void free_heap() {
    if (data_ != inline_) delete[] data_;
  }
  void take(SmallVector& other) {
    if (other.data_ == other.inline_) {
      data_ = inline_;
      capacity_ = N;
      std::memcpy(inline_, other.inline_, other.size_ * sizeof(T));
    } else {
      data_ = other.data_;
      capacity_ = other.capacity_;
      other.data_ = other.inline_;
      other.capacity_ = N;
    }
    size_ = other.size_;
    other.size_ = 0;
  }

  T* data_ = inline_;
  size_t size_ = 0;
  size_t capacity_ = N;
  T inline_[N];
};

using Dims = SmallVector<int64_t, 8>;

}  // namespace sconce
