// Convolutions of whole numbers; integer_gemm/products.wgsl has the tiles.
#let FLIP_A = UNSIGNED_A
#let FLIP_B = UNSIGNED_B
#include "integer_conv/windows.wgsl"
#let FEW = 0
#include "integer_gemm/products.wgsl"
