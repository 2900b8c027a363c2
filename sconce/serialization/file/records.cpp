#include "sconce/serialization/file/records.h"

#include <charconv>

#include "sconce/base/error.h"
#include "sconce/frontend/script/names/archive_names.h"
#include "sconce/serialization/tensors/file_tensor.h"

namespace sconce {

Records::Records(FileBytesPtr file) : zip_(std::move(file)) {
  SCONCE_CHECK(!zip_.records().empty(), "{}: the zip file is empty", name());
  const std::string_view first = zip_.records().front().name;
  const size_t slash = first.find('/');
  SCONCE_CHECK(slash != first.npos, "{}: record '{}' is not in a folder, as in an archive of PyTorch", name(), first);
  folder_ = first.substr(0, slash + 1);
}

std::string Records::read(const std::string& record) const {
  const ZipReader::Record* found = find(record);
  SCONCE_CHECK(found, "{}: there is no record '{}'", name(), record);
  return zip_.read(*found);
}

int Records::version() const {
  const std::string text = read(find(".data/version") ? ".data/version" : "version");
  int version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  SCONCE_CHECK(error == std::errc() && rest.find_first_not_of(" \r\n") == rest.npos,
               "{}: the version '{}' is not a number", name(), text);
  SCONCE_CHECK(version >= kOldestArchiveVersion && version <= kNewestArchiveVersion,
               "{}: has format version {}; versions {} to {} can be read", name(), version, kOldestArchiveVersion,
               kNewestArchiveVersion);
  return version;
}

void Records::check_byte_order() const {
  if (!find("byteorder")) return;  // written since PyTorch 2.1
  const std::string order = read("byteorder");
  SCONCE_CHECK(order == "little", "{}: the byte order '{}' is not supported, only 'little'", name(), order);
}

Tensor Storages::find(const std::string& key, std::optional<DType> dtype, int64_t count) {
  const DType type = dtype.value_or(DType::uint8);
  int64_t bytes = 0;
  SCONCE_CHECK(count >= 0 && !__builtin_mul_overflow(count, static_cast<int64_t>(item_size(type)), &bytes),
               "{}: storage '{}' claims to have {} elements", records_.name(), key, count);
  const ZipReader::Record* record = records_.find(folder_ + key);
  if (bytes == 0 && !record) return make_tensor(make_storage(0, {}), type, {count}, {1}, 0);
  SCONCE_CHECK(record, "{}: there is no record '{}{}'", records_.name(), folder_, key);
  SCONCE_CHECK(record->size >= static_cast<size_t>(bytes), "{}: record '{}{}' has {} bytes, its tensors need {}",
               records_.name(), folder_, key, record->size, bytes);
  storages_.resize(records_.zip().records().size());
  Known& known = storages_[static_cast<size_t>(record - records_.zip().records().data())];
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
