// Products of matrices of whole numbers, by batches, on matrix units; integer_gemm/matrix_products.wgsl has the tiles.
#include "integer_gemm/kinds.wgsl"
#include "integer_gemm/operands.wgsl"
#include "integer_gemm/matrix_products.wgsl"
