#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::fuzz {

/// Something that takes any bytes: it may refuse them, but must neither crash nor hang nor take
/// memory without bound. The functions have the form that libFuzzer calls.
struct Target {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size) = nullptr;
  std::vector<std::string> (*seeds)() = nullptr;  ///< Good inputs, which are changed at random.
};

std::span<const Target> targets();

/// models.cpp
int models_run(const std::uint8_t* data, std::size_t size);
std::vector<std::string> models_seeds();

/// expressions.cpp
int programs_run(const std::uint8_t* data, std::size_t size);
int expressions_run(const std::uint8_t* data, std::size_t size);
std::vector<std::string> program_seeds();

/// c_calls.cpp
int c_calls_run(const std::uint8_t* data, std::size_t size);
std::vector<std::string> c_calls_seeds();

}  // namespace weft::fuzz
