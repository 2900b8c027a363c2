#include "sconce/serialization/file/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "sconce/base/error.h"

namespace sconce {
namespace {

constexpr uint32_t kLocalMark = 0x04034b50, kEntryMark = 0x02014b50, kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50,
                   kLocatorMark = 0x07064b50, kDescriptorMark = 0x08074b50;
constexpr size_t kEntrySize = 46, kEndSize = 22, kLocatorSize = 20, kEnd64Size = 56;
constexpr size_t kMaxComment = 0xffff;
constexpr uint64_t kWide = 0xffffffff;  // a number of 32 bits: it stands elsewhere, with 64
// Flags: sizes follow the content; flags that change the meaning of a record (encryption, sizes, UTF-8
// names, hidden headers).
constexpr uint16_t kSizesFollow = 8, kMeaning = 1 | 8 | 1 << 6 | 1 << 11 | 1 << 13;
constexpr uint16_t kEncrypted = 1 | 1 << 6 | 1 << 13, kStored = 0, kDeflated = 8, kZip64Extra = 1;

// Little-endian numbers at places that are checked against the end of the file.
class Cursor {
 public:
  Cursor(const FileBytes& file, uint64_t at) : file_(file), at_(at) {}
  std::string_view text(size_t n) {
    const uint64_t size = file_.bytes().size();
    SCONCE_CHECK(at_ <= size && n <= size - at_, "{}: the zip file ends in the middle of a header", file_.name());
    const auto* p = reinterpret_cast<const char*>(file_.bytes().data()) + at_;
    at_ += n;
    return {p, n};
  }
  uint64_t number(size_t bytes) {
    uint64_t v = 0;
    std::memcpy(&v, text(bytes).data(), bytes);
    return v;
  }
  uint64_t two() { return number(2); }
  uint64_t four() { return number(4); }
  uint64_t eight() { return number(8); }
  void skip(size_t n) { text(n); }
  uint64_t at() const { return at_; }

