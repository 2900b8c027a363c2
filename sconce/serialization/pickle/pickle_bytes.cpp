#include "sconce/serialization/pickle/pickle_bytes.h"

#include <bit>
#include <cstring>
#include <limits>

#include "sconce/base/error.h"

namespace sconce {

template <class T>
void PickleBytes::number(T v) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &v, sizeof(T));
  bytes_.append(bytes, sizeof(T));
}

void PickleBytes::integer(int64_t v) {
  if (v >= 0 && v <= 0xff) {
    op('K');
    number(static_cast<uint8_t>(v));
  } else if (v >= 0 && v <= 0xffff) {
    op('M');
    number(static_cast<uint16_t>(v));
  } else if (v >= std::numeric_limits<int32_t>::min() && v <= std::numeric_limits<int32_t>::max()) {
    op('J');
    number(static_cast<int32_t>(v));
  } else {
    op('\x8a');
    number(uint8_t{sizeof(v)});
    number(v);
  }
}

void PickleBytes::real(double v) {
  op('G');
  number(__builtin_bswap64(std::bit_cast<uint64_t>(v)));
}

void PickleBytes::text(std::string_view v) {
  const auto [found, added] = texts_.emplace(v, next_);
  if (!added) return get(found->second);
  SCONCE_CHECK(v.size() <= std::numeric_limits<uint32_t>::max(), "a text of {} bytes is too long for a pickle",
               v.size());
  op('X');
  number(static_cast<uint32_t>(v.size()));
  bytes_ += v;
  put();
}

void PickleBytes::global(std::string_view module, std::string_view name) {
  std::string line(module);
  line.append("\n").append(name).append("\n");
  const auto [found, added] = globals_.emplace(line, next_);
  if (!added) return get(found->second);
  op('c');
  bytes_ += line;
  put();
}

void PickleBytes::global(std::string_view qualified) {
  const size_t dot = qualified.rfind('.');
  SCONCE_CHECK(dot != qualified.npos && qualified.find('\n') == qualified.npos,
               "'{}' is not the name of a class in an archive", qualified);
  global(qualified.substr(0, dot), qualified.substr(dot + 1));
}

void PickleBytes::begin_tuple(size_t n) {
  if (n > 3) op('(');
}

void PickleBytes::end_tuple(size_t n) {
  constexpr char kSmall[] = {')', '\x85', '\x86', '\x87'};
  op(n > 3 ? 't' : kSmall[n]);
}

uint32_t PickleBytes::put() {
  const uint32_t id = next_++;
  if (id <= 0xff) {
    op('q');
    number(static_cast<uint8_t>(id));
  } else {
    op('r');
    number(id);
  }
  return id;
}

void PickleBytes::get(uint32_t id) {
  if (id <= 0xff) {
    op('h');
    number(static_cast<uint8_t>(id));
  } else {
    op('j');
    number(id);
  }
}

std::string PickleBytes::finish() && {
  op('.');
  return std::move(bytes_);
}

}  // namespace sconce
