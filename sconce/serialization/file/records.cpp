#include "sconce/serialization/file/records.h"

#include <cstdlib>

#include "sconce/base/error.h"
#include "sconce/frontend/script/names/archive_names.h"
#include "sconce/serialization/tensors/file_tensor.h"

namespace sconce {

Records::Records(FileBytesPtr file) : zip_(std::move(file)) {
  if (zip_.records().empty()) refuse("{}: the zip file is empty");
  const std::string_view first = zip_.records().front().name;
  const size_t slash = first.find('/');
  if (slash == first.npos) refuse("{}: record '{}' is not in a folder, as in an archive of PyTorch", first);
  folder_ = first.substr(0, slash + 1);
}

void Records::refuse(const char* text, std::string_view first, int64_t a, int64_t b) const {
  fail(ErrorKind::runtime, text, {name(), first, a, b});
}

std::string Records::read(std::string_view record) const {
  const ZipReader::Record* found = find(record);
  if (!found) refuse("{}: there is no record '{}'", record);
  return zip_.read(*found);
}

int Records::version() const {
  const std::string text = read(find(".data/version") ? ".data/version" : "version");
  char* end = nullptr;
  const long long version = std::strtoll(text.c_str(), &end, 10);
  const size_t digits = static_cast<size_t>(end - text.c_str());
  const bool is_number = digits > 0 && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));  // no space, no plus
  if (!is_number || text.find_first_not_of(" \r\n", digits) != text.npos)
    refuse("{}: the version '{}' is not a number", text);
  if (version < kOldestArchiveVersion || version > kNewestArchiveVersion)
    fail(ErrorKind::runtime, "{}: has format version {}; versions {} to {} can be read",
         {name(), version, kOldestArchiveVersion, kNewestArchiveVersion});
  return static_cast<int>(version);
}

void Records::check_byte_order() const {
  if (!find("byteorder")) return;  // written since PyTorch 2.1
  const std::string order = read("byteorder");
  if (order != "little") refuse("{}: the byte order '{}' is not supported, only 'little'", order);
}

Tensor Storages::find(const std::string& key, std::optional<DType> dtype, int64_t count) {
  const DType type = dtype.value_or(DType::uint8);
  int64_t bytes = 0;
  if (count < 0 || __builtin_mul_overflow(count, static_cast<int64_t>(item_size(type)), &bytes))
    records_.refuse("{}: storage '{}' claims to have {} elements", key, count);
  const std::string name = format_message("{}{}", {folder_, key});
  const ZipReader::Record* record = records_.find(name);
  if (bytes == 0 && !record) return make_tensor(make_storage(0, {}), type, {count}, {1}, 0);
  if (!record) records_.refuse("{}: there is no record '{}'", name);
  if (record->size < static_cast<size_t>(bytes))
    records_.refuse("{}: record '{}' has {} bytes, its tensors need {}", name, static_cast<int64_t>(record->size),
                    bytes);
  const std::span<const ZipReader::Record> all = records_.zip().records();
  if (!storages_) storages_ = std::make_unique<Known[]>(all.size());
  Known& known = storages_[static_cast<size_t>(record - all.data())];
  if (!known.storage) known.storage = make(*record);
  if (type == DType::bool_ && !known.sound) {
    make_bools_sound({static_cast<std::byte*>(known.storage->data), known.storage->nbytes});
    known.sound = true;
  }
  return make_tensor(known.storage, type, {count}, {1}, 0);
}

// The whole record: tensors of other dtypes over it may need more than the first one that asks.
Ref<Storage> Storages::make(const ZipReader::Record& record) const {
  if (record.size == 0) return make_storage(0, {});
  if (!record.deflated) {
    const std::span<std::byte> content = records_.zip().in_place(record);
    return is_aligned(content.data(), DType::complex128) ? storage_in_file(records_.zip().file(), content)
                                                         : storage_of_copy(content);
  }
  const std::string content = records_.zip().read(record);
  return storage_of_copy(std::as_bytes(std::span(content)));
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
