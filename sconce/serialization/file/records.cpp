#include "sconce/serialization/file/records.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/frontend/script/names/archive_names.h"
#include "sconce/serialization/tensors/file_tensor.h"

namespace sconce {

Records::Records(const FileBytesPtr& file) : zip_(file) {
  if (zip_.records().empty()) refuse("{}: the zip file is empty");
  const std::string_view first = zip_.records().front().name;
  const size_t slash = first.find('/');
  if (slash == first.npos) refuse("{}: record '{}{}' is not in a folder, as in an archive of PyTorch", first);
  folder_ = first.substr(0, slash + 1);
}

void Records::refuse(const char* text, std::string_view first, std::string_view rest, int64_t a, int64_t b) const {
  fail(ErrorKind::runtime, text, {name(), first, rest, a, b});
}

constexpr const char* kNoRecord = "{}: there is no record '{}{}'";

const ZipReader::Record* Records::find(std::string_view inner_folder, std::string_view record) const {
  return zip_.find({folder_, inner_folder, record});
}

std::string Records::read(std::string_view record) const {
  const ZipReader::Record* found = find(record);
  if (!found) refuse(kNoRecord, record);
  return zip_.read(*found);
}

int Records::version() const {
  const std::string text = read(find(".data/version") ? ".data/version" : "version");
  constexpr int kHuge = 1'000'000;
  int version = 0;
  const char *const begin = text.c_str(), *at = begin;
  for (; *at >= '0' && *at <= '9'; ++at) version = std::min(10 * version + (*at - '0'), kHuge);
  const std::string_view digits(begin, static_cast<size_t>(at - begin));
  while (*at == ' ' || *at == '\r' || *at == '\n') ++at;
  if (digits.empty() || at != begin + text.size()) refuse("{}: the version '{}{}' is not a number", text);
  if (version < kOldestArchiveVersion || version > kNewestArchiveVersion)
    refuse("{}: has format version {}{}; versions {} to {} can be read", digits, {}, kOldestArchiveVersion,
           kNewestArchiveVersion);
  return version;
}

void Records::check_byte_order() const {
  if (!find("byteorder")) return;  // written since PyTorch 2.1
  const std::string order = read("byteorder");
  if (order != "little") refuse("{}: the byte order '{}{}' is not supported, only 'little'", order);
}

Storages::Storages(const Records& records)
    : records_(records), storages_(new Known[records.zip().records().size() + 1]) {}

Tensor Storages::find(std::string_view folder, std::string_view key, std::optional<DType> dtype, int64_t count) {
  const DType type = dtype.value_or(DType::uint8);
  int64_t bytes = 0;
  if (count < 0 || __builtin_mul_overflow(count, static_cast<int64_t>(item_size(type)), &bytes))
    records_.refuse("{}: storage '{}{}' claims to have {} elements", key, {}, count);
  const ZipReader::Record* record = records_.find(folder, key);
  if (!record && bytes != 0) records_.refuse(kNoRecord, folder, key);
  if (record && record->size < static_cast<size_t>(bytes))
    records_.refuse("{}: record '{}{}' has {} bytes, its tensors need {}", folder, key,
                    static_cast<int64_t>(record->size), bytes);
  const std::span<const ZipReader::Record> all = records_.zip().records();
  Known& known = storages_[record ? static_cast<size_t>(record - all.data()) : all.size()];
  if (!known.storage || !record) known.storage = make(record);
  if (type == DType::bool_ && !known.sound) {
    make_bools_sound({static_cast<std::byte*>(known.storage->data), known.storage->nbytes});
    known.sound = true;
  }
  return make_tensor(known.storage, type, {count}, {1}, 0);
}

// The whole record: tensors of other dtypes over it may need more than the first one that asks. Null is an empty one.
Ref<Storage> Storages::make(const ZipReader::Record* record) const {
  if (!record || record->size == 0) return make_storage(0, {});
  if (record->deflated) {
    const std::string content = records_.zip().read(*record);
    return storage_of_copy(std::as_bytes(std::span(content)));
  }
  const std::span<std::byte> content = records_.zip().in_place(*record);
  return is_aligned(content.data(), DType::complex128) ? storage_in_file(records_.zip().file(), content)
                                                       : storage_of_copy(content);
}

std::vector<std::pair<std::string, std::string>> extra_files(const Records& records) {
  constexpr std::string_view kExtra = "extra/";
  std::vector<std::pair<std::string, std::string>> files;
  for (const ZipReader::Record& record : records.zip().records()) {
    const std::string_view name = records.name_in_folder(record);
    if (name.starts_with(kExtra)) files.emplace_back(name.substr(kExtra.size()), records.zip().read(record));
  }
  return files;
}

}  // namespace sconce
