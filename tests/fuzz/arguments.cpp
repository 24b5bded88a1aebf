#include "arguments.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <limits>

namespace weft::fuzz {
namespace {

/// Files of this process alone, so that two can run side by side.
const std::string& file(const char* ending) {
  static const std::string base =
      (std::filesystem::temp_directory_path() / ("weft-fuzz-c-" + std::to_string(::getpid())))
          .string();
  static const std::array all{base + ".safetensors", base + ".gguf"};
  return all[ending[1] == 'g' ? 1 : 0];
}

weft_status exponential(void* /*context*/, const weft_tensor* inputs, uint32_t count,
                        weft_tensor* output) {
  return weft_tensor_exp(count > 0 ? inputs[0] : nullptr, output);
}

}  // namespace

#define WEFT_FILLS
#include "c_functions.inc"
#undef WEFT_FILLS

double Arguments::real() {
  constexpr double odd[] = {std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity(),
                            -1e300,
                            1e-320,
                            -0.0,
                            2147483648.0};
  const std::uint8_t kind = choices_.byte();
  return kind < 24 ? odd[kind % std::size(odd)] : (kind - 100) / 16.0;
}

void* Arguments::handle() {
  const std::uint8_t kind = choices_.byte();
  if (kind < 8) return nullptr;
  if (kind < 12) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(kind) << (kind % 4 * 16));
  }
  return handles_.empty() ? nullptr : handles_[choices_.below(handles_.size())];
}

const char* Arguments::text() {
  static const std::array<const char*, 22> all{
      nullptr,
      "",
      "x",
      "a",
      "\xff\xfe",
      "exp",
      "add",
      "sum",
      "relu",
      "gelu",
      "all",
      "f16",
      "ij,jk->ik",
      "ij->ji",
      "main",
      "0.weight",
      "%s%n",
      "-f16,binding=4096",
      "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
      "@compute @workgroup_size(2) fn main(@builtin(local_invocation_index) i: u32) "
      "{ x[i] = x[i] * 3.0; }",
      file(".safetensors").c_str(),
      file(".gguf").c_str(),
      "/nowhere/at.all"};
  return all[choices_.byte() % all.size()];
}

std::byte* Arguments::block() {
  const std::uint8_t kind = choices_.byte();
  if (kind % 16 == 0) return nullptr;
  auto& bytes = arrays_.emplace_back(most_bytes);
  for (std::size_t i = 0; i < 256; ++i) bytes[i] = std::byte{static_cast<std::uint8_t>(i * kind)};
  return bytes.data();
}

void Arguments::pointer(weft_part& part) {
  const std::uint8_t kind = choices_.byte();
  part = kind % 8 == 0 ? nullptr : exponential;
  if (kind % 8 == 1)
    part = [](void*, const weft_tensor*, uint32_t, weft_tensor*) { return WEFT_OK; };
}

std::vector<void*> Arguments::results() const {
  std::vector<void*> all;
  for (void** list : results_) {
    for (std::size_t i = 0; i < most_elements; ++i) {
      if (list[i] != nullptr) all.push_back(list[i]);
    }
  }
  return all;
}

}  // namespace weft::fuzz
