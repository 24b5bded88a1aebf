#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "ops/map/cases.hpp"
#include "ops/map/wide.hpp"

namespace weft::ops::map {

Case make_case(const Function& function, std::string name, std::vector<TensorSpec> tensors) {
  Case test;
  test.name = formatted("{}_{}", function.name, name);
  for (std::size_t i = 0; i + 1 < tensors.size(); ++i) {
    // Ranges that the type cannot hold (negative values in unsigned tensors) are cut to what it
    // can.
    TensorSpec& spec = tensors[i];
    spec.low = function.low;
    spec.high = function.high;
    if (spec.dtype == DType::u32 || spec.dtype == DType::u8)
      spec.low = std::max(0.0, std::ceil(spec.low));
    if (function.name == "pow" && i == 1) spec.low = is_float(spec.dtype) ? -3 : 0;
  }
  tensors.back().output = true;
  const DType y_type = tensors.back().dtype;
  const bool integers =
      std::ranges::none_of(std::span(tensors).first(tensors.size() - 1),
                           [](const TensorSpec& t) { return is_float(t.dtype); }) &&
      !(tensors.size() == 1 && is_float(y_type));
  test.tensors = std::move(tensors);
  test.epsilons = function.epsilons;
  test.plan = [&function](std::span<const View> views, const Caps& caps) {
    return plan({.function = function.name,
                 .inputs = {views.begin(), views.end() - 1},
                 .y = views.back(),
                 .scalars = function.defaults},
                caps);
  };
  const bool unsigned_wrap = integers && !test.tensors.front().output &&
                             test.tensors.front().dtype == DType::u32 && function.name != "copy";
  test.reference = [&function, integers, unsigned_wrap](std::span<HostTensor> tensors_) {
    HostTensor& y = tensors_.back();
    const std::size_t inputs = tensors_.size() - 1;
    std::size_t n = 0;
    for (Index i(y.shape); !i.done(); i.next(), ++n) {
      std::array<double, 3> in{};
      for (std::size_t k = 0; k < inputs; ++k) {
        const HostTensor& x = tensors_[k];
        const std::size_t missing = y.shape.size() - x.shape.size();
        std::size_t at = 0;
        for (std::size_t d = 0; d < x.shape.size(); ++d) {
          at = at * x.shape[d] + (x.shape[d] == 1 ? 0 : i[d + missing]);
        }
        in[k] = x.values[at];
      }
      double value = function.reference != nullptr
                         ? function.reference(in[0], in[1], in[2], function.defaults)
                         : function.defaults[0] + function.defaults[1] * static_cast<double>(n);
      if (integers) value = std::trunc(value);
      if (unsigned_wrap && value < 0) value += 4294967296.0;
      y.values[n] = is_float(y.dtype) ? value : round_to(y.dtype, value);
    }
  };
  return test;
}

std::vector<TensorSpec> same_shape(const Function& function, DType type, const Shape& shape) {
  std::vector<TensorSpec> tensors(function.inputs + 1);
  for (TensorSpec& spec : tensors) {
    spec.dtype = type;
    spec.shape = shape;
  }
  return tensors;
}

namespace {

void add_function_cases(std::vector<Case>& out, const Function& function) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32}) {
    if (!is_float(type) && !function.integers) continue;
    if (is_float(type) && is_bitwise(function.name)) continue;
    if (type == DType::u32 && function.low < 0 && function.name == "scale") continue;
    // 1027 elements: whole chunks and a tail, of every chunk width.
    out.push_back(
        make_case(function, formatted("{}", name(type)), same_shape(function, type, {1027})));
  }
}

/// Values that the plain cases leave out: both signs, large angles, powers of negative numbers.
void add_range_cases(std::vector<Case>& out) {
  const auto add = [&](std::string_view which, DType type,
                       const std::vector<std::pair<double, double>>& ranges, Fill fill) {
    const Function& function = *find_function(which);
    Case test =
        make_case(function, formatted("range_{}", name(type)), same_shape(function, type, {1027}));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      std::tie(test.tensors[i].low, test.tensors[i].high) = ranges[i];
      test.tensors[i].fill = fill;
    }
    out.push_back(std::move(test));
  };
  for (const DType type : {DType::f32, DType::f16}) {
    for (const char* function : {"sin", "cos"}) {
      add(function, type, {{-2000, 2000}}, Fill::uniform);
    }
    add("tan", type, {{-700, 700}}, Fill::integers);  // 11 and its like lie 0.004 from a pole
    add("atan2", type, {{-10, 10}, {-10, 10}}, Fill::uniform);
    add("pow", type, {{-3, 3}, {0, 5}}, Fill::integers);
  }
  add("pow", DType::i32, {{-3, -1}, {-3, 9}}, Fill::integers);
  for (const DType type : {DType::f32, DType::i32}) {
    for (const char* function : {"div", "fmod", "remainder"}) {
      add(function, type, {{-50, 50}, {-20, -1}}, Fill::integers);
    }
  }
}

