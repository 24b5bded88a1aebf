#include <string>
#include <vector>

#include "base/format.hpp"
#include "ops/embedded.hpp"
#include "ops/plan.hpp"

namespace weft::ops {
namespace {

constexpr std::string_view type_name(ParamType type) {
  switch (type) {
    case ParamType::u32: return "u32";
    case ParamType::i32: return "i32";
    case ParamType::f32: return "f32";
  }
  return "u32";
}

std::string element_type(const BindingDecl& binding) {
  if (binding.atomic) return "atomic<u32>";
  if (binding.unit == 1) return "u32";
  return formatted("vec{}<u32>", binding.unit);
}

}  // namespace

Result<wgsl::Expanded> render(const KernelSpec& kernel) {
  std::string text;
  if (kernel.features.subgroup_matrix) {
    // Offsets of matrix loads depend on the subgroup id, which Tint's analysis takes for
    // non-uniform.
    text += "diagnostic(off, chromium.subgroup_matrix_uniformity);\n";
  }
  if (kernel.features.subgroups) text += "diagnostic(off, subgroup_uniformity);\n";
  if (kernel.features.f16) text += "enable f16;\n";
  if (kernel.features.subgroups) text += "enable subgroups;\n";
  if (kernel.features.subgroup_matrix) text += "enable chromium_experimental_subgroup_matrix;\n";
  if (kernel.features.subgroup_size > 0) text += "enable subgroup_size_control;\n";
  text += "struct Params {\n";
  for (const ParamField& field : kernel.params) {
    text += formatted("  {}: {},\n", field.name, type_name(field.type));
  }
  text += "}\n";
  for (std::size_t i = 0; i < kernel.bindings.size(); ++i) {
    text += formatted("@group(0) @binding({}) var<storage, {}> buffer_{}: array<{}>;\n", i,
                      kernel.bindings[i].writable ? "read_write" : "read", i,
                      element_type(kernel.bindings[i]));
  }
  text += formatted("@group(0) @binding({}) var<uniform> p: Params;\n", kernel.bindings.size());
  text += "#include \"lib/prelude.wgsl\"\n";
  for (const OperandDecl& operand : kernel.operands) {
    const BindingDecl& binding = kernel.bindings[operand.binding];
    // Kernels read the blocks of quantized types as words, and booleans as the bytes that they are.
    const DType type = is_quantized(operand.dtype)       ? DType::u32
                       : operand.dtype == DType::boolean ? DType::u8
                                                         : operand.dtype;
    text += formatted(
        "#include \"lib/access.wgsl\" with NAME=\"{}\" BUFFER=\"buffer_{}\" DTYPE=\"{}\" UNIT={} "
        "WRITE={} ATOMIC={}\n",
        operand.name, operand.binding, name(type), binding.unit,
        operand.access != Access::read ? 1 : 0, binding.atomic ? 1 : 0);
    // For builtins that take a pointer to the array itself, such as subgroupMatrixStore.
    text += formatted("#let {0}_BUFFER = \"buffer_{1}\"\n#let {0}_UNIT = {2}\n", operand.name,
                      operand.binding, binding.unit);
  }
  text += kernel.text;
  text += formatted("#include \"{}\"\n", kernel.source);

  const auto embedded = embedded_files();
  std::vector<wgsl::File> files(embedded.begin(), embedded.end());
  const std::string main_name = "kernel " + kernel.label;
  files.push_back({main_name, text});
  wgsl::Constants constants = kernel.constants;
  constants.emplace("SUBGROUPS", std::int64_t{kernel.features.subgroups});
  constants.emplace("ASK", kernel.features.subgroup_size > 0
                               ? formatted(" @subgroup_size({})", kernel.features.subgroup_size)
                               : std::string());
  return wgsl::expand(files, main_name, constants);
}

}  // namespace weft::ops
