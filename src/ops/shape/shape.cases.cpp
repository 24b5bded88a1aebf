#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/shape/shape.hpp"

namespace weft::ops::shape {
namespace {

using Shape = std::vector<std::uint64_t>;
using Indices = std::span<const std::uint64_t>;

double at(const HostTensor& x, Indices index) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < x.shape.size(); ++i) n = n * x.shape[i] + index[i];
  return x.values[n];
}

/// A reference from the value that belongs at each index of the output.
std::function<void(std::span<HostTensor>)> each(
    std::function<double(std::span<const HostTensor>, Indices)> value) {
  return [value = std::move(value)](std::span<HostTensor> tensors) {
    HostTensor& y = tensors.back();
    std::size_t n = 0;
    for (Index i(y.shape); !i.done(); i.next()) y.values[n++] = value(tensors, i.values());
  };
}

TensorSpec spec(DType type, const Shape& shape) {
  TensorSpec out{.dtype = type, .shape = shape, .low = -100, .high = 100};
  if (type == DType::u32 || type == DType::u8) out.low = 0;
  if (type == DType::i64) {  // past what 32 bits hold
    out.low = -0x1p40;
    out.high = 0x1p40;
  }
  return out;
}

Case exact(std::string name, std::vector<TensorSpec> tensors) {
  tensors.back().output = true;
  return {.name = std::move(name), .tensors = std::move(tensors), .epsilons = 0};
}

std::string label(const Shape& shape) {
  std::string text;
  for (const std::uint64_t extent : shape) text += formatted("_{}", extent);
  return text;
}

Case slice_case(std::string name, TensorSpec x, const Shape& first, const Shape& step,
                TensorSpec y) {
  Case test = exact("slice_" + std::move(name), {std::move(x), std::move(y)});
  test.plan = [first, step](std::span<const View> v, const Caps& caps) {
    return plan(Slice{.x = v[0], .first = first, .step = step, .y = v[1]}, caps);
  };
  test.reference = each([first, step](std::span<const HostTensor> t, Indices i) {
    Shape from(first);
    for (std::size_t d = 0; d < from.size(); ++d) from[d] += i[d] * (step.empty() ? 1 : step[d]);
    return at(t[0], from);
  });
  return test;
}

Case concat_case(std::string name, std::vector<TensorSpec> tensors, std::uint32_t dim) {
  Case test = exact("concat_" + std::move(name), std::move(tensors));
  test.plan = [dim](std::span<const View> v, const Caps& caps) {
    return plan(Concat{.inputs = {v.begin(), v.end() - 1}, .dim = dim, .y = v.back()}, caps);
  };
  test.reference = each([dim](std::span<const HostTensor> t, Indices i) {
    Shape from(i.begin(), i.end());
    std::size_t k = 0;
    for (; from[dim] >= t[k].shape[dim]; ++k) from[dim] -= t[k].shape[dim];
    return at(t[k], from);
  });
  return test;
}

/// Inputs of `type` with the extents `parts` along `dim`, and the output that holds them all.
std::vector<TensorSpec> concat_tensors(DType type, Shape shape, std::uint32_t dim,
                                       const Shape& parts) {
  std::vector<TensorSpec> tensors;
  for (const std::uint64_t part : parts) {
    shape[dim] = part;
    tensors.push_back(spec(type, shape));
  }
  shape[dim] = std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
  tensors.push_back(spec(type, shape));
  return tensors;
}

struct Margins {
  Shape low;
  Shape high;
};

Case pad_case(std::string name, TensorSpec x, const Margins& margins, Border border, double value) {
  TensorSpec y = x;
  for (std::size_t i = 0; i < y.shape.size(); ++i) y.shape[i] += margins.low[i] + margins.high[i];
  Case test = exact("pad_" + std::move(name), {std::move(x), std::move(y)});
  test.plan = [=](std::span<const View> v, const Caps& caps) {
    return plan(Pad{.x = v[0],
                    .low = margins.low,
                    .high = margins.high,
                    .border = border,
                    .value = value,
                    .y = v[1]},
                caps);
  };
  test.reference = each([=](std::span<const HostTensor> t, Indices i) {
    Shape from(i.begin(), i.end());
    for (std::size_t d = 0; d < from.size(); ++d) {
      const std::uint64_t low = margins.low[d];
      const std::uint64_t end = low + t[0].shape[d];
      if (border == Border::constant && (i[d] < low || i[d] >= end)) return value;
      from[d] = std::clamp(i[d], low, end - 1) - low;
    }
    return at(t[0], from);
  });
  return test;
}

