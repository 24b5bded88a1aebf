#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "device/caps.hpp"
#include "ops/fields.hpp"
#include "ops/view.hpp"
#include "wgsl/template.hpp"

namespace weft::ops {

/// How a kernel touches a tensor.
enum class Access : std::uint8_t {
  read,
  write,  ///< Stores whole 32-bit words that no other invocation touches (reading back is allowed).
  atomic,  ///< Stores by atomic operations, for elements that share words between invocations.
};

/// A tensor that a kernel touches, by the name under which the shader knows it. `unit` is the
/// number of 32-bit words in an element of the WGSL array (1, 2 or 4). The renderer declares the
/// binding and includes lib/access.wgsl for it, which defines NAME_at(i), NAME_at4(i), NAME_put(i,
/// v), … (see there); the framework adds the parameter NAME_off, the element (for quantized types,
/// the byte) at which the tensor starts in its binding. Templates also see NAME_BUFFER (the name of
/// the array) and NAME_UNIT.
struct Operand {
  std::string_view name;
  View view;
  Access access = Access::read;
  std::uint32_t unit = 1;
};

/// Shader features that a kernel enables.
struct Features {
  bool f16 = false;
  bool subgroups = false;
  bool subgroup_matrix = false;
  /// The size of subgroups that the kernel asks for; 0: whatever the device gives it. Templates
  /// with such kernels write
  /// {{ASK}} behind their workgroup size.
  std::uint32_t subgroup_size = 0;
  bool operator==(const Features&) const = default;
};

/// A binding as the WGSL text declares it.
struct BindingDecl {
  bool writable = false;
  bool atomic = false;
  std::uint32_t unit = 1;
};

/// An operand as the WGSL text sees it.
struct OperandDecl {
  std::string name;
  DType dtype = DType::f32;
  Access access = Access::read;
  std::uint32_t binding = 0;
};

/// Everything that determines the text of a kernel, and nothing else.
struct KernelSpec {
  std::string source;  ///< File below src/ops, for example "map/map.wgsl".
  std::string text{};  ///< Template lines in front of the source, for kernels that are generated.
  wgsl::Constants constants;
  Features features;
  std::vector<BindingDecl> bindings;
  std::vector<OperandDecl> operands;
  std::vector<ParamField> params;

  /// A text that is equal exactly when the kernels are the same; derived from every member.
  [[nodiscard]] std::string key() const;
  /// A short name for profiles, for example "map/map gelu f16".
  std::string label;
};

/// A range of one of the caller's buffers (or of scratch) to bind.
struct BoundRange {
  Slot slot{};
  std::uint64_t offset = 0;  ///< A multiple of Caps::binding_alignment.
  std::uint64_t size = 0;  ///< A multiple of 16, may pass the end of the tensor by up to 15 bytes.
  bool operator==(const BoundRange&) const = default;
};

/// Workgroups to start.
struct Grid {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  bool operator==(const Grid&) const = default;
};

/// One kernel launch.
struct Dispatch {
  KernelSpec kernel;
  std::vector<std::uint32_t> params;
  std::vector<BoundRange> ranges;
  Grid grid;
  std::string shapes{};  ///< Where Caps::shapes is set: "x f32[4,6] y f16[4,6]".
};

/// What an op does for given views on a given device: launches in order, and the scratch that they
/// need.
struct Plan {
  std::vector<Dispatch> dispatches;
  std::vector<std::uint64_t> scratch;  ///< Bytes of each scratch buffer.

  /// Reserves scratch and returns its slot.
  Slot add_scratch(std::uint64_t bytes);
  /// Appends a launch, or says why there is none.
  Status add(Result<Dispatch> dispatch);
  /// Appends another plan's launches; its scratch is renumbered behind this one's. Plans that hand
  /// scratch to one another are put together by Stages (stages.hpp).
  void append(Plan other);
};

/// The parts of a launch as an op states them.
struct Launch {
  std::string_view source;
  wgsl::Constants constants;
  ParamBlock params;
  std::vector<Operand> operands;
  Grid grid;
  Features features;
  std::string label;
  std::string text{};  ///< See KernelSpec::text.
};

/// Turns a launch into a dispatch: aligns binding offsets, puts operands that overlap in one buffer
/// behind one binding (WebGPU forbids overlapping writable bindings), declares read operands as
/// writable where their buffer is also written, and checks the device's limits.
Result<Dispatch> make_dispatch(Launch launch, const Caps& caps);

/// Workgroups for `count` groups in a row, folded into two dimensions where one is not enough.
/// Kernels find their number with `group_index()` of lib/prelude.wgsl and must return when it is
/// not below `count`.
Grid grid_1d(std::uint64_t count, const Caps& caps);

/// The complete WGSL of a kernel: features, parameters, bindings, accessors, then its source file.
Result<wgsl::Expanded> render(const KernelSpec& kernel);

}  // namespace weft::ops
