// Products of matrices of whole numbers, by batches; integer_gemm/products.wgsl has the tiles.
#include "integer_gemm/operands.wgsl"
#include "integer_gemm/products.wgsl"
