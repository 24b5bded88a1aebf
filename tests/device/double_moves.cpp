// Kinds that move elements and elementwise functions, in double.
#include <algorithm>
#include <cmath>

#include "describe/attributes/axis.hpp"
#include "describe/attributes/band.hpp"
#include "describe/attributes/border.hpp"
#include "describe/attributes/dropout.hpp"
#include "describe/attributes/pad.hpp"
#include "describe/attributes/permute.hpp"
#include "describe/attributes/slice.hpp"
#include "double_graph.hpp"
#include "graph/attributes/map.hpp"
#include "graph/kinds.hpp"
#include "ops/case.hpp"
#include "ops/dropout/dropout.hpp"
#include "ops/map/functions.hpp"

namespace weft::test {
namespace {

using graph::as;
using graph::Attributes;
using ops::Index;
using At = std::vector<std::uint64_t>;

At tuple(const Index& i) { return {i.values().begin(), i.values().end()}; }
std::uint64_t whole(double v) { return static_cast<std::uint64_t>(v); }

void same(const Attributes&, const Hosts& in, Hosts& out) { out[0].v = in[0].v; }

void permute(const Attributes& a, const Hosts& in, Hosts& out) {
  const auto& order = as<graph::PermuteAttributes>(a).order;
  for (Index i(out[0].shape); !i.done(); i.next()) {
    At from(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) from[order[k]] = i[k];
    out[0].v[out[0].place(i.values())] = in[0].at(from);
  }
}

void slice(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::SliceAttributes>(attributes);
  for (Index i(out[0].shape); !i.done(); i.next()) {
    At from = tuple(i);
    from[a.axis] = a.first + from[a.axis] * a.step;
    out[0].v[out[0].place(i.values())] = in[0].at(from);
  }
}

void broadcast(const Attributes&, const Hosts& in, Hosts& out) {
  std::size_t n = 0;
  for (Index i(out[0].shape); !i.done(); i.next()) out[0].v[n++] = in[0].at(i.values());
}

void map(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::MapAttributes>(attributes);
  const ops::map::Function& f = *ops::map::find_function(a.function);
  std::size_t n = 0;
  for (Index i(out[0].shape); !i.done(); i.next(), ++n) {
    if (in.empty()) {
      out[0].v[n] = a.scalars[0] + (a.function == "arange" ? a.scalars[1] * double(n) : 0);
      continue;
    }
    const auto x = [&](std::size_t k) { return k < in.size() ? in[k].at(i.values()) : 0.0; };
    out[0].v[n] = f.reference(x(0), x(1), x(2), a.scalars);
  }
}

void concat(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const std::uint32_t axis = as<graph::AxisAttributes>(attributes).axis;
  std::uint64_t first = 0;
  for (const Host& part : in) {
    for (Index i(part.shape); !i.done(); i.next()) {
      At to = tuple(i);
      to[axis] += first;
      out[0].v[out[0].place(to)] = part.at(i.values());
    }
    first += part.shape[axis];
  }
}

void pad(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::PadAttributes>(attributes);
  std::ranges::fill(out[0].v, a.value);
  for (Index i(in[0].shape); !i.done(); i.next()) {
    At to = tuple(i);
    for (std::size_t k = 0; k < to.size(); ++k) to[k] += a.low[k];
    out[0].v[out[0].place(to)] = in[0].at(i.values());
  }
}

void border(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::BorderAttributes>(attributes);
  for (Index i(out[0].shape); !i.done(); i.next()) {
    At from = tuple(i);
    for (std::size_t k = 0; k < from.size(); ++k) {
      const auto n = static_cast<std::int64_t>(in[0].shape[k]);
      std::int64_t p = static_cast<std::int64_t>(from[k]) - a.low[k];
      if (a.mode == ops::border::Mode::replicate) p = std::clamp<std::int64_t>(p, 0, n - 1);
      while (p < 0 || p >= n) {  // one step of the repetition at a time
        if (a.mode == ops::border::Mode::circular) p += p < 0 ? n : -n;
        if (a.mode == ops::border::Mode::reflect) p = n == 1 ? 0 : p < 0 ? -p : 2 * n - 2 - p;
      }
      from[k] = static_cast<std::uint64_t>(p);
    }
    out[0].v[out[0].place(i.values())] = in[0].at(from);
  }
}

void band(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::BandAttributes>(attributes);
  std::size_t n = 0;
  for (Index i(out[0].shape); !i.done(); i.next(), ++n) {
    const std::size_t rank = out[0].shape.size();
    const auto off =
        static_cast<std::int64_t>(i[rank - 1]) - static_cast<std::int64_t>(i[rank - 2]);
    out[0].v[n] = off >= a.low && off <= a.high ? in[0].v[n] : a.value;
  }
}

void tile(const Attributes&, const Hosts& in, Hosts& out) {
  for (Index i(out[0].shape); !i.done(); i.next()) {
    At from = tuple(i);
    for (std::size_t k = 0; k < from.size(); ++k) from[k] %= in[0].shape[k];
    out[0].v[out[0].place(i.values())] = in[0].at(from);
  }
}

void tile_back(const Attributes&, const Hosts& in, Hosts& out) {
  for (Index i(in[0].shape); !i.done(); i.next()) {
    At to = tuple(i);
    for (std::size_t k = 0; k < to.size(); ++k) to[k] %= out[0].shape[k];
    out[0].v[out[0].place(to)] += in[0].at(i.values());
  }
}

/// Calls f(row of the table, row of the indices, column).
void each_row(const Host& table, const Host& indices, std::uint64_t columns, const auto& f) {
  for (std::uint64_t r = 0; r < indices.v.size(); ++r) {
    if (indices.v[r] < 0 || indices.v[r] >= double(table.shape[0])) continue;
    for (std::uint64_t c = 0; c < columns; ++c) f(whole(indices.v[r]), r, c);
  }
}

void get_rows(const Attributes&, const Hosts& in, Hosts& out) {
  each_row(in[0], in[1], out[0].shape[1],
           [&](auto row, auto r, auto c) { out[0][{r, c}] = in[0][{row, c}]; });
}

void add_rows(const Attributes&, const Hosts& in, Hosts& out) {
  out[0].v = in[0].v;
  each_row(in[0], in[1], out[0].shape[1],
           [&](auto row, auto r, auto c) { out[0][{row, c}] += in[2][{r, c}]; });
}

void index_copy(const Attributes&, const Hosts& in, Hosts& out) {
  out[0].v = in[0].v;
  each_row(in[0], in[1], out[0].shape[1],
           [&](auto row, auto r, auto c) { out[0][{row, c}] = in[2][{r, c}]; });
}

void gather(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const std::uint32_t axis = as<graph::AxisAttributes>(attributes).axis;
  for (Index i(out[0].shape); !i.done(); i.next()) {
    At from = tuple(i);
    const double index = in[1].at(i.values());
    if (index < 0 || index >= double(in[0].shape[axis])) continue;
    from[axis] = whole(index);
    out[0].v[out[0].place(i.values())] = in[0].at(from);
  }
}

void scatter_add(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const std::uint32_t axis = as<graph::AxisAttributes>(attributes).axis;
  out[0].v = in[0].v;
  for (Index i(in[2].shape); !i.done(); i.next()) {
    At to = tuple(i);
    const double index = in[1].at(i.values());
    if (index < 0 || index >= double(out[0].shape[axis])) continue;
    to[axis] = whole(index);
    out[0].v[out[0].place(to)] += in[2].at(i.values());
  }
}

void dropout(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::DropoutAttributes>(attributes);
  for (std::size_t i = 0; i < in[0].v.size(); ++i) {
    const auto seed = [&](std::size_t k) { return static_cast<std::uint32_t>(in[1].v[k]); };
    const std::uint32_t bits =
        ops::dropout::bits(static_cast<std::uint32_t>(i), seed(0), seed(1), a.stream);
    out[0].v[i] = bits < double{a.rate} * 0x1p32 ? 0 : in[0].v[i] / (1 - double{a.rate});
  }
}

}  // namespace

void add_moving_kinds(std::map<const graph::Rule*, Compute>& table) {
  using namespace graph;
  for (const Rule* rule : {&kinds::reshape, &kinds::detach, &kinds::checkpoint, &kinds::after,
                           &kinds::copy, &kinds::cast}) {
    table[rule] = same;
  }
  table[&kinds::permute] = permute;
  table[&kinds::slice] = slice;
  table[&kinds::broadcast_to] = test::broadcast;
  table[&kinds::map] = test::map;
  table[&kinds::concat] = concat;
  table[&kinds::pad] = pad;
  table[&kinds::border] = border;
  table[&kinds::band_part] = band;
  table[&kinds::tile] = tile;
  table[&kinds::tile_back] = tile_back;
  table[&kinds::embedding] = get_rows;
  table[&kinds::add_rows] = add_rows;
  table[&kinds::index_copy] = index_copy;
  table[&kinds::gather] = gather;
  table[&kinds::scatter_add] = scatter_add;
  table[&kinds::dropout] = dropout;
}

}  // namespace weft::test
