#include "sconce/serialization/compiled/packed_records.h"

#include "sconce/base/error.h"
#include "sconce/executor/tape.h"
#include "sconce/serialization/compiled/program_bytes.h"

namespace sconce::compiled {
namespace {

constexpr uintptr_t kAlignment = 64;

void for_each_packed(const Records& records, const StorageOfRecord& storage_of,
                     const std::function<void(const Tensor& weight, uint64_t form, std::span<std::byte> bytes)>& f) {
  if (!records.find(kPackedRecord)) return;
  const std::string index = records.read(kPackedRecord);
  ByteReader in(index, records.name() + ": " + kPackedRecord);
  if (in.number() != kPackedRevision) return;
  const uint32_t count = in.count("packed weights", kMaxPacked, 22);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t record = in.number();
    const int64_t offset = in.integer();
    const DType dtype = dtype_from_number(in.byte());
    const uint8_t rank = in.byte();
    SCONCE_CHECK(rank <= TensorImpl::kInlineRank, "{}: a weight has {} dimensions, at most {} are possible", in.name(),
                 rank, TensorImpl::kInlineRank);
    Dims sizes, strides;
    for (int d = 0; d < rank; ++d) sizes.push_back(in.integer());
    for (int d = 0; d < rank; ++d) strides.push_back(in.integer());
    const auto form = static_cast<uint64_t>(in.integer());
    const auto item = static_cast<int64_t>(item_size(dtype));
    SCONCE_CHECK(offset % item == 0, "{}: a weight of {} begins at byte {}", in.name(), dtype_name(dtype), offset);
    const Tensor weight = make_tensor(storage_of(record), dtype, sizes, strides, offset / item);
    const std::string name = "packed/" + std::to_string(i);
    const ZipReader::Record* bytes = records.find(name);
    SCONCE_CHECK(bytes, "{}: there is no record '{}'", records.name(), name);
    // What cannot be used where it lies is as good as none.
    if (bytes->deflated) continue;
    const std::span<std::byte> content = records.zip().in_place(*bytes);
    if (reinterpret_cast<uintptr_t>(content.data()) % kAlignment == 0) f(weight, form, content);
  }
  SCONCE_CHECK(in.at_end(), "{}: goes on behind its end", in.name());
}

}  // namespace

PackedContent packed_content(std::span<const Ref<Storage>> data) {
  PackedContent content;
  ByteWriter out;
  out.number(kPackedRevision);
  uint32_t count = 0;
  ByteWriter entries;
  for (uint32_t record = 0; record < data.size(); ++record) {
    for (const PackedForm& form : packed_forms_of(data[record].get())) {
      entries.number(record);
      entries.integer(form.offset);
      entries.byte(static_cast<uint8_t>(form.dtype));
      entries.byte(static_cast<uint8_t>(form.sizes.size()));
      for (const int64_t size : form.sizes) entries.integer(size);
      for (const int64_t stride : form.strides) entries.integer(stride);
      entries.integer(static_cast<int64_t>(form.form));
      content.packed.push_back(form.packed);
      ++count;
    }
  }
  out.number(count);
  content.index = out.bytes() + entries.bytes();
  return content;
}

std::vector<PackedPtr> adopt_packed(const Records& records, const StorageOfRecord& storage_of) {
  std::vector<PackedPtr> adopted;
  for_each_packed(records, storage_of, [&](const Tensor& weight, uint64_t form, std::span<std::byte> bytes) {
    adopted.push_back(sconce::adopt_packed(weight, form, bytes.data(), bytes.size(), records.zip().file()));
  });
  return adopted;
}

size_t compare_packed(const Records& records, const StorageOfRecord& storage_of) {
  size_t same = 0;
  for_each_packed(records, storage_of, [&](const Tensor& weight, uint64_t form, std::span<std::byte> bytes) {
    for (const PackedForm& made : packed_forms_of(weight.storage())) {
      const bool is_it = made.form == form && made.dtype == weight.dtype() && IntList(made.sizes) == weight.sizes() &&
                         IntList(made.strides) == weight.strides() &&
                         made.offset == weight.storage_offset() * static_cast<int64_t>(weight.item_size());
      if (!is_it) continue;
      SCONCE_CHECK(
          made.packed->bytes() == bytes.size() && std::memcmp(made.packed->data(), bytes.data(), bytes.size()) == 0,
          "{}: {}: packed weights of {} are not those of the constant", records.name(), kPackedRecord,
          executor::geometry_text(weight));
      ++same;
    }
  });
  return same;
}

}  // namespace sconce::compiled
