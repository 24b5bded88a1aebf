#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/quant/codec.hpp"
#include "ops/quant/quant.hpp"

namespace weft::ops::quant {
namespace {

Case decode_case(std::string name, TensorSpec table, TensorSpec y) {
  Case test;
  test.name = "decode_" + std::move(name);
  y.output = true;
  y.shape = table.shape;
  test.scale = 1;
  test.tensors = {std::move(table), std::move(y)};
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(DecodeArgs{.table = v[0], .y = v[1]}, caps);
  };
  test.reference = [](std::span<HostTensor> t) { t[1].values = t[0].values; };
  return test;
}

/// Rows of a table [B, N, C] by indices [B, R]; some of the indices lie outside.
Case get_case(std::string name, TensorSpec table, TensorSpec index, TensorSpec y) {
  Case test;
  test.name = "get_" + std::move(name);
  const auto rows = static_cast<double>(table.shape[table.shape.size() - 2]);
  index.low = -1;
  index.high = rows;
  y.output = true;
  y.shape = index.shape;
  y.shape.push_back(table.shape.back());
  test.tensors = {std::move(table), std::move(index), std::move(y)};
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(DecodeArgs{.table = v[0], .y = v[2], .indices = v[1]}, caps);
  };
  test.reference = [](std::span<HostTensor> t) {
    const std::uint64_t columns = t[2].shape.back();
    const std::uint64_t rows_of_table = t[0].shape[t[0].shape.size() - 2];
    const std::uint64_t per_batch = t[1].shape.back();
    for (std::uint64_t r = 0; r < t[1].values.size(); ++r) {
      const double row = t[1].values[r];
      const bool good = row >= 0 && row < static_cast<double>(rows_of_table);
      const std::uint64_t batch = t[0].shape.size() > 2 ? r / per_batch : 0;
      for (std::uint64_t c = 0; c < columns; ++c) {
        t[2].values[r * columns + c] =
            good ? t[0].values[(batch * rows_of_table + static_cast<std::uint64_t>(row)) * columns +
                               c]
                 : 0;
      }
    }
  };
  return test;
}

Case copy_case(DType type) {
  const std::uint64_t block = block_elements(type);
  Case test;
  test.name = formatted("copy_{}", name(type));
  test.tensors = {{.dtype = type, .shape = {3, 4, block * 3}, .order = {1, 0, 2}},
                  {.dtype = type, .shape = {3, 4, block * 3}, .output = true, .pad = block}};
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(CopyArgs{.x = v[0], .y = v[1]}, caps);
  };
  test.reference = [](std::span<HostTensor> t) { t[1].set_blocks(t[0].blocks); };
  return test;
}

/// How far a value of [-1, 1] may lie from what a block keeps of it: half a step or, at the end of
/// the range, a whole one, and what the scales lose.
double coarseness(DType type) {
  switch (type) {
    case DType::q1_0: return 0.7;
    case DType::q2_0:
    case DType::tq1_0:
    case DType::tq2_0: return 0.51;
    case DType::q2_k: return 0.45;
    case DType::q3_k: return 0.3;
    case DType::mxfp4: return 0.27;
    case DType::nvfp4: return 0.2;
    case DType::q4_0:
    case DType::iq4_nl:
    case DType::iq4_xs: return 0.14;
    case DType::q4_1:
    case DType::q4_k: return 0.1;
    case DType::q5_0: return 0.07;
    case DType::q5_1:
    case DType::q5_k:
    case DType::q6_k: return 0.05;
    default: return 0.005;
  }
}

Case encode_case(std::string name, TensorSpec x, TensorSpec table) {
  Case test;
  test.name = "encode_" + std::move(name);
  table.output = true;
  table.shape = x.shape;
  test.epsilons = coarseness(table.dtype) * 0x1p23;
  test.tensors = {std::move(x), std::move(table)};
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(EncodeArgs{.x = v[0], .table = v[1]}, caps);
  };
  test.reference = [](std::span<HostTensor> t) { t[1].values = t[0].values; };
  return test;
}

/// One row per batch into a table [B, N, C].
Case set_case(std::string name, TensorSpec x, TensorSpec index, TensorSpec table) {
  Case test;
  test.name = "set_" + std::move(name);
  test.epsilons = coarseness(table.dtype) * 0x1p23;
  const std::uint64_t rows = table.shape[table.shape.size() - 2];
  index.low = index.high = static_cast<double>(rows) - 2;
  table.output = true;
  test.tensors = {std::move(x), std::move(index), std::move(table)};
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(EncodeArgs{.x = v[0], .table = v[2], .indices = v[1]}, caps);
  };
  test.reference = [rows](std::span<HostTensor> t) {
    const std::uint64_t columns = t[2].shape.back();
    const std::uint64_t per_batch = t[1].shape.back();
    for (std::uint64_t r = 0; r < t[1].values.size(); ++r) {
      const double row = t[1].values[r];
      if (row < 0 || row >= static_cast<double>(rows)) continue;
      const std::uint64_t to = r / per_batch * rows + static_cast<std::uint64_t>(row);
      for (std::uint64_t c = 0; c < columns; ++c) {
        t[2].values[to * columns + c] = t[0].values[r * columns + c];
      }
    }
  };
  return test;
}

