#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/softmax/softmax.hpp"

namespace weft::ops::softmax {
namespace {

using Shape = std::vector<std::uint64_t>;

/// Which tensors a case has besides x and y, in this order: x, mask, sinks, y.
struct Setup {
  TensorSpec x;
  TensorSpec y;
  TensorSpec mask;
  TensorSpec sinks;
  bool has_mask = false;
  bool has_sinks = false;
  std::uint32_t axis = ~0U;  ///< The dimension to normalise along; by default the last.
  float scale = 1;
  float max_bias = 0;
  bool log = false;
  bool bench = false;
};

double slope_of(std::uint64_t head, std::uint64_t heads, double max_bias) {
  const std::uint64_t whole = std::bit_floor(heads);
  const double base = max_bias / static_cast<double>(whole);
  return head < whole ? std::exp2(-base * static_cast<double>(head + 1))
                      : std::exp2(-base / 2 * static_cast<double>(2 * (head - whole) + 1));
}

/// Softmax of one row of logits, with a sink that may be -infinity (none).
void normalise(std::vector<double>& z, double sink, bool log) {
  double most = sink;
  for (const double v : z) most = std::max(most, v);
  if (most == -std::numeric_limits<double>::infinity()) {
    if (!log) std::ranges::fill(z, 0.0);
    return;
  }
  double sum = std::exp(sink - most);
  for (const double v : z) sum += std::exp(v - most);
  for (double& v : z) v = log ? v - most - std::log(sum) : std::exp(v - most) / sum;
}

void reference(const Setup& setup, std::span<HostTensor> tensors) {
  const HostTensor& x = tensors.front();
  HostTensor& y = tensors.back();
  const std::uint32_t axis =
      std::min<std::uint32_t>(setup.axis, static_cast<std::uint32_t>(x.shape.size()) - 1);
  std::uint64_t step = 1;
  for (std::size_t d = axis + 1; d < x.shape.size(); ++d) step *= x.shape[d];
  Shape rows = x.shape;
  rows[axis] = x.shape[axis] == 0 ? 0 : 1;
  for (Index row(rows); !row.done(); row.next()) {
    std::uint64_t start = 0;
    for (std::size_t d = 0; d < x.shape.size(); ++d) start = start * x.shape[d] + row[d];
    const std::size_t rank = x.shape.size();
    const std::uint64_t head = rank < 3 ? 0 : row[rank - 3];
    const std::uint64_t heads = rank < 3 ? 1 : x.shape[rank - 3];
    const double slope = setup.max_bias > 0 ? slope_of(head, heads, setup.max_bias) : 1;
    std::vector<double> z(x.shape[axis]);
    for (std::uint64_t i = 0; i < z.size(); ++i) {
      z[i] = x.values[start + i * step] * setup.scale;
      if (!setup.has_mask) continue;
      const HostTensor& mask = tensors[1];
      std::uint64_t at = 0;
      for (std::size_t d = 0; d < mask.shape.size(); ++d) {
        const std::size_t mine = d + rank - mask.shape.size();
        at = at * mask.shape[d] + (mine == axis ? i : row[mine] % mask.shape[d]);
      }
      z[i] += slope * mask.values[at];
    }
    const double sink = setup.has_sinks ? tensors[setup.has_mask ? 2 : 1].values[head]
                                        : -std::numeric_limits<double>::infinity();
    normalise(z, sink, setup.log);
    // Not rounded to the type of y: the allowed error already has half a step of that type in it.
    for (std::uint64_t i = 0; i < z.size(); ++i) y.values[start + i * step] = z[i];
  }
}

Case make_case(std::string name, Setup setup) {
  Case test;
  test.name = std::move(name);
  test.bench = setup.bench;
  test.test = !setup.bench;
  setup.x.low = -8;
  setup.x.high = 8;
  setup.y.output = true;
  test.tensors.push_back(setup.x);
  if (setup.has_mask) test.tensors.push_back(setup.mask);
  if (setup.has_sinks) test.tensors.push_back(setup.sinks);
  test.tensors.push_back(setup.y);
  test.epsilons = 24;
  test.scale = setup.log ? 16 : 1;
  test.plan = [setup](std::span<const View> views, const Caps& caps) {
    Args args{.scale = setup.scale, .max_bias = setup.max_bias, .log = setup.log};
    std::size_t next = 0;
    args.x = views[next++];
    if (setup.has_mask) args.mask = views[next++];
    if (setup.has_sinks) args.sinks = views[next++];
    args.y = views[next];
    if (setup.axis < args.x.rank) {
      args.x = args.x.transpose(setup.axis, args.x.rank - 1);
      args.y = args.y.transpose(setup.axis, args.y.rank - 1);
    }
    return plan(args, caps);
  };
  test.reference = [setup](std::span<HostTensor> tensors) { reference(setup, tensors); };
  return test;
}

Setup plain(DType type, const Shape& shape, bool log = false) {
  return {.x = {.dtype = type, .shape = shape}, .y = {.dtype = type, .shape = shape}, .log = log};
}

void add_mask(Setup& setup, DType type, const Shape& shape, Fill fill = Fill::masked) {
  setup.has_mask = true;
  setup.mask = {.dtype = type, .shape = shape, .fill = fill, .low = -4, .high = 4};
}

void add_sinks(Setup& setup, std::uint64_t heads) {
  setup.has_sinks = true;
  setup.sinks = {.shape = {heads}, .low = -2, .high = 12};
}

std::string join(const Shape& shape) {
  std::string text;
  for (const std::uint64_t extent : shape) text += formatted("_{}", extent);
  return text;
}

void add_shape_cases(std::vector<Case>& out) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const Shape& shape :
         {Shape{1}, Shape{3}, Shape{0}, Shape{3, 0}, Shape{0, 5}, Shape{7, 1}, Shape{5, 12},
          Shape{33, 64}, Shape{9, 130}, Shape{3, 333}, Shape{2, 3, 2, 512}, Shape{3, 1000},
          Shape{2, 4096}, Shape{2, 5000}}) {
      out.push_back(
          make_case(formatted("shape{}_{}", join(shape), name(type)), plain(type, shape)));
    }
    out.push_back(make_case(formatted("log_4_640_{}", name(type)), plain(type, {4, 640}, true)));
    out.push_back(make_case(formatted("log_3_77_{}", name(type)), plain(type, {3, 77}, true)));
    // Rows that one workgroup holds only when it is wide, and rows that are split.
    out.push_back(make_case(formatted("wide_2_16384_{}", name(type)), plain(type, {2, 16384})));
    out.push_back(make_case(formatted("long_3_70000_{}", name(type)), plain(type, {3, 70000})));
    out.push_back(make_case(formatted("long_odd_2_50257_{}", name(type)), plain(type, {2, 50257})));
  }
  out.push_back(make_case("log_long_2_70000_f32", plain(DType::f32, {2, 70000}, true)));
  for (const auto& [from, to] : {std::pair{DType::f16, DType::f32},
                                 {DType::f32, DType::f16},
                                 {DType::bf16, DType::f32},
                                 {DType::f32, DType::bf16}}) {
    for (const std::uint64_t length : {96U, 90U, 91U}) {
      Setup setup = plain(from, {5, length});
      setup.y.dtype = to;
      out.push_back(make_case(formatted("{}_to_{}_{}", name(from), name(to), length), setup));
    }
  }
}