/// 64-bit integers, with inputs and outputs of other types and layouts beside them.
void add_wide_cases(std::vector<Case>& out) {
  const auto add = [&](std::string_view which, std::string_view label,
                       std::vector<TensorSpec> tensors) {
    const Function& function = *find_function(which);
    Case test = make_case(function, formatted("wide_{}", label), std::move(tensors));
    const bool positive = is_unsigned(test.tensors.back().dtype);
    for (TensorSpec& spec : test.tensors) {
      spec.fill = Fill::integers;
      if (positive) spec.low = std::max(spec.low, 0.0);
    }
    test.plan = [&function](std::span<const View> views, const Caps& caps) {
      return plan_wide({.function = function.name,
                        .inputs = {views.begin(), views.end() - 1},
                        .y = views.back(),
                        .scalars = function.defaults},
                       caps);
    };
    out.push_back(std::move(test));
  };
  const TensorSpec wide{.dtype = DType::i64, .shape = {3, 5, 7}};
  for (const DType type : all_dtypes) {
    const TensorSpec other{.dtype = type, .shape = {3, 5, 7}};
    add("copy", formatted("to_{}", name(type)), {wide, other});
    add("copy", formatted("from_{}", name(type)), {other, wide});
  }
  TensorSpec turned = wide;
  turned.order = {2, 0, 1};
  TensorSpec padded = wide;
  padded.pad = 3;
  const TensorSpec row{.dtype = DType::i32, .shape = {1, 7}};
  const TensorSpec odd{.dtype = DType::boolean, .shape = {3, 5, 7}, .offset = 1};
  for (const char* function : {"add", "sub", "mul", "floor_divide", "pow"}) {
    add(function, "layouts", {turned, row, padded});
  }
  add("less", "layouts", {turned, row, odd});
  add("where", "layouts", {odd, turned, row, padded});
  const TensorSpec large{.dtype = DType::i64, .shape = {300, 701}};
  add("add", "large", {large, {.dtype = DType::i32, .shape = {701}}, large});
}

/// Layouts are a property of the kernel, not of the function: a few functions with 1, 2 and 3
/// inputs cover them.
void add_layout_cases(std::vector<Case>& out, Random& random) {
  for (const auto& [function_name, inputs] : {std::pair{"silu", 1U}, {"add", 2U}, {"where", 3U}}) {
    const Function& function = *find_function(function_name);
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      const std::string_view t = name(type);
      const auto base = [&](const Shape& shape) { return same_shape(function, type, shape); };
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{3}, Shape{0}, Shape{4, 0, 3}, Shape{7, 5},
                                 Shape{2, 3, 4, 5}, Shape{2, 1, 3, 2, 2, 1, 3, 5}}) {
        std::string label = "shape";
        for (const std::uint64_t extent : shape) label += formatted("_{}", extent);
        out.push_back(make_case(function, formatted("{}_{}", label, t), base(shape)));
      }
      auto offset = base({259});
      for (TensorSpec& spec : offset) spec.offset = 1;
      out.push_back(make_case(function, formatted("odd_offset_{}", t), offset));
      auto offset_in = base({260});
      offset_in.front().offset = 3;
      out.push_back(make_case(function, formatted("odd_input_offset_{}", t), offset_in));
      auto padded = base({9, 16});
      for (TensorSpec& spec : padded) spec.pad = 3;
      out.push_back(make_case(function, formatted("padded_rows_{}", t), padded));
      auto padded_in = base({9, 16});
      padded_in.front().pad = 8;
      out.push_back(make_case(function, formatted("padded_input_{}", t), padded_in));
      auto stepped = base({6, 10});
      for (TensorSpec& spec : stepped) spec.step = 2;
      out.push_back(make_case(function, formatted("stepped_{}", t), stepped));
      auto turned = base({6, 7, 8});
      turned.front().order = {2, 0, 1};
      out.push_back(make_case(function, formatted("permuted_input_{}", t), turned));
      auto turned_out = base({6, 7, 9});
      turned_out.back().order = {1, 2, 0};
      out.push_back(make_case(function, formatted("permuted_output_{}", t), turned_out));
      auto in_place = base({5, 37});
      in_place.back().same_as = 0;
      out.push_back(make_case(function, formatted("in_place_{}", t), in_place));
      auto repeated = base({6, 8, 4});
      repeated.front().repeat = {1};
      out.push_back(make_case(function, formatted("repeated_{}", t), repeated));
      if (inputs > 1) {
        for (const Shape& small : {Shape{}, Shape{1}, Shape{12}, Shape{5, 1}, Shape{1, 12},
                                   Shape{3, 1, 12}, Shape{3, 5, 1}}) {
          auto broadcast = base({3, 5, 12});
          broadcast[1].shape = small;
          std::string label = "broadcast";
          for (const std::uint64_t extent : small) label += formatted("_{}", extent);
          out.push_back(make_case(function, formatted("{}_{}", label, t), broadcast));
        }
        auto ragged = base({5, 7, 11});
        ragged[1].shape = {7, 1};
        out.push_back(make_case(function, formatted("broadcast_ragged_{}", t), ragged));
      }
      for (int i = 0; i < 4; ++i) {
        Shape shape(random.between(1, 5));
        for (std::uint64_t& extent : shape) extent = random.between(1, 9);
        auto mixed = base(shape);
        for (TensorSpec& spec : mixed) {
          spec.offset = random.between(0, 5);
          spec.pad = random.between(0, 3);
          spec.step = random.between(1, 2);
          if (!spec.output && random.between(0, 2) == 0)
            spec.shape[random.between(0, shape.size() - 1)] = 1;
        }
        mixed.back().shape = shape;
        out.push_back(make_case(function, formatted("random{}_{}", i, t), mixed));
      }
    }
  }
}

