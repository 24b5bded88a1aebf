#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/map/map.hpp"
#include "ops/rope/check.hpp"

namespace weft::ops::rope {
namespace {

/// Tensors x, positions if any, factors if any, y.
struct Setup {
  TensorSpec x;
  TensorSpec y;
  bool has_positions = true;
  bool has_factors = false;
  double last_position = 500;
  Args options;
  bool bench = false;
};

/// Which of the four positions a pair takes, and the exponent of its frequency.
std::pair<std::uint32_t, std::uint32_t> section_of(const Args& args, std::uint32_t pair) {
  const auto& s = args.sections;
  if (args.mode == Mode::interleaved || args.mode == Mode::halves) return {0, pair};
  const std::uint32_t place = pair % (s[0] + s[1] + s[2] + s[3]);
  if (args.mode == Mode::sections_in_turn) {
    const std::uint32_t third = place % 3;
    return {place < 3 * s[third] ? third : 3, pair};
  }
  std::uint32_t section = 0;
  std::uint32_t start = 0;
  while (section < 3 && place >= start + s[section]) start += s[section++];
  return {section, args.mode == Mode::vision ? place - start : pair};
}

double angle_of(const Args& args, std::uint32_t pair, double position, std::uint32_t power,
                double factor) {
  const double angle =
      position * std::pow(static_cast<double>(args.base), -2.0 * power / args.dims) / factor;
  double mix = 0;
  if (args.extrapolation != 0) {
    const auto corner = [&](double turns) {
      return args.dims * std::log(args.trained_context / (turns * 2 * std::numbers::pi)) /
             (2 * std::log(static_cast<double>(args.base)));
    };
    const double low = std::max(0.0, std::floor(corner(args.beta_fast)));
    const double high = std::min(args.dims - 1.0, std::ceil(corner(args.beta_slow)));
    mix =
        (1 - std::clamp((pair - low) / std::max(0.001, high - low), 0.0, 1.0)) * args.extrapolation;
  }
  return angle * args.scale * (1 - mix) + angle * mix;
}

void reference(const Setup& setup, std::span<HostTensor> tensors) {
  const Args& args = setup.options;
  const HostTensor x = tensors.front();
  HostTensor& y = tensors.back();
  y.values = x.values;
  const std::uint64_t tokens = x.shape[1];
  const std::uint64_t size = x.shape[3];
  const bool vision = args.mode == Mode::vision;
  const std::uint32_t pairs = vision ? static_cast<std::uint32_t>(size / 2) : args.dims / 2;
  double magnitude = args.magnitude;
  if (args.extrapolation != 0) magnitude *= 1 + 0.1 * std::log(1.0 / args.scale);
  std::uint64_t row = 0;
  for (Index at(std::span(x.shape).first(3)); !at.done(); at.next(), ++row) {
    for (std::uint32_t pair = 0; pair < pairs; ++pair) {
      const auto [section, power] = section_of(args, pair);
      const double position = setup.has_positions
                                  ? tensors[1].values[section * tokens + at[1]]
                                  : static_cast<double>(at[1]) + args.first_position;
      const double factor =
          setup.has_factors ? tensors[setup.has_positions ? 2 : 1].values[pair] : 1.0;
      const double angle = angle_of(args, pair, position, power, factor);
      const double c = std::cos(angle) * magnitude;
      const double s = std::sin(angle) * magnitude * (args.backward ? -1 : 1);
      const std::uint64_t first =
          row * size + args.offset + (args.mode == Mode::interleaved ? 2 * pair : pair);
      const std::uint64_t second = first + (args.mode == Mode::interleaved ? 1
                                            : vision                       ? args.dims
                                                                           : args.dims / 2);
      y.values[first] = x.values[first] * c - x.values[second] * s;
      y.values[second] = x.values[first] * s + x.values[second] * c;
    }
  }
}

Case make_case(const std::string& label, Setup setup) {
  Case test;
  test.name = label;
  setup.y.shape = setup.x.shape;
  setup.y.output = true;
  const Args options = setup.options;
  const bool sections = options.mode != Mode::interleaved && options.mode != Mode::halves;
  test.tensors = {setup.x};
  if (setup.has_positions) {
    std::vector<std::uint64_t> shape{setup.x.shape[1]};
    if (sections) shape.insert(shape.begin(), 4);
    test.tensors.push_back(
        {.dtype = DType::i32, .shape = shape, .low = 0, .high = setup.last_position});
  }
  if (setup.has_factors) {
    const std::uint64_t pairs =
        options.mode == Mode::vision ? setup.x.shape[3] / 2 : options.dims / 2;
    test.tensors.push_back({.shape = {pairs}, .low = 0.9, .high = 1.1});
  }
  const std::size_t positions = setup.has_positions ? 1 : 0;
  const std::size_t factors = positions + (setup.has_factors ? 1 : 0);
  test.tensors.push_back(setup.y);
  test.plan = [=](std::span<const View> v, const Caps& caps) {
    Args args = options;
    args.x = v.front();
    args.y = v.back();
    if (positions != 0) args.positions = v[positions];
    if (factors != positions) args.factors = v[factors];
    return plan(args, caps);
  };
  // An angle has the rounding errors of its position times its frequency, a few units each.
  test.epsilons = 4;
  test.scale = 2 + setup.last_position;
  if (setup.bench) {
    test.test = false;
    test.bench = true;
  } else {
    test.reference = [setup](std::span<HostTensor> t) { reference(setup, t); };
  }
  return test;
}

Setup plain(Mode mode, DType type, std::uint64_t size, std::uint32_t dims) {
  Setup setup;
  setup.x = {.dtype = type, .shape = {2, 5, 3, size}};
  setup.y = {.dtype = type};
  setup.options.mode = mode;
  setup.options.dims = dims;
  if (mode == Mode::vision) {
    setup.options.sections = {dims / 2, dims - dims / 2, 0, 0};
  } else if (mode == Mode::sections || mode == Mode::sections_in_turn) {
    setup.options.sections = {dims / 6 + 1, dims / 6, dims / 8, 1};
  }
  return setup;
}

void add_modes(std::vector<Case>& out) {
  for (const Mode mode :
       {Mode::interleaved, Mode::halves, Mode::sections, Mode::sections_in_turn, Mode::vision}) {
    const bool vision = mode == Mode::vision;
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      const std::string tail = formatted("{}_{}", name(mode), name(type));
      out.push_back(make_case("plain_" + tail, plain(mode, type, 64, vision ? 32 : 64)));
      out.push_back(make_case("odd_" + tail, plain(mode, type, 36, vision ? 18 : 22)));
    }
    Setup yarn = plain(mode, DType::f32, 80, vision ? 40 : 32);
    yarn.has_factors = true;
    yarn.options.offset = vision ? 0 : 24;
    yarn.options.scale = 0.25F;
    yarn.options.extrapolation = 0.7F;
    yarn.options.magnitude = 1.3F;
    yarn.options.trained_context = 256;
    yarn.options.base = 500;
    out.push_back(make_case(formatted("yarn_{}", name(mode)), yarn));
    yarn.options.backward = true;
    yarn.options.trained_context = 0;
    out.push_back(make_case(formatted("backward_{}", name(mode)), yarn));
    Setup in_place = plain(mode, DType::f16, 80, vision ? 40 : 32);
    in_place.y.same_as = 0;
    out.push_back(make_case(formatted("in_place_{}", name(mode)), in_place));
  }
}

void add_layouts(std::vector<Case>& out) {
  for (const Mode mode : {Mode::interleaved, Mode::halves}) {
    for (const DType type : {DType::f32, DType::f16}) {
      const std::string tail = formatted("{}_{}", name(mode), name(type));
      Setup counted = plain(mode, type, 64, 64);
      counted.has_positions = false;
      counted.options.first_position = 7;
      counted.x.order = {0, 2, 1, 3};
      counted.y.order = {0, 2, 1, 3};
      counted.last_position = 12;
      out.push_back(make_case("counted_" + tail, counted));
      Setup strange = plain(mode, type, 24, 16);
      strange.options.offset = 2;
      strange.x.order = {3, 1, 0, 2};
      strange.x.offset = 1;
      strange.y.pad = 3;
      strange.y.offset = 1;
      out.push_back(make_case("strange_" + tail, strange));
      Setup in_place = plain(mode, type, 21, 10);
      in_place.y.same_as = 0;
      in_place.options.offset = 1;
      out.push_back(make_case("in_place_odd_" + tail, in_place));
    }
  }
  Setup none = plain(Mode::interleaved, DType::f32, 16, 0);
  out.push_back(make_case("nothing_turns", none));
  Setup empty = plain(Mode::interleaved, DType::f32, 16, 16);
  empty.x.shape = {2, 0, 3, 16};
  out.push_back(make_case("empty", empty));
  Setup far = plain(Mode::halves, DType::f32, 128, 128);
  far.last_position = 100000;
  out.push_back(make_case("far", far));
  for (const Mode mode : {Mode::interleaved, Mode::sections_in_turn}) {
    Setup wide = plain(mode, DType::f32, most_dims, most_dims);
    wide.x.shape = {1, 2, 2, most_dims};
    out.push_back(make_case(formatted("wide_{}", name(mode)), wide));
  }
  Setup large = plain(Mode::halves, DType::f32, 64, 32);
  large.x.shape = {1, 1100, 5, 64};
  out.push_back(make_case("past_one_binding", large));
  large.x.shape = {3, 1100, 5, 32};
  large.has_positions = false;
  large.last_position = 1100;
  out.push_back(make_case("past_one_binding_counted", large));
}

/// What a rope into rows leaves in a table whose rows were `before`.
void set_rows(const Setup& setup, HostTensor x, const HostTensor& positions, const HostTensor& rows,
              HostTensor& table) {
  std::array<HostTensor, 3> tensors{x, positions, std::move(x)};
  if (setup.options.dims > 0) reference(setup, tensors);
  const std::size_t width = table.shape[2] * table.shape[3];
  for (std::size_t token = 0; token < rows.values.size(); ++token) {
    const double row = rows.values[token];
    if (row < 0 || row >= static_cast<double>(table.shape[1])) continue;
    std::copy_n(tensors[2].values.begin() + static_cast<std::ptrdiff_t>(token * width), width,
                table.values.begin() +
                    static_cast<std::ptrdiff_t>(row) * static_cast<std::ptrdiff_t>(width));
  }
}

/// Queries, keys into rows of a table, and values that do not turn into rows of another one, in one
/// launch.
Case together(Mode mode, std::uint64_t tokens, std::uint64_t size, DType cache, double first_row) {
  Case test;
  test.name = formatted("together_{}_{}x{}_{}", name(mode), tokens, size, name(cache));
  if (first_row < 0) test.name += "_nowhere";
  Setup setup = plain(mode, DType::f32, size, static_cast<std::uint32_t>(size));
  const TensorSpec rows{.dtype = tokens > 1 ? DType::i32 : DType::i64,
                        .shape = {tokens},
                        .low = first_row,
                        .high = first_row,
                        .output = tokens > 1};
  test.tensors = {{.shape = {1, tokens, 4, size}},
                  {.shape = {1, tokens, 2, size}},
                  {.shape = {1, tokens, 2, size}},
                  {.dtype = DType::i32, .shape = {tokens}, .low = 0, .high = setup.last_position},
                  rows,
                  {.shape = {1, tokens, 4, size}, .output = true},
                  {.dtype = cache, .shape = {1, 9, 2, size}, .output = true},
                  {.dtype = cache, .shape = {1, 9, 2, size}, .output = true}};
  const Args options = setup.options;
  test.plan = [options, first_row](std::span<const View> v, const Caps& caps) -> Result<Plan> {
    std::array<Args, 3> streams{options, options, options};
    for (std::size_t i = 0; i < 3; ++i) {
      streams[i].x = v[i];
      streams[i].y = v[5 + i];
      streams[i].positions = v[3];
      if (i > 0) streams[i].rows = v[4];
    }
    streams[2].dims = 0;
    Plan all;
    if (v[4].dtype == DType::i32) {  // Distinct rows are made on the device.
      auto counted = map::plan({.function = "arange", .y = v[4], .scalars = {first_row, 1}}, caps);
      if (!counted) return counted;
      all.append(std::move(*counted));
    }
    // Three tensors take nine bindings.
    const std::size_t most = caps.max_bindings < 9 ? 2 : 3;
    for (std::size_t i = 0; i < 3; i += most) {
      auto turned =
          plan_together(std::span<const Args>(streams).subspan(i, std::min(most, 3 - i)), caps);
      if (!turned) return turned;
      all.append(std::move(*turned));
    }
    return all;
  };
  test.epsilons = 4;
  test.scale = 2 + setup.last_position;
  test.reference = [setup](std::span<HostTensor> t) {
    std::array<HostTensor, 3> queries{t[0], t[3], t[5]};
    reference(setup, queries);
    for (std::size_t i = 1; i < t[4].values.size(); ++i) {
      t[4].values[i] = t[4].values[0] + static_cast<double>(i);
    }
    t[5] = queries[2];
    set_rows(setup, t[1], t[3], t[4], t[6]);
    Setup still = setup;
    still.options.dims = 0;
    set_rows(still, t[2], t[3], t[4], t[7]);
  };
  return test;
}

void add_together(std::vector<Case>& out) {
  out.push_back(together(Mode::interleaved, 1, 64, DType::f16, 4));
  out.push_back(together(Mode::halves, 5, 64, DType::f16, 2));
  out.push_back(together(Mode::halves, 5, 64, DType::f32, -2));
  out.push_back(together(Mode::interleaved, 3, 22, DType::bf16, 3));
}

void add_benchmarks(std::vector<Case>& out) {
  for (const Mode mode : {Mode::interleaved, Mode::halves}) {
    for (const DType type : {DType::f32, DType::f16}) {
      Setup setup = plain(mode, type, 128, 128);
      setup.x.shape = {8, 2048, 32, 128};
      setup.bench = true;
      out.push_back(
          make_case(formatted("bench_rope_{}_8x2048x32x128_{}", name(mode), name(type)), setup));
      setup.x.shape = {1, 1, 32, 128};
      out.push_back(
          make_case(formatted("bench_rope_{}_token_32x128_{}", name(mode), name(type)), setup));
    }
  }
}

/// The same by rolled.wgsl, which needs nothing of the devices that it is made for.
void add_rolled(std::vector<Case>& out) {
  std::vector<Case> found;
  for (const Case& test : out) {
    if (test.name.starts_with("odd_") || test.tensors.front().shape.back() % 4 != 0) continue;
    Case& twin = found.emplace_back(test);
    twin.name = "rolled_" + test.name;
    twin.plan = [plan = test.plan](std::span<const View> views, const Caps& caps) {
      Caps slow = caps;
      slow.traits.slow_barriers = true;
      slow.subgroup_max = 4;
      return plan(views, slow);
    };
  }
  std::ranges::move(found, std::back_inserter(out));
}

std::vector<Case> cases(std::uint64_t) {
  std::vector<Case> out;
  add_modes(out);
  add_layouts(out);
  add_together(out);
  add_rolled(out);
  add_benchmarks(out);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"rope", "Rotary positions in all their modes, with YaRN, and the gradient",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::rope
