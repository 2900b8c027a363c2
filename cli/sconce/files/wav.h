// Sound as tensors: RIFF WAVE files with PCM samples of 8, 16, 24 or 32 bits, or floating point of 32 or 64.
#pragma once

#include "sconce/serialization/file/file_bytes.h"
#include "sconce/tensor/tensor.h"

namespace sconce::cli {

struct Sound {
  Tensor samples;  // float32 of shape [channels, samples], values from -1 to 1
  int64_t rate = 0;
};

// Throws Error with the file's name and what is wrong.
Sound read_wav(const FileBytesPtr& file);

}  // namespace sconce::cli
