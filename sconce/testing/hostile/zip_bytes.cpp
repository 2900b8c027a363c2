#include "sconce/testing/hostile/zip_bytes.h"

#include <zlib.h>

namespace sconce::testing {
namespace {

class Bytes {
 public:
  Bytes& u16(uint64_t v) { return number(v, 2); }
  Bytes& u32(uint64_t v) { return number(v, 4); }
  Bytes& raw(const std::string& text) {
    out_ += text;
    return *this;
  }
  Bytes& fill(size_t n) {
    out_.append(n, '\0');
    return *this;
  }
  size_t size() const { return out_.size(); }
  const std::string& str() const { return out_; }

 private:
  Bytes& number(uint64_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(v >> 8 * i);
    return *this;
  }
  std::string out_;
};

std::string deflated(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()) + 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

uint32_t crc_of(const std::string& content) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

}  // namespace

std::string pack_zip(const std::vector<ZipPart>& parts, const ZipEnd& end) {
  Bytes file, directory;
  for (const ZipPart& p : parts) {
    const std::string stored = p.deflate ? deflated(p.content) : p.content;
    const std::string& local_name = p.local_name ? *p.local_name : p.name;
    const uint16_t method = p.method.value_or(p.deflate ? 8 : 0), flags = p.flags.value_or(0);
    const uint32_t crc = p.crc.value_or(crc_of(p.content));
    const uint64_t offset = p.offset.value_or(file.size());
    const size_t pad = (64 - (file.size() + 30 + local_name.size()) % 64) % 64;
    file.raw("PK\x03\x04").u16(20).u16(flags).u16(method).u32(0).u32(p.local_crc.value_or(crc));
    file.u32(p.local_stored_size.value_or(p.stored_size.value_or(stored.size())));
    file.u32(p.local_size.value_or(p.size.value_or(p.content.size())));
    file.u16(local_name.size()).u16(pad).raw(local_name).fill(pad).raw(stored);
    directory.raw("PK\x01\x02").u16(20).u16(20).u16(flags).u16(method).u32(0).u32(crc);
    directory.u32(p.stored_size.value_or(stored.size())).u32(p.size.value_or(p.content.size()));
    directory.u16(p.name.size()).u16(0).u16(0).u16(0).u16(0).u32(0).u32(offset).raw(p.name);
  }
  const size_t at = file.size();
  file.raw(directory.str()).raw("PK\x05\x06").u16(0).u16(0);
  file.u16(end.entries.value_or(parts.size())).u16(end.entries.value_or(parts.size()));
  file.u32(end.directory_size.value_or(directory.size())).u32(end.directory_offset.value_or(at));
  file.u16(end.comment.size()).raw(end.comment).raw(end.after);
  return file.str();
}

}  // namespace sconce::testing
