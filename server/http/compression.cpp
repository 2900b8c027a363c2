// Compressed bodies: gzip and deflate by zlib, with a limit on what comes out.
#include <zlib.h>

#include <stdexcept>

#include "server/http/router.h"

namespace sconce::server {

std::string inflate_body(const std::string& body, const std::string& encoding, size_t limit) {
  if (encoding != "gzip" && encoding != "deflate")
    refuse(Code::unimplemented, "Content-Encoding '{}' is not supported: gzip and deflate are", encoding.substr(0, 40));
  z_stream stream = {};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) throw std::bad_alloc();  // 32: gzip or zlib, by the first bytes
  struct End {
    z_stream& s;
    ~End() { inflateEnd(&s); }
  } const end{stream};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  std::string out;
  char piece[1 << 16];
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) refuse("the body is no {}", encoding);
    out.append(piece, sizeof piece - stream.avail_out);
    if (out.size() > limit) refuse(Code::too_large, "the body has more than {} bytes when it is unpacked", limit);
    if (status == Z_STREAM_END) return out;
    if (stream.avail_in == 0 && stream.avail_out == sizeof piece) refuse("the body ends within its {}", encoding);
  }
}

std::string deflate_body(const std::string& body, bool gzip) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("deflate failed");
  return out;
}

}  // namespace sconce::server
