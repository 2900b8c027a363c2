// Pictures as tensors: what libpng and libjpeg decode. Pictures are hostile files like any other: sizes are checked
// against the file's size before memory is asked for.
#pragma once

#include <string>

#include "sconce/serialization/file/file_bytes.h"
#include "sconce/tensor/tensor.h"

namespace sconce::cli {

inline constexpr int64_t kMaxPixelsPerByte = 4096;  // no encoder of PNG or JPEG packs more into a byte
inline constexpr int kMaxJpegScans = 500;           // of a progressive file; encoders write about ten

// float32 of shape [1, 3, H, W], values from 0 to 1; grey pictures have three equal channels, transparency is dropped,
// colour profiles and EXIF are not looked at. Throw Error with the file's name and the library's reason.
Tensor read_png(const FileBytesPtr& file);
Tensor read_jpeg(const FileBytesPtr& file);

// A tensor [3, H, W], [1, H, W], [H, W] or a batch of one of these: uint8 as it is, floating point from 0 to 1 (values
// outside are cut). The file is written whole or not at all. Throws Error.
void write_png(const std::string& path, const Tensor& image);

}  // namespace sconce::cli
