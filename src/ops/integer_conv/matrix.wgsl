// Convolutions of whole numbers on matrix units; integer_gemm/matrix_products.wgsl has the tiles.
#include "integer_gemm/kinds.wgsl"
#include "integer_conv/windows.wgsl"
#include "integer_gemm/matrix_products.wgsl"
