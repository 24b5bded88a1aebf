#pragma once

#include <bit>
#include <cstdint>

namespace weft {

/// What a device is good at, as numbers and facts from which kernels and tiles are chosen. WebGPU
/// tells none of them: they come from the table of known devices (profiles.hpp), or are estimated
/// there. Whatever they say, results are right.
struct Traits {
  /// Processors that run workgroups independently of each other: multiprocessors, compute units,
  /// cores.
  std::uint32_t processors = 32;
  /// A processor runs several workgroups at once, so that one works while others wait for memory.
  bool overlaps = true;
  /// A barrier takes microseconds, because the subgroups of a workgroup run in turn: invocations
  /// should not share work.
  bool slow_barriers = false;
  /// Compiling a long kernel takes seconds: loops stay loops, tiles stay small.
  bool slow_compile = false;
  /// Lanes of a subgroup that store to places of their own do so one after the other.
  bool slow_scatter = false;
  /// Workgroup memory is nearer than other memory.
  bool near_memory = true;
  /// Subgroup matrices are units of their own and not written out in plain instructions.
  bool matrix_units = true;
  /// Elements that an invocation takes at least, where starting one and finding its place costs
  /// more than an element.
  std::uint32_t items = 1;
  /// Bytes that the device reads in the time that a launch costs.
  std::uint64_t launch_bytes = 1 << 20;
  /// Bytes of memory per nanosecond.
  double memory_rate = 200;
  /// Bytes of the last cache.
  std::uint64_t cache_bytes = 4 << 20;
  /// f16 operations in the time of one f32 operation, outside of matrix units.
  double f16_rate = 1;
  /// 10¹² operations per second of matrix units, as kernels reach them.
  double matrix_rate = 20;
  /// 32-bit registers of an invocation: sums that stay in them take half of these at most.
  std::uint32_t registers = 128;

  // Which of its tiles the kernels of a family take: 0 is their own choice by sizes and traits,
  // others are numbers in the lists of the ops, as `weft tune` found them.
  std::uint32_t gemm_tile = 0;       ///< Products in plain instructions.
  std::uint32_t matrix_tile = 0;     ///< Products on matrix units.
  std::uint32_t vector_tile = 0;     ///< Products of one row or a few.
  std::uint32_t quantized_tile = 0;  ///< Products of quantized weights with a few columns.
  std::uint32_t few_tile = 0;        ///< Products of some columns on matrix units.
  std::uint32_t attention_tile = 0;
  std::uint32_t reduce_tile = 0;
  std::uint32_t conv_tile = 0;

  /// Workgroups that keep the device busy, where a processor runs `each` of them at a time.
  [[nodiscard]] constexpr std::uint64_t groups(std::uint64_t each) const {
    return overlaps ? each * processors : processors;
  }
  /// The same as a power of two, as grids mostly are.
  [[nodiscard]] constexpr std::uint64_t fill(std::uint64_t each) const {
    return std::bit_floor(groups(each));
  }
  bool operator==(const Traits&) const = default;
};

}  // namespace weft
