// Plots of latencies over percentiles.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "load/load_run.h"
#include "text/units.h"

namespace sconce::cli {
namespace {

struct Point {
  const char* name;
  double share;
};
constexpr Point kPoints[] = {{"p10", 0.1},  {"p25", 0.25}, {"p50", 0.5},     {"p75", 0.75},      {"p90", 0.9},
                             {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}, {"max", 1.0}};

}  // namespace

std::string latency_plot(const server::LatencyHistogram<7>& latency, size_t columns) {
  std::string out;
  const auto top = static_cast<double>(std::max<uint64_t>(latency.max(), 1));
  const auto bottom = static_cast<double>(std::max<uint64_t>(latency.quantile(0), 1));
  // Logarithmic, from half of the least to the largest.
  const double from = std::log(bottom / 2), to = std::log(top);
  const double width = static_cast<double>(columns > 30 ? columns - 22 : 10);
  for (const Point& p : kPoints) {
    const auto ns = static_cast<double>(latency.quantile(p.share));
    const auto bar =
        static_cast<size_t>(std::max(1.0, width * (std::log(std::max(ns, 1.0)) - from) / std::max(to - from, 1e-9)));
    out += fmt::format("{:>7} {:>9}  {}\n", p.name, seconds_text(1e-9 * ns), std::string(bar, '#'));
  }
  return out;
}

std::string latency_svg(const server::LatencyHistogram<7>& latency, const std::string& title) {
  constexpr double kWidth = 720, kHeight = 360, kLeft = 80, kRight = 20, kTop = 40, kBottom = 40, kNines = 5;
  const auto top = static_cast<double>(std::max<uint64_t>(latency.max(), 1));
  const auto bottom = static_cast<double>(std::max<uint64_t>(latency.quantile(0), 1));
  const double low = std::floor(std::log10(bottom)), high = std::max(std::ceil(std::log10(top)), low + 1);
  const auto x_of = [&](double nines) { return kLeft + (kWidth - kLeft - kRight) * nines / kNines; };
  const auto y_of = [&](double ns) {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * (std::log10(std::max(ns, 1.0)) - low) / (high - low);
  };
  std::string escaped;
  for (const char c : title) escaped += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n<text x=\"{2}\" y=\"22\" font-size=\"14\">{3}</text>\n",
      kWidth, kHeight, kLeft, escaped);
  for (double e = low; e <= high; ++e) {
    const double y = y_of(std::pow(10, e));
    out += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        kLeft, kWidth - kRight, y, kLeft - 6, y + 4, seconds_text(std::pow(10, e - 9)));
  }
  constexpr const char* kNames[] = {"0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"};
  for (int i = 0; i <= static_cast<int>(kNines); ++i)
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x_of(i),
                       kHeight - kBottom + 18, kNames[i]);
  out += "<polyline fill=\"none\" stroke=\"#2563eb\" stroke-width=\"2\" points=\"";
  for (double nines = 0; nines <= kNines; nines += 0.05)
    out += fmt::format("{:.1f},{:.1f} ", x_of(nines),
                       y_of(static_cast<double>(latency.quantile(1 - std::pow(10, -nines)))));
  return out + "\"/>\n</svg>\n";
}

}  // namespace sconce::cli
