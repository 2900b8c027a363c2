// ListRef<T>: a borrowed, read-only run of T, the type of every list argument of an operator.
// Like std::span<const T>, but a braced list converts to it, so that `view(x, {2, 3})` works. It never owns: the list
// must outlive the call it is passed to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace sconce {

template <class T>
class ListRef {
 public:
  constexpr ListRef() = default;
  constexpr ListRef(const T* data, size_t size) : data_(data), size_(size) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr ListRef(std::initializer_list<T> list) : data_(list.begin()), size_(list.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  constexpr ListRef(std::span<const T> span) : data_(span.data()), size_(span.size()) {}
  template <class Container>
    requires requires(const Container& c) {
      { c.data() } -> std::convertible_to<const T*>;
      { c.size() } -> std::convertible_to<size_t>;
    }
  constexpr ListRef(const Container& c) : data_(c.data()), size_(c.size()) {}

  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr const T& front() const { return data_[0]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  constexpr ListRef slice(size_t from, size_t count) const { return {data_ + from, count}; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }

  friend constexpr bool operator==(ListRef a, ListRef b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i) {
      if (!(a.data_[i] == b.data_[i])) return false;
    }
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

using IntList = ListRef<int64_t>;

}  // namespace sconce
