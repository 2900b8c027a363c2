// Byte streams of compiled files: numbers in little-endian order, texts with their length. The reader checks every
// length against what is left, so that no count of a file asks for more memory than the file has bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "sconce/base/error.h"
#include "sconce/tensor/device.h"

namespace sconce::compiled {

class ByteWriter {
 public:
  // Of the file: what its tensors may be on beside the CPU.
  explicit ByteWriter(DeviceType device = DeviceType::cpu) : device_(device) {}

  void byte(uint8_t v) { bytes_ += static_cast<char>(v); }
  void number(uint32_t v) { raw(&v, sizeof v); }
  void integer(int64_t v) { raw(&v, sizeof v); }
  void real(double v) { raw(&v, sizeof v); }
  void text(std::string_view v) {
    number(static_cast<uint32_t>(v.size()));
    bytes_ += v;
  }
  const std::string& bytes() const { return bytes_; }
  DeviceType device() const { return device_; }

 private:
  static_assert(std::endian::native == std::endian::little);
  void raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string bytes_;
  DeviceType device_;
};

class ByteReader {
 public:
  // `name` is that of the file and the record, for messages.
  ByteReader(std::string_view bytes, std::string name, DeviceType device = DeviceType::cpu)
      : bytes_(bytes), name_(std::move(name)), device_(device) {}

  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }
  uint32_t number() { return raw<uint32_t>(); }
  int64_t integer() { return raw<int64_t>(); }
  double real() { return raw<double>(); }
  std::string_view text() { return take(number()); }
  bool flag() { return flags(1) != 0; }
  // Some bits, none above those of `all`.
  uint8_t flags(uint8_t all) {
    const uint8_t v = byte();
    SCONCE_CHECK(v <= all, "{}: byte {} is {}, expected 0 {} {}", name_, at_ - 1, v, all == 1 ? "or" : "to", all);
    return v;
  }
  // How many items follow, of at least so many bytes each.
  uint32_t count(const char* what, uint32_t most, size_t item_bytes = 1) {
    const uint32_t n = number();
    SCONCE_CHECK(n <= most && n <= (bytes_.size() - at_) / item_bytes, "{}: {} {}, which is more than {}", name_, n,
                 what, n > most ? "the limit of " + std::to_string(most) : std::string("the rest of the file holds"));
    return n;
  }
  bool at_end() const { return at_ == bytes_.size(); }
  const std::string& name() const { return name_; }
  DeviceType device() const { return device_; }

 private:
  std::string_view take(size_t n) {
    SCONCE_CHECK(n <= bytes_.size() - at_, "{}: ends early: {} bytes are wanted at {} of {}", name_, n, at_,
                 bytes_.size());
    at_ += n;
    return bytes_.substr(at_ - n, n);
  }
  template <class T>
  T raw() {
    T v;
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
    return v;
  }

  std::string_view bytes_;
  std::string name_;
  DeviceType device_;
  size_t at_ = 0;
};

}  // namespace sconce::compiled