void add_layout_cases(std::vector<Case>& out, Random& random) {
  // bf16 differs from f16 in packing alone, which the shapes cover.
  for (const DType type : {DType::f32, DType::f16}) {
    const auto add = [&](std::string_view label, const Setup& setup) {
      out.push_back(make_case(formatted("{}_{}", label, name(type)), setup));
    };
    Setup offset = plain(type, {6, 40});
    offset.x.offset = 3;
    offset.y.offset = 1;
    add("odd_offset", offset);
    Setup offset_in = plain(type, {6, 40});
    offset_in.x.offset = 1;
    add("odd_input_offset", offset_in);
    Setup padded = plain(type, {7, 48});
    padded.x.pad = 5;
    padded.y.pad = 8;
    add("padded", padded);
    Setup padded_out = plain(type, {7, 48});
    padded_out.y.pad = 3;
    add("padded_output", padded_out);
    Setup stepped = plain(type, {5, 30});
    stepped.x.step = 3;
    stepped.y.step = 2;
    add("stepped", stepped);
    Setup permuted = plain(type, {3, 4, 5, 24});
    permuted.x.order = {2, 0, 3, 1};
    add("permuted_input", permuted);
    Setup permuted_out = plain(type, {3, 4, 5, 24});
    permuted_out.y.order = {1, 3, 2, 0};
    add("permuted_output", permuted_out);
    Setup in_place = plain(type, {6, 200});
    in_place.y.same_as = 0;
    add("in_place", in_place);
    Setup in_place_odd = plain(type, {6, 201});
    in_place_odd.y.same_as = 0;
    add("in_place_odd", in_place_odd);
    Setup in_place_even = plain(type, {6, 256});
    in_place_even.y.same_as = 0;
    add("in_place_even", in_place_even);
    in_place_even.log = true;
    add("in_place_even_log", in_place_even);
    Setup repeated = plain(type, {4, 6, 16});
    repeated.x.repeat = {1};
    add("repeated", repeated);
    for (const Shape& shape : {Shape{3, 40}, Shape{64, 70}, Shape{130, 33}, Shape{300, 12},
                               Shape{9, 600}, Shape{601, 72}, Shape{8500, 64}}) {
      Setup columns = plain(type, shape);
      columns.axis = 0;
      add("columns" + join(shape), columns);
    }
    Setup columns_padded = plain(type, {3, 270, 40}, true);
    columns_padded.axis = 1;
    columns_padded.x.pad = 4;
    add("log_columns_padded", columns_padded);
    Setup columns_mixed = plain(type, {40, 20});
    columns_mixed.axis = 0;
    columns_mixed.y.dtype = DType::bf16;
    add("columns_to_bf16", columns_mixed);
    Setup columns_in_place = plain(type, {600, 16});
    columns_in_place.axis = 0;
    columns_in_place.y.same_as = 0;
    add("columns_in_place", columns_in_place);
    Setup middle = plain(type, {3, 50, 9}, true);
    middle.axis = 1;
    add("log_middle_axis", middle);
    for (int i = 0; i < 4; ++i) {
      Shape shape(random.between(1, 5));
      for (std::uint64_t& extent : shape) extent = random.between(1, 7);
      shape.back() = random.between(1, 300);
      Setup mixed = plain(type, shape, random.between(0, 1) == 1);
      for (TensorSpec* spec : {&mixed.x, &mixed.y}) {
        spec->offset = random.between(0, 9);
        spec->pad = random.between(0, 9);
        spec->step = random.between(1, 2);
      }
      mixed.axis = static_cast<std::uint32_t>(random.between(0, shape.size() - 1));
      add(formatted("random{}", i), mixed);
    }
  }
}

