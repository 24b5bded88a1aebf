#include "nn/curve.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/format.hpp"

namespace weft::nn {
namespace {

constexpr double width = 800;
constexpr double height = 450;
constexpr double left = 60;
constexpr double right = 20;
constexpr double top = 40;
constexpr double bottom = 45;

/// Where steps and losses lie in the picture.
struct Axes {
  double last_step = 1;
  double low = 0;
  double high = 1;

  [[nodiscard]] double x(std::uint64_t step) const {
    return left + static_cast<double>(step) / last_step * (width - left - right);
  }
  [[nodiscard]] double y(double loss) const {
    const double share = (std::clamp(loss, low, high) - low) / (high - low);
    return height - bottom - share * (height - top - bottom);
  }
};

/// 1, 2 or 5 times a power of ten, such that about `count` of them fill the range.
double tick_distance(double range, double count) {
  const double rough = range / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double factor = rough / power;
  return power * (factor < 1.5 ? 1 : factor < 3.5 ? 2 : factor < 7.5 ? 5 : 10);
}

Axes fit(std::span<const Point> training, std::span<const Point> validation) {
  Axes axes;
  std::vector<double> losses;
  for (const std::span<const Point> points : {training, validation}) {
    for (const Point& point : points) {
      if (!std::isfinite(point.loss)) continue;
      losses.push_back(point.loss);
      axes.last_step = std::max(axes.last_step, static_cast<double>(point.step));
    }
  }
  if (losses.empty()) return axes;
  const auto [least, most] = std::ranges::minmax(losses);
  // Larger than what is lost in sums of such numbers, so that there is a range.
  const double margin = std::max({(most - least) * 0.05, std::abs(most) * 1e-6, 0.01});
  axes.low = std::max(0.0, least - margin);
  axes.high = std::max(axes.low, most) + margin;
  return axes;
}

std::string path(const Axes& axes, std::span<const Point> points, std::string_view style) {
  std::string data;
  for (const Point& point : points) {
    if (!std::isfinite(point.loss)) continue;
    data += formatted("{}{:.1f} {:.1f}", data.empty() ? "M" : "L", axes.x(point.step),
                      axes.y(point.loss));
  }
  return data.empty() ? "" : formatted("<path d=\"{}\" fill=\"none\" {}/>\n", data, style);
}

/// At most `count` points, each the mean of its neighbourhood.
std::vector<Point> thin_out(std::span<const Point> points, std::size_t count) {
  const std::size_t each = std::max<std::size_t>(1, points.size() / count);
  std::vector<Point> means;
  for (std::size_t i = 0; i < points.size(); i += each) {
    const auto part = points.subspan(i, std::min(each, points.size() - i));
    double sum = 0;
    for (const Point& point : part) sum += point.loss;
    means.push_back({part.back().step, static_cast<float>(sum / static_cast<double>(part.size()))});
  }
  return means;
}

std::string grid(const Axes& axes) {
  std::string out;
  const double loss_step = tick_distance(axes.high - axes.low, 6);
  for (double loss = std::ceil(axes.low / loss_step) * loss_step; loss <= axes.high;
       loss += loss_step) {
    out += formatted(
        "<path d=\"M{} {:.1f}H{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:.4g}</text>\n",
        left, axes.y(loss), width - right, left - 6, axes.y(loss) + 4, loss);
  }
  const auto step_step =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(tick_distance(axes.last_step, 8)));
  for (std::uint64_t step = 0, ticks = 0; static_cast<double>(step) <= axes.last_step && ticks < 20;
       step += step_step, ++ticks) {
    out += formatted("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", axes.x(step),
                     height - bottom + 18, step);
  }
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string draw_curve(std::string_view title, std::span<const Point> training,
                       std::span<const Point> validation) {
  const Axes axes = fit(training, validation);
  std::string out = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"{}\" y=\"22\" font-size=\"15\">{}</text>\n",
      width, height, left, escape(title));
  out += grid(axes);
  // A smoothed line only where there is something to smooth: in a short run it would hide the
  // losses themselves.
  constexpr std::size_t smooth_points = 120;
  const bool smooth = training.size() >= 4 * smooth_points;
  out += path(
      axes, thin_out(training, 4000),
      smooth ? "stroke=\"#9cc3e6\" stroke-width=\"1\"" : "stroke=\"#1f6fb2\" stroke-width=\"1.5\"");
  if (smooth) {
    out += path(axes, thin_out(training, smooth_points), "stroke=\"#1f6fb2\" stroke-width=\"2\"");
  }
  out += path(axes, validation, "stroke=\"#d9622b\" stroke-width=\"2\"");
  for (const Point& point : validation) {
    if (!std::isfinite(point.loss)) continue;
    out += formatted("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"#d9622b\"/>\n",
                     axes.x(point.step), axes.y(point.loss));
  }
  out += formatted(
      "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">step</text>\n"
      "<text x=\"14\" y=\"{3}\" text-anchor=\"middle\" "
      "transform=\"rotate(-90 14 {3})\">loss</text>\n"
      "<text x=\"{2}\" y=\"22\" text-anchor=\"end\"><tspan fill=\"#1f6fb2\">training</tspan> "
      "<tspan fill=\"#d9622b\">validation</tspan></text>\n</svg>\n",
      (left + width - right) / 2, height - 8, width - right, (top + height - bottom) / 2);
  return out;
}

}  // namespace weft::nn