void add_encode_cases(std::vector<Case>& out) {
  for (const DType type : quantized_dtypes) {
    if (!can_quantize(type)) continue;
    const std::uint64_t block = block_elements(type);
    out.push_back(encode_case(formatted("{}", name(type)), {.shape = {3, block * 3}},
                              {.dtype = type, .pad = block, .offset = block}));
  }
  out.push_back(encode_case(
      "turned_f16", {.dtype = DType::f16, .shape = {3, 5, 64}, .order = {2, 1, 0}, .offset = 1},
      {.dtype = DType::q8_0, .order = {1, 0, 2}}));
  out.push_back(encode_case("past_one_binding", {.shape = {1000, 1024}}, {.dtype = DType::q5_0}));
  out.push_back(
      encode_case("zeros_q4_K", {.shape = {2, 256}, .low = 0, .high = 0}, {.dtype = DType::q4_k}));
  out.push_back(
      encode_case("zeros_q6_K", {.shape = {2, 256}, .low = 0, .high = 0}, {.dtype = DType::q6_k}));
  out.push_back(set_case("one_row_q4_0", {.shape = {3, 1, 96}},
                         {.dtype = DType::i64, .shape = {3, 1}},
                         {.dtype = DType::q4_0, .shape = {3, 5, 96}}));
  out.push_back(set_case("one_row_mxfp4", {.dtype = DType::f16, .shape = {1, 32}},
                         {.dtype = DType::i32, .shape = {1}},
                         {.dtype = DType::mxfp4, .shape = {7, 32}}));
  out.push_back(set_case("past_one_binding", {.shape = {1, 1024}},
                         {.dtype = DType::i32, .shape = {1}},
                         {.dtype = DType::q8_0, .shape = {1500, 1024}}));
  Case bench =
      encode_case("bench_f32_to_q8_0_4096x4096", {.shape = {4096, 4096}}, {.dtype = DType::q8_0});
  bench.test = false;
  bench.bench = true;
  out.push_back(std::move(bench));
}

std::vector<Case> cases(std::uint64_t /*seed*/) {
  std::vector<Case> out;
  for (const DType type : quantized_dtypes) {
    const std::uint64_t block = block_elements(type);
    out.push_back(
        decode_case(formatted("{}", name(type)), {.dtype = type, .shape = {5, block * 3}}, {}));
    out.push_back(get_case(formatted("{}", name(type)),
                           {.dtype = type, .shape = {7, block * 3}, .offset = block},
                           {.dtype = DType::i32, .shape = {9}}, {}));
    out.push_back(copy_case(type));
  }
  for (const DType to : {DType::f16, DType::bf16}) {
    out.push_back(decode_case(formatted("q4_0_to_{}", name(to)),
                              {.dtype = DType::q4_0, .shape = {3, 2, 96}, .order = {1, 0, 2}},
                              {.dtype = to}));
    out.push_back(decode_case(formatted("q6_K_to_turned_{}", name(to)),
                              {.dtype = DType::q6_k, .shape = {3, 5, 256}, .pad = 256},
                              {.dtype = to, .order = {2, 0, 1}, .offset = 1}));
  }
  out.push_back(
      decode_case("five_dimensions",
                  {.dtype = DType::q8_0, .shape = {2, 3, 2, 2, 64}, .order = {2, 1, 0, 3, 4}},
                  {.order = {1, 0, 3, 2, 4}}));
  out.push_back(decode_case("past_one_binding", {.dtype = DType::q8_0, .shape = {1500, 1024}}, {}));
  out.push_back(decode_case("empty", {.dtype = DType::q8_0, .shape = {0, 64}}, {}));
  out.push_back(decode_case("one_row", {.dtype = DType::mxfp4, .shape = {320}}, {}));
  out.push_back(get_case("batches", {.dtype = DType::q5_0, .shape = {3, 6, 64}},
                         {.dtype = DType::i64, .shape = {3, 5}}, {.dtype = DType::f16}));
  out.push_back(get_case("past_one_binding", {.dtype = DType::q4_0, .shape = {3000, 1024}},
                         {.dtype = DType::i32, .shape = {300}}, {}));
  add_encode_cases(out);
  const auto bench = [&](DType type, DType to) {
    Case test = decode_case(formatted("bench_{}_to_{}_4096x14336", name(type), name(to)),
                            {.dtype = type, .shape = {4096, 14336}}, {.dtype = to});
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  bench(DType::q4_0, DType::f16);
  bench(DType::q4_k, DType::f16);
  bench(DType::q6_k, DType::f16);
  return out;
}

}  // namespace

Op describe_op() {
  return {"quant", "Values out of and into the blocks of quantized tensors, whole or by rows",
          "every quantized type (plain tensors f32 f16 bf16, indices i32 i64)", cases};
}

}  // namespace weft::ops::quant
