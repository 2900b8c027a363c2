// How pictures are prepared for a model: resized, cropped, normalised.
#pragma once

#include <string>

#include "sconce/tensor/tensor.h"
#include "text/options.h"

namespace sconce::cli {

struct PictureOptions {
  std::string size;       // "224x320", or "256": the shorter side
  std::string crop;       // "224x224", or "224": from the middle
  std::string normalize;  // "imagenet", "0.5,0.5,0.5/0.5,0.5,0.5", "0.5/0.5"
};
// --image-size, --image-crop, --normalize.
void add_picture_options(App command, PictureOptions& options);

// From and to [1, 3, H, W]. Throws UsageError for an option that cannot be read or does not fit the picture.
Tensor prepare_picture(Tensor picture, const PictureOptions& options);

}  // namespace sconce::cli