Case repeat_case(std::string name, TensorSpec x, TensorSpec y) {
  Case test = exact("repeat_" + std::move(name), {std::move(x), std::move(y)});
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(Repeat{.x = v[0], .y = v[1]}, caps);
  };
  test.reference = each([](std::span<const HostTensor> t, Indices i) {
    const std::size_t missing = i.size() - t[0].shape.size();
    Shape from(i.begin() + static_cast<std::ptrdiff_t>(missing), i.end());
    for (std::size_t d = 0; d < from.size(); ++d) from[d] %= t[0].shape[d];
    return at(t[0], from);
  });
  return test;
}

Case contiguous_case(std::string name, TensorSpec x, const std::vector<std::uint32_t>& order,
                     TensorSpec y) {
  Case test = exact("contiguous_" + std::move(name), {std::move(x), std::move(y)});
  test.plan = [order](std::span<const View> v, const Caps& caps) {
    return plan(Contiguous{.x = v[0], .order = order, .y = v[1]}, caps);
  };
  test.reference = each([order](std::span<const HostTensor> t, Indices i) {
    Shape from(i.begin(), i.end());
    for (std::size_t d = 0; d < order.size(); ++d) from[order[d]] = i[d];
    return at(t[0], from);
  });
  return test;
}

void add_slice_cases(std::vector<Case>& out) {
  for (const DType type : all_dtypes) {
    const auto t = std::string(name(type));
    out.push_back(slice_case("rows_" + t, spec(type, {9, 33}), {2, 0}, {}, spec(type, {5, 33})));
    out.push_back(slice_case("odd_" + t, spec(type, {7, 33}), {1, 3}, {}, spec(type, {5, 21})));
    out.push_back(
        slice_case("steps_" + t, spec(type, {7, 33}), {0, 1}, {3, 4}, spec(type, {3, 8})));
  }
  out.push_back(
      slice_case("nothing", spec(DType::f32, {4, 5}), {4, 2}, {}, spec(DType::f32, {0, 3})));
  out.push_back(slice_case("scalar", spec(DType::f16, {}), {}, {}, spec(DType::f16, {})));
  out.push_back(slice_case("cast", spec(DType::f32, {6, 8}), {1, 2}, {}, spec(DType::f16, {4, 5})));
  auto turned = spec(DType::f16, {20, 30});
  turned.order = {1, 0};
  out.push_back(slice_case("turned_f16", turned, {3, 5}, {1, 2}, spec(DType::f16, {16, 11})));
  const Shape first{0, 1, 0, 1, 0, 1, 1, 0};
  out.push_back(slice_case("rank8_f16", spec(DType::f16, {2, 3, 2, 2, 3, 2, 3, 5}), first, {},
                           spec(DType::f16, {2, 2, 1, 1, 2, 1, 2, 3})));
  out.push_back(slice_case("large_bf16", spec(DType::bf16, {1001, 901}), {1, 1}, {},
                           spec(DType::bf16, {1000, 899})));
}

void add_concat_cases(std::vector<Case>& out) {
  for (const DType type : all_dtypes) {
    for (const std::uint32_t dim : {0U, 1U, 2U}) {
      out.push_back(concat_case(formatted("dim{}_{}", dim, name(type)),
                                concat_tensors(type, {3, 5, 7}, dim, {3, 1, 4}), dim));
    }
  }
  out.push_back(concat_case("empty_parts", concat_tensors(DType::f16, {5, 3}, 0, {0, 3, 0, 5}), 0));
  out.push_back(concat_case("all_empty", concat_tensors(DType::f32, {0, 3}, 1, {1, 2}), 1));
  out.push_back(concat_case("one_f16", concat_tensors(DType::f16, {3, 9}, 1, {9}), 1));
  auto offset = concat_tensors(DType::f16, {5, 9}, 1, {3, 8, 1});
  for (TensorSpec& tensor : offset) tensor.offset = 1;
  out.push_back(concat_case("odd_offset_f16", offset, 1));
  auto turned = concat_tensors(DType::bf16, {6, 9}, 0, {4, 5});
  turned[0].order = {1, 0};
  turned[1].pad = 3;
  turned[2].step = 2;
  out.push_back(concat_case("layouts_bf16", turned, 0));
  auto mixed = concat_tensors(DType::f32, {4, 6}, 1, {2, 3});
  mixed[0].dtype = DType::f16;
  out.push_back(concat_case("mixed_types", mixed, 1));
  out.push_back(concat_case("rank8_f16",
                            concat_tensors(DType::f16, {2, 1, 3, 2, 2, 2, 3, 3}, 6, {1, 2, 3}), 6));
  out.push_back(concat_case("large_f32", concat_tensors(DType::f32, {700, 800}, 1, {401, 399}), 1));
  out.push_back(concat_case("large_f16", concat_tensors(DType::f16, {300, 800}, 1, {801, 401}), 1));
}

