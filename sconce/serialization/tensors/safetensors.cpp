#include "sconce/serialization/tensors/safetensors.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/serialization/tensors/file_tensor.h"
#include "sconce/serialization/tensors/safetensors_dtypes.h"
#include "sconce/serialization/tensors/safetensors_header.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

constexpr size_t kLengthSize = 8;

SafetensorsFile::Entry entry_of(const SafetensorsHeader::Tensor& said, const std::string& file, size_t data_begin,
                                size_t file_size) {
  SafetensorsFile::Entry entry{said.name, {}, {}, 0, 0, {}};
  if (const std::optional<DType> dtype = safetensors_dtype(said.dtype)) {
    entry.dtype = *dtype;
  } else {
    entry.foreign_dtype = said.dtype;
  }
  for (uint64_t n : said.shape) {
    SCONCE_CHECK(n <= INT64_MAX, "{}: tensor '{}' has a size that does not fit into 63 bits", file, said.name);
    entry.shape.push_back(static_cast<int64_t>(n));
  }
  const size_t data_size = file_size - data_begin;
  SCONCE_CHECK(said.begin <= said.end && said.end <= data_size,
               "{}: tensor '{}' lies at [{}, {}], the file has {} bytes of data", file, said.name,
               std::to_string(said.begin), std::to_string(said.end), data_size);
  entry.begin = data_begin + said.begin;
  entry.end = data_begin + said.end;
  if (!entry.foreign_dtype.empty()) return entry;  // how large its elements are is not known
  int64_t bytes = 0;
  bool fits = false;
  try {
    fits = !__builtin_mul_overflow(checked_numel(entry.shape), static_cast<int64_t>(item_size(entry.dtype)), &bytes) &&
           static_cast<uint64_t>(bytes) == said.end - said.begin;
  } catch (const Error& error) {
    fail("{}: tensor '{}': {}", file, said.name, error.message());
  }
  SCONCE_CHECK(fits, "{}: tensor '{}' of shape {} and dtype {} does not fill its {} bytes", file, said.name,
               entry.shape, dtype_name(entry.dtype), std::to_string(said.end - said.begin));
  return entry;
}

// Side by side, from the end of the header to the end of the file.
void check_layout(const std::vector<SafetensorsFile::Entry>& entries, const std::string& file, size_t data_begin,
                  size_t file_size) {
  std::vector<const SafetensorsFile::Entry*> order;
  for (const SafetensorsFile::Entry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->begin != b->begin ? a->begin < b->begin : a->end < b->end; });
  size_t at = data_begin;
  for (const SafetensorsFile::Entry* entry : order) {
    SCONCE_CHECK(entry->begin == at, "{}: tensor '{}' {} the one before it", file, entry->name,
                 entry->begin < at ? "overlaps" : "leaves a hole behind");
    at = entry->end;
  }
  SCONCE_CHECK(at == file_size, "{}: {} bytes after the last tensor belong to none", file, file_size - at);
}

}  // namespace

SafetensorsFile SafetensorsFile::read(FileBytesPtr bytes) {
  SafetensorsFile file;
  file.file_ = std::move(bytes);
  const std::string& name = file.file_->name();
  const std::string_view text(reinterpret_cast<const char*>(file.file_->bytes().data()), file.file_->bytes().size());
  SCONCE_CHECK(text.size() >= kLengthSize, "{}: {} bytes are too few for a safetensors file", name, text.size());
  uint64_t header_size = 0;
  for (size_t i = kLengthSize; i-- > 0;) header_size = header_size << 8 | static_cast<uint8_t>(text[i]);
  SCONCE_CHECK(header_size <= text.size() - kLengthSize, "{}: the header has {} bytes, the file only {}", name,
               std::to_string(header_size), text.size());
  SCONCE_CHECK(header_size <= kMaxSafetensorsHeader, "{}: the header has {} bytes, at most {} are allowed", name,
               header_size, kMaxSafetensorsHeader);
  const size_t data_begin = kLengthSize + header_size;
  SafetensorsHeader header = parse_safetensors_header(text.substr(kLengthSize, header_size), name);
  for (const SafetensorsHeader::Tensor& said : header.tensors) {
    file.by_name_.emplace(said.name, file.entries_.size());
    file.entries_.push_back(entry_of(said, name, data_begin, text.size()));
  }
  for (auto& [key, value] : header.metadata) file.metadata_.emplace(std::move(key), std::move(value));
  check_layout(file.entries_, name, data_begin, text.size());
  return file;
}

SafetensorsFile SafetensorsFile::open(const std::string& path) { return read(FileBytes::map(path)); }

SafetensorsFile SafetensorsFile::parse(std::string_view bytes, const std::string& name) {
  return read(FileBytes::copy(std::as_bytes(std::span(bytes)), name));
}

const SafetensorsFile::Entry& SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  SCONCE_CHECK_AS(key, found != by_name_.end(), "{}: has no tensor '{}'", file_->name(), name);
  const Entry& entry = entries_[found->second];
  SCONCE_CHECK(entry.foreign_dtype.empty(), "{}: tensor '{}' has the dtype '{}', which Sconce does not have",
               file_->name(), name, entry.foreign_dtype);
  return entry;
}

Tensor SafetensorsFile::tensor(std::string_view name) const {
  const Entry& entry = find(name);
  return tensor_in_file(nullptr, file_->bytes().subspan(entry.begin, entry.end - entry.begin), entry.dtype,
                        entry.shape);
}

Tensor SafetensorsFile::in_place(std::string_view name) const {
  const Entry& entry = find(name);
  return tensor_in_file(file_, file_->bytes().subspan(entry.begin, entry.end - entry.begin), entry.dtype, entry.shape);
}

}  // namespace sconce
