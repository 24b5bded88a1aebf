#include <numeric>

#include "random_program.hpp"

namespace weft::test {
namespace {

using Place = std::vector<std::uint64_t>;
using Run = std::function<Tensor(const std::vector<Tensor>&)>;

/// The tensor that is moved, and the dimension along which.
struct Moved {
  std::size_t input;
  const HostArray& x;
  std::uint32_t rank;
  std::uint32_t dim;
  [[nodiscard]] std::uint64_t extent() const { return x.shape[dim]; }
  [[nodiscard]] Step step(const std::string& what, Run run, HostArray wanted) const {
    return {.what = what + " of " + describe(x),
            .inputs = {input},
            .run = std::move(run),
            .wanted = std::move(wanted)};
  }
};

Step permuted(Source& source, const Moved& moved) {
  const std::uint32_t rank = moved.rank;
  std::vector<std::uint32_t> order(rank);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = rank; i-- > 1;) std::swap(order[i], order[source.below(i + 1)]);
  Shape out(rank);
  for (std::uint32_t i = 0; i < rank; ++i) out[i] = moved.x.shape[order[i]];
  const std::vector<int> axes(order.begin(), order.end());
  return moved.step(
      "permute", [axes](const std::vector<Tensor>& in) { return in[0].permute(axes); },
      take(moved.x, out, [&](Place& at) {
        Place from(rank);
        for (std::uint32_t i = 0; i < rank; ++i) from[order[i]] = at[i];
        at = from;
        return true;
      }));
}

Step sliced(Source& source, const Moved& moved) {
  const std::uint32_t dim = moved.dim;
  const std::uint64_t first = source.below(moved.extent());
  const std::uint64_t step = source.random.between(1, 3);
  const std::uint64_t count = (moved.extent() - first + step - 1) / step;
  Shape out = moved.x.shape;
  out[dim] = count;
  return moved.step(
      "slice", [=](const std::vector<Tensor>& in) { return in[0].slice(dim, first, count, step); },
      take(moved.x, out, [&](Place& at) {
        at[dim] = first + at[dim] * step;
        return true;
      }));
}

Step rolled(Source& source, const Moved& moved) {
  const std::uint32_t dim = moved.dim;
  std::vector<std::int64_t> places(moved.rank, 0);
  places[dim] = static_cast<std::int64_t>(source.below(9)) - 4;
  return moved.step(
      "roll", [places](const std::vector<Tensor>& in) { return roll(in[0], places); },
      take(moved.x, moved.x.shape, [&](Place& at) {
        const auto n = static_cast<std::int64_t>(moved.extent());
        const auto to = static_cast<std::int64_t>(at[dim]) - places[dim];
        at[dim] = static_cast<std::uint64_t>(((to % n) + n) % n);
        return true;
      }));
}

Step padded(Source& source, const Moved& moved) {
  const std::uint32_t dim = moved.dim;
  const std::uint64_t extent = moved.extent();
  Shape low(moved.rank, 0);
  Shape high(moved.rank, 0);
  low[dim] = source.below(4);
  high[dim] = source.below(4);
  Shape out = moved.x.shape;
  out[dim] += low[dim] + high[dim];
  return moved.step(
      "pad", [low, high](const std::vector<Tensor>& in) { return pad(in[0], low, high, 1); },
      take(
          moved.x, out,
          [&](Place& at) {
            if (at[dim] < low[dim] || at[dim] >= low[dim] + extent) return false;
            at[dim] -= low[dim];
            return true;
          },
          1));
}

Step gathered(Source& source, const Moved& moved) {
  const std::uint32_t dim = moved.dim;
  std::vector<std::int32_t> index;
  for (std::uint64_t i = 0; i < 5; ++i) {
    index.push_back(static_cast<std::int32_t>(source.below(moved.extent())));
  }
  Shape out = moved.x.shape;
  out[dim] = index.size();
  Shape places(moved.rank, 1);
  places[dim] = index.size();
  return moved.step(
      "gather",
      [=](const std::vector<Tensor>& in) {
        return gather(in[0], in[0].device().tensor(places, index).broadcast_to(out), dim);
      },
      take(moved.x, out, [&](Place& at) {
        at[dim] = static_cast<std::uint64_t>(index[at[dim]]);
        return true;
      }));
}

}  // namespace

std::optional<Step> random_move(Source& source) {
  const std::size_t input = source.any();
  const HostArray& x = source.arrays[input];
  const auto rank = static_cast<std::uint32_t>(x.shape.size());
  if (rank == 0) return std::nullopt;
  const Moved moved{input, x, rank, static_cast<std::uint32_t>(source.below(rank))};
  switch (source.below(7)) {
    case 0: return permuted(source, moved);
    case 1: return sliced(source, moved);
    case 2: return rolled(source, moved);
    case 3:
      if (rank < 2) return std::nullopt;
      return moved.step(
          "tril", [](const std::vector<Tensor>& in) { return tril(in[0], 1); },
          take(x, x.shape, [&](Place& at) { return at[rank - 1] <= at[rank - 2] + 1; }));
    case 4: return padded(source, moved);
    case 5: {
      HostArray wanted = x;
      wanted.shape = {x.values.size()};
      const Shape flat = wanted.shape;
      return moved.step(
          "reshape", [flat](const std::vector<Tensor>& in) { return in[0].reshape(flat); }, wanted);
    }
    default: return gathered(source, moved);
  }
}

}  // namespace weft::test
