#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "device/traits.hpp"

namespace weft {

/// Component types that a subgroup matrix may have.
enum class MatrixType : std::uint8_t { f32, f16, u32, i32, u8, i8 };

/// One shape of subgroup matrix product that a device offers: result[m,n] += left[m,k] ·
/// right[k,n].
struct MatrixConfig {
  MatrixType component = MatrixType::f16;
  MatrixType result = MatrixType::f32;
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  /// Invocations of the subgroups that it works with; 0: of all that the device has.
  std::uint32_t subgroup = 0;
  bool operator==(const MatrixConfig&) const = default;
  /// Whether the matrices are the same, whatever the subgroups are.
  [[nodiscard]] bool same_shape(const MatrixConfig& other) const {
    return component == other.component && result == other.result && m == other.m && n == other.n &&
           k == other.k;
  }
};

/// What a device can do, as plain data. Plans are pure functions of shapes and Caps.
struct Caps {
  bool f16 = false;              ///< `enable f16;` works in shaders.
  bool subgroups = false;        ///< `enable subgroups;` works in shaders.
  bool subgroup_matrix = false;  ///< `matrix_configs` is not empty and usable.
  bool timestamps = false;       ///< Kernel times can be measured on the GPU.
  std::uint32_t subgroup_min = 0;
  std::uint32_t subgroup_max = 0;
  bool subgroup_control = false;  ///< A kernel may ask for one of the sizes from min to max.
  std::uint64_t max_buffer = 0;   ///< Bytes of the largest buffer.
  std::uint64_t max_binding = 0;  ///< Bytes of the largest storage binding.
  std::uint32_t binding_alignment = 256;  ///< Storage binding offsets are multiples of this.
  std::uint32_t max_bindings = 8;         ///< Storage buffers per shader stage.
  std::uint32_t workgroup_bytes = 16384;
  std::uint32_t workgroup_invocations = 256;
  std::uint32_t max_workgroups = 65535;  ///< Workgroups per grid dimension.
  std::vector<MatrixConfig> matrix_configs;
  Traits traits;  ///< What the device is good at; says nothing about what works.
  // What is asked of plans besides their results.
  bool check_indices = false;  ///< Kernels report indices that are out of range.
  bool shapes = false;         ///< Launches say which shapes they work on, for profiles.
};

/// The size of the subgroups that a configuration works with, or 0 where kernels cannot be sure to
/// get it.
std::uint32_t subgroup_of(const Caps& caps, const MatrixConfig& config);

/// Applies a mask such as
/// "-f16,-subgroups,-subgroup-matrix,-timestamps,binding=128M,buffer=1G,profile=rdna3": a mask only
/// ever takes capabilities away, and a profile changes what is chosen among those that are left. An
/// unknown word is an error that lists the known ones.
Result<Caps> apply_caps_mask(Caps caps, std::string_view mask);

}  // namespace weft
