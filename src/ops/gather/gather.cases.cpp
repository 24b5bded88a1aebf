#include "ops/gather/gather.hpp"

#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::gather {
namespace {

using Shape = std::vector<std::uint64_t>;

std::size_t place(const Shape& shape, std::span<const std::uint64_t> at) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) n = n * shape[i] + at[i];
  return n;
}

/// Calls visit(position in the index's shape, position in x or "bad") for every index.
template <class Visit>
void for_each_index(const HostTensor& x, const HostTensor& index, std::uint32_t axis,
                    Visit&& visit) {
  std::size_t n = 0;
  for (Index i(index.shape); !i.done(); i.next(), ++n) {
    Shape at(i.values().begin(), i.values().end());
    const double value = index.values[n];
    const bool good = value >= 0 && value < static_cast<double>(x.shape[axis]);
    at[axis] = good ? static_cast<std::uint64_t>(value) : 0;
    visit(n, place(x.shape, at), good);
  }
}

/// The count of bad indices and the complement of the position of the first, counted with `axis`
/// last.
void set_status(std::span<HostTensor> t, std::uint32_t axis) {
  if (t.size() < 4) return;
  const HostTensor& x = t[0];
  const HostTensor& index = t[1];
  double count = 0;
  double first = 0;
  Shape order = index.shape;
  order.erase(order.begin() + axis);
  order.push_back(index.shape[axis]);
  double position = 0;
  for (Index i(order); !i.done(); i.next(), ++position) {
    Shape at(i.values().begin(), i.values().end());
    at.insert(at.begin() + axis, at.back());
    at.pop_back();
    const double value = index.values[place(index.shape, at)];
    if (value >= 0 && value < static_cast<double>(x.shape[axis])) continue;
    if (count++ == 0) first = 4294967295.0 - position;
  }
  t[3].values = {count, first};
}

void fill_index(const TensorSpec& x, TensorSpec& index, std::uint32_t axis, bool bad) {
  index.dtype = index.dtype == DType::i64 ? DType::i64 : DType::i32;
  index.low = bad ? -2 : 0;
  index.high = static_cast<double>(x.shape[axis]) - (bad ? -1 : 1);
}

TensorSpec status_spec() {
  return {.dtype = DType::u32, .shape = {2}, .low = 0, .high = 0, .output = true};
}

/// Tensors {x, index, y} and status if there are bad indices.
Case gather_case(const std::string& label, TensorSpec x, TensorSpec index, TensorSpec y,
                 std::uint32_t axis, bool bad = true) {
  Case test;
  test.name = "gather_" + label;
  test.epsilons = 0;
  fill_index(x, index, axis, bad);
  if (x.dtype == DType::i32) {
    x.low = -1000;
    x.high = 1000;
  }
  y.shape = index.shape;
  y.output = true;
  test.tensors = {std::move(x), std::move(index), std::move(y)};
  if (bad) test.tensors.push_back(status_spec());
  test.plan = [axis](std::span<const View> v, const Caps& caps) {
    return plan(GatherArgs{.x = v[0],
                           .index = v[1],
                           .y = v[2],
                           .axis = axis,
                           .status = v.size() > 3 ? v[3] : View{}},
                caps);
  };
  test.reference = [axis](std::span<HostTensor> t) {
    for_each_index(t[0], t[1], axis, [&](std::size_t n, std::size_t from, bool good) {
      t[2].values[n] = good ? round_to(t[2].dtype, t[0].values[from]) : 0;
    });
    set_status(t, axis);
  };
  return test;
}

