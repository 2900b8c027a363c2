// Row cache: input rows that a kernel has brought into another form, so that rows which neighbouring output rows share
// are prepared once.
#pragma once

#include <algorithm>

#include "sconce/kernels/cpu/engine/scratch.h"

namespace sconce {

class RowCache {
 public:
  // Rows of `bytes` bytes, in memory that lives as long as `scratch`. An output row uses rows that lie within
  // depth_span and height_span of each other.
  RowCache(Scratch& scratch, int64_t bytes, int64_t depth_span, int64_t height_span)
      : bytes_(bytes), depth_(depth_span), height_(height_span) {
    data_ = scratch.take<char>(bytes_ * depth_ * height_);
    tags_ = scratch.take<int64_t>(depth_ * height_);
    std::fill_n(tags_, depth_ * height_, int64_t{-1});
  }
  // Row (d, h) of an image; `tag` names it among the rows of all images. prepare(memory) is called if it is
  // not there yet.
  template <class F>
  const void* get(int64_t tag, int64_t d, int64_t h, F&& prepare) {
    // 32 bits divide faster
    const auto row = static_cast<int64_t>(static_cast<uint32_t>(h) % static_cast<uint32_t>(height_));
    const int64_t slot = depth_ == 1 ? row : d % depth_ * height_ + row;
    char* memory = data_ + slot * bytes_;
    if (tags_[slot] != tag) {
      prepare(memory);
      tags_[slot] = tag;
    }
    return memory;
  }

 private:
  int64_t bytes_, depth_, height_;
  char* data_;
  int64_t* tags_;
};

}  // namespace sconce
