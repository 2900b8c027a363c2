// How much rotated boxes overlap: the corners of two convex polygons, and where their edges cross, span the
// intersection.
#include <array>

#include "common.h"

namespace torchvision {

namespace {

void check_boxes(const Tensor& boxes, const char* name) {
  SCONCE_CHECK(boxes.dim() == 2 && boxes.size(1) == 5,
               "box_iou_rotated: {} must have shape [N, 5] (x, y, width, height, degrees), got {}", name,
               boxes.sizes());
}

template <class T>
struct Point {
  T x = 0, y = 0;
  Point operator+(Point o) const { return {x + o.x, y + o.y}; }
  Point operator-(Point o) const { return {x - o.x, y - o.y}; }
  Point operator*(T f) const { return {x * f, y * f}; }
  T dot(Point o) const { return x * o.x + y * o.y; }
  T cross(Point o) const { return x * o.y - y * o.x; }
};

template <class T>
using Corners = std::array<Point<T>, 4>;

template <class T>
struct Box {
  Point<T> center;
  T width, height, degrees;
  explicit Box(const T* v) : center{v[0], v[1]}, width(v[2]), height(v[3]), degrees(v[4]) {}
  T area() const { return width * height; }

  // Against the clock, as y grows upwards.
  Corners<T> corners(Point<T> origin) const {
    const double angle = static_cast<double>(degrees) * (M_PI / 180);
    const T c = static_cast<T>(std::cos(angle)) / 2, s = static_cast<T>(std::sin(angle)) / 2;
    const Point<T> middle = center - origin;
    const Point<T> a{s * height + c * width, c * height - s * width}, b{s * height - c * width, c * height + s * width};
    return {middle + Point<T>{a.x, a.y}, middle + Point<T>{b.x, b.y}, middle - a, middle - b};
  }
};

// Is the point in the rectangle, the border included?
template <class T>
bool contains(const Corners<T>& r, Point<T> p, T tolerance) {
  const Point<T> one = r[1] - r[0], other = r[3] - r[0], to = p - r[0];
  const T along = to.dot(one), across = to.dot(other);
  return along >= -tolerance && across >= -tolerance && along <= one.dot(one) + tolerance &&
         across <= other.dot(other) + tolerance;
}

template <class T>
std::vector<Point<T>> common_points(const Corners<T>& a, const Corners<T>& b) {
  constexpr T kTolerance = T(1e-5), kParallel = T(1e-14);
  std::vector<Point<T>> points;
  for (size_t i = 0; i < 4; ++i) {
    const Point<T> edge = a[(i + 1) % 4] - a[i];
    for (size_t j = 0; j < 4; ++j) {
      const Point<T> other = b[(j + 1) % 4] - b[j];
      const T turn = other.cross(edge);
      if (std::abs(turn) <= kParallel) continue;
      const Point<T> apart = b[j] - a[i];
      const T t = other.cross(apart) / turn, u = edge.cross(apart) / turn;
      if (t > -kTolerance && t < 1 + kTolerance && u > -kTolerance && u < 1 + kTolerance)
        points.push_back(a[i] + edge * t);
    }
  }
  for (const Point<T> p : a) {
    if (contains(b, p, kTolerance)) points.push_back(p);
  }
  for (const Point<T> p : b) {
    if (contains(a, p, kTolerance)) points.push_back(p);
  }
  return points;
}

// The area of the smallest convex polygon around the points.
template <class T>
T hull_area(std::vector<Point<T>> p) {
  if (p.size() <= 2) return 0;
  std::sort(p.begin(), p.end(), [](Point<T> a, Point<T> b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::vector<Point<T>> hull;
  const auto extend = [&](Point<T> next, size_t least) {
    while (hull.size() > least && (hull.back() - hull[hull.size() - 2]).cross(next - hull.back()) <= 0) hull.pop_back();
    hull.push_back(next);
  };
  for (const Point<T> next : p) extend(next, 1);
  const size_t lower = hull.size();
  for (size_t i = p.size() - 1; i-- > 0;) extend(p[i], lower);
  T twice = 0;
  for (size_t i = 1; i + 1 < hull.size(); ++i) twice += (hull[i] - hull[0]).cross(hull[i + 1] - hull[0]);
  return std::abs(twice) / 2;
}

template <class T>
T overlap(const Box<T>& a, const Box<T>& b) {
  constexpr T kSmallest = T(1e-14);
  if (!(a.area() >= kSmallest && b.area() >= kSmallest)) return 0;
  const Point<T> origin = (a.center + b.center) * T(0.5);  // numbers near 0 are exact
  const T common = hull_area(common_points(a.corners(origin), b.corners(origin)));
  return common / (a.area() + b.area() - common);
}

}  // namespace

Tensor box_iou_rotated_meta(const Tensor& boxes1, const Tensor& boxes2) {
  check_boxes(boxes1, "boxes1");
  check_boxes(boxes2, "boxes2");
  return empty_tensor({boxes1.size(0), boxes2.size(0)}, DType::float32, boxes1.device());
}

Tensor box_iou_rotated_cpu(const Tensor& boxes1, const Tensor& boxes2) {
  Tensor result = box_iou_rotated_meta(boxes1, boxes2);
  SCONCE_CHECK(boxes1.dtype() == boxes2.dtype(), "box_iou_rotated: boxes must have one dtype, got {} and {}",
               dtype_name(boxes1.dtype()), dtype_name(boxes2.dtype()));
  const Tensor one = prepared(boxes1), other = prepared(boxes2);
  compute(boxes1.dtype(), "box_iou_rotated", [&]<class T>() {
    const T *a = one.data<T>(), *b = other.data<T>();
    for (int64_t i = 0; i < one.size(0); ++i) {
      for (int64_t j = 0; j < other.size(0); ++j) {
        result.data<float>()[i * other.size(0) + j] = static_cast<float>(overlap(Box<T>(a + i * 5), Box<T>(b + j * 5)));
      }
    }
  });
  return result;
}

}  // namespace torchvision
