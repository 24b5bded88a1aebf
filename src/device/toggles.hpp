#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

/// When a toggle takes effect: with the instance, the adapter or the device.
enum class ToggleStage : std::uint8_t { instance, adapter, device };

/// In which mode a toggle is set, and to what.
enum class ToggleUse : std::uint8_t {
  on,       ///< Enabled in every mode.
  off,      ///< Disabled in every mode.
  fast_on,  ///< Enabled in fast mode only.
};

/// One switch of the WebGPU implementation, with the reason why Weft touches it.
struct Toggle {
  std::string_view name;
  ToggleStage stage = ToggleStage::device;
  ToggleUse use = ToggleUse::on;
  std::string_view why;
  std::string_view link;
};

/// Every toggle that Weft sets. `weft info` prints this table.
inline constexpr std::array<Toggle, 9> toggle_table{{
    {"allow_unsafe_apis", ToggleStage::instance, ToggleUse::on,
     "subgroup matrices are behind it while their specification is a draft",
     "https://crbug.com/1138528"},
    {"vulkan_enable_f16_on_nvidia", ToggleStage::adapter, ToggleUse::on,
     "without it NVIDIA adapters report no f16 and so no matrix units",
     "https://crbug.com/42251215"},
    {"use_vulkan_memory_model", ToggleStage::adapter, ToggleUse::on,
     "cooperative matrices, which subgroup matrices become on Vulkan, need it",
     "https://crbug.com/392606604"},
    {"enable_immediate_error_handling", ToggleStage::device, ToggleUse::on,
     "an error is then recorded by the call that caused it and not at some later tick",
     "https://crbug.com/dawn/1789"},
    {"timestamp_quantization", ToggleStage::device, ToggleUse::off,
     "kernel times are wanted to the nanosecond, not to 65 microseconds",
     "https://crbug.com/dawn/1800"},
    {"skip_validation", ToggleStage::device, ToggleUse::fast_on,
     "every dispatch is checked once by Weft itself; a second check costs host time",
     "https://crbug.com/dawn/271"},
    {"disable_robustness", ToggleStage::device, ToggleUse::fast_on,
     "clamping every index costs GPU time, and tests with guard bands prove the kernels right",
     "https://crbug.com/dawn/480"},
    {"disable_workgroup_init", ToggleStage::device, ToggleUse::fast_on,
     "clearing workgroup memory costs time, and no kernel reads what it did not write",
     "https://crbug.com/tint/1003"},
    {"disable_polyfills_on_integer_div_and_mod", ToggleStage::device, ToggleUse::fast_on,
     "the guard against division by zero costs several instructions for every index computation",
     "https://crbug.com/tint/2128"},
}};

}  // namespace weft