void add_mask_cases(std::vector<Case>& out) {
  for (const DType mask : {DType::f32, DType::f16, DType::bf16}) {
    const auto add = [&](std::string_view label, Setup setup) {
      setup.scale = 0.25F;
      out.push_back(make_case(formatted("mask_{}_{}", label, name(mask)), std::move(setup)));
    };
    const auto with = [&](const Shape& x, const Shape& shape) {
      Setup setup = plain(DType::f32, x);
      add_mask(setup, mask, shape);
      return setup;
    };
    add("same", with({2, 3, 4, 64}, {2, 3, 4, 64}));
    add("rows", with({2, 3, 4, 64}, {4, 64}));
    add("row", with({2, 3, 4, 64}, {64}));
    add("heads_repeat", with({2, 6, 4, 33}, {2, 2, 4, 33}));
    add("all_repeat", with({4, 6, 8, 40}, {2, 3, 4, 40}));
    add("broadcast_heads", with({2, 3, 4, 100}, {2, 1, 4, 100}));
    add("rows_fully_masked", with({3, 50, 2}, {50, 2}));
    if (mask != DType::f16) continue;  // the rest does not depend on the mask's type
    Setup half = with({2, 4, 5, 128}, {1, 1, 5, 128});
    half.x.dtype = half.y.dtype = DType::f16;
    add("half_x", half);
    Setup odd = with({2, 4, 5, 128}, {1, 1, 5, 128});
    odd.mask.offset = 1;
    odd.mask.pad = 3;
    add("odd_layout", odd);
    Setup alibi = with({2, 6, 4, 48}, {1, 1, 4, 48});
    alibi.max_bias = 8;
    add("alibi_6_heads", alibi);
    Setup alibi_repeat = with({2, 8, 3, 48}, {1, 2, 3, 48});
    alibi_repeat.max_bias = 4;
    add("alibi_8_heads_repeat", alibi_repeat);
    Setup sinks = with({2, 5, 4, 96}, {4, 96});
    add_sinks(sinks, 5);
    add("sinks", sinks);
    Setup all = with({2, 12, 4, 96}, {2, 3, 4, 96});
    all.max_bias = 8;
    add_sinks(all, 12);
    add("alibi_sinks_repeat", all);
    Setup log = with({2, 3, 4, 64}, {4, 64});
    log.mask.fill = Fill::uniform;
    log.log = true;
    add("log", log);
    Setup split = with({1, 2, 2, 40000}, {1, 1, 2, 40000});
    split.max_bias = 8;
    add_sinks(split, 2);
    add("alibi_sinks_long", split);
  }
  Setup sinks = plain(DType::f16, {3, 7, 50});
  add_sinks(sinks, 3);
  out.push_back(make_case("sinks_f16", sinks));
  Setup log_sinks = plain(DType::f32, {3, 7, 50}, true);
  add_sinks(log_sinks, 3);
  out.push_back(make_case("log_sinks_f32", log_sinks));
  // A row of -infinity alone gives zeros, and -infinity for the logarithm.
  for (const bool log : {false, true}) {
    Setup empty_rows = plain(DType::f32, {40, 3}, log);
    empty_rows.x.fill = Fill::masked;
    out.push_back(make_case(log ? "log_infinite_x" : "infinite_x", empty_rows));
  }
}

