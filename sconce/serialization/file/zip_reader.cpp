#include "sconce/serialization/file/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sconce/base/error.h"
#include "sconce/base/out_of_memory.h"

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
struct [[gnu::packed]] Extra {  // one of those in an extra field; its content follows
  uint16_t id, size;
};
template <class Size>
struct [[gnu::packed]] Descriptor {  // behind a record, after a mark or without
  uint32_t crc;
  Size stored_size, size;
};
static_assert(sizeof(Entry) == 46 && sizeof(Local) == 30 && sizeof(End) == 22 && sizeof(End64) == 56 &&
              sizeof(Locator) == 20 && sizeof(Extra) == 4 && sizeof(Descriptor<uint64_t>) == 20);

// Throws Error. The text may name the file, the record and a number, in this order.
[[noreturn]] SCONCE_COLD void refuse(const FileBytes& file, const char* text, const Record& record, uint64_t number) {
  fail(ErrorKind::runtime, text, {file.name(), record.name, number});
}
[[noreturn]] SCONCE_COLD void refuse(const FileBytes& file, const char* text, uint64_t number) {
  fail(ErrorKind::runtime, text, {file.name(), number});
}
[[noreturn]] SCONCE_COLD void refuse(const FileBytes& file, const char* text) { refuse(file, text, 0); }

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

// What read_record and those that it calls return: what is wrong, in a text that may name the file, the record and its
// size; or null.
using Wrong = const char*;

// The 64-bit numbers that stand in the extra field for those that are all ones in the header, in this order.
Wrong read_wide(std::string_view extra, Record& record) {
  std::string_view wide;
  while (extra.size() >= sizeof(Extra) && wide.empty()) {
    const auto& head = *reinterpret_cast<const Extra*>(extra.data());
    extra.remove_prefix(sizeof head);
    if (head.size > extra.size()) return "{}: record '{}' has a broken extra field";
    if (head.id == kZip64Extra) wide = extra.substr(0, head.size);
    extra.remove_prefix(head.size);
  }
  for (uint64_t* v : {&record.size, &record.stored_size, &record.begin}) {
    if (*v != kWide) continue;
    if (wide.size() < sizeof *v) return "{}: record '{}' lacks its 64-bit sizes";
    std::memcpy(v, wide.data(), sizeof *v);
    wide.remove_prefix(sizeof *v);
  }
  return nullptr;
}

template <class Size>
bool is_descriptor(std::string_view bytes, const Record& record) {
  if (bytes.size() < sizeof(Descriptor<Size>)) return false;
  const auto& d = *reinterpret_cast<const Descriptor<Size>*>(bytes.data());
  return d.crc == record.crc && d.stored_size == record.stored_size && d.size == record.size;
}

// The numbers behind the content of a record, with or without a mark, of 32 or 64 bits: those of the directory. Sets
// where they end.
Wrong read_descriptor(const FileBytes& file, Record& record) {
  std::string_view left = text_at(file, record.end, file.bytes().size() - record.end);
  for (bool marked : {true, false}) {
    std::string_view numbers = left;
    if (marked) {
      uint32_t mark = 0;
      if (left.size() < sizeof mark) continue;
      std::memcpy(&mark, left.data(), sizeof mark);
      if (mark != kDescriptorMark) continue;
      numbers.remove_prefix(sizeof mark);
    }
    const size_t size = is_descriptor<uint32_t>(numbers, record)   ? sizeof(Descriptor<uint32_t>)
                        : is_descriptor<uint64_t>(numbers, record) ? sizeof(Descriptor<uint64_t>)
                                                                   : 0;
    if (size == 0) continue;
    record.end += left.size() - numbers.size() + size;
    return nullptr;
  }
  return "{}: the sizes behind record '{}' are not those of the directory";
}