 private:
  const FileBytes& file_;
  uint64_t at_;
};

struct Directory {
  uint64_t offset, size, entries;
  uint64_t end;  // where what comes after it begins
};

// The content of the zip64 records before the end record at `at`; nothing when there are none.
std::optional<Directory> find_wide_directory(const FileBytes& file, size_t at) {
  if (at < kLocatorSize) return std::nullopt;
  Cursor locator(file, at - kLocatorSize);
  if (locator.four() != kLocatorMark) return std::nullopt;
  const auto disk = locator.four();
  const auto place = locator.eight();
  const auto disks = locator.four();
  SCONCE_CHECK(place <= at - kLocatorSize && at - kLocatorSize - place >= kEnd64Size,
               "{}: the zip64 end record lies outside", file.name());
  Cursor end(file, place);
  SCONCE_CHECK(end.four() == kEnd64Mark, "{}: the zip file has no zip64 end record", file.name());
  end.skip(8 + 2 + 2);
  const auto this_disk = end.four(), directory_disk = end.four();
  const auto here = end.eight(), total = end.eight();
  const auto size = end.eight(), offset = end.eight();
  SCONCE_CHECK(disk == 0 && disks <= 1 && this_disk == 0 && directory_disk == 0 && here == total,
               "{}: zip files of several parts are not supported", file.name());
  return Directory{offset, size, total, place};
}

// The end record is the last thing of the file, but for a comment.
Directory find_directory(const FileBytes& file) {
  const std::span<const std::byte> bytes = file.bytes();
  const size_t lowest = bytes.size() > kEndSize + kMaxComment ? bytes.size() - kEndSize - kMaxComment : 0;
  for (size_t at = bytes.size() < kEndSize ? 0 : bytes.size() - kEndSize + 1; at-- > lowest;) {
    uint32_t mark;
    std::memcpy(&mark, bytes.data() + at, 4);
    if (mark != kEndMark) continue;
    Cursor end(file, at + 4);
    const auto disk = end.two(), directory_disk = end.two(), here = end.two(), total = end.two();
    const auto size = end.four(), offset = end.four();
    const auto comment = end.two();
    if (end.at() + comment != bytes.size()) continue;  // these bytes only look like an end record
    SCONCE_CHECK(disk == 0 && directory_disk == 0 && here == total, "{}: zip files of several parts are not supported",
                 file.name());
    const bool wide = total == 0xffff || size == kWide || offset == kWide;
    const std::optional<Directory> found = find_wide_directory(file, at);
    SCONCE_CHECK(found || !wide, "{}: the zip file has no zip64 locator", file.name());
    if (!found) return {offset, size, total, at};
    const bool agree = (total == 0xffff || total == found->entries) && (size == kWide || size == found->size) &&
                       (offset == kWide || offset == found->offset);
    SCONCE_CHECK(agree, "{}: the two end records of the zip file say different things", file.name());
    return *found;
  }
  fail("{}: is not a zip file: it has no central directory", file.name());
}

// The 64-bit numbers that stand in the extra field for those that are all ones in the header, in this order.
void read_wide(Cursor extra, size_t length, std::initializer_list<uint64_t*> numbers, const std::string& file,
               std::string_view name) {
  const uint64_t end = extra.at() + length;
  size_t wanted = 0;
  for (const uint64_t* v : numbers) wanted += *v == kWide;
  while (end - extra.at() >= 4) {
    const auto id = extra.two(), size = extra.two();
    SCONCE_CHECK(size <= end - extra.at(), "{}: record '{}' has a broken extra field", file, name);
    if (id != kZip64Extra) {
      extra.skip(size);
      continue;
    }
    if (size < 8 * wanted) break;
    for (uint64_t* v : numbers) {
      if (*v == kWide) *v = extra.eight();
    }
    return;
  }
  SCONCE_CHECK(wanted == 0, "{}: record '{}' lacks its 64-bit sizes", file, name);
}

// The numbers behind the content of a record, with or without a mark, of 32 or 64 bits: those of the directory. Returns
// where they end.
uint64_t read_descriptor(const FileBytes& file, uint64_t at, const ZipReader::Record& record) {
  for (const bool mark : {true, false}) {
    for (const size_t bytes : {4, 8}) {
      if (file.bytes().size() - at < (mark ? 4 : 0) + 4 + 2 * bytes) continue;
      Cursor c(file, at);
      if (mark && c.four() != kDescriptorMark) continue;
      if (c.four() == record.crc && c.number(bytes) == record.stored_size && c.number(bytes) == record.size)
        return c.at();
    }
  }
  fail("{}: the sizes behind record '{}' are not those of the directory", file.name(), record.name);
}

// Reads an entry of the directory, and the local header that it leads to. Returns where the record begins, and in `end`
// where it ends.
uint64_t read_record(const FileBytes& file, Cursor& entry, uint64_t directory, ZipReader::Record& record,
                     uint64_t& end) {
  SCONCE_CHECK(entry.four() == kEntryMark, "{}: the zip directory is broken", file.name());
  entry.skip(4);
  const auto flags = entry.two(), method = entry.two();
  entry.skip(4);
  record.crc = static_cast<uint32_t>(entry.four());
  record.stored_size = entry.four();
  record.size = entry.four();
  const auto name_length = entry.two(), extra_length = entry.two(), comment_length = entry.two();
  entry.skip(2 + 2 + 4);
  uint64_t begin = entry.four();
  record.name = entry.text(name_length);
  read_wide(entry, extra_length, {&record.size, &record.stored_size, &begin}, file.name(), record.name);
  entry.skip(extra_length);
  entry.skip(comment_length);
  SCONCE_CHECK(name_length <= kMaxRecordName && is_safe_record_name(record.name), "{}: a record has the name '{}'",
               file.name(), record.name);
  SCONCE_CHECK(!(flags & kEncrypted), "{}: record '{}' is encrypted", file.name(), record.name);
  SCONCE_CHECK(method == kStored || method == kDeflated,
               "{}: record '{}' is compressed by method {}; known are 0 and 8", file.name(), record.name, method);
  record.deflated = method == kDeflated;

  Cursor local(file, begin);
  SCONCE_CHECK(local.four() == kLocalMark, "{}: record '{}' has no header", file.name(), record.name);
  local.skip(2);
  const auto local_flags = local.two(), local_method = local.two();
  local.skip(4);
  const auto local_crc = local.four(), local_stored = local.four(), local_size = local.four();
  const auto local_name = local.two(), local_extra = local.two();
  SCONCE_CHECK(local.text(local_name) == record.name && local_method == method,
               "{}: the header of record '{}' says something else than the directory", file.name(), record.name);
  local.skip(local_extra);
  // With kSizesFollow the numbers stand behind the content, and may be left out here.
  const bool follow = (flags & kSizesFollow) != 0;
  const auto same = [&](uint64_t here, uint64_t there) {
    return here == there || here == kWide || (follow && here == 0);
  };
  SCONCE_CHECK((local_flags & kMeaning) == (flags & kMeaning) && same(local_stored, record.stored_size) &&
                   same(local_size, record.size) && (local_crc == record.crc || (follow && local_crc == 0)),
               "{}: the header of record '{}' says something else than the directory", file.name(), record.name);
  record.offset = local.at();
  SCONCE_CHECK(record.offset <= directory && record.stored_size <= directory - record.offset,
               "{}: record '{}' lies outside of the file", file.name(), record.name);
  end = record.offset + record.stored_size;
  if (follow) end = read_descriptor(file, end, record);
  SCONCE_CHECK(end <= directory, "{}: record '{}' lies outside of the file", file.name(), record.name);
  SCONCE_CHECK(record.deflated || record.size == record.stored_size, "{}: record '{}' has two sizes", file.name(),
               record.name);
  SCONCE_CHECK(
      !record.deflated || (record.size <= kMaxInflatedBytes && record.size / kMaxInflation <= record.stored_size),
      "{}: record '{}' claims to inflate to {} bytes", file.name(), record.name, record.size);
  return begin;
}

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

bool is_safe_record_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != name.npos || name.find('\\') != name.npos) return false;
  for (size_t at = 0; at <= name.size();) {
    const size_t slash = std::min(name.find('/', at), name.size());
    if (name.substr(at, slash - at) == "..") return false;
    at = slash + 1;
  }
  return true;
}

