
#include "base/format.hpp"
#include "ops/gemm/cases.hpp"

namespace weft::ops::gemm {
namespace {

void add(std::vector<Case>& out, Spec spec) {
  spec.name = "bench_" + spec.name;
  spec.fill = Fill::uniform;
  spec.bench = true;
  Case test = make_case(spec);
  test.test = false;
  test.bench = true;
  out.push_back(std::move(test));
}

Spec square(std::string name, std::uint64_t size, DType in, DType c) {
  return {.name = std::move(name), .m = size, .n = size, .k = size, .a = in, .b = in, .c = c};
}

}  // namespace

void add_benchmarks(std::vector<Case>& out) {
  constexpr DType f32 = DType::f32;
  constexpr DType f16 = DType::f16;
  constexpr DType bf16 = DType::bf16;
  for (const std::uint64_t size : {1024U, 4096U, 8192U}) {
    add(out, square(formatted("f32_{}", size), size, f32, f32));
    add(out, square(formatted("f16_f32_{}", size), size, f16, f32));
    add(out, square(formatted("f16_f16_{}", size), size, f16, f16));
    add(out, square(formatted("bf16_{}", size), size, bf16, bf16));
    Spec turned = square(formatted("f16_f16_bt_{}", size), size, f16, f16);
    turned.b_turned = true;
    add(out, turned);
  }
  add(out, {.name = "batched_64x512_f16",
            .m = 512,
            .n = 512,
            .k = 512,
            .a = f16,
            .b = f16,
            .c = f16,
            .a_batch = {64},
            .b_batch = {64},
            .batch = {64}});
  // A prompt of 512 tokens through the layers of a model of 8B parameters.
  for (const auto& [n, k] :
       {std::pair{4096U, 4096U}, {1024U, 4096U}, {14336U, 4096U}, {4096U, 14336U}}) {
    add(out, {.name = formatted("f16_f32_bt_512x{}x{}", n, k),
              .m = 512,
              .n = n,
              .k = k,
              .a = f16,
              .b = f16,
              .b_turned = true});
  }
  const auto vector = [&](std::string name, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                          bool turned, std::optional<VectorTile> tile = {}) {
    Spec spec{.name = std::move(name), .m = m, .n = n, .k = k, .b = f16, .b_turned = turned};
    spec.vector_tile = tile;
    add(out, spec);
    out.back().flops = 0;  // bound by reading b
  };
  vector("matvec_f16_16384_bt", 1, 16384, 16384, true);
  vector("matvec_f16_16384", 1, 16384, 16384, false);
  vector("matvec_f16_4096x14336_bt", 1, 4096, 14336, true);
  vector("matvec_f16_14336x4096_bt", 1, 14336, 4096, true);
  vector("matvec_f16_4096x14336", 1, 4096, 14336, false);
  vector("thin2_f16_4096x14336_bt", 2, 4096, 14336, true);
  vector("thin8_f16_4096x14336_bt", 8, 4096, 14336, true);
  vector("thin8_f16_4096x14336", 8, 4096, 14336, false);
  vector("thin16_f16_4096x14336_bt", 16, 4096, 14336, true);
  for (const VectorTile& tile : vector_sweep()) {
    for (const bool turned : {true, false}) {
      vector(formatted("sweep_matvec_t{}_team{}_ky{}_u{}{}", tile.threads, tile.team, tile.ky,
                       tile.unroll, turned ? "_bt" : ""),
             1, 16384, 16384, turned, tile);
    }
  }
  for (const MatrixTile& tile : matrix_sweep()) {
    Spec spec = square("sweep_matrix_" + tile.label(), 4096, f16, f32);
    spec.kernel = "matrix";
    spec.matrix_tile = tile;
    add(out, spec);
  }
  // How much the direction of the operands in memory matters.
  for (const auto& [a_turned, b_turned] : {std::pair{false, true}, {true, false}, {true, true}}) {
    Spec spec =
        square(formatted("sweep_matrix_a{}_b{}", a_turned ? 't' : 'n', b_turned ? 't' : 'n'), 4096,
               f16, f32);
    spec.kernel = "matrix";
    spec.a_turned = a_turned;
    spec.b_turned = b_turned;
    add(out, spec);
  }
  // The table's smaller tiles at a size where workgroups are few.
  for (const MatrixTile& tile : {MatrixTile{.bm = 128, .bn = 128, .bk = 32, .sm = 2, .sn = 2},
                                 MatrixTile{.bm = 64, .bn = 128, .bk = 32, .sm = 1, .sn = 4},
                                 MatrixTile{.bm = 64, .bn = 64, .bk = 32, .sm = 2, .sn = 2},
                                 MatrixTile{.bm = 32, .bn = 64, .bk = 32, .sm = 1, .sn = 4}}) {
    Spec spec = square("sweep1024_matrix_" + tile.label(), 1024, f16, f32);
    spec.kernel = "matrix";
    spec.matrix_tile = tile;
    add(out, spec);
  }
  for (const RegisterTile& tile : register_sweep()) {
    Spec spec = square(formatted("sweep_tile_{}x{}x{}_{}x{}_s{}_u{}", tile.bm, tile.bn, tile.bk,
                                 tile.tm, tile.tn, tile.stages, tile.unroll),
                       4096, f32, f32);
    spec.kernel = "tile";
    spec.register_tile = tile;
    add(out, spec);
  }
}

}  // namespace weft::ops::gemm