// Reads the entry of the directory at `at`, and the local header that it leads to. `at` goes on to the next one.
Wrong read_record(const FileBytes& file, uint64_t& at, uint64_t directory, Record& record) {
  const auto& entry = header_at<Entry>(file, at);
  if (entry.mark != kEntryMark) return "{}: the zip directory is broken";
  record.crc = entry.crc;
  record.stored_size = entry.stored_size;
  record.size = entry.size;
  record.begin = entry.begin;
  record.deflated = entry.method == kDeflated;
  at += sizeof entry;
  record.name = text_at(file, at, entry.name_length);
  at += entry.name_length;
  const std::string_view extra = text_at(file, at, entry.extra_length);
  at += entry.extra_length;
  text_at(file, at, entry.comment_length);
  at += entry.comment_length;
  if (const Wrong wrong = read_wide(extra, record)) return wrong;
  if (entry.name_length > kMaxRecordName || !is_safe_record_name(record.name)) return "{}: a record has the name '{}'";
  if (entry.flags & kEncrypted) return "{}: record '{}' is encrypted";
  if (entry.method != kStored && !record.deflated)
    refuse(file, "{}: record '{}' is compressed by method {}; known are 0 and 8", record, entry.method);

  const auto& local = header_at<Local>(file, record.begin);
  if (local.mark != kLocalMark) return "{}: record '{}' has no header";
  const uint64_t name_at = record.begin + sizeof local;
  record.offset = name_at + local.name_length + local.extra_length;
  // With kSizesFollow the numbers stand behind the content, and may be left out here.
  const bool follow = (entry.flags & kSizesFollow) != 0;
  const auto same = [&](uint64_t here, uint64_t there) {
    return here == there || here == kWide || (follow && here == 0);
  };
  if (text_at(file, name_at, local.name_length) != record.name || local.method != entry.method ||
      ((local.flags ^ entry.flags) & kMeaning) != 0 || !same(local.stored_size, record.stored_size) ||
      !same(local.size, record.size) || (local.crc != record.crc && !(follow && local.crc == 0)))
    return "{}: the header of record '{}' says something else than the directory";
  bool inside = record.offset <= directory && record.stored_size <= directory - record.offset;
  if (inside) {
    record.end = record.offset + record.stored_size;
    if (const Wrong wrong = follow ? read_descriptor(file, record) : nullptr) return wrong;
    inside = record.end <= directory;
  }
  if (!inside) return "{}: record '{}' lies outside of the file";
  if (!record.deflated) return record.size == record.stored_size ? nullptr : "{}: record '{}' has two sizes";
  if (record.size > kMaxInflatedBytes || record.size / kMaxInflation > record.stored_size)
    return "{}: record '{}' claims to inflate to {} bytes";
  return nullptr;
}

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

bool is_safe_record_name(std::string_view name) {
  size_t part = 0;  // where the folder or file begins that we are in
  for (size_t i = 0; i <= name.size(); ++i) {
    const char c = i < name.size() ? name[i] : '/';
    if (c == '\0' || c == '\\') return false;
    if (c != '/') continue;
    if (i == 0 || (i - part == 2 && name[part] == '.' && name[part + 1] == '.')) return false;
    part = i + 1;
  }
  return true;
}

bool looks_like_zip(std::span<const std::byte> bytes) {
  uint32_t mark = 0;
  if (bytes.size() >= 4) std::memcpy(&mark, bytes.data(), 4);
  return mark == kLocalMark;
}

ZipReader::ZipReader(const FileBytesPtr& bytes) : file_(bytes) {
  const FileBytes& file = *file_;
  const Directory directory = find_directory(file);
  const uint64_t size = file.bytes().size();
  if (directory.offset > size || directory.size > size - directory.offset)
    refuse(file, "{}: the zip directory lies outside of the file");
  if (directory.entries > kMaxZipRecords || directory.entries > directory.size / sizeof(Entry))
    refuse(file, "{}: the zip file claims to have {} records", directory.entries);
  count_ = directory.entries;
  records_.reset(new Record[count_]);
  by_name_.reset(new uint32_t[count_]);
  uint64_t at = directory.offset;
  for (size_t i = 0; i < count_; ++i) {
    Record& record = records_[i];
    if (const Wrong wrong = read_record(file, at, directory.offset, record)) refuse(file, wrong, record, record.size);
    by_name_[i] = static_cast<uint32_t>(i);
  }
  if (at != directory.offset + directory.size) refuse(file, "{}: the zip directory has another size than it says");
  if (at != directory.end) refuse(file, "{}: the zip directory does not end where the end record begins");
  sort([](const Record& a, const Record& b) { return a.begin < b.begin; },
       [](const Record& a, const Record& b) { return a.end > b.begin; }, "{}: records overlap");
  const auto by_name = [](const Record& a, const Record& b) { return a.name < b.name; };
  sort(by_name, [](const Record& a, const Record& b) { return a.name == b.name; }, "{}: there are two records '{}'");
}

