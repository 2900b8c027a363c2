// Digits for train_digits.cpp: drawn as strokes, each a little different, in noise. The same seed draws the same
// images.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "sconce/ops.h"

struct DigitImages {
  sconce::Tensor images;  // float32 [n, 1, 20, 20]: 0 is paper, 1 is ink
  sconce::Tensor labels;  // int64 [n]
};

namespace digit_images {

constexpr int kSize = 20;

struct Point {
  double x, y;  // in [0, 1]; y points down
};
using Stroke = std::vector<Point>;

// The random numbers of one seed (splitmix64).
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  double between(double low, double high) {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return low + (high - low) * static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_;
};

// A part of an ellipse; degrees count clockwise from the right.
inline Stroke arc(double x, double y, double width, double height, double from, double to) {
  Stroke points;
  const int parts = static_cast<int>(std::abs(to - from) / 30) + 1;
  for (int i = 0; i <= parts; ++i) {
    const double angle = (from + (to - from) * i / parts) * 0.017453292519943295;
    points.push_back({x + width * std::cos(angle), y + height * std::sin(angle)});
  }
  return points;
}

inline std::vector<Stroke> strokes(int digit, Dice& dice) {
  switch (digit) {
    case 0:
      return {arc(0.5, 0.5, 0.25, 0.36, 0, 360)};
    case 1:
      return {{{0.38, 0.28}, {0.52, 0.14}, {0.52, 0.86}}};
    case 2: {
      Stroke s = arc(0.5, 0.33, 0.23, 0.2, 190, 400);
      s.insert(s.end(), {{0.26, 0.86}, {0.76, 0.86}});
      return {s};
    }
    case 3:
      return {arc(0.48, 0.32, 0.21, 0.18, 200, 450), arc(0.48, 0.68, 0.24, 0.19, 270, 520)};
    case 4:
      return {{{0.6, 0.86}, {0.6, 0.14}, {0.24, 0.62}, {0.78, 0.62}}};
    case 5:
      return {{{0.72, 0.14}, {0.34, 0.14}, {0.31, 0.48}}, arc(0.48, 0.65, 0.23, 0.22, 220, 500)};
    case 6:
      return {{{0.66, 0.15}, {0.42, 0.34}, {0.29, 0.62}}, arc(0.5, 0.65, 0.21, 0.21, 0, 360)};
    case 7: {
      std::vector<Stroke> s = {{{0.26, 0.15}, {0.75, 0.15}, {0.42, 0.86}}};
      if (dice.between(0, 1) < 0.5) s.push_back({{0.36, 0.5}, {0.68, 0.5}});
      return s;
    }
    case 8:
      return {arc(0.5, 0.32, 0.19, 0.17, 0, 360), arc(0.5, 0.68, 0.23, 0.19, 0, 360)};
    default:
      return {arc(0.5, 0.35, 0.21, 0.21, 0, 360), {{0.71, 0.37}, {0.66, 0.62}, {0.52, 0.86}}};
  }
}

inline double distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const double along = length == 0 ? 0 : std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0);
  return std::hypot(p.x - a.x - along * dx, p.y - a.y - along * dy);
}

inline void draw(int digit, Dice& dice, float* pixels) {
  std::vector<Stroke> all = strokes(digit, dice);
  // Turned, stretched, slanted and moved; and every point trembles.
  const double angle = dice.between(-0.3, 0.3), slant = dice.between(-0.3, 0.3), wide = dice.between(0.65, 1.1),
               high = dice.between(0.75, 1.1), right = dice.between(-0.12, 0.12), down = dice.between(-0.1, 0.1);
  for (Stroke& stroke : all) {
    for (Point& p : stroke) {
      const double y = (p.y - 0.5) * high + dice.between(-0.025, 0.025);
      const double x = (p.x - 0.5) * wide + slant * y + dice.between(-0.025, 0.025);
      p = {0.5 + right + x * std::cos(angle) - y * std::sin(angle),
           0.5 + down + x * std::sin(angle) + y * std::cos(angle)};
    }
  }
  const double pen = dice.between(0.025, 0.07), ink = dice.between(0.5, 1), noise = dice.between(0.1, 0.45);
  for (int i = 0; i < kSize * kSize; ++i) {
    const Point at = {(i % kSize + 0.5) / kSize, (i / kSize + 0.5) / kSize};
    double nearest = 1;
    for (const Stroke& stroke : all) {
      for (size_t k = 0; k + 1 < stroke.size(); ++k) {
        nearest = std::min(nearest, distance(at, stroke[k], stroke[k + 1]));
      }
    }
    const double covered = std::clamp((pen - nearest) * kSize + 0.5, 0.0, 1.0);
    pixels[i] = static_cast<float>(covered * ink + dice.between(-noise, noise));
  }
}

}  // namespace digit_images

inline DigitImages draw_digits(int64_t n, uint64_t seed) {
  using namespace digit_images;
  DigitImages set{sconce::empty({n, 1, kSize, kSize}), sconce::empty({n}, sconce::DType::int64)};
  Dice dice(seed);
  for (int64_t i = 0; i < n; ++i) {
    const int digit = static_cast<int>(dice.between(0, 10));
    set.labels.data<int64_t>()[i] = digit;
    draw(digit, dice, set.images.data<float>() + i * kSize * kSize);
  }
  return set;
}