void add_cast_cases(std::vector<Case>& out) {
  const Function& copy = *find_function("copy");
  for (const DType from : all_dtypes) {
    for (const DType to : all_dtypes) {
      for (const Shape& shape : {Shape{1031}, Shape{5, 12}}) {
        std::vector<TensorSpec> tensors(2);
        tensors[0] = {.dtype = from, .shape = shape};
        tensors[1] = {.dtype = to, .shape = shape};
        if (shape.size() == 2) tensors[0].order = {1, 0};
        Case test =
            make_case(copy, formatted("{}_to_{}_{}", name(from), name(to), shape.size()), tensors);
        test.tensors[0].low = is_float(from) && to != DType::u8 && to != DType::u32 ? -90 : 0;
        test.tensors[0].high = 120;
        out.push_back(std::move(test));
      }
    }
  }
}

/// Values past 32 bits survive a copy, also where every dimension is in use.
void add_i64_cases(std::vector<Case>& out) {
  const Function& copy = *find_function("copy");
  for (const Shape& shape : {Shape{37}, Shape{6, 7}, Shape{2, 3, 2, 3, 2, 2, 3, 2}}) {
    auto tensors = same_shape(copy, DType::i64, shape);
    for (std::uint32_t i = static_cast<std::uint32_t>(shape.size()); i-- > 0;) {
      tensors[0].order.push_back(i);
    }
    Case test = make_case(copy, formatted("i64_values_rank{}", shape.size()), tensors);
    test.tensors[0].low = -0x1p45;
    test.tensors[0].high = 0x1p45;
    out.push_back(std::move(test));
  }
}

/// Gated units of a packed tensor: the gate is the first half of each row, the other factor the
/// second.
void add_packed_cases(std::vector<Case>& out) {
  for (const Function& function : functions()) {
    if (function.family != Family::gated) continue;
    for (const DType type : {DType::f32, DType::f16}) {
      constexpr std::uint64_t half = 24;
      Case test =
          make_case(function, formatted("packed_{}", name(type)),
                    {{.dtype = type, .shape = {7, 2 * half}}, {.dtype = type, .shape = {7, half}}});
      test.plan = [&function](std::span<const View> views, const Caps& caps) {
        return plan({.function = function.name,
                     .inputs = {views[0].slice(1, 0, half), views[0].slice(1, half, half)},
                     .y = views[1],
                     .scalars = function.defaults},
                    caps);
      };
      test.reference = [&function](std::span<HostTensor> tensors) {
        for (std::uint64_t i = 0; i < tensors[1].values.size(); ++i) {
          const std::uint64_t at = i / half * 2 * half + i % half;
          tensors[1].values[i] = function.reference(
              tensors[0].values[at], tensors[0].values[at + half], 0, function.defaults);
        }
      };
      out.push_back(std::move(test));
    }
  }
}

void add_transpose_cases(std::vector<Case>& out) {
  const Function& copy = *find_function("copy");
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const Shape& shape : {Shape{64, 64}, Shape{128, 192}, Shape{100, 36}, Shape{67, 129},
                               Shape{3, 40, 70}, Shape{2, 33, 3, 20}}) {
      auto tensors = same_shape(copy, type, shape);
      for (std::uint32_t i = static_cast<std::uint32_t>(shape.size()); i-- > 0;) {
        tensors[0].order.push_back(i);
      }
      std::string label = "transpose";
      for (const std::uint64_t extent : shape) label += formatted("_{}", extent);
      out.push_back(make_case(copy, formatted("{}_{}", label, name(type)), tensors));
      tensors[0].dtype = type == DType::f32 ? DType::bf16 : DType::f32;
      tensors[0].offset = 1;
      out.push_back(make_case(copy, formatted("{}_cast_to_{}", label, name(type)), tensors));
    }
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const Function& function : functions()) add_function_cases(out, function);
  add_wide_cases(out);
  add_range_cases(out);
  add_layout_cases(out, random);
  add_cast_cases(out);
  add_i64_cases(out);
  add_packed_cases(out);
  add_transpose_cases(out);
  add_large_cases(out);
  add_benchmarks(out);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"map", "Elementwise functions of up to three inputs, casts, copies, fills and ranges",
          "f32 f16 bf16 i32 u32 (storage also i64 i8 u8)", cases};
}

}  // namespace weft::ops::map
