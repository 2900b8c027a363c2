// Work sharing of images: how threads share images of one layout, planes [image][place] or
// channels_last [image][place][channel].
#pragma once

#include <algorithm>

#include "sconce/base/parallel.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

struct ImageBlocks {
  static constexpr int64_t block = 32;  // channels

  bool pixels;       // channels_last
  int64_t images;    // batches times channels, or batches
  int64_t channels;  // 1 for planes

  // `t` is contiguous, or else contiguous in channels_last.
  ImageBlocks(const Tensor& t, int rank) : pixels(!t.is_contiguous()) {
    const int64_t all = t.sizes()[static_cast<size_t>(t.dim() - rank - 1)];
    const int64_t batch = t.dim() == rank + 2 ? t.sizes()[0] : 1;
    images = pixels ? batch : batch * all;
    channels = pixels ? all : 1;
  }
  MemoryFormat format(const Tensor& t) const {
    return !pixels        ? MemoryFormat::contiguous
           : t.dim() == 4 ? MemoryFormat::channels_last
                          : MemoryFormat::channels_last_3d;
  }
  // f(image, first channel, last channel) for blocks of channels, which threads can do apart; `places` is what
  // a channel costs.
  template <class F>
  void for_each(int64_t places, F&& f) const {
    const int64_t blocks = (channels + block - 1) / block;
    const int64_t grain = grain_for(2 * places * std::min(block, channels));
    parallel_for(images * blocks, grain, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const int64_t c = i % blocks * block;
        f(i / blocks, c, std::min(c + block, channels));
      }
    });
  }
};

}  // namespace sconce