/// Tensors {y, index, source} and status if there are bad indices.
Case scatter_case(const std::string& label, TensorSpec y, TensorSpec index, TensorSpec source,
                  std::uint32_t axis, bool bad = true) {
  Case test;
  test.name = "scatter_add_" + label;
  test.epsilons = 16;
  // The indices of rows have no dimension for the columns; their caller sets the scale itself.
  if (axis < index.shape.size()) test.scale = std::sqrt(static_cast<double>(index.shape[axis]));
  fill_index(y, index, axis, bad);
  if (y.dtype == DType::i32) {
    source.low = y.low = -1000;
    source.high = y.high = 1000;
  }
  source.shape = index.shape;
  y.output = true;
  test.tensors = {std::move(y), std::move(index), std::move(source)};
  if (bad) test.tensors.push_back(status_spec());
  test.plan = [axis](std::span<const View> v, const Caps& caps) {
    return plan(ScatterAddArgs{.source = v[2],
                               .index = v[1],
                               .y = v[0],
                               .axis = axis,
                               .status = v.size() > 3 ? v[3] : View{}},
                caps);
  };
  test.reference = [axis](std::span<HostTensor> t) {
    for_each_index(t[0], t[1], axis, [&](std::size_t n, std::size_t to, bool good) {
      if (good) t[0].values[to] += t[2].values[n];
    });
    set_status(t, axis);
  };
  return test;
}

/// Tensors {table, indices, source}; indices have the source's shape without columns.
Case add_rows_case(const std::string& label, TensorSpec table, TensorSpec indices,
                   TensorSpec source, bool status = false) {
  Case test = scatter_case(label, table, indices, source,
                           static_cast<std::uint32_t>(table.shape.size() - 2), false);
  test.name = "add_rows_" + label;
  test.tensors[2].shape = source.shape;
  test.scale = std::sqrt(static_cast<double>(indices.shape.back()));
  fill_index(table, test.tensors[1], static_cast<std::uint32_t>(table.shape.size() - 2), true);
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(
        AddRowsArgs{
            .source = v[2], .indices = v[1], .table = v[0], .status = v.size() > 3 ? v[3] : View{}},
        caps);
  };
  if (status) test.tensors.push_back(status_spec());
  test.reference = [](std::span<HostTensor> t) {
    const auto rows = static_cast<double>(t[0].shape[t[0].shape.size() - 2]);
    for (std::size_t i = t[1].values.size(); t.size() > 3 && i-- > 0;) {
      if (t[1].values[i] >= 0 && t[1].values[i] < rows) continue;
      t[3].values = {t[3].values[0] + 1, 4294967295.0 - static_cast<double>(i)};
    }
    HostTensor wide{t[1].dtype, t[2].shape, {}};
    const std::uint64_t columns = t[2].shape.back();
    for (std::size_t i = 0; i < t[2].values.size(); ++i)
      wide.values.push_back(t[1].values[i / columns % t[1].values.size()]);
    for_each_index(t[0], wide, static_cast<std::uint32_t>(t[0].shape.size() - 2),
                   [&](std::size_t n, std::size_t to, bool good) {
                     if (good) t[0].values[to] += t[2].values[n];
                   });
  };
  return test;
}

void add_gather_cases(std::vector<Case>& out) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32}) {
    for (const std::uint32_t axis : {0U, 1U, 2U}) {
      out.push_back(gather_case(formatted("axis{}_{}", axis, name(type)),
                                {.dtype = type, .shape = {5, 6, 7}},
                                {.dtype = axis == 1 ? DType::i64 : DType::i32, .shape = {5, 6, 7}},
                                {.dtype = type}, axis));
    }
  }
  out.push_back(gather_case("smaller_index", {.shape = {5, 6, 7}}, {.shape = {3, 9, 4}}, {}, 1));
  out.push_back(
      gather_case("f32_to_f16", {.shape = {5, 60}}, {.shape = {5, 33}}, {.dtype = DType::f16}, 1));
  out.push_back(gather_case("strided", {.shape = {5, 60}, .order = {1, 0}, .offset = 3},
                            {.shape = {5, 33}, .pad = 2}, {.step = 2}, 1));
  out.push_back(gather_case("one", {.shape = {1}}, {.shape = {1}}, {}, 0, false));
  out.push_back(gather_case("empty", {.shape = {4, 3}}, {.shape = {0, 3}}, {}, 0, false));
  out.push_back(gather_case("large", {.shape = {700, 800}}, {.shape = {500, 800}}, {}, 0));
  out.push_back(gather_case("large_line", {.shape = {600000}}, {.shape = {300000}}, {}, 0));
}