/// Odd rows as devices with quick barriers take them, on any device.
void add_dense_cases(std::vector<Case>& out) {
  const auto add = [&](std::string_view label, Setup setup) {
    Case test = make_case(formatted("dense_{}", label), std::move(setup));
    test.plan = [plan = std::move(test.plan)](std::span<const View> views, const Caps& caps) {
      Caps quick = caps;
      quick.traits.slow_barriers = false;
      return plan(views, quick);
    };
    out.push_back(std::move(test));
  };
  for (const DType type : {DType::f16, DType::bf16}) {
    add(formatted("19_77_{}", name(type)), plain(type, {19, 77}));
    add(formatted("log_3_4_198_{}", name(type)), plain(type, {3, 4, 198}, true));
  }
  add("1_1023_f16", plain(DType::f16, {1, 1023}));
  add("17_511_f16", plain(DType::f16, {17, 511}));
  add("past_one_binding_f16", plain(DType::f16, {5000, 201}));
  Setup in_place = plain(DType::f16, {21, 197});
  in_place.y.same_as = 0;
  add("in_place", in_place);
  Setup mixed = plain(DType::f16, {12, 65});
  mixed.y.dtype = DType::bf16;
  mixed.scale = -0.5F;
  add("to_bf16", mixed);
  for (const bool log : {false, true}) {
    Setup empty_rows = plain(DType::f16, {90, 67}, log);
    empty_rows.x.fill = Fill::masked;
    add(log ? "log_infinite_x" : "infinite_x", empty_rows);
  }
}

void add_large_cases(std::vector<Case>& out) {
  // Past 65,535 workgroups (rows of 5 take 8 invocations each), and past the 1 MiB bindings of the
  // masked run by many rows, by one row, and by columns.
  out.push_back(make_case("many_workgroups", plain(DType::f32, {65536 * 32 + 1, 5})));
  out.push_back(make_case("past_one_binding_rows_f32", plain(DType::f32, {700, 520})));
  out.push_back(make_case("past_one_binding_row_f32", plain(DType::f32, {2, 300000})));
  out.push_back(make_case("past_one_binding_row_f16", plain(DType::f16, {1, 600001})));
  Setup columns = plain(DType::f32, {600, 601});
  columns.axis = 0;
  out.push_back(make_case("past_one_binding_columns_f32", columns));
  Setup masked = plain(DType::f32, {2, 8, 150, 160});
  add_mask(masked, DType::f16, {1, 2, 150, 160});
  masked.max_bias = 8;
  out.push_back(make_case("past_one_binding_mask_f32", masked));
}

void add_benchmarks(std::vector<Case>& out) {
  const auto bench = [&](std::string label, Setup setup) {
    setup.bench = true;
    out.push_back(make_case("bench_" + std::move(label), std::move(setup)));
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    bench(formatted("softmax_4096x4096_{}", name(type)), plain(type, {4096, 4096}));
    bench(formatted("log_softmax_4096x4096_{}", name(type)), plain(type, {4096, 4096}, true));
    bench(formatted("softmax_short_65536x64_{}", name(type)), plain(type, {65536, 64}));
    bench(formatted("softmax_long_16x131072_{}", name(type)), plain(type, {16, 131072}));
    Setup mask = plain(type, {32, 512, 512});
    add_mask(mask, DType::f16, {512, 512});
    bench(formatted("softmax_mask_32x512x512_{}", name(type)), mask);
  }
  bench("softmax_odd_4096x4095_f32", plain(DType::f32, {4096, 4095}));
  bench("softmax_odd_96x197x197_f16", plain(DType::f16, {96, 197, 197}));
  bench("softmax_vocabulary_512x128256_f32", plain(DType::f32, {512, 128256}));
  for (const DType type : {DType::f32, DType::f16}) {
    Setup columns = plain(type, {4096, 4096});
    columns.axis = 0;
    bench(formatted("softmax_columns_4096x4096_{}", name(type)), columns);
    Setup classes = plain(type, {16, 21, 512, 512});  // of the pixels of images
    classes.axis = 1;
    bench(formatted("softmax_columns_16x21x512x512_{}", name(type)), classes);
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_shape_cases(out);
  add_layout_cases(out, random);
  add_mask_cases(out);
  add_dense_cases(out);
  add_large_cases(out);
  add_benchmarks(out);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"softmax", "Softmax and log-softmax with scale, mask, ALiBi slopes and sinks",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::softmax
