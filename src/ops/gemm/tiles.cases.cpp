// Products with forced tiles, and those of few rows.
#include <utility>

#include "base/format.hpp"
#include "ops/gemm/cases.hpp"

namespace weft::ops::gemm {

void add_tiles(std::vector<Case>& out) {
  MatrixTile small{.bm = 32, .bn = 32, .bk = 16, .sm = 2, .sn = 2, .mm = 8, .mn = 8, .mk = 8};
  const auto matrix = [&](std::string_view label, const MatrixTile& forced, bool turned) {
    out.push_back(make_case({.name = formatted("matrix_tile_{}", label),
                             .m = 64,
                             .n = 96,
                             .k = 80,
                             .a = DType::f16,
                             .b = DType::f16,
                             .a_turned = turned,
                             .b_turned = turned,
                             .kernel = "matrix",
                             .matrix_tile = forced}));
  };
  matrix("2x2_each", small, false);
  matrix("2x2_each_turned", small, true);
  MatrixTile tile = small;
  tile.bk = 32;
  matrix("k32", tile, false);
  matrix("k32_turned", tile, true);
  tile = small;
  tile.band = 0;
  tile.sm = 1;
  tile.bn = 16;
  tile.bm = 16;
  matrix("plain_order", tile, true);
  // Tiles of larger devices.
  const MatrixTile large{.bm = 128, .bn = 128, .bk = 32, .sm = 2, .sn = 2};
  for (const bool turned : {false, true}) {
    const std::string_view suffix = turned ? "_turned" : "";
    matrix(formatted("128{}", suffix), large, turned);
    tile = large;
    tile.mn = 8;
    matrix(formatted("128_16x8{}", suffix), tile, turned);
  }
  for (const std::uint32_t unroll : {1U, 2U}) {
    out.push_back(make_case(
        {.name = formatted("tile_tile_staged_u{}", unroll),
         .m = 70,
         .n = 129,
         .k = 45,
         .b_turned = unroll == 2,
         .kernel = "tile",
         .register_tile = RegisterTile{
             .bm = 32, .bn = 64, .bk = 8, .tm = 4, .tn = 8, .stages = 2, .unroll = unroll}}));
  }
  out.push_back(
      make_case({.name = "tile_tile_128",
                 .m = 150,
                 .n = 128,
                 .k = 33,
                 .kernel = "tile",
                 .register_tile = RegisterTile{.bm = 128, .bn = 128, .bk = 16, .tm = 8, .tn = 8}}));
  // Large enough for large tiles where compiling is slow.
  out.push_back(make_case({.name = "tile_large", .m = 510, .n = 516, .k = 516, .kernel = "tile"}));
  // Short sums in f16, which are exact for small whole numbers.
  RegisterTile halves{.bm = 32, .bn = 32, .bk = 16, .tm = 4, .tn = 4, .halves = true};
  const auto short_sums = [&](std::string_view label, DType type, bool turned) {
    out.push_back(make_case({.name = formatted("tile_tile_halves_{}", label),
                             .m = 45,
                             .n = 70,
                             .k = 91,
                             .a = type,
                             .b = DType::f16,
                             .a_turned = turned,
                             .b_turned = turned,
                             .kernel = "tile",
                             .register_tile = halves}));
  };
  short_sums("f16", DType::f16, false);
  short_sums("f32_turned", DType::f32, true);
  halves.stages = 2;
  halves.bn = 64;
  halves.tn = 8;
  short_sums("staged", DType::f16, true);
}

void add_vectors(std::vector<Case>& out, Random& random) {
  struct Few {
    std::uint64_t rows;
    std::uint64_t others;
    std::uint64_t k;
    DType a;
    DType b;
    DType c;
  };
  constexpr DType f32 = DType::f32;
  constexpr DType f16 = DType::f16;
  constexpr DType bf16 = DType::bf16;
  const Few all[] = {
      {1, 67, 513, f32, f16, f32}, {1, 64, 256, f16, f16, f16},  {1, 1, 3000, f32, f32, f32},
      {1, 9, 5, bf16, f32, bf16},  {1, 5, 6000, f32, f16, f16},  {2, 50, 264, f32, f16, f32},
      {5, 36, 72, f16, bf16, f16}, {8, 130, 128, f32, f16, f32}, {16, 33, 300, f32, f32, f16}};
  for (const Few& few : all) {
    for (const bool turned : {false, true}) {
      for (const bool swap : {false, true}) {
        Spec spec{.m = few.rows, .n = few.others, .k = few.k, .a = few.a, .b = few.b, .c = few.c};
        spec.b_turned = turned;
        if (swap) {
          std::swap(spec.m, spec.n);
          std::swap(spec.a, spec.b);
          std::swap(spec.a_turned, spec.b_turned);
        }
        spec.kernel = few.rows == 1 ? "matvec" : "thin";
        spec.name = formatted("{}_{}_{}_{}_{}x{}x{}{}", spec.kernel, name(spec.a), name(spec.b),
                              name(spec.c), spec.m, spec.n, spec.k, turned ? "_turned" : "");
        if (random.between(0, 1) == 1) spec.bias = Shape{spec.n};
        out.push_back(make_case(spec));
      }
    }
  }
  for (const bool turned : {false, true}) {
    out.push_back(make_case({.name = formatted("matvec_batch{}", turned ? "_turned" : ""),
                             .m = 1,
                             .n = 40,
                             .k = 48,
                             .b = f16,
                             .a_batch = {2, 1},
                             .b_batch = {2, 3},
                             .batch = {2, 3},
                             .b_turned = turned,
                             .beta = 1,
                             .activation = "silu",
                             .kernel = "matvec"}));
    out.push_back(make_case({.name = formatted("matvec_wide{}", turned ? "_turned" : ""),
                             .m = 1,
                             .n = 600,
                             .k = 1030,
                             .b = f16,
                             .b_turned = turned,
                             .fill = Fill::uniform,
                             .kernel = "matvec",
                             .vector_tile = VectorTile{}}));
  }
}

}  // namespace weft::ops::gemm
