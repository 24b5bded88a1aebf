#include "ops/rows/rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "ops/rows/cases.hpp"

namespace weft::ops::rows {
namespace {

using Shape = std::vector<std::uint64_t>;

/// Position of `at` (`at_dims` long) in the first `dims` dimensions of a tensor that broadcasts to
/// it.
std::size_t place(const Shape& shape, std::size_t dims, std::span<const std::uint64_t> at,
                  std::size_t at_dims) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < dims; ++i)
    n = n * shape[i] + (shape[i] == 1 ? 0 : at[at_dims - dims + i]);
  return n;
}

struct BadIndices {
  double count = 0;
  double first = 0;  // complement of the position
};

/// Calls move(flat row, table row or -1) for every index, and counts the bad ones.
template <class Move>
BadIndices for_each_row(const Shape& lead, const HostTensor& table, const HostTensor& flat,
                        const HostTensor& indices, Move&& move) {
  BadIndices bad;
  Shape space(lead.begin(), lead.end() - 2);
  const std::size_t batches = space.size();
  space.push_back(flat.shape[flat.shape.size() - 2]);
  const auto rows = static_cast<double>(table.shape[table.shape.size() - 2]);
  double position = 0;
  for (Index i(space); !i.done(); i.next(), ++position) {
    const double index =
        indices.values[place(indices.shape, indices.shape.size(), i.values(), batches + 1)];
    const std::size_t flat_row = place(flat.shape, flat.shape.size() - 1, i.values(), batches + 1);
    const std::size_t batch = place(table.shape, table.shape.size() - 2, i.values(), batches);
    if (index < 0 || index >= rows) {
      if (bad.count++ == 0) bad.first = 4294967295.0 - position;
      move(flat_row, std::size_t{0}, false);
    } else {
      move(flat_row, batch * static_cast<std::size_t>(rows) + static_cast<std::size_t>(index),
           true);
    }
  }
  return bad;
}

void set_status(std::span<HostTensor> tensors, const BadIndices& bad) {
  if (tensors.size() < 4) return;
  tensors[3].values = {bad.count, bad.first};
}

/// Tensors {table, indices, y} and status if there are bad indices.
Case get_case(const std::string& label, TensorSpec table, TensorSpec indices, TensorSpec y,
              bool bad = false) {
  Case test;
  test.name = "get_" + label;
  test.epsilons = 0;
  const std::uint64_t rows = table.shape[table.shape.size() - 2];
  indices.dtype = indices.dtype == DType::i64 ? DType::i64 : DType::i32;
  indices.low = bad ? -2 : 0;
  indices.high = static_cast<double>(rows) - (bad ? -2 : 1);
  if (table.dtype == DType::i32) table.low = -1000, table.high = 1000;
  y.output = true;
  test.tensors = {std::move(table), std::move(indices), std::move(y)};
  if (bad)
    test.tensors.push_back(
        {.dtype = DType::u32, .shape = {2}, .low = 0, .high = 0, .output = true});
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(
        GetArgs{.table = v[0], .indices = v[1], .y = v[2], .status = v.size() > 3 ? v[3] : View{}},
        caps);
  };
  test.reference = [](std::span<HostTensor> t) {
    const std::size_t columns = t[2].shape.back();
    const auto move = [&](std::size_t to, std::size_t from, bool good) {
      for (std::size_t c = 0; c < columns; ++c) {
        t[2].values[to * columns + c] =
            good ? round_to(t[2].dtype, t[0].values[from * columns + c]) : 0;
      }
    };
    set_status(t, for_each_row(t[2].shape, t[0], t[2], t[1], move));
  };
  return test;
}

