#include <png.h>

#include <vector>

#include "files/image.h"
#include "sconce/base/error.h"
#include "sconce/ops.h"
#include "sconce/serialization/file/file_writer.h"

namespace sconce::cli {

void write_png(const std::string& path, const Tensor& given) {
  Tensor t = given;
  if (t.dim() == 4 && t.size(0) == 1) t = t.squeeze(0);
  if (t.dim() == 2) t = t.unsqueeze(0);
  SCONCE_CHECK(t.dim() == 3 && (t.size(0) == 1 || t.size(0) == 3) && t.numel() > 0,
               "{}: a picture is a tensor [3, H, W], [1, H, W] or [H, W], got {}", path, given.sizes());
  SCONCE_CHECK(t.dtype() == DType::uint8 || is_floating(t.dtype()),
               "{}: a picture is a tensor of uint8 or of floating point from 0 to 1, got {}", path,
               dtype_name(t.dtype()));
  if (is_floating(t.dtype())) t = t.to(DType::float32).clamp(0, 1).mul(255).round().to(DType::uint8);
  const int64_t channels = t.size(0);
  t = t.permute({1, 2, 0}).contiguous();
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(t.size(0));
  image.width = static_cast<png_uint_32>(t.size(1));
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = 0;
  bool written = png_image_write_to_memory(&image, nullptr, &size, 0, t.data(), 0, nullptr);
  std::vector<std::byte> bytes(size);
  written = written && png_image_write_to_memory(&image, bytes.data(), &size, 0, t.data(), 0, nullptr);
  SCONCE_CHECK(written, "{}: cannot be written as PNG: {}", path, image.message);
  FileWriter out(path);
  out.write(std::span<const std::byte>(bytes.data(), size));
  out.commit();
}

}  // namespace sconce::cli