// A heap's sort is a fifth of std::sort's code.
void ZipReader::sort(Relation before, Relation clash, const char* text) {
  uint32_t* const heap = by_name_.get();
  const auto holds = [&](Relation relation, size_t a, size_t b) {
    return relation(records_[heap[a]], records_[heap[b]]);
  };
  size_t end = count_, sorted = 1;
  while (sorted < end && !holds(before, sorted, sorted - 1)) ++sorted;
  for (size_t root = sorted < end ? end / 2 : 0; sorted < count_ && end > 1;) {
    if (root > 0)
      --root;  // of those that are no heap yet
    else
      std::swap(heap[0], heap[--end]);
    for (size_t at = root, child; (child = 2 * at + 1) < end; at = child) {
      if (child + 1 < end && holds(before, child, child + 1)) ++child;
      if (!holds(before, at, child)) break;
      std::swap(heap[at], heap[child]);
    }
  }
  for (size_t i = 1; i < count_; ++i) {
    if (holds(clash, i - 1, i)) refuse(*file_, text, records_[heap[i]], 0);
  }
}

const ZipReader::Record* ZipReader::find(std::initializer_list<std::string_view> parts) const {
  for (size_t low = 0, high = count_; low < high;) {
    const size_t middle = (low + high) / 2;
    const Record& record = records_[by_name_[middle]];
    std::string_view left = record.name;
    int order = 0;
    for (auto part = parts.begin(); part != parts.end() && order == 0; ++part) {
      order = left.substr(0, part->size()).compare(*part);
      left.remove_prefix(std::min(left.size(), part->size()));
    }
    if (order == 0 && left.empty()) return &record;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return nullptr;
}

std::span<std::byte> ZipReader::in_place(const Record& record) const {
  if (record.deflated) refuse(*file_, "{}: record '{}' is compressed and cannot be used in place", record, 0);
  return file_->bytes().subspan(record.offset, record.size);
}

void ZipReader::check(const Record& record) const {
  if (crc_of(in_place(record)) != record.crc) refuse(*file_, kChecksum, record, 0);
}

std::string ZipReader::read(const Record& record) const {
  const std::span<std::byte> stored = file_->bytes().subspan(record.offset, record.stored_size);
  std::string content(record.size, '\0');
  if (!record.deflated) {
    if (!stored.empty()) std::memcpy(content.data(), stored.data(), stored.size());
  } else {
    z_stream stream{};
    stream.next_in = reinterpret_cast<Bytef*>(stored.data());
    stream.avail_in = static_cast<uInt>(stored.size());
    stream.next_out = reinterpret_cast<Bytef*>(content.data());
    stream.avail_out = static_cast<uInt>(content.size());
    int result = inflateInit2(&stream, -MAX_WBITS);
    if (result == Z_OK) {
      result = inflate(&stream, Z_FINISH);
      inflateEnd(&stream);
    }
    if (result == Z_MEM_ERROR) fail_out_of_memory();
    if (result != Z_STREAM_END || stream.avail_out != 0 || stream.avail_in != 0)
      refuse(*file_, "{}: record '{}' is broken: it does not inflate to {} bytes", record, record.size);
  }
  if (crc_of(std::as_bytes(std::span(content))) != record.crc) refuse(*file_, kChecksum, record, 0);
  return content;
}

}  // namespace sconce
