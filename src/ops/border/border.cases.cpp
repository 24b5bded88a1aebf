#include "ops/border/border.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::border {
namespace {

using Shape = std::vector<std::uint64_t>;
using Low = std::vector<std::int64_t>;

/// Where place i is found among `extent` elements; below 0: nowhere.
std::int64_t place(Mode mode, std::int64_t i, std::int64_t extent) {
  if (mode == Mode::replicate) return std::clamp<std::int64_t>(i, 0, extent - 1);
  if (mode == Mode::circular) return (i % extent + extent) % extent;
  if (mode == Mode::reflect) {
    while (extent > 1 && (i < 0 || i >= extent)) i = i < 0 ? -i : 2 * (extent - 1) - i;
    return extent == 1 ? 0 : i;
  }
  return i < extent ? i : -1;
}

void fill_range(TensorSpec& spec) {
  if (is_float(spec.dtype)) return;
  spec.low = spec.dtype == DType::u32 ? 0 : -1000;
  spec.high = 1000;
}

Case border_case(const std::string& label, TensorSpec x, const Shape& to, const Low& low, Mode mode,
                 double value = 0, TensorSpec y = {}) {
  Case test;
  test.name = label;
  test.epsilons = 0;
  fill_range(x);
  y.dtype = x.dtype;
  y.shape = to;
  y.output = true;
  test.tensors = {std::move(x), std::move(y)};
  test.plan = [=](std::span<const View> v, const Caps& caps) {
    return plan(Args{.x = v[0], .y = v[1], .low = low, .mode = mode, .value = value}, caps);
  };
  test.reference = [=](std::span<HostTensor> t) {
    std::size_t n = 0;
    for (Index i(to); !i.done(); i.next(), ++n) {
      std::size_t from = 0;
      bool inside = true;
      for (std::size_t d = 0; d < to.size(); ++d) {
        const std::int64_t at = place(mode, static_cast<std::int64_t>(i[d]) - low[d],
                                      static_cast<std::int64_t>(t[0].shape[d]));
        inside = inside && at >= 0;
        from = from * t[0].shape[d] + static_cast<std::size_t>(at);
      }
      t[1].values[n] = inside ? t[0].values[from] : value;
    }
  };
  return test;
}

Case band_case(const std::string& label, TensorSpec x, std::int64_t low, std::int64_t high,
               double value = 0, TensorSpec y = {}) {
  Case test;
  test.name = "band_" + label;
  test.epsilons = 0;
  fill_range(x);
  y.dtype = x.dtype;
  y.shape = x.shape;
  y.output = true;
  test.tensors = {std::move(x), std::move(y)};
  test.plan = [=](std::span<const View> v, const Caps& caps) {
    return plan(BandArgs{.x = v[0], .y = v[1], .low = low, .high = high, .value = value}, caps);
  };
  test.reference = [=](std::span<HostTensor> t) {
    std::size_t n = 0;
    const std::size_t rank = t[0].shape.size();
    for (Index i(t[0].shape); !i.done(); i.next(), ++n) {
      const std::int64_t away =
          static_cast<std::int64_t>(i[rank - 1]) - static_cast<std::int64_t>(i[rank - 2]);
      t[1].values[n] = away >= low && away <= high ? t[0].values[n] : value;
    }
  };
  return test;
}

void add_borders(std::vector<Case>& out) {
  for (const auto& [mode, mode_name] : {std::pair{Mode::value, "value"},
                                        {Mode::replicate, "replicate"},
                                        {Mode::circular, "circular"},
                                        {Mode::reflect, "reflect"}}) {
    const std::string of(mode_name);
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32}) {
      out.push_back(border_case(formatted("{}_{}", of, name(type)),
                                {.dtype = type, .shape = {3, 5, 6}}, {5, 9, 12}, {1, 2, 3}, mode,
                                7));
    }
    out.push_back(border_case(of + "_far", {.shape = {3, 4}}, {20, 23}, {9, 7}, mode));
    out.push_back(border_case(of + "_crop", {.shape = {9, 8}}, {4, 5}, {-3, -2}, mode));
    out.push_back(border_case(of + "_one", {.shape = {1, 3}}, {4, 5}, {2, 1}, mode, 2));
  }
  out.push_back(border_case("u32", {.dtype = DType::u32, .shape = {9}}, {14}, {2}, Mode::value, 9));
  out.push_back(
      border_case("roll", {.shape = {10, 5, 4, 3}}, {10, 5, 4, 3}, {3, -2, 1, -1}, Mode::circular));
  out.push_back(border_case("roll_permuted_f16",
                            {.dtype = DType::f16, .shape = {10, 5, 4}, .order = {2, 0, 1}},
                            {10, 5, 4}, {3, -2, 1}, Mode::circular, 0, {.order = {1, 2, 0}}));
  out.push_back(border_case("padded", {.shape = {6, 5}, .pad = 2, .offset = 1}, {8, 9}, {1, 1},
                            Mode::reflect, 0, {.pad = 3, .offset = 1}));
  out.push_back(border_case("offset_f16", {.dtype = DType::f16, .shape = {6, 5}, .offset = 1},
                            {8, 9}, {1, 1}, Mode::replicate, 0, {.offset = 1}));
  out.push_back(border_case("empty", {.shape = {0, 5}}, {0, 9}, {0, 1}, Mode::circular));
  out.push_back(border_case("of_nothing", {.shape = {0, 5}}, {3, 9}, {1, 1}, Mode::value, 5));
  out.push_back(border_case("rank8", {.shape = {2, 1, 2, 3, 1, 2, 2, 2}}, {2, 2, 2, 3, 1, 2, 4, 3},
                            {0, 1, 0, 0, 0, 0, 1, 1}, Mode::circular));
  out.push_back(
      border_case("large", {.shape = {4, 300, 300}}, {4, 304, 302}, {0, 2, 1}, Mode::reflect));
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_borders(out);
  constexpr std::int64_t far = 1LL << 40;
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32}) {
    out.push_back(band_case(formatted("lower_{}", name(type)), {.dtype = type, .shape = {2, 7, 8}},
                            -far, 0, 5));
  }
  out.push_back(band_case("upper", {.shape = {9, 6}}, 1, far));
  out.push_back(band_case("diagonal", {.shape = {2, 9, 9}, .repeat = {1}}, 0, 0));
  out.push_back(band_case("tridiagonal", {.shape = {9, 11}, .order = {1, 0}}, -1, 1, 3));
  out.push_back(band_case("in_place", {.shape = {9, 11}, .pad = 1}, 0, 2, 3, {.same_as = 0}));
  out.push_back(band_case("large", {.shape = {2, 600, 500}}, -far, 7));
  for (int i = 0; i < 4; ++i) {
    Shape shape(random.between(1, 4));
    Shape to = shape;
    Low low;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      shape[d] = random.between(1, 7);
      to[d] = random.between(1, 12);
      low.push_back(static_cast<std::int64_t>(random.between(0, 12)) - 6);
    }
    const DType type = random.pick<DType>({DType::f32, DType::f16});
    out.push_back(border_case(
        formatted("random{}", i), {.dtype = type, .shape = shape, .pad = random.between(0, 2)}, to,
        low, random.pick<Mode>({Mode::value, Mode::replicate, Mode::circular, Mode::reflect}), 1,
        {.pad = random.between(0, 2)}));
  }
  const auto bench = [&](Case test) {
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  bench(border_case("reflect_4x384x3000_f32", {.shape = {4, 384, 3000}}, {4, 384, 3020}, {0, 0, 10},
                    Mode::reflect));
  bench(band_case("4096x4096_f32", {.shape = {4096, 4096}}, -far, 0));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"border",
          "Tensors continued past their ends (a value, the edge, wrapped, mirrored), rolled, or "
          "cut to a triangle or band",
          "f32 f16 bf16 i32 u32", cases};
}

}  // namespace weft::ops::border
