// Products of matrices of whole numbers, by batches; integer_gemm/products.wgsl has the tiles.
#let FLIP_A = UNSIGNED_A
#let FLIP_B = UNSIGNED_B
#include "integer_gemm/operands.wgsl"
#include "integer_gemm/products.wgsl"
