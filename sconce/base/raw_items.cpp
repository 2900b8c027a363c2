#include "sconce/base/raw_items.h"

#include <cstring>
#include <vector>

namespace sconce {
namespace {

constexpr size_t kLargest = 16;  // of items that are moved behind others

}  // namespace

void RawItems::move_to(size_t count, size_t item_size) {
  if (count > PTRDIFF_MAX / item_size) std::vector<char>().reserve(SIZE_MAX);  // throws as vectors do
  void* wider = ::operator new(count * item_size);
  if (size != 0) std::memcpy(wider, data, size * item_size);
  ::operator delete(data);
  data = wider;
  capacity = count;
}

void RawItems::close(size_t from, size_t to, size_t item_size) {
  if (to != size) std::memmove(at(from, item_size), at(to, item_size), (size - to) * item_size);
  size -= to - from;
}

void RawItems::move_last(size_t at, size_t item_size) {
  char item[kLargest];
  std::memcpy(item, this->at(size - 1, item_size), item_size);
  std::memmove(this->at(at + 1, item_size), this->at(at, item_size), (size - 1 - at) * item_size);
  std::memcpy(this->at(at, item_size), item, item_size);
}

}  // namespace sconce
