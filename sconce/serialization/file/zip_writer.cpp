#include "sconce/serialization/file/zip_writer.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/serialization/file/zip_reader.h"

namespace sconce {

namespace {

constexpr uint32_t kLocalMark = 0x04034b50, kDescriptorMark = 0x08074b50, kEntryMark = 0x02014b50,
                   kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50, kLocatorMark = 0x07064b50;
constexpr size_t kLocalSize = 30, kExtraHead = 4, kAlignment = 64;
constexpr uint16_t kZip64Extra = 1, kPaddingExtra = 0x4246;  // "FB"

// Little-endian numbers, one after the other.
class Bytes {
 public:
  Bytes& u16(uint64_t v) { return number(v, 2); }
  Bytes& u32(uint64_t v) { return number(v, 4); }
  Bytes& u64(uint64_t v) { return number(v, 8); }
  Bytes& text(std::string_view s) {
    bytes_ += s;
    return *this;
  }
  const std::string& str() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

 private:
  Bytes& number(uint64_t v, int n) {
    for (int i = 0; i < n; ++i) bytes_ += static_cast<char>(v >> 8 * i);
    return *this;
  }
  std::string bytes_;
};

}  // namespace

struct ZipWriter::Entry {
  std::string name;
  uint64_t offset = 0;  // of the local header
  uint64_t size = 0, stored_size = 0;
  uint32_t crc = 0;
  bool deflated = false;

  bool wide_size() const { return size >= 0xffffffff || stored_size >= 0xffffffff; }
  bool wide_offset() const { return offset >= 0xffffffff; }
  bool wide() const { return wide_size() || wide_offset(); }
  uint16_t needed() const { return deflated ? 20 : 0; }           // version 2.0 of the format knows deflate
  uint16_t flags() const { return size == 0 ? 0x0800 : 0x0808; }  // names are UTF-8; sizes follow the content
  uint16_t method() const { return deflated ? 8 : 0; }

  // The numbers that do not fit into 32 bits, for both headers.
  Bytes wide_extra() const {
    Bytes extra;
    if (!wide()) return extra;
    extra.u16(kZip64Extra).u16((wide_size() ? 16 : 0) + (wide_offset() ? 8 : 0));
    if (wide_size()) extra.u64(size).u64(stored_size);
    if (wide_offset()) extra.u64(offset);
    return extra;
  }
};

namespace {

uint64_t narrow(uint64_t v) { return std::min<uint64_t>(v, 0xffffffff); }

std::string deflated(std::span<const std::byte> content, std::string_view name) {
  z_stream stream{};
  const int started =
      deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
  if (started == Z_MEM_ERROR) throw std::bad_alloc();
  SCONCE_CHECK(started == Z_OK, "zlib cannot be started");
  const struct End {
    z_stream& stream;
    ~End() { deflateEnd(&stream); }
  } end{stream};
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  SCONCE_CHECK(result == Z_STREAM_END, "zlib cannot deflate record '{}'", name);
  return packed;
}

}  // namespace

ZipWriter::ZipWriter(FileWriter& out, std::string folder)
    : out_(out), folder_(folder.empty() ? std::move(folder) : folder + "/") {
  SCONCE_ASSERT(out_.position() == 0);
}
ZipWriter::~ZipWriter() = default;

void ZipWriter::add(std::string_view name, std::span<const std::byte> content, bool deflate) {
  Entry entry;
  entry.name = folder_ + std::string(name);
  SCONCE_CHECK(!finished_, "{}: record '{}' comes after the end", out_.path(), name);
  SCONCE_CHECK(is_safe_record_name(entry.name) && entry.name.size() <= kMaxRecordName && entry.name.back() != '/',
               "{}: a record cannot have the name '{}'", out_.path(), name);
  SCONCE_CHECK(entries_.size() < kMaxZipRecords, "{}: more than {} records", out_.path(), kMaxZipRecords);
  SCONCE_CHECK(names_.insert(entry.name).second, "{}: there are two records '{}'", out_.path(), name);
  entry.offset = out_.position();
  entry.size = content.size();
  entry.crc = static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
  std::string packed;
  // Content larger than a reader inflates is stored; so is content that a reader would find suspiciously small.
  if (deflate && entry.size <= kMaxInflatedBytes) {
    packed = deflated(content, name);
    entry.deflated = packed.size() < content.size() && entry.size / kMaxInflation <= packed.size();
  }
  const std::span<const std::byte> stored = entry.deflated ? std::as_bytes(std::span(packed)) : content;
  entry.stored_size = stored.size();

  Bytes extra = entry.wide_extra();
  const uint64_t start = entry.offset + kLocalSize + entry.name.size() + extra.size() + kExtraHead;
  const uint64_t padding = (kAlignment - start % kAlignment) % kAlignment;
  extra.u16(kPaddingExtra).u16(padding).text(std::string(padding, 'Z'));

  Bytes header;
  header.u32(kLocalMark).u16(entry.needed()).u16(entry.flags()).u16(entry.method());
  header.u32(0).u32(0).u32(0).u32(0);  // no time, so that the same records give the same bytes; crc and sizes follow
  header.u16(entry.name.size()).u16(extra.size()).text(entry.name).text(extra.str());
  out_.write(header.str());
  out_.write(stored);
  if (entry.size != 0) {
    Bytes descriptor;
    descriptor.u32(kDescriptorMark).u32(entry.crc);
    if (entry.wide()) {
      descriptor.u64(entry.stored_size).u64(entry.size);
    } else {
      descriptor.u32(entry.stored_size).u32(entry.size);
    }
    out_.write(descriptor.str());
  }
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  SCONCE_CHECK(!finished_, "{}: is already complete", out_.path());
  finished_ = true;
  const uint64_t begin = out_.position();
  for (const Entry& e : entries_) {
    const Bytes extra = e.wide_extra();
    const uint64_t all_ones = 0xffffffff;
    Bytes entry;
    entry.u32(kEntryMark).u16(0).u16(e.needed()).u16(e.flags()).u16(e.method()).u32(0).u32(e.crc);
    entry.u32(e.wide_size() ? all_ones : e.stored_size).u32(e.wide_size() ? all_ones : e.size);
    entry.u16(e.name.size()).u16(extra.size()).u16(0).u16(0).u16(0).u32(0).u32(narrow(e.offset));
    entry.text(e.name).text(extra.str());
    out_.write(entry.str());
  }
  const uint64_t end = out_.position(), size = end - begin, count = entries_.size();
  Bytes tail;
  if (count != 0) {  // an empty file has an end record and nothing else
    // Made by a Unix program for version 3.0, needs 4.5: the values that PyTorch writes.
    tail.u32(kEnd64Mark).u64(44).u16(0x031e).u16(0x002d).u32(0).u32(0).u64(count).u64(count).u64(size).u64(begin);
    tail.u32(kLocatorMark).u32(0).u64(end).u32(1);
  }
  const uint64_t short_count = std::min<uint64_t>(count, 0xffff);
  tail.u32(kEndMark).u16(0).u16(0).u16(short_count).u16(short_count).u32(narrow(size)).u32(narrow(begin)).u16(0);
  out_.write(tail.str());
}

std::string archive_folder(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  if (slash != path.npos) path.remove_prefix(slash + 1);
  const size_t dot = path.rfind('.');
  if (dot != path.npos) path = path.substr(0, dot);
  // A name that begins with a dot has nothing before it.
  return path.empty() || path == ".." || path == "." ? "archive" : std::string(path);
}

}  // namespace sconce
