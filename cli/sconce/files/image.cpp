#include "files/image.h"

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "sconce/base/error.h"

namespace sconce::cli {
namespace {

// Rows of RGB samples, one or two bytes each (big endian), as the decoders leave them.
struct Pixels {
  int64_t height = 0, width = 0;
  int sample_bytes = 1;
  std::vector<uint8_t> rows;
};

Tensor to_tensor(const Pixels& p) {
  const Tensor out = empty_tensor({1, 3, p.height, p.width}, DType::float32);
  float* to = out.data<float>();
  const int64_t plane = p.height * p.width;
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      const uint8_t* sample = &p.rows[static_cast<size_t>((i * 3 + c) * p.sample_bytes)];
      to[c * plane + i] = p.sample_bytes == 1 ? static_cast<float>(sample[0]) / 255.0f
                                              : static_cast<float>(sample[0] << 8 | sample[1]) / 65535.0f;
    }
  }
  return out;
}

void check_size(const FileBytesPtr& file, int64_t height, int64_t width) {
  const auto bytes = static_cast<int64_t>(file->bytes().size());
  SCONCE_CHECK(height > 0 && width > 0 && height <= INT32_MAX && width <= INT32_MAX &&
                   height * width / kMaxPixelsPerByte <= bytes,
               "{}: says that it is a picture of {} x {} pixels, too many for a file of {} bytes", file->name(), height,
               width, bytes);
}

// ---- PNG ----

struct PngReading {
  std::span<const std::byte> left;
  std::string error;
};

void png_take(png_structp png, png_bytep to, size_t count) {
  auto& reading = *static_cast<PngReading*>(png_get_io_ptr(png));
  if (count > reading.left.size()) png_error(png, "the file ends too early");
  std::memcpy(to, reading.left.data(), count);
  reading.left = reading.left.subspan(count);
}
[[noreturn]] void png_failed(png_structp png, png_const_charp message) {
  *static_cast<std::string*>(png_get_error_ptr(png)) = message;
  png_longjmp(png, 1);
}
void png_warned(png_structp, png_const_charp) {}

// The header, and how rows are to be delivered. False with a message in `error`. No object with a destructor lives
// here: libpng leaves by longjmp.
bool png_begin(png_structp png, png_infop info, Pixels& pixels) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_info(png, info);
  png_set_expand(png);  // palettes, fewer than 8 bits, transparent colours
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  pixels.height = png_get_image_height(png, info);
  pixels.width = png_get_image_width(png, info);
  pixels.sample_bytes = png_get_bit_depth(png, info) == 16 ? 2 : 1;
  return png_get_channels(png, info) == 3;
}
bool png_rows(png_structp png, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

// ---- JPEG ----

struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void jpeg_failed(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  errors->base.format_message(jpeg, errors->message);
  std::longjmp(errors->escape, 1);
}
// A file that ends too early is refused; other oddities (bytes between markers) are common and harmless.
void jpeg_warned(j_common_ptr jpeg, int level) {
  if (level < 0 && (jpeg->err->msg_code == JWRN_JPEG_EOF || jpeg->err->msg_code == JWRN_HIT_MARKER)) jpeg_failed(jpeg);
}
void jpeg_progress(j_common_ptr jpeg) {
  if (!jpeg->is_decompressor || reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMaxJpegScans) return;
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  std::snprintf(errors->message, sizeof errors->message, "more than %d scans", kMaxJpegScans);
  std::longjmp(errors->escape, 1);
}

bool jpeg_begin(jpeg_decompress_struct& jpeg, JpegErrors& errors, std::span<const std::byte> bytes) {
  if (setjmp(errors.escape)) return false;
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_RGB;
  return true;
}
bool jpeg_rows(jpeg_decompress_struct& jpeg, JpegErrors& errors, uint8_t* rows, size_t row_bytes) {
  if (setjmp(errors.escape)) return false;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = rows + jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

}  // namespace

Tensor read_png(const FileBytesPtr& file) {
  std::string error;
  PngReading reading{file->bytes(), ""};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &error, png_failed, png_warned);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  struct Free {
    png_structp& png;
    png_infop& info;
    ~Free() { png_destroy_read_struct(&png, &info, nullptr); }
  } free{png, info};
  SCONCE_CHECK(info, "{}: libpng cannot be started", file->name());
  png_set_read_fn(png, &reading, png_take);
  Pixels pixels;
  SCONCE_CHECK(png_begin(png, info, pixels), "{}: is not a PNG picture that can be read: {}", file->name(),
               error.empty() ? "it has no red, green and blue" : error);
  check_size(file, pixels.height, pixels.width);
  const size_t row_bytes = png_get_rowbytes(png, info);
  SCONCE_CHECK(row_bytes == static_cast<size_t>(pixels.width) * 3 * static_cast<size_t>(pixels.sample_bytes),
               "{}: is not a PNG picture that can be read: rows of {} bytes for {} pixels", file->name(), row_bytes,
               pixels.width);
  pixels.rows.resize(row_bytes * static_cast<size_t>(pixels.height));
  std::vector<png_bytep> rows;
  rows.reserve(static_cast<size_t>(pixels.height));
  for (int64_t i = 0; i < pixels.height; ++i) rows.push_back(pixels.rows.data() + static_cast<size_t>(i) * row_bytes);
  SCONCE_CHECK(png_rows(png, rows.data()), "{}: is not a PNG picture that can be read: {}", file->name(), error);
  return to_tensor(pixels);
}

Tensor read_jpeg(const FileBytesPtr& file) {
  jpeg_decompress_struct jpeg{};
  JpegErrors errors{};
  jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = jpeg_failed;
  errors.base.emit_message = jpeg_warned;
  errors.base.output_message = [](j_common_ptr) {};
  jpeg_create_decompress(&jpeg);
  struct Free {
    jpeg_decompress_struct& jpeg;
    ~Free() { jpeg_destroy_decompress(&jpeg); }
  } free{jpeg};
  jpeg_progress_mgr progress{};
  progress.progress_monitor = jpeg_progress;
  jpeg.progress = &progress;
  Pixels pixels;
  SCONCE_CHECK(jpeg_begin(jpeg, errors, file->bytes()), "{}: is not a JPEG picture that can be read: {}", file->name(),
               errors.message);
  pixels.height = jpeg.image_height;
  pixels.width = jpeg.image_width;
  check_size(file, pixels.height, pixels.width);
  const size_t row_bytes = static_cast<size_t>(pixels.width) * 3;
  pixels.rows.resize(row_bytes * static_cast<size_t>(pixels.height));
  SCONCE_CHECK(jpeg_rows(jpeg, errors, pixels.rows.data(), row_bytes), "{}: is not a JPEG picture that can be read: {}",
               file->name(), errors.message);
  return to_tensor(pixels);
}

}  // namespace sconce::cli
