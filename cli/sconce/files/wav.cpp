#include "files/wav.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "sconce/base/error.h"

namespace sconce::cli {
namespace {

constexpr uint16_t kPcm = 1, kFloat = 3, kExtensible = 0xfffe;

struct Format {
  uint16_t tag = 0, channels = 0, bits = 0;
  uint32_t rate = 0;
};

uint64_t little(std::span<const std::byte> bytes) {
  uint64_t v = 0;
  for (size_t i = bytes.size(); i-- > 0;) v = v << 8 | static_cast<uint8_t>(bytes[i]);
  return v;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Format read_format(const std::string& name, std::span<const std::byte> chunk) {
  SCONCE_CHECK(chunk.size() >= 16, "{}: its 'fmt ' chunk has {} bytes, at least 16 are needed", name, chunk.size());
  Format f;
  f.tag = static_cast<uint16_t>(little(chunk.subspan(0, 2)));
  f.channels = static_cast<uint16_t>(little(chunk.subspan(2, 2)));
  f.rate = static_cast<uint32_t>(little(chunk.subspan(4, 4)));
  f.bits = static_cast<uint16_t>(little(chunk.subspan(14, 2)));
  if (f.tag == kExtensible && chunk.size() >= 26) f.tag = static_cast<uint16_t>(little(chunk.subspan(24, 2)));
  const bool known = (f.tag == kPcm && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32)) ||
                     (f.tag == kFloat && (f.bits == 32 || f.bits == 64));
  SCONCE_CHECK(known, "{}: WAVE format {} with {} bits is not supported; PCM (8 to 32 bits) and floating point are",
               name, f.tag, f.bits);
  SCONCE_CHECK(f.channels > 0, "{}: has no channels", name);
  return f;
}

float sample(const Format& f, std::span<const std::byte> bytes) {
  const uint64_t v = little(bytes);
  if (f.tag == kFloat) {
    return f.bits == 32 ? std::bit_cast<float>(static_cast<uint32_t>(v)) : static_cast<float>(std::bit_cast<double>(v));
  }
  if (f.bits == 8) return (static_cast<float>(v) - 128.0f) / 128.0f;  // the only one without a sign
  const int64_t signed_value = static_cast<int64_t>(v << (64 - f.bits)) >> (64 - f.bits);
  return static_cast<float>(static_cast<double>(signed_value) / static_cast<double>(int64_t{1} << (f.bits - 1)));
}

}  // namespace

Sound read_wav(const FileBytesPtr& file) {
  const std::string& name = file->name();
  std::span<const std::byte> bytes = file->bytes();
  SCONCE_CHECK(bytes.size() >= 12 && text_of(bytes.subspan(0, 4)) == "RIFF" && text_of(bytes.subspan(8, 4)) == "WAVE",
               "{}: is not a RIFF WAVE file", name);
  Format format;
  bytes = bytes.subspan(12);
  while (bytes.size() >= 8) {
    const std::string_view kind = text_of(bytes.subspan(0, 4));
    const uint64_t size = little(bytes.subspan(4, 4));
    bytes = bytes.subspan(8);
    SCONCE_CHECK(size <= bytes.size(), "{}: its '{}' chunk of {} bytes reaches beyond the end of the file", name, kind,
                 size);
    const std::span<const std::byte> chunk = bytes.subspan(0, size);
    if (kind == "fmt ") format = read_format(name, chunk);
    if (kind == "data") {
      SCONCE_CHECK(format.tag != 0, "{}: has its samples before their format ('fmt ' chunk)", name);
      const size_t item = format.bits / 8u, channels = format.channels;
      const size_t frames = chunk.size() / (item * channels);
      Sound sound;
      sound.rate = format.rate;
      sound.samples = empty_tensor({format.channels, static_cast<int64_t>(frames)}, DType::float32);
      float* to = sound.samples.data<float>();
      for (size_t i = 0; i < frames; ++i) {
        for (size_t c = 0; c < channels; ++c) {
          to[c * frames + i] = sample(format, chunk.subspan((i * channels + c) * item, item));
        }
      }
      return sound;
    }
    bytes = bytes.subspan(std::min<uint64_t>(size + size % 2, bytes.size()));  // chunks begin at even places
  }
  fail("{}: has no samples ('data' chunk)", name);
}

}  // namespace sconce::cli
