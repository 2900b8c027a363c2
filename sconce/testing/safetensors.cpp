#include "sconce/testing/safetensors.h"

#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>

#include "sconce/base/error.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

using Json = nlohmann::json;

struct NamedDType {
  std::string_view name;
  DType dtype;
};
constexpr NamedDType kDTypes[] = {
    {"BOOL", DType::bool_},  {"U8", DType::uint8},    {"I8", DType::int8},       {"I16", DType::int16},
    {"I32", DType::int32},   {"I64", DType::int64},   {"F16", DType::float16},   {"BF16", DType::bfloat16},
    {"F32", DType::float32}, {"F64", DType::float64}, {"C64", DType::complex64}, {"C128", DType::complex128},
};

DType dtype_of(std::string_view file, const std::string& tensor, const std::string& name) {
  for (const NamedDType& d : kDTypes) {
    if (d.name == name) return d.dtype;
  }
  fail("{}: tensor '{}' has the unknown dtype '{}'", file, tensor, name);
}

uint64_t unsigned_of(std::string_view file, const std::string& tensor, const Json& number) {
  SCONCE_CHECK(number.is_number_unsigned(), "{}: tensor '{}' has {} where a size or an offset belongs", file, tensor,
               number.dump());
  return number.get<uint64_t>();
}

SafetensorsFile::Entry entry_of(std::string_view file, const std::string& tensor, const Json& json, size_t data_begin,
                                size_t file_size) {
  SCONCE_CHECK(json.is_object() && json.contains("dtype") && json["dtype"].is_string() && json.contains("shape") &&
                   json["shape"].is_array() && json.contains("data_offsets") && json["data_offsets"].is_array() &&
                   json["data_offsets"].size() == 2,
               "{}: tensor '{}' needs dtype, shape and data_offsets, got {}", file, tensor, json.dump().substr(0, 200));
  SafetensorsFile::Entry entry;
  entry.dtype = dtype_of(file, tensor, json["dtype"].get<std::string>());
  for (const Json& size : json["shape"]) {
    const uint64_t n = unsigned_of(file, tensor, size);
    SCONCE_CHECK(n <= INT64_MAX, "{}: tensor '{}' has a size that does not fit into 63 bits", file, tensor);
    entry.shape.push_back(static_cast<int64_t>(n));
  }
  const uint64_t begin = unsigned_of(file, tensor, json["data_offsets"][0]);
  const uint64_t end = unsigned_of(file, tensor, json["data_offsets"][1]);
  const size_t data_size = file_size - data_begin;
  SCONCE_CHECK(begin <= end && end <= data_size, "{}: tensor '{}' lies at [{}, {}], the file has {} bytes of data",
               file, tensor, std::to_string(begin), std::to_string(end), data_size);
  const int64_t numel = checked_numel(entry.shape);
  int64_t bytes;
  SCONCE_CHECK(!__builtin_mul_overflow(numel, static_cast<int64_t>(item_size(entry.dtype)), &bytes) &&
                   static_cast<uint64_t>(bytes) == end - begin,
               "{}: tensor '{}' of shape {} and dtype {} does not fill its {} bytes", file, tensor, entry.shape,
               dtype_name(entry.dtype), std::to_string(end - begin));
  entry.begin = data_begin + begin;
  entry.end = data_begin + end;
  return entry;
}

}  // namespace

SafetensorsFile SafetensorsFile::parse(std::string bytes, const std::string& name) {
  SafetensorsFile file;
  file.name_ = name;
  SCONCE_CHECK(bytes.size() >= 8, "{}: {} bytes are too few for a safetensors file", name, bytes.size());
  uint64_t header_size = 0;
  for (int i = 7; i >= 0; --i) header_size = header_size << 8 | static_cast<uint8_t>(bytes[i]);
  SCONCE_CHECK(header_size <= bytes.size() - 8, "{}: the header has {} bytes, the file only {}", name,
               std::to_string(header_size), bytes.size());
  const size_t data_begin = 8 + header_size;

  const Json header =
      Json::parse(bytes.begin() + 8, bytes.begin() + static_cast<ptrdiff_t>(data_begin), nullptr, false);
  SCONCE_CHECK(header.is_object(), "{}: the header is not a JSON object", name);
  for (const auto& [key, value] : header.items()) {
    if (key != "__metadata__") {
      file.entries_.emplace(key, entry_of(name, key, value, data_begin, bytes.size()));
      continue;
    }
    SCONCE_CHECK(value.is_object(), "{}: __metadata__ is not a JSON object", name);
    for (const auto& [meta_key, text] : value.items()) {
      SCONCE_CHECK(text.is_string(), "{}: the metadata '{}' is not a text", name, meta_key);
      file.metadata_.emplace(meta_key, text.get<std::string>());
    }
  }
  file.bytes_ = std::move(bytes);
  return file;
}

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  SCONCE_CHECK(stream, "{}: cannot be opened", path);
  const std::streamoff size = stream.tellg();
  SCONCE_CHECK(size >= 0, "{}: cannot be read", path);
  std::string bytes(static_cast<size_t>(size), '\0');
  stream.seekg(0);
  stream.read(bytes.data(), size);
  SCONCE_CHECK(stream.gcount() == size, "{}: cannot be read", path);
  return parse(std::move(bytes), path);
}

Tensor SafetensorsFile::tensor(std::string_view name) const {
  const auto it = entries_.find(name);
  SCONCE_CHECK_AS(key, it != entries_.end(), "{}: has no tensor '{}'", name_, name);
  const Entry& entry = it->second;
  Tensor t = empty_tensor(entry.shape, entry.dtype);
  if (entry.begin == entry.end) return t;
  if (entry.dtype == DType::bool_) {  // any other byte than 0 and 1 is no bool in memory
    for (size_t i = entry.begin; i < entry.end; ++i) t.data<uint8_t>()[i - entry.begin] = bytes_[i] != 0;
  } else {
    std::memcpy(t.data(), bytes_.data() + entry.begin, entry.end - entry.begin);
  }
  return t;
}

}  // namespace sconce
