#include "sconce/serialization/file/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sconce/base/error.h"

namespace sconce {
namespace {

using Record = ZipReader::Record;

constexpr uint32_t kLocalMark = 0x04034b50, kEntryMark = 0x02014b50, kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50,
                   kLocatorMark = 0x07064b50, kDescriptorMark = 0x08074b50;
constexpr size_t kMaxComment = 0xffff;
constexpr uint64_t kWide = 0xffffffff;  // a number of 32 bits: it stands elsewhere, with 64
// Flags: sizes follow the content; flags that change the meaning of a record (encryption, sizes, UTF-8
// names, hidden headers).
constexpr uint16_t kSizesFollow = 8, kMeaning = 1 | 8 | 1 << 6 | 1 << 11 | 1 << 13;
constexpr uint16_t kEncrypted = 1 | 1 << 6 | 1 << 13, kStored = 0, kDeflated = 8, kZip64Extra = 1;

// Headers as they lie in the file, at any address: little-endian, as all processors that this is built for.
struct [[gnu::packed]] Entry {  // of the directory; name, extra field and comment follow
  uint32_t mark;
  uint16_t made_by, needed, flags, method;
  uint32_t time, crc, stored_size, size;
  uint16_t name_length, extra_length, comment_length, disk, attributes;
  uint32_t other_attributes, begin;
};
struct [[gnu::packed]] Local {  // before a record; name and extra field follow
  uint32_t mark;
  uint16_t needed, flags, method;
  uint32_t time, crc, stored_size, size;
  uint16_t name_length, extra_length;
};
struct [[gnu::packed]] End {  // a comment follows
  uint32_t mark;
  uint16_t disk, directory_disk, here, total;
  uint32_t size, offset;
  uint16_t comment_length;
};
struct [[gnu::packed]] End64 {
  uint32_t mark;
  uint64_t own_size;
  uint16_t made_by, needed;
  uint32_t disk, directory_disk;
  uint64_t here, total, size, offset;
};
struct [[gnu::packed]] Locator {
  uint32_t mark, disk;
  uint64_t place;
  uint32_t disks;
};
static_assert(sizeof(Entry) == 46 && sizeof(Local) == 30 && sizeof(End) == 22 && sizeof(End64) == 56 &&
              sizeof(Locator) == 20);

// Throws Error. The text may name the file, the record and a number, in this order.
[[noreturn]] SCONCE_COLD void refuse(const FileBytes& file, const char* text, const Record& record, uint64_t number) {
  fail(ErrorKind::runtime, text, {file.name(), record.name, number});
}
[[noreturn]] SCONCE_COLD void refuse(const FileBytes& file, const char* text, uint64_t number = 0) {
  fail(ErrorKind::runtime, text, {file.name(), number});
}
[[noreturn]] SCONCE_COLD void refuse(const FileBytes& file, const char* text, const Record& record) {
  refuse(file, text, record, 0);
}

std::string_view text_at(const FileBytes& file, uint64_t at, size_t n) {
  const uint64_t size = file.bytes().size();
  if (at > size || n > size - at) refuse(file, "{}: the zip file ends in the middle of a header");
  return {reinterpret_cast<const char*>(file.bytes().data()) + at, n};
}
template <class Header>
const Header& header_at(const FileBytes& file, uint64_t at) {
  return *reinterpret_cast<const Header*>(text_at(file, at, sizeof(Header)).data());
}

struct Directory {
  uint64_t offset, size, entries;
  uint64_t end;  // where what comes after it begins
};

constexpr const char* kChecksum = "{}: record '{}' has a wrong checksum";
constexpr const char* kParts = "{}: zip files of several parts are not supported";

// The content of the zip64 records before the end record at `at`; false when there are none.
bool find_wide_directory(const FileBytes& file, size_t at, Directory& found) {
  if (at < sizeof(Locator)) return false;
  at -= sizeof(Locator);
  const auto& locator = header_at<Locator>(file, at);
  if (locator.mark != kLocatorMark) return false;
  if (locator.place > at || at - locator.place < sizeof(End64)) refuse(file, "{}: the zip64 end record lies outside");
  const auto& end = header_at<End64>(file, locator.place);
  if (end.mark != kEnd64Mark) refuse(file, "{}: the zip file has no zip64 end record");
  if ((locator.disk | end.disk | end.directory_disk) != 0 || locator.disks > 1 || end.here != end.total)
    refuse(file, kParts);
  found = {end.offset, end.size, end.total, locator.place};
  return true;
}

// The end record is the last thing of the file, but for a comment.
Directory find_directory(const FileBytes& file) {
  const size_t size = file.bytes().size();
  const size_t lowest = size > sizeof(End) + kMaxComment ? size - sizeof(End) - kMaxComment : 0;
  for (size_t at = size < sizeof(End) ? 0 : size - sizeof(End) + 1; at-- > lowest;) {
    const auto& end = header_at<End>(file, at);
    // Other bytes may look like an end record, too.
    if (end.mark != kEndMark || at + sizeof(End) + end.comment_length != size) continue;
    if ((end.disk | end.directory_disk) != 0 || end.here != end.total) refuse(file, kParts);
    const Directory narrow{end.offset, end.size, end.total, at};
    const bool wide_total = end.total == 0xffff, wide_size = end.size == kWide, wide_offset = end.offset == kWide;
    Directory wide;
    if (!find_wide_directory(file, at, wide)) {
      if (wide_total || wide_size || wide_offset) refuse(file, "{}: the zip file has no zip64 locator");
      return narrow;
    }
    if ((!wide_total && narrow.entries != wide.entries) || (!wide_size && narrow.size != wide.size) ||
        (!wide_offset && narrow.offset != wide.offset))
      refuse(file, "{}: the two end records of the zip file say different things");
    return wide;
  }
  refuse(file, "{}: is not a zip file: it has no central directory");
}

uint64_t number_at(const char* at, size_t bytes) {
  uint64_t v = 0;
  std::memcpy(&v, at, bytes);
  return v;
}

// The 64-bit numbers that stand in the extra field for those that are all ones in the header, in this order.
void read_wide(const FileBytes& file, std::string_view extra, Record& record) {
  uint64_t* const numbers[] = {&record.size, &record.stored_size, &record.begin};
  size_t wanted = 0;
  for (const uint64_t* v : numbers) wanted += *v == kWide;
  while (extra.size() >= 4) {
    const uint64_t id = number_at(extra.data(), 2), size = number_at(extra.data() + 2, 2);
    extra.remove_prefix(4);
    if (size > extra.size()) refuse(file, "{}: record '{}' has a broken extra field", record);
    if (id == kZip64Extra) {
      if (size < 8 * wanted) break;
      const char* at = extra.data();
      for (uint64_t* v : numbers) {
        if (*v == kWide) *v = number_at(at, 8), at += 8;
      }
      return;
    }
    extra.remove_prefix(size);
  }
  if (wanted != 0) refuse(file, "{}: record '{}' lacks its 64-bit sizes", record);
}

// The numbers behind the content of a record, with or without a mark, of 32 or 64 bits: those of the directory. Returns
// where they end.
uint64_t read_descriptor(const FileBytes& file, uint64_t at, const Record& record) {
  const auto* bytes = reinterpret_cast<const char*>(file.bytes().data()) + at;
  const size_t left = file.bytes().size() - at;
  for (const size_t mark : {4, 0}) {
    for (const size_t wide : {4, 8}) {
      const size_t size = mark + 4 + 2 * wide;
      if (left < size || (mark != 0 && number_at(bytes, 4) != kDescriptorMark)) continue;
      const char* numbers = bytes + mark;
      if (number_at(numbers, 4) == record.crc && number_at(numbers + 4, wide) == record.stored_size &&
          number_at(numbers + 4 + wide, wide) == record.size)
        return at + size;
    }
  }
  refuse(file, "{}: the sizes behind record '{}' are not those of the directory", record);
}

// Reads the entry of the directory at `at`, and the local header that it leads to. Returns where the next one begins.
uint64_t read_record(const FileBytes& file, uint64_t at, uint64_t directory, Record& record) {
  const auto& entry = header_at<Entry>(file, at);
  if (entry.mark != kEntryMark) refuse(file, "{}: the zip directory is broken");
  record.crc = entry.crc;
  record.stored_size = entry.stored_size;
  record.size = entry.size;
  record.begin = entry.begin;
  record.deflated = entry.method == kDeflated;
  at += sizeof entry;
  record.name = text_at(file, at, entry.name_length);
  at += entry.name_length;
  read_wide(file, text_at(file, at, entry.extra_length), record);
  at += entry.extra_length;
  text_at(file, at, entry.comment_length);
  at += entry.comment_length;
  if (entry.name_length > kMaxRecordName || !is_safe_record_name(record.name))
    refuse(file, "{}: a record has the name '{}'", record);
  if (entry.flags & kEncrypted) refuse(file, "{}: record '{}' is encrypted", record);
  if (entry.method != kStored && entry.method != kDeflated)
    refuse(file, "{}: record '{}' is compressed by method {}; known are 0 and 8", record, entry.method);

  const auto& local = header_at<Local>(file, record.begin);
  if (local.mark != kLocalMark) refuse(file, "{}: record '{}' has no header", record);
  const uint64_t name_at = record.begin + sizeof local;
  record.offset = name_at + local.name_length + local.extra_length;
  // With kSizesFollow the numbers stand behind the content, and may be left out here.
  const bool follow = (entry.flags & kSizesFollow) != 0;
  const auto same = [&](uint64_t here, uint64_t there) {
    return here == there || here == kWide || (follow && here == 0);
  };
  if (text_at(file, name_at, local.name_length) != record.name || local.method != entry.method ||
      (local.flags & kMeaning) != (entry.flags & kMeaning) || !same(local.stored_size, record.stored_size) ||
      !same(local.size, record.size) || (local.crc != record.crc && !(follow && local.crc == 0)))
    refuse(file, "{}: the header of record '{}' says something else than the directory", record);
  bool inside = record.offset <= directory && record.stored_size <= directory - record.offset;
  if (inside) {
    record.end = record.offset + record.stored_size;
    if (follow) record.end = read_descriptor(file, record.end, record);
    inside = record.end <= directory;
  }
  if (!inside) refuse(file, "{}: record '{}' lies outside of the file", record);
  if (!record.deflated && record.size != record.stored_size) refuse(file, "{}: record '{}' has two sizes", record);
  if (record.deflated && (record.size > kMaxInflatedBytes || record.size / kMaxInflation > record.stored_size))
    refuse(file, "{}: record '{}' claims to inflate to {} bytes", record, record.size);
  return at;
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

ZipReader::ZipReader(FileBytesPtr bytes) : file_(std::move(bytes)) {
  const FileBytes& file = *file_;
  const Directory directory = find_directory(file);
  const uint64_t size = file.bytes().size();
  if (directory.offset > size || directory.size > size - directory.offset)
    refuse(file, "{}: the zip directory lies outside of the file");
  if (directory.entries > kMaxZipRecords || directory.entries > directory.size / sizeof(Entry))
    refuse(file, "{}: the zip file claims to have {} records", directory.entries);
  count_ = directory.entries;
  records_ = std::make_unique<Record[]>(count_);
  by_name_ = std::make_unique<uint32_t[]>(count_);
  uint64_t at = directory.offset;
  for (size_t i = 0; i < count_; ++i) {
    at = read_record(file, at, directory.offset, records_[i]);
    by_name_[i] = static_cast<uint32_t>(i);
  }
  if (at != directory.offset + directory.size) refuse(file, "{}: the zip directory has another size than it says");
  if (at != directory.end) refuse(file, "{}: the zip directory does not end where the end record begins");
  sort([](const Record& a, const Record& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < count_; ++i) {
    if (records_[by_name_[i]].begin < records_[by_name_[i - 1]].end) refuse(file, "{}: records overlap");
  }
  sort([](const Record& a, const Record& b) { return a.name < b.name; });
  for (size_t i = 1; i < count_; ++i) {
    const Record& record = records_[by_name_[i]];
    if (record.name == records_[by_name_[i - 1]].name) refuse(file, "{}: there are two records '{}'", record);
  }
}

// A heap's sort is a fifth of std::sort's code.
void ZipReader::sort(bool (*before)(const Record& a, const Record& b)) {
  uint32_t* const heap = by_name_.get();
  const auto less = [&](size_t a, size_t b) { return before(records_[heap[a]], records_[heap[b]]); };
  size_t end = count_, sorted = 1;
  while (sorted < end && !less(sorted, sorted - 1)) ++sorted;
  if (sorted >= end) return;
  for (size_t root = end / 2; end > 1;) {
    if (root > 0)
      --root;  // of those that are no heap yet
    else
      std::swap(heap[0], heap[--end]);
    for (size_t at = root, child; (child = 2 * at + 1) < end; at = child) {
      if (child + 1 < end && less(child, child + 1)) ++child;
      if (!less(at, child)) break;
      std::swap(heap[at], heap[child]);
    }
  }
}

const ZipReader::Record* ZipReader::find(std::string_view first, std::string_view rest) const {
  const auto compare = [&](uint32_t i) {
    const std::string_view name = records_[i].name;
    const int order = name.substr(0, first.size()).compare(first);
    return order != 0 ? order : name.substr(first.size()).compare(rest);
  };
  uint32_t* const end = by_name_.get() + count_;
  const auto* found = std::partition_point(by_name_.get(), end, [&](uint32_t i) { return compare(i) < 0; });
  return found == end || compare(*found) != 0 ? nullptr : &records_[*found];
}

std::span<std::byte> ZipReader::in_place(const Record& record) const {
  if (record.deflated) refuse(*file_, "{}: record '{}' is compressed and cannot be used in place", record);
  return file_->bytes().subspan(record.offset, record.size);
}

void ZipReader::check(const Record& record) const {
  if (crc_of(in_place(record)) != record.crc) refuse(*file_, kChecksum, record);
}

std::string ZipReader::read(const Record& record) const {
  const std::span<std::byte> stored = file_->bytes().subspan(record.offset, record.stored_size);
  std::string content;
  if (!record.deflated) {
    content.assign(reinterpret_cast<const char*>(stored.data()), stored.size());
  } else {
    content.resize(record.size);
    z_stream stream{};
    const int started = inflateInit2(&stream, -MAX_WBITS);
    if (started == Z_MEM_ERROR) throw std::bad_alloc();
    if (started != Z_OK) refuse(*file_, "zlib cannot be started");
    stream.next_in = reinterpret_cast<Bytef*>(stored.data());
    stream.avail_in = static_cast<uInt>(stored.size());
    stream.next_out = reinterpret_cast<Bytef*>(content.data());
    stream.avail_out = static_cast<uInt>(content.size());
    const int result = inflate(&stream, Z_FINISH);
    const bool whole = result == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
    inflateEnd(&stream);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (!whole) refuse(*file_, "{}: record '{}' is broken: it does not inflate to {} bytes", record, record.size);
  }
  if (crc_of(std::as_bytes(std::span(content))) != record.crc) refuse(*file_, kChecksum, record);
  return content;
}

}  // namespace sconce