/// Tensors {table, indices, y, plus}; in place of y where `in_place`.
Case plus_case(const std::string& label, TensorSpec table, TensorSpec indices, TensorSpec y,
               bool in_place) {
  Case test = get_case("plus_" + label, std::move(table), std::move(indices), std::move(y));
  test.tensors[1].low = -2;  // bad ones too
  test.epsilons = 1;
  if (!in_place) {
    test.tensors.push_back(test.tensors[2]);
    test.tensors[3].output = false;
  }
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(GetArgs{.table = v[0], .indices = v[1], .y = v[2], .plus = v.back()}, caps);
  };
  test.reference = [](std::span<HostTensor> t) {
    const std::size_t columns = t[2].shape.back();
    const auto move = [&](std::size_t to, std::size_t from, bool good) {
      for (std::size_t c = to * columns; c < (to + 1) * columns; ++c) {
        const double row = good ? t[0].values[from * columns + c - to * columns] : 0;
        t[2].values[c] = round_to(t[2].dtype, row + t.back().values[c]);
      }
    };
    for_each_row(t[2].shape, t[0], t[2], t[1], move);
  };
  return test;
}

/// Tensors {table, indices, source} and status. Where an index may appear twice, the source rows
/// must be equal.
Case set_case(const std::string& label, TensorSpec table, TensorSpec indices, TensorSpec source,
              bool bad = false) {
  Case test = get_case(label, std::move(table), std::move(indices), std::move(source), bad);
  test.name.replace(0, 3, "set");
  test.tensors[0].output = true;
  test.tensors[2].output = false;
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(
        SetArgs{
            .source = v[2], .indices = v[1], .table = v[0], .status = v.size() > 3 ? v[3] : View{}},
        caps);
  };
  test.reference = [](std::span<HostTensor> t) {
    const std::size_t columns = t[2].shape.back();
    const auto move = [&](std::size_t from, std::size_t to, bool good) {
      for (std::size_t c = 0; good && c < columns; ++c) {
        t[0].values[to * columns + c] = round_to(t[0].dtype, t[2].values[from * columns + c]);
      }
    };
    set_status(t, for_each_row(t[0].shape, t[0], t[2], t[1], move));
  };
  return test;
}