void add_scatter_cases(std::vector<Case>& out) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32}) {
    for (const std::uint32_t axis : {0U, 1U, 2U}) {
      out.push_back(scatter_case(formatted("axis{}_{}", axis, name(type)),
                                 {.dtype = type, .shape = {5, 6, 7}},
                                 {.dtype = axis == 1 ? DType::i64 : DType::i32, .shape = {5, 6, 7}},
                                 {.dtype = type}, axis));
    }
  }
  const auto add = [&](const std::string& label, TensorSpec y, TensorSpec index, TensorSpec source,
                       std::uint32_t axis, bool bad = true) {
    out.push_back(
        scatter_case(label, std::move(y), std::move(index), std::move(source), axis, bad));
  };
  add("smaller_index", {.shape = {5, 6, 7}}, {.shape = {3, 9, 4}}, {}, 1);
  add("f32_to_f16", {.dtype = DType::f16, .shape = {5, 60}}, {.shape = {5, 33}}, {}, 1);
  add("many_to_one", {.shape = {3, 4}}, {.shape = {500, 4}}, {}, 0);
  add("long_line", {.shape = {40}}, {.shape = {3000}}, {}, 0);
  add("strided_f16", {.dtype = DType::f16, .shape = {5, 60}, .order = {1, 0}, .offset = 3},
      {.shape = {5, 33}, .pad = 2}, {.step = 2}, 1);
  add("one", {.shape = {1}}, {.shape = {1}}, {}, 0, false);
  add("empty", {.shape = {4, 3}}, {.shape = {0, 3}}, {}, 0, false);
  add("rank8", {.shape = {2, 2, 1, 3, 2, 2, 4, 3}, .order = {7, 1, 3, 0, 2, 5, 4, 6}},
      {.shape = {2, 2, 1, 3, 2, 2, 4, 3}}, {}, 6);
  add("shared_index", {.shape = {20, 64}}, {.shape = {50, 64}, .repeat = {1}}, {}, 0);
  out.back().tensors.pop_back();  // the status counts a repeated index once
  add("shared_index_few_columns", {.shape = {20, 5}}, {.shape = {50, 5}, .repeat = {1}}, {}, 0);
  out.back().tensors.pop_back();  // the status counts a repeated index once
  add("large", {.shape = {10, 70000}}, {.shape = {12, 70000}}, {}, 0);
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    out.push_back(add_rows_case(formatted("{}", name(type)), {.dtype = type, .shape = {20, 64}},
                                {.shape = {300}}, {.dtype = type, .shape = {300, 64}}));
    out.push_back(add_rows_case(formatted("odd_{}", name(type)), {.dtype = type, .shape = {20, 65}},
                                {.dtype = DType::i64, .shape = {40}}, {.shape = {40, 65}}));
  }
  out.push_back(add_rows_case("batched", {.shape = {2, 3, 9, 40}}, {.shape = {2, 3, 11}},
                              {.shape = {2, 3, 11, 40}}, true));
  out.push_back(add_rows_case("shared_indices", {.shape = {4, 9, 40}}, {.shape = {11}},
                              {.shape = {4, 11, 40}}));
  out.push_back(
      add_rows_case("wide", {.shape = {7, 2100}}, {.shape = {10}}, {.shape = {10, 2100}}));
  out.push_back(add_rows_case("large_table", {.shape = {2000, 260}}, {.shape = {60}},
                              {.shape = {60, 260}}, true));
  out.push_back(add_rows_case("large_source", {.shape = {30, 600}}, {.shape = {700}},
                              {.shape = {700, 600}}, true));
  out.push_back(add_rows_case("long_rows", {.shape = {3, 300000}}, {.shape = {4}},
                              {.shape = {4, 300000}}, true));
}

