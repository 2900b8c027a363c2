// RawItems: a vector whose element type its users alone know. Items move as their bytes do, as numbers and handles can,
// so that one function grows it for all types. ItemsOf<T> is its items seen as T: a handle, which owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "sconce/base/export.h"

namespace sconce {

class SCONCE_API RawItems {
 public:
  RawItems() = default;
  RawItems(const RawItems&) = delete;
  RawItems& operator=(const RawItems&) = delete;
  // The owner has ended the items.
  ~RawItems() { ::operator delete(data); }

  // Make room for as many items as are asked for, and for one more; throw std::length_error and std::bad_alloc.
  void reserve(size_t count, size_t item_size) {
    if (count > capacity) move_to(count, item_size);
  }
  void grow(size_t item_size) { move_to(size == 0 ? 1 : 2 * size, item_size); }
  // Closes the gap that items have left.
  void close(size_t from, size_t to, size_t item_size);
  // Moves the last item to `at`, and those behind that one place on.
  void move_last(size_t at, size_t item_size);
  void* at(size_t i, size_t item_size) const { return static_cast<char*>(data) + i * item_size; }

  void* data = nullptr;
  size_t size = 0, capacity = 0;

 private:
  void move_to(size_t count, size_t item_size);
};

template <class T>
class ItemsOf {
 public:
  ItemsOf(RawItems* items) : items_(items) {}

  explicit operator bool() const { return items_ != nullptr; }
  T* data() const { return static_cast<T*>(items_->data); }
  size_t size() const { return items_->size; }
  size_t capacity() const { return items_->capacity; }
  bool empty() const { return items_->size == 0; }
  T* begin() const { return data(); }
  T* end() const { return data() + size(); }
  T& operator[](size_t i) const { return data()[i]; }

  void push_back(T item) const {
    if (items_->size == items_->capacity) [[unlikely]]
      items_->grow(sizeof(T));
    new (end()) T(std::move(item));
    ++items_->size;
  }

 private:
  RawItems* items_;
};

}  // namespace sconce
