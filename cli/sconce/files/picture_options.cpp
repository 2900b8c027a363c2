#include "files/picture_options.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "commands/commands.h"
#include "sconce/ops.h"

namespace sconce::cli {
namespace {

constexpr double kImagenetMean[] = {0.485, 0.456, 0.406}, kImagenetStd[] = {0.229, 0.224, 0.225};
constexpr int64_t kMaxSide = 1 << 16;

template <class T>
std::vector<T> numbers(std::string_view text, char separator) {
  std::vector<T> out;
  while (true) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return {};
    out.push_back(value);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) return out;
    if (text[0] != separator) return {};
    text.remove_prefix(1);
  }
}

// One or two positive numbers.
std::vector<int64_t> sides(const std::string& text, const char* option) {
  std::vector<int64_t> out = numbers<int64_t>(text, 'x');
  bool fits = out.size() == 1 || out.size() == 2;
  for (const int64_t side : out) fits = fits && side > 0 && side <= kMaxSide;
  if (!fits)
    throw UsageError(fmt::format("{} takes a size like 224 or 224x320 (height x width), got '{}'", option, text));
  return out;
}

Tensor resized(const Tensor& picture, const std::string& text) {
  std::vector<int64_t> to = sides(text, "--image-size");
  if (to.size() == 1) {
    // The shorter side gets this length, the longer one is cut down to a whole number.
    const int64_t h = picture.size(2), w = picture.size(3), shorter = std::min(h, w), side = to[0];
    to = {std::max<int64_t>(1, side * h / shorter), std::max<int64_t>(1, side * w / shorter)};
    if (std::max(to[0], to[1]) > kMaxSide)
      throw UsageError(
          fmt::format("--image-size {} makes {} x {} pixels of this picture, too many", text, to[0], to[1]));
  }
  return _upsample_bilinear2d_aa(picture, to, false).clamp(0, 1);
}

Tensor cropped(const Tensor& picture, const std::string& text) {
  std::vector<int64_t> to = sides(text, "--image-crop");
  if (to.size() == 1) to.push_back(to[0]);
  const int64_t h = picture.size(2), w = picture.size(3);
  if (to[0] > h || to[1] > w)
    throw UsageError(fmt::format("--image-crop {}: the picture has only {} x {} pixels", text, h, w));
  return picture.narrow(2, (h - to[0]) / 2, to[0]).narrow(3, (w - to[1]) / 2, to[1]).contiguous();
}

Tensor channel_values(const std::vector<double>& values) {
  const Tensor t = empty_tensor({1, static_cast<int64_t>(values.size()), 1, 1}, DType::float32);
  for (size_t i = 0; i < values.size(); ++i) t.data<float>()[i] = static_cast<float>(values[i]);
  return t;
}

Tensor normalized(const Tensor& picture, const std::string& text) {
  std::vector<double> mean(std::begin(kImagenetMean), std::end(kImagenetMean));
  std::vector<double> std(std::begin(kImagenetStd), std::end(kImagenetStd));
  if (text != "imagenet") {
    const size_t slash = text.find('/');
    mean = numbers<double>(text.substr(0, slash), ',');
    std = slash == text.npos ? std::vector<double>() : numbers<double>(text.substr(slash + 1), ',');
    const auto fits = [](const std::vector<double>& v) { return v.size() == 1 || v.size() == 3; };
    if (!fits(mean) || !fits(std))
      throw UsageError(fmt::format(
          "--normalize takes 'imagenet' or mean/std with one or three numbers each, like 0.5/0.5, got '{}'", text));
  }
  return picture.sub(channel_values(mean)).div(channel_values(std));
}

}  // namespace

void add_picture_options(App command, PictureOptions& o) {
  command.add_option("--image-size", o.size, "Resizes pictures: HxW, or N for the shorter side").type_name("HxW");
  command.add_option("--image-crop", o.crop, "Cuts the middle out of pictures, after --image-size").type_name("HxW");
  command
      .add_option("--normalize", o.normalize,
                  "Subtracts the mean of each channel and divides by its deviation: 'imagenet', or 0.5,0.5,0.5/0.5")
      .type_name("MEAN/STD");
}

Tensor prepare_picture(Tensor picture, const PictureOptions& o) {
  if (!o.size.empty()) picture = resized(picture, o.size);
  if (!o.crop.empty()) picture = cropped(picture, o.crop);
  if (!o.normalize.empty()) picture = normalized(picture, o.normalize);
  return picture;
}

}  // namespace sconce::cli