void add_pad_cases(std::vector<Case>& out) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Margins around{{1, 0, 3}, {2, 1, 2}};
  for (const DType type : all_dtypes) {
    const auto t = std::string(name(type));
    const double value = type == DType::boolean ? 1 : 7;
    out.push_back(pad_case("value_" + t, spec(type, {3, 4, 5}), around, Border::constant, value));
    out.push_back(pad_case("edge_" + t, spec(type, {3, 4, 5}), around, Border::edge, 0));
    if (is_float(type)) {
      out.push_back(pad_case("infinite_" + t, spec(type, {5, 6}), {{1, 0}, {0, 3}},
                             Border::constant, -infinity));
    }
  }
  out.push_back(
      pad_case("nothing", spec(DType::f16, {3, 5}), {{0, 0}, {0, 0}}, Border::constant, 1));
  out.push_back(pad_case("empty", spec(DType::f16, {0, 5}), {{2, 1}, {1, 0}}, Border::constant, 2));
  out.push_back(pad_case("scalar", spec(DType::f32, {}), {}, Border::constant, 2));
  auto turned = spec(DType::f16, {9, 6});
  turned.order = {1, 0};
  turned.offset = 1;
  turned.pad = 1;
  for (const auto& [name, border] :
       {std::pair{"value", Border::constant}, {"edge", Border::edge}}) {
    out.push_back(pad_case(formatted("turned_{}_f16", name), turned, {{1, 2}, {3, 0}}, border, 5));
    out.push_back(pad_case(formatted("rank8_{}_f16", name),
                           spec(DType::f16, {2, 1, 3, 2, 2, 1, 2, 3}),
                           {{1, 0, 0, 0, 0, 1, 0, 1}, {0, 0, 0, 1, 0, 0, 0, 2}}, border, -3));
    out.push_back(pad_case(formatted("large_{}_f32", name), spec(DType::f32, {500, 700}),
                           {{3, 100}, {40, 1}}, border, 1.5));
  }
}

void add_repeat_cases(std::vector<Case>& out) {
  for (const DType type : all_dtypes) {
    const auto t = std::string(name(type));
    out.push_back(repeat_case("both_" + t, spec(type, {3, 5}), spec(type, {6, 15})));
    out.push_back(repeat_case("rows_" + t, spec(type, {1, 7}), spec(type, {5, 7})));
    out.push_back(repeat_case("wider_" + t, spec(type, {3}), spec(type, {2, 2, 9})));
  }
  for (const Shape& shape : {Shape{2, 3, 4, 3}, Shape{6, 3, 4, 15}, Shape{4, 6, 8, 6}}) {
    auto x = spec(DType::f16, {2, 3, 4, 3});
    out.push_back(repeat_case("shape" + label(shape), x, spec(DType::f16, shape)));
    x.order = {3, 1, 0, 2};
    x.offset = 1;
    out.push_back(repeat_case("turned" + label(shape), x, spec(DType::f16, shape)));
  }
  out.push_back(repeat_case("nothing", spec(DType::f32, {0, 3}), spec(DType::f32, {0, 6})));
  out.push_back(repeat_case("no_times", spec(DType::f32, {2, 3}), spec(DType::f32, {0, 6})));
  out.push_back(repeat_case("scalar", spec(DType::f32, {}), spec(DType::f32, {3, 4})));
  auto padded = spec(DType::f16, {12, 9});
  padded.pad = 3;
  out.push_back(repeat_case("padded_f16", spec(DType::f16, {4, 3}), padded));
  // Every dimension repeats: twice as many dimensions as tensors have, so some repetitions are
  // copies of their own.
  out.push_back(repeat_case("rank8_f32", spec(DType::f32, {2, 2, 2, 2, 2, 2, 2, 2}),
                            spec(DType::f32, {4, 2, 6, 4, 2, 2, 4, 4})));
  out.push_back(repeat_case("rank8_i64", spec(DType::i64, {2, 1, 2, 3, 2, 2, 2, 2}),
                            spec(DType::i64, {4, 3, 2, 3, 4, 2, 2, 4})));
  out.push_back(
      repeat_case("large_f32", spec(DType::f32, {130, 300}), spec(DType::f32, {650, 900})));
}