/// Lines of many entries, which are sorted first.
void add_sorted_cases(std::vector<Case>& out) {
  out.push_back(scatter_case("many_lines", {.shape = {3, 90, 5}}, {.shape = {3, 400, 5}}, {}, 1));
  // So many lines that each goes through its entries alone, on a processor and on a large GPU.
  out.push_back(scatter_case("serial", {.shape = {50, 100}}, {.shape = {300, 100}}, {}, 0));
  out.push_back(scatter_case("serial_i32", {.dtype = DType::i32, .shape = {2, 7, 90}, .pad = 3},
                             {.shape = {2, 133, 90}}, {.dtype = DType::i32, .shape = {}}, 1));
  out.push_back(scatter_case("serial_many", {.shape = {20, 2200}}, {.shape = {130, 2200}}, {}, 0));
  out.push_back(scatter_case("many_f16", {.dtype = DType::f16, .shape = {33}},
                             {.dtype = DType::i64, .shape = {700}}, {.dtype = DType::f16}, 0));
  out.push_back(scatter_case("many_i32", {.dtype = DType::i32, .shape = {9, 7}, .order = {1, 0}},
                             {.shape = {300, 7}}, {.dtype = DType::i32}, 0));
  for (const DType type : {DType::f32, DType::f16}) {
    out.push_back(add_rows_case(formatted("many_odd_{}", name(type)),
                                {.dtype = type, .shape = {500, 35}, .offset = 1}, {.shape = {900}},
                                {.dtype = type, .shape = {900, 35}}, true));
  }
  out.push_back(add_rows_case("many_few_columns", {.shape = {4000, 3}}, {.shape = {5000}},
                              {.shape = {5000, 3}}));
  out.push_back(add_rows_case("many_batched", {.shape = {2, 40, 36}}, {.shape = {2, 300}},
                              {.shape = {2, 300, 36}}, true));
  Case same =
      add_rows_case("many_same", {.shape = {10, 64}}, {.shape = {2000}}, {.shape = {2000, 64}});
  same.tensors[1].low = same.tensors[1].high = 3;
  out.push_back(std::move(same));
  // Past one binding of the masked run by the table, and by the keys alone, which then are not
  // sorted.
  out.push_back(add_rows_case("many_to_large_table", {.shape = {3000, 130}}, {.shape = {400}},
                              {.shape = {400, 130}}, true));
  out.push_back(
      scatter_case("many_keys", {.dtype = DType::f16, .shape = {300000}}, {.shape = {200}}, {}, 0));
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_gather_cases(out);
  add_scatter_cases(out);
  add_sorted_cases(out);
  for (int i = 0; i < 6; ++i) {
    Shape shape(random.between(1, 4));
    for (std::uint64_t& extent : shape) extent = random.between(1, 9);
    const auto axis = static_cast<std::uint32_t>(random.between(0, shape.size() - 1));
    Shape smaller = shape;
    for (std::uint64_t& extent : smaller) extent = random.between(1, extent);
    smaller[axis] = random.between(1, 20);
    const DType type = random.pick<DType>({DType::f32, DType::f16, DType::bf16});
    TensorSpec x{
        .dtype = type, .shape = shape, .pad = random.between(0, 3), .offset = random.between(0, 3)};
    TensorSpec index{.dtype = random.pick<DType>({DType::i32, DType::i64}),
                     .shape = smaller,
                     .pad = random.between(0, 2)};
    TensorSpec other{.dtype = type, .pad = random.between(0, 3), .offset = random.between(0, 3)};
    out.push_back(gather_case(formatted("random{}", i), x, index, other, axis));
    out.push_back(scatter_case(formatted("random{}", i), x, index, other, axis));
  }
  const auto bench = [&](Case test, double bytes) {
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    test.bytes = bytes;
    out.push_back(std::move(test));
  };
  bench(gather_case("axis1_4096x4096_f32", {.shape = {4096, 4096}}, {.shape = {4096, 4096}}, {}, 1,
                    false),
        0);
  bench(scatter_case("axis0_512_to_4096x4096_f32", {.shape = {4096, 4096}}, {.shape = {512, 4096}},
                     {}, 0, false),
        512.0 * 4096 * 16);
  bench(add_rows_case("2048_to_32000x4096_f32", {.shape = {32000, 4096}}, {.shape = {2048}},
                      {.shape = {2048, 4096}}),
        2048.0 * 4096 * 12);
  bench(add_rows_case("32768_to_50257x768_f32", {.shape = {50257, 768}}, {.shape = {32768}},
                      {.shape = {32768, 768}}),
        32768.0 * 768 * 12);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"gather",
          "gather, and scatter_add and its form for whole rows, which give the same result in "
          "every run",
          "f32 f16 bf16 i32 (indices i32 i64)", cases};
}

}  // namespace weft::ops::gather