void add_get_cases(std::vector<Case>& out) {
  for (const DType from : {DType::f32, DType::f16, DType::bf16, DType::i32}) {
    for (const DType to : {DType::f32, DType::f16, DType::bf16, DType::i32}) {
      if (to == DType::i32 && from != DType::i32) continue;
      out.push_back(get_case(formatted("{}_to_{}", name(from), name(to)),
                             {.dtype = from, .shape = {20, 64}}, {.shape = {7}},
                             {.dtype = to, .shape = {7, 64}}));
    }
  }
  for (const std::uint64_t c : {1U, 2U, 3U, 6U, 12U, 257U}) {
    for (const DType type : {DType::f32, DType::f16}) {
      out.push_back(get_case(formatted("columns_{}_{}", c, name(type)),
                             {.dtype = type, .shape = {20, c}}, {.dtype = DType::i64, .shape = {9}},
                             {.dtype = type, .shape = {9, c}}, true));
    }
  }
  const auto add = [&](const std::string& label, TensorSpec table, TensorSpec indices, TensorSpec y,
                       bool bad = false) {
    out.push_back(get_case(label, std::move(table), std::move(indices), std::move(y), bad));
  };
  add("batched", {.shape = {2, 3, 10, 16}}, {.shape = {2, 3, 5}}, {.shape = {2, 3, 5, 16}}, true);
  add("three_batches", {.shape = {2, 2, 3, 10, 16}}, {.shape = {2, 3, 5}},
      {.shape = {2, 2, 3, 5, 16}}, true);
  add("shared_indices", {.shape = {2, 3, 10, 16}}, {.shape = {1, 3, 5}}, {.shape = {2, 3, 5, 16}},
      true);
  add("shared_table", {.shape = {10, 16}}, {.shape = {2, 3, 5}}, {.shape = {2, 3, 5, 16}});
  add("one_row", {.shape = {4, 10, 16}}, {.shape = {4, 1}}, {.shape = {4, 1, 16}});
  add("one_row_shared", {.shape = {1, 10, 16}}, {.shape = {4, 1}}, {.shape = {4, 1, 16}});
  add("no_indices", {.shape = {10, 16}}, {.shape = {0}}, {.shape = {0, 16}});
  add("transposed_table", {.shape = {10, 16}, .order = {1, 0}}, {.shape = {5}}, {.shape = {5, 16}});
  add("transposed_y_f16", {.dtype = DType::f16, .shape = {10, 16}}, {.shape = {5}},
      {.dtype = DType::f16, .shape = {5, 16}, .order = {1, 0}});
  add("padded", {.dtype = DType::f16, .shape = {10, 16}, .pad = 4, .offset = 4},
      {.shape = {5}, .step = 2}, {.dtype = DType::f16, .shape = {5, 16}, .pad = 8});
  add("odd_offsets_bf16", {.dtype = DType::bf16, .shape = {10, 16}, .offset = 1},
      {.shape = {5}, .offset = 1}, {.dtype = DType::bf16, .shape = {5, 16}, .offset = 3});
  add("large_table", {.shape = {3000, 260}}, {.shape = {300}}, {.shape = {300, 260}}, true);
  add("large_result_f16", {.dtype = DType::f16, .shape = {50, 512}}, {.shape = {2, 1500}},
      {.dtype = DType::f16, .shape = {2, 1500, 512}}, true);
  add("large_batches", {.shape = {300, 5, 256}}, {.shape = {300, 2}}, {.shape = {300, 2, 256}},
      true);
  add("long_rows", {.shape = {3, 300000}}, {.shape = {2}}, {.shape = {2, 300000}}, true);
  const auto add_plus = [&](const std::string& label, TensorSpec table, TensorSpec y,
                            bool in_place) {
    TensorSpec indices{.shape = {y.shape.begin(), y.shape.end() - 1}};
    out.push_back(plus_case(label, std::move(table), std::move(indices), std::move(y), in_place));
  };
  add_plus("f32", {.shape = {1, 20, 64}}, {.shape = {3, 7, 64}}, false);
  add_plus("in_place_f32", {.shape = {20, 6}}, {.shape = {7, 6}}, true);
  add_plus("f16", {.shape = {20, 16}}, {.dtype = DType::f16, .shape = {7, 16}}, false);
  add_plus("odd_f16", {.dtype = DType::f16, .shape = {20, 7}},
           {.dtype = DType::f16, .shape = {7, 7}, .offset = 1}, false);
  add_plus("large", {.shape = {1200, 260}}, {.shape = {2, 700, 260}}, false);
  add_plus("long_rows", {.shape = {3, 300000}}, {.shape = {2, 300000}}, false);
}