bool looks_like_zip(std::span<const std::byte> bytes) {
  uint32_t mark = 0;
  if (bytes.size() >= 4) std::memcpy(&mark, bytes.data(), 4);
  return mark == kLocalMark;
}

ZipReader::ZipReader(FileBytesPtr file) : file_(std::move(file)) {
  const Directory directory = find_directory(*file_);
  const uint64_t size = file_->bytes().size();
  SCONCE_CHECK(directory.offset <= size && directory.size <= size - directory.offset,
               "{}: the zip directory lies outside of the file", file_->name());
  SCONCE_CHECK(directory.entries <= kMaxZipRecords && directory.entries <= directory.size / kEntrySize,
               "{}: the zip file claims to have {} records", file_->name(), directory.entries);
  Cursor entry(*file_, directory.offset);
  std::vector<std::pair<uint64_t, uint64_t>> places;
  records_.resize(directory.entries);
  for (Record& record : records_) {
    uint64_t end = 0;
    const uint64_t begin = read_record(*file_, entry, directory.offset, record, end);
    places.emplace_back(begin, end);
  }
  SCONCE_CHECK(entry.at() == directory.offset + directory.size, "{}: the zip directory has another size than it says",
               file_->name());
  SCONCE_CHECK(entry.at() == directory.end, "{}: the zip directory does not end where the end record begins",
               file_->name());
  std::make_heap(places.begin(), places.end());  // a heap's sort is a fifth of std::sort's code
  std::sort_heap(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i) {
    SCONCE_CHECK(places[i].first >= places[i - 1].second, "{}: records overlap", file_->name());
  }
  // By name, in the same way: the place of a record is all that is sorted.
  for (size_t i = 0; i < records_.size(); ++i) places[i] = {i, 0};
  const auto before = [&](const auto& a, const auto& b) { return records_[a.first].name < records_[b.first].name; };
  std::make_heap(places.begin(), places.end(), before);
  std::sort_heap(places.begin(), places.end(), before);
  for (const auto& [i, unused] : places) {
    if (!by_name_.empty() && records_[by_name_.back()].name == records_[i].name)
      fail("{}: there are two records '{}'", file_->name(), records_[i].name);
    by_name_.push_back(static_cast<uint32_t>(i));
  }
}

const ZipReader::Record* ZipReader::find(std::string_view name) const {
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [&](uint32_t i, std::string_view n) { return records_[i].name < n; });
  return found == by_name_.end() || records_[*found].name != name ? nullptr : &records_[*found];
}

std::span<std::byte> ZipReader::in_place(const Record& record) const {
  SCONCE_CHECK(!record.deflated, "{}: record '{}' is compressed and cannot be used in place", file_->name(),
               record.name);
  return file_->bytes().subspan(record.offset, record.size);
}

void ZipReader::check(const Record& record) const {
  SCONCE_CHECK(crc_of(in_place(record)) == record.crc, "{}: record '{}' has a wrong checksum", file_->name(),
               record.name);
}

std::string ZipReader::read(const Record& record) const {
  std::string content;
  if (!record.deflated) {
    const std::span<const std::byte> bytes = in_place(record);
    content.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } else {
    content.resize(record.size);
    z_stream stream{};
    const int started = inflateInit2(&stream, -MAX_WBITS);
    if (started == Z_MEM_ERROR) throw std::bad_alloc();
    SCONCE_CHECK(started == Z_OK, "zlib cannot be started");
    const std::span<std::byte> packed = file_->bytes().subspan(record.offset, record.stored_size);
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(content.data());
    stream.avail_out = static_cast<uInt>(content.size());
    const int result = inflate(&stream, Z_FINISH);
    const bool whole = result == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
    inflateEnd(&stream);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    SCONCE_CHECK(whole, "{}: record '{}' is broken: it does not inflate to {} bytes", file_->name(), record.name,
                 record.size);
  }
  SCONCE_CHECK(crc_of(std::as_bytes(std::span(content))) == record.crc, "{}: record '{}' has a wrong checksum",
               file_->name(), record.name);
  return content;
}

}  // namespace sconce