void add_contiguous_cases(std::vector<Case>& out) {
  for (const DType type : all_dtypes) {
    const auto t = std::string(name(type));
    out.push_back(
        contiguous_case("turned_" + t, spec(type, {3, 5, 7}), {2, 0, 1}, spec(type, {7, 3, 5})));
    auto strided = spec(type, {6, 10});
    strided.step = 2;
    strided.offset = 1;
    out.push_back(contiguous_case("strided_" + t, strided, {}, spec(type, {6, 10})));
  }
  out.push_back(contiguous_case("rank8_f16", spec(DType::f16, {2, 3, 1, 2, 3, 2, 2, 3}),
                                {7, 0, 6, 1, 5, 2, 4, 3},
                                spec(DType::f16, {3, 2, 2, 3, 2, 1, 3, 2})));
  out.push_back(
      contiguous_case("empty", spec(DType::f32, {0, 5}), {1, 0}, spec(DType::f32, {5, 0})));
}

void add_random_cases(std::vector<Case>& out, Random& random) {
  const std::vector<DType> types{DType::f32, DType::f16, DType::bf16, DType::i8};
  for (int k = 0; k < 12; ++k) {
    const DType type = random.pick(types);
    Shape shape(random.between(1, 5));
    for (std::uint64_t& extent : shape) extent = random.between(1, 6);
    TensorSpec x = spec(type, shape);
    x.offset = random.between(0, 3);
    x.pad = random.between(0, 2);
    Margins margins;
    Shape more;
    for (const std::uint64_t extent : shape) {
      margins.low.push_back(random.between(0, 2));
      margins.high.push_back(random.between(0, 2));
      more.push_back(extent * random.between(1, 3));
    }
    const Border border = random.between(0, 1) == 0 ? Border::constant : Border::edge;
    out.push_back(pad_case(formatted("random{}", k), x, margins, border, 4));
    TensorSpec y = spec(type, more);
    y.offset = random.between(0, 3);
    y.pad = random.between(0, 2);
    out.push_back(repeat_case(formatted("random{}", k), x, y));
    const auto dim = static_cast<std::uint32_t>(random.between(0, shape.size() - 1));
    auto tensors = concat_tensors(type, shape, dim, {random.between(0, 4), random.between(1, 9)});
    for (TensorSpec& tensor : tensors) tensor.offset = random.between(0, 3);
    out.push_back(concat_case(formatted("random{}", k), tensors, dim));
  }
}

void add_benchmarks(std::vector<Case>& out) {
  const auto bench = [&](Case test) {
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  for (const DType type : {DType::f32, DType::f16}) {
    const auto t = std::string(name(type));
    bench(concat_case("columns_4096x4096_" + t, concat_tensors(type, {4096, 4096}, 1, {2048, 2048}),
                      1));
    bench(repeat_case("2x2_of_2048x2048_" + t, spec(type, {2048, 2048}), spec(type, {4096, 4096})));
    bench(pad_case("64_around_4096x4096_" + t, spec(type, {4096, 4096}), {{64, 64}, {64, 64}},
                   Border::constant, 0));
    Case half = slice_case("columns_4096x2048_" + t, spec(type, {4096, 4096}), {0, 1024}, {},
                           spec(type, {4096, 2048}));
    half.bytes = 2.0 * 4096 * 2048 * size_of(type);
    bench(std::move(half));
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_slice_cases(out);
  add_concat_cases(out);
  add_pad_cases(out);
  add_repeat_cases(out);
  add_contiguous_cases(out);
  add_random_cases(out, random);
  add_benchmarks(out);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"shape", "Slice, concat, pad, repeat and permuted copies",
          "f32 f16 bf16 i32 u32 i64 i8 u8", cases};
}

}  // namespace weft::ops::shape