void add_set_cases(std::vector<Case>& out) {
  const auto add = [&](const std::string& label, TensorSpec table, TensorSpec indices,
                       TensorSpec source, bool bad = false) {
    out.push_back(set_case(label, std::move(table), std::move(indices), std::move(source), bad));
  };
  // One index per batch keeps random indices free of duplicates.
  for (const DType from : {DType::f32, DType::f16}) {
    for (const DType to : {DType::f32, DType::f16, DType::bf16}) {
      add(formatted("{}_to_{}", name(from), name(to)), {.dtype = to, .shape = {6, 9, 32}},
          {.dtype = DType::i64, .shape = {6, 1}}, {.dtype = from, .shape = {6, 1, 32}}, true);
    }
  }
  add("i32", {.dtype = DType::i32, .shape = {6, 9, 5}}, {.shape = {6, 1}},
      {.dtype = DType::i32, .shape = {6, 1, 5}});
  out.back().tensors[2].low = -50;
  for (const std::uint64_t c : {1U, 2U, 3U, 6U, 257U}) {
    add(formatted("columns_{}_f16", c), {.dtype = DType::f16, .shape = {8, 4, c}},
        {.shape = {8, 1}}, {.shape = {8, 1, c}}, true);
  }
  add("shared_indices", {.shape = {2, 3, 10, 16}}, {.shape = {1, 3, 1}}, {.shape = {2, 3, 1, 16}},
      true);
  add("shared_source", {.shape = {2, 3, 10, 16}}, {.shape = {3, 1}}, {.shape = {1, 3, 1, 16}});
  add("transposed_bf16", {.dtype = DType::bf16, .shape = {4, 10, 16}, .order = {0, 2, 1}},
      {.shape = {4, 1}}, {.shape = {4, 1, 16}});
  add("padded_f16", {.dtype = DType::f16, .shape = {4, 10, 16}, .pad = 2, .offset = 2},
      {.shape = {4, 1}}, {.shape = {4, 1, 16}, .pad = 1});
  add("no_indices", {.shape = {10, 16}}, {.shape = {0}}, {.shape = {0, 16}});
  add("large_table", {.shape = {4, 400, 300}}, {.shape = {4, 1}}, {.shape = {4, 1, 300}}, true);
  // Equal source rows make the order of duplicates irrelevant.
  add("many_rows_f16", {.dtype = DType::f16, .shape = {500, 40}}, {.shape = {700}},
      {.shape = {700, 40}, .repeat = {0}}, true);
  add("permuted_f16", {.dtype = DType::f16, .shape = {1000, 40}},
      {.shape = {1000}, .fill = Fill::permutation},
      {.shape = {1000, 40}, .fill = Fill::integers, .low = -500, .high = 500});
}

void add_random_cases(std::vector<Case>& out, Random& random) {
  for (int i = 0; i < 8; ++i) {
    const DType from = random.pick<DType>({DType::f32, DType::f16, DType::bf16});
    const DType to = random.pick<DType>({DType::f32, DType::f16, DType::bf16});
    Shape batch(random.between(0, 3));
    for (std::uint64_t& extent : batch) extent = random.between(1, 4);
    const std::uint64_t columns = random.between(1, 40);
    const std::uint64_t count = random.between(1, 9);
    const auto with = [&](std::initializer_list<std::uint64_t> last) {
      Shape shape = batch;
      shape.insert(shape.end(), last);
      return shape;
    };
    TensorSpec table{.dtype = from, .shape = with({random.between(1, 12), columns})};
    TensorSpec indices{.dtype = random.pick<DType>({DType::i32, DType::i64}),
                       .shape = with({count})};
    TensorSpec y{.dtype = to, .shape = with({count, columns})};
    for (TensorSpec* spec : {&table, &indices, &y}) {
      spec->offset = random.between(0, 3);
      spec->pad = random.between(0, 3);
    }
    out.push_back(get_case(formatted("random{}", i), table, indices, y, true));
    table.dtype = to;
    y.dtype = from;
    y.repeat = {static_cast<std::uint32_t>(y.shape.size() - 2)};
    out.push_back(set_case(formatted("random{}", i), table, indices, y, true));
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_get_cases(out);
  add_set_cases(out);
  add_random_cases(out, random);
  add_outside_cases(out);
  const auto bench = [&](Case test, double bytes) {
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    test.bytes = bytes;
    out.push_back(std::move(test));
  };
  constexpr std::uint64_t c = 4096;
  bench(get_case("512_of_32000x4096_f16", {.dtype = DType::f16, .shape = {32000, c}},
                 {.shape = {512}}, {.dtype = DType::f16, .shape = {512, c}}),
        512.0 * c * 4);
  bench(set_case("512_of_32000x4096_f32_to_f16", {.dtype = DType::f16, .shape = {32000, c}},
                 {.dtype = DType::i64, .shape = {512}}, {.shape = {512, c}}),
        512.0 * c * 6);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"rows", "Rows of a table by index: get_rows and set_rows, with bad indices reported",
          "f32 f16 bf16 i32 (indices i32 i64)", cases};
}

}  // namespace weft::ops::rows
