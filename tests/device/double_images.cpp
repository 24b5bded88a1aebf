// Kinds that work on images, and products, in double.
#include <algorithm>
#include <cmath>

#include "describe/attributes/resize.hpp"
#include "describe/attributes/solve.hpp"
#include "double_graph.hpp"
#include "graph/attributes/products.hpp"
#include "graph/attributes/windows.hpp"
#include "graph/kinds.hpp"
#include "ops/case.hpp"

namespace weft::test {
namespace {

using graph::as;
using graph::Attributes;
using ops::Index;
using ops::pool::Function;
using ops::unfold::Axis;
using At = std::vector<std::uint64_t>;

/// Calls f(place in the image, place of the window, place in the window) for every element of every
/// window that lies inside; places are spatial.
void each_element(const Shape& spatial, const Shape& windows, const Shape& kernel,
                  const std::vector<Axis>& axes, const auto& f) {
  for (Index o(windows); !o.done(); o.next()) {
    for (Index k(kernel); !k.done(); k.next()) {
      At at(spatial.size());
      bool inside = true;
      for (std::size_t d = 0; d < spatial.size(); ++d) {
        const auto p = static_cast<std::int64_t>(o[d] * axes[d].stride + k[d] * axes[d].dilation) -
                       axes[d].pad;
        inside = inside && p >= 0 && p < static_cast<std::int64_t>(spatial[d]);
        at[d] = static_cast<std::uint64_t>(p);
      }
      if (inside)
        f(at, At(o.values().begin(), o.values().end()), At(k.values().begin(), k.values().end()));
    }
  }
}

At join(std::initializer_list<std::uint64_t> first, const At& rest, const At& more = {}) {
  At out(first);
  out.insert(out.end(), rest.begin(), rest.end());
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

Shape behind(const Shape& shape, std::size_t first = 2) {
  return {shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end()};
}

/// Calls f(element of the image, of its windows' results, of the weights) for every term of a
/// convolution.
void each_term(const graph::ConvAttributes& a, const Shape& image, const Shape& out, const Shape& w,
               const auto& f) {
  each_element(
      behind(image), behind(out), behind(w), a.axes, [&](const At& at, const At& o, const At& k) {
        for (Index i(Shape{image[0], w[0], w[1]}); !i.done(); i.next()) {
          const std::uint64_t group = i[1] / (w[0] / a.groups);
          f(join({i[0], group * w[1] + i[2]}, at), join({i[0], i[1]}, o), join({i[1], i[2]}, k));
        }
      });
}

void add_bias(const Hosts& in, Host& y) {
  if (in.size() < 3 || !in[2].given()) return;
  for (Index i(y.shape); !i.done(); i.next()) y.v[y.place(i.values())] += in[2].v[i[1]];
}

void conv(const Attributes& a, const Hosts& in, Hosts& out) {
  Host& y = out[0];
  each_term(
      as<graph::ConvAttributes>(a), in[0].shape, y.shape, in[1].shape,
      [&](const At& x, const At& o, const At& w) { y.v[y.place(o)] += in[0].at(x) * in[1].at(w); });
  add_bias(in, y);
}

void conv_transpose(const Attributes& a, const Hosts& in, Hosts& out) {
  Host& y = out[0];
  each_term(
      as<graph::ConvAttributes>(a), y.shape, in[0].shape, in[1].shape,
      [&](const At& x, const At& o, const At& w) { y.v[y.place(x)] += in[0].at(o) * in[1].at(w); });
  add_bias(in, y);
}

void conv_weight(const Attributes& a, const Hosts& in, Hosts& out) {
  Host& y = out[0];
  each_term(
      as<graph::ConvAttributes>(a), in[0].shape, in[1].shape, y.shape,
      [&](const At& x, const At& o, const At& w) { y.v[y.place(w)] += in[0].at(x) * in[1].at(o); });
}

/// The elements of each window of one channel, with their places.
struct Window {
  std::vector<At> places;
  double divisor = 1;
};

std::map<At, Window> windows_of(const graph::WindowAttributes& a, const Shape& spatial,
                                const Shape& counts) {
  std::map<At, Window> out;
  each_element(spatial, counts, a.kernel, a.axes,
               [&](const At& at, const At& o, const At&) { out[o].places.push_back(at); });
  for (auto& [o, window] : out) {
    window.divisor = a.count_outside ? double(Host::count(a.kernel)) : double(window.places.size());
  }
  return out;
}

const At& largest(const Host& x, const Window& window, std::uint64_t n, std::uint64_t c) {
  const At* best = &window.places.front();
  for (const At& at : window.places) {
    if (x.at(join({n, c}, at)) > x.at(join({n, c}, *best))) best = &at;
  }
  return *best;
}

void pool(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::WindowAttributes>(attributes);
  const Host& x = in[0];
  Host& y = out[0];
  for (const auto& [o, window] : windows_of(a, behind(x.shape), behind(y.shape))) {
    for (Index i(Shape{x.shape[0], x.shape[1]}); !i.done(); i.next()) {
      double value = 0;
      if (a.function == Function::max)
        value = x.at(join({i[0], i[1]}, largest(x, window, i[0], i[1])));
      for (const At& at : window.places) {
        if (a.function == Function::mean) value += x.at(join({i[0], i[1]}, at)) / window.divisor;
      }
      y.v[y.place(join({i[0], i[1]}, o))] = value;
    }
  }
}

void pool_back(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::WindowAttributes>(attributes);
  Host& dx = out[0];
  for (const auto& [o, window] : windows_of(a, behind(dx.shape), behind(in[0].shape))) {
    for (Index i(Shape{dx.shape[0], dx.shape[1]}); !i.done(); i.next()) {
      const double dy = in[0].at(join({i[0], i[1]}, o));
      if (a.function == Function::max) {
        dx.v[dx.place(join({i[0], i[1]}, largest(in[1], window, i[0], i[1])))] += dy;
        continue;
      }
      for (const At& at : window.places)
        dx.v[dx.place(join({i[0], i[1]}, at))] += dy / window.divisor;
    }
  }
}

/// Calls f(element of the image, element of the columns).
void each_column(const graph::WindowAttributes& a, const Shape& image, const Shape& columns,
                 const auto& f) {
  const std::size_t spatial = a.axes.size();
  const Shape counts(columns.begin() + 1,
                     columns.begin() + 1 + static_cast<std::ptrdiff_t>(spatial));
  each_element(behind(image), counts, a.kernel, a.axes,
               [&](const At& at, const At& o, const At& k) {
                 for (Index i(Shape{image[0], image[1]}); !i.done(); i.next()) {
                   f(join({i[0], i[1]}, at), join({i[0]}, o, join({i[1]}, k)));
                 }
               });
}

void unfold(const Attributes& a, const Hosts& in, Hosts& out) {
  each_column(as<graph::WindowAttributes>(a), in[0].shape, out[0].shape,
              [&](const At& x, const At& c) { out[0].v[out[0].place(c)] = in[0].at(x); });
}

void fold(const Attributes& a, const Hosts& in, Hosts& out) {
  each_column(as<graph::WindowAttributes>(a), out[0].shape, in[0].shape,
              [&](const At& x, const At& c) { out[0].v[out[0].place(x)] += in[0].at(c); });
}

/// What each element gives to element i along one dimension.
std::vector<double> shares(const graph::ResizeAttributes& a, std::uint64_t from, std::uint64_t to,
                           std::uint64_t i) {
  using ops::resize::Mode;
  std::vector<double> out(from);
  const bool corners = a.align_corners && from > 1 && to > 1;
  if (a.mode == Mode::nearest) {
    out[corners ? i * (from - 1) / (to - 1) : i * from / to] = 1;
    return out;
  }
  const double scale = corners ? double(from - 1) / double(to - 1) : double(from) / double(to);
  const double offset = a.align_corners ? 0 : 0.5;
  const double centre = (double(i) + offset) * scale - offset;
  const double width = a.antialias ? std::max(1.0, scale) : 1;
  const auto last = static_cast<std::int64_t>(from) - 1;
  double total = 0;
  for (std::int64_t k = -4 - last; k <= 2 * last + 4; ++k) {
    const double d = std::abs(double(k) - centre);
    double weight = std::max(0.0, 1 - d / width);
    if (a.mode == Mode::cubic) {
      weight = d <= 1  ? (1.25 * d - 2.25) * d * d + 1
               : d < 2 ? ((-0.75 * d + 3.75) * d - 6) * d + 3
                       : 0;
    }
    if (a.antialias && (k < 0 || k > last)) continue;
    out[static_cast<std::size_t>(std::clamp<std::int64_t>(k, 0, last))] += weight;
    total += weight;
  }
  for (double& v : out) v /= a.antialias ? total : 1;
  return out;
}

void resize(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::ResizeAttributes>(attributes);
  const Shape& from = in[0].shape;
  const Shape& to = out[0].shape;
  for (Index i(to); !i.done(); i.next()) {
    const auto down = shares(a, from[2], to[2], i[2]);
    const auto across = shares(a, from[3], to[3], i[3]);
    double sum = 0;
    for (Index j(Shape{from[2], from[3]}); !j.done(); j.next()) {
      sum += down[j[0]] * across[j[1]] * in[0][{i[0], i[1], j[0], j[1]}];
    }
    out[0].v[out[0].place(i.values())] = sum;
  }
}

/// y[..., n, m] = Σ a[..., n, k] b[..., k, m], or b[..., m, k] with `rows`.
void product(const Host& a, const Host& b, Host& y, bool rows, double alpha) {
  for (Index i(y.shape); !i.done(); i.next()) {
    At left(i.values().begin(), i.values().end());
    At right = left;
    const std::size_t r = left.size();
    const std::uint64_t m = right[r - 1];
    double sum = 0;
    for (std::uint64_t k = 0; k < a.back(); ++k) {
      left[r - 1] = k;
      right[r - 2] = rows ? m : k;
      right[r - 1] = rows ? k : m;
      sum += a.at(left) * b.at(right);
    }
    y.v[y.place(i.values())] = alpha * sum;
  }
}

void matmul(const Attributes& a, const Hosts& in, Hosts& out) {
  product(in[0], in[1], out[0], false, double{as<graph::MatmulAttributes>(a).alpha});
}

void stored(const Attributes&, const Hosts& in, Hosts& out) {
  product(in[0], in[1], out[0], true, 1);
}

void chosen(const Attributes&, const Hosts& in, Hosts& out) {
  for (Index i(out[0].shape); !i.done(); i.next()) {
    const double id = in[2][{i[0], i[1]}];
    if (id < 0 || id >= double(in[1].shape[0])) continue;
    double sum = 0;
    for (std::uint64_t k = 0; k < in[0].back(); ++k) {
      sum += in[0][{i[0], i[1], k}] * in[1][{static_cast<std::uint64_t>(id), i[2], k}];
    }
    out[0].v[out[0].place(i.values())] = sum;
  }
}

void solve(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const bool upper = as<graph::SolveAttributes>(attributes).upper;
  Host& x = out[0];
  const std::uint64_t n = x.back(1);
  const Shape batch(x.shape.begin(), x.shape.end() - 2);
  for (Index i(batch); !i.done(); i.next()) {
    const auto at = [&](std::uint64_t r, std::uint64_t c) {
      At out_at(i.values().begin(), i.values().end());
      out_at.insert(out_at.end(), {r, c});
      return out_at;
    };
    for (std::uint64_t c = 0; c < x.back(); ++c) {
      for (std::uint64_t step = 0; step < n; ++step) {
        const std::uint64_t r = upper ? n - 1 - step : step;
        double rest = in[1].at(at(r, c));
        for (std::uint64_t k = upper ? r + 1 : 0; k < (upper ? n : r); ++k) {
          rest -= in[0].at(at(r, k)) * x.at(at(k, c));
        }
        x.v[x.place(at(r, c))] = rest / in[0].at(at(r, r));
      }
    }
  }
}

}  // namespace

void add_image_kinds(std::map<const graph::Rule*, Compute>& table) {
  using namespace graph;
  table[&kinds::conv] = test::conv;
  table[&kinds::conv_transpose] = test::conv_transpose;
  table[&kinds::conv_weight] = conv_weight;
  table[&kinds::pool] = pool;
  table[&kinds::pool_back] = pool_back;
  table[&kinds::unfold] = test::unfold;
  table[&kinds::fold] = test::fold;
  table[&kinds::resize] = test::resize;
  table[&kinds::matmul] = test::matmul;
  table[&kinds::linear] = stored;
  table[&kinds::grouped_linear] = chosen;
  table[&kinds::solve_triangular] = solve;
}

}  // namespace weft::test
