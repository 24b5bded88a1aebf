#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "onnx/host.hpp"
#include "onnx/places.hpp"

// Products, running sums and orders of elements that only the host has: doubles, and unsigned
// integers that devices lack.

namespace weft::onnx {
namespace {

using I = std::int64_t;
constexpr std::uint64_t most_steps = std::uint64_t{1} << 32;  // some seconds

bool only_here(const Call& c) { return !dtype_of(c.in(0).type()); }

/// Elements before an axis, along it, and behind it.
struct Rows {
  Rows(const Shape& shape, std::size_t axis) {
    for (std::size_t d = 0; d < axis; ++d) before *= shape[d];
    extent = shape[axis];
    for (std::size_t d = axis + 1; d < shape.size(); ++d) behind *= shape[d];
  }
  [[nodiscard]] std::uint64_t at(std::uint64_t row, std::uint64_t i) const {
    return (row / behind * extent + i) * behind + row % behind;
  }
  [[nodiscard]] std::uint64_t count() const { return before * behind; }
  std::uint64_t before = 1;
  std::uint64_t extent = 1;
  std::uint64_t behind = 1;
};

Values cum_sum(Call& c) {
  if (!only_here(c) || !is_float(c.in(0).type())) return {};
  const Array& x = c.host(0);
  const Rows rows(x.shape, axis_of(c, c.scalar_int(1), x.shape.size()));
  const bool exclusive = c.i("exclusive", 0) != 0;
  const bool reverse = c.i("reverse", 0) != 0;
  const auto values = x.doubles();
  std::vector<double> out(values.size());
  for (std::uint64_t row = 0; row < rows.count() && !values.empty(); ++row) {
    double sum = 0;
    for (std::uint64_t i = 0; i < rows.extent; ++i) {
      const std::uint64_t at = rows.at(row, reverse ? rows.extent - 1 - i : i);
      out[at] = exclusive ? sum : sum + values[at];
      sum += values[at];
    }
  }
  return {array_of(x.type, x.shape, out)};
}

/// The order of elements; NaN is behind all others.
template <class T>
bool is_before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

/// The elements that TopK chooses.
template <class T>
Values chosen(Call& c, const Array& x, const std::vector<T>& keys) {
  const std::size_t axis = axis_of(c, c.i("axis", -1), x.shape.size());
  const I count = c.opset < 10 ? c.i("k", 0) : c.scalar_int(1);
  const Rows rows(x.shape, axis);
  if (count < 0 || static_cast<std::uint64_t>(count) > rows.extent)
    c.wrong(formatted("{} elements of {} cannot be chosen.", count, rows.extent));
  if (keys.empty()) c.refuse(formatted("{} has nothing to choose from.", describe(c.in(0))));
  const bool largest = c.i("largest", 1) != 0;
  Shape shape = x.shape;
  shape[axis] = static_cast<std::uint64_t>(count);
  const Rows made(shape, axis);
  std::vector<std::uint64_t> places(count_of(shape));
  std::vector<I> indices(places.size());
  std::vector<std::uint64_t> order(rows.extent);
  for (std::uint64_t row = 0; row < rows.count(); ++row) {
    std::ranges::iota(order, std::uint64_t{0});
    std::ranges::stable_sort(order, [&](std::uint64_t a, std::uint64_t b) {
      const T left = keys[rows.at(row, a)];
      const T right = keys[rows.at(row, b)];
      return largest ? is_before(right, left) : is_before(left, right);
    });
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
      places[made.at(row, i)] = rows.at(row, order[i]);
      indices[made.at(row, i)] = static_cast<I>(order[i]);
    }
  }
  return {picked(x, shape, places), array_of(Type::i64, shape, indices)};
}

Values top_k(Call& c) {
  if (!only_here(c)) return {};
  const Array& x = c.host(0);
  if (is_float(x.type)) return chosen(c, x, x.doubles());
  if (!is_integer(x.type)) return {};
  const auto values = x.ints();
  if (x.type != Type::u64) return chosen(c, x, values);
  return chosen(c, x, std::vector<std::uint64_t>(values.begin(), values.end()));
}

/// The letters of each operand and of the result of Einsum; those that "..." stands for are numbers
/// from 256 on.
struct Letters {
  std::vector<std::vector<int>> operands;
  std::vector<int> result;
};

Letters letters_of(const Call& c, std::string text) {
  std::erase(text, ' ');
  const auto arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Letters out;
  std::map<int, int> seen;
  std::size_t widest = 0;
  const auto word = [&](const std::string& part, std::size_t dots) {
    std::vector<int> letters;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part.compare(i, 3, "...") == 0) {
        for (std::size_t d = 0; d < dots; ++d)
          letters.push_back(256 + static_cast<int>(widest - dots + d));
        i += 2;
      } else {
        letters.push_back(static_cast<unsigned char>(part[i]));
      }
    }
    return letters;
  };
  std::vector<std::string> parts(1);
  for (const char letter : left) {
    if (letter == ',')
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  if (parts.size() != c.inputs.size())
    c.wrong(formatted("The equation has {} terms for {} inputs.", parts.size(), c.inputs.size()));
  std::vector<std::size_t> dots;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool open = parts[i].find("...") != std::string::npos;
    const std::size_t named = parts[i].size() - (open ? 3 : 0);
    const std::size_t rank = c.shape(i).size();
    if (named > rank || (!open && named != rank))
      c.wrong(formatted("The term \"{}\" does not fit {}.", parts[i], describe(c.in(i))));
    dots.push_back(rank - named);
    widest = std::max(widest, dots.back());
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out.operands.push_back(word(parts[i], dots[i]));
    for (const int letter : out.operands.back()) ++seen[letter];
  }
  if (arrow != std::string::npos) {
    out.result = word(text.substr(arrow + 2), widest);
    return out;
  }
  for (std::size_t d = 0; d < widest; ++d) out.result.push_back(256 + static_cast<int>(d));
  for (const auto& [letter, count] : seen) {
    if (letter < 256 && count == 1) out.result.push_back(letter);
  }
  return out;
}

Values einsum(Call& c) {
  if (!only_here(c) || !is_float(c.in(0).type())) return {};
  const Letters letters = letters_of(c, c.s("equation", ""));
  std::map<int, std::uint64_t> extents;
  for (std::size_t i = 0; i < letters.operands.size(); ++i) {
    for (std::size_t d = 0; d < letters.operands[i].size(); ++d) {
      std::uint64_t& extent = extents.try_emplace(letters.operands[i][d], 1).first->second;
      const std::uint64_t mine = c.shape(i).at(d);
      if (extent != 1 && mine != 1 && extent != mine)
        c.wrong(formatted("Extents {} and {} of one letter differ.", extent, mine));
      if (extent == 1) extent = mine;
    }
  }
  std::vector<int> order = letters.result;  // the letters that are summed over run fastest
  Shape shape;
  for (const int letter : order) {
    const auto found = extents.find(letter);
    if (found == extents.end()) c.wrong("A letter of the result is in no term.");
    shape.push_back(found->second);
  }
  Shape all = shape;
  for (const auto& [letter, extent] : extents) {
    if (std::ranges::find(letters.result, letter) != letters.result.end()) continue;
    order.push_back(letter);
    all.push_back(extent);
  }
  double wanted = 1;
  for (const std::uint64_t extent : all) wanted *= static_cast<double>(extent);
  if (wanted > static_cast<double>(most_steps) || too_large(shape))
    c.refuse("The products of doubles are too many for the host.");
  std::vector<std::vector<double>> values;
  std::vector<std::vector<std::uint64_t>> steps;
  for (std::size_t i = 0; i < letters.operands.size(); ++i) {
    values.push_back(c.host(i).doubles());
    std::vector<std::uint64_t>& mine = steps.emplace_back(order.size(), 0);
    std::uint64_t step = 1;
    for (std::size_t d = letters.operands[i].size(); d-- > 0;) {
      const auto at = std::ranges::find(order, letters.operands[i][d]) - order.begin();
      if (c.shape(i).at(d) != 1) mine[static_cast<std::size_t>(at)] += step;
      step *= c.shape(i).at(d);
    }
  }
  std::vector<double> out(count_of(shape), 0);
  const std::uint64_t inner = out.empty() ? 0 : count_of(all) / out.size();
  std::vector<std::uint64_t> place(values.size(), 0);
  Shape at(all.size(), 0);
  for (std::uint64_t i = 0; i < out.size() * inner; ++i) {
    double product = 1;
    for (std::size_t k = 0; k < values.size(); ++k) product *= values[k][place[k]];
    out[i / inner] += product;
    for (std::size_t d = all.size(); d-- > 0;) {
      for (std::size_t k = 0; k < place.size(); ++k) place[k] += steps[k][d];
      if (++at[d] < all[d]) break;
      for (std::size_t k = 0; k < place.size(); ++k) place[k] -= steps[k][d] * all[d];
      at[d] = 0;
    }
  }
  return {array_of(c.in(0).type(), shape, out)};
}

}  // namespace

void add_host_doubles(HostTable& table) {
  table["CumSum"] = cum_sum;
  table["TopK"] = top_k;
  table["Einsum"] = einsum;
}

}  // namespace weft::onnx
