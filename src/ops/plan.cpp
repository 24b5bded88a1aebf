#include "ops/plan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <variant>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops {

namespace {

void append(std::string& text, std::int64_t number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

}  // namespace

// Made for every launch that is recorded, so it is put together by hand: formatting takes five
// times as long.
std::string KernelSpec::key() const {
  std::string key;
  key.reserve(1024);
  key.append(source).append("|").append(text);
  for (const auto& [name, value] : constants) {
    key.append("|").append(name).append("=");
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      append(key, *number);
    } else {
      key.append(std::get<std::string>(value));
    }
  }
  key.append("|");
  key.push_back(features.f16 ? 'h' : '-');
  key.push_back(features.subgroups ? 's' : '-');
  key.push_back(features.subgroup_matrix ? 'm' : '-');
  if (features.subgroup_size > 0) append(key, features.subgroup_size);
  key.append("|");
  for (const BindingDecl& b : bindings) {
    key.push_back(b.writable ? 'w' : 'r');
    if (b.atomic) key.push_back('a');
    append(key, b.unit);
    key.push_back(',');
  }
  for (const OperandDecl& o : operands) {
    key.append("|").append(o.name).append(":").append(name(o.dtype)).append(":");
    append(key, std::to_underlying(o.access));
    key.push_back(':');
    append(key, o.binding);
  }
  for (const ParamField& p : params) {
    key.append("|").append(p.name).append(":");
    append(key, std::to_underlying(p.type));
  }
  return key;
}

Slot Plan::add_scratch(std::uint64_t bytes) {
  scratch.push_back(bytes);
  return Slot::scratch(scratch.size() - 1);
}

Status Plan::add(Result<Dispatch> dispatch) {
  if (!dispatch) return std::unexpected(dispatch.error());
  dispatches.push_back(std::move(*dispatch));
  return {};
}

void Plan::append(Plan other) {
  for (Dispatch& dispatch : other.dispatches) {
    for (BoundRange& range : dispatch.ranges) {
      if (range.slot.kind() == Slot::Kind::scratch)
        range.slot = Slot::scratch(scratch.size() + range.slot.number());
    }
    dispatches.push_back(std::move(dispatch));
  }
  scratch.insert(scratch.end(), other.scratch.begin(), other.scratch.end());
}

Grid grid_1d(std::uint64_t count, const Caps& caps) {
  if (count <= caps.max_workgroups)
    return {static_cast<std::uint32_t>(std::max<std::uint64_t>(count, 1))};
  const std::uint64_t y = ceil_div<std::uint64_t>(count, caps.max_workgroups);
  return {static_cast<std::uint32_t>(ceil_div<std::uint64_t>(count, y)),
          static_cast<std::uint32_t>(y)};
}

namespace {

/// A binding while it is being put together.
struct Pending {
  Slot slot{};
  ByteRange range;  // begin aligned to the device's binding alignment, end to 16 bytes
  BindingDecl decl;
};

bool overlap(const ByteRange& a, const ByteRange& b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

Result<Dispatch> make_dispatch(Launch launch, const Caps& caps) {
  std::vector<Pending> pending;
  std::vector<std::size_t> binding_of(launch.operands.size());
  // A buffer may not be bound both read-only and writable in one dispatch: where one operand writes
  // to a buffer, every binding of it is writable, and none may overlap another.
  const auto written = [&launch](Slot slot) {
    return std::ranges::any_of(launch.operands, [slot](const Operand& operand) {
      return operand.view.slot == slot && operand.access != Access::read;
    });
  };
  for (std::size_t i = 0; i < launch.operands.size(); ++i) {
    const Operand& operand = launch.operands[i];
    ByteRange bytes = operand.view.bytes();
    bytes.begin = round_down<std::uint64_t>(bytes.begin, caps.binding_alignment);
    bytes.end = round_up<std::uint64_t>(std::max(bytes.end, bytes.begin + 16), 16);
    Pending mine{operand.view.slot,
                 bytes,
                 {written(operand.view.slot), operand.access == Access::atomic, operand.unit}};
    // Merge with every overlapping binding of the same buffer unless all of them only read. Merging
    // widens the range, which can make it overlap further bindings, so it repeats until nothing
    // changes.
    std::vector<bool> gone(pending.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t j = 0; j < pending.size(); ++j) {
        Pending& other = pending[j];
        if (gone[j] || other.slot != mine.slot || !overlap(other.range, mine.range)) continue;
        if (!mine.decl.writable) continue;
        mine.range = {std::min(mine.range.begin, other.range.begin),
                      std::max(mine.range.end, other.range.end)};
        mine.decl.atomic = mine.decl.atomic || other.decl.atomic;
        mine.decl.unit = std::min(mine.decl.unit, other.decl.unit);
        if (mine.decl.atomic) mine.decl.unit = 1;
        gone[j] = changed = true;
        for (std::size_t k = 0; k < i; ++k) {
          if (binding_of[k] == j) binding_of[k] = pending.size();
        }
      }
    }
    if (mine.decl.atomic) mine.decl.unit = 1;
    binding_of[i] = pending.size();
    pending.push_back(mine);
    // Drop the merged ones and renumber.
    std::vector<std::size_t> renumbered(pending.size());
    std::size_t kept = 0;
    for (std::size_t j = 0; j < pending.size(); ++j) {
      renumbered[j] = kept;
      if (j < gone.size() && gone[j]) continue;
      pending[kept++] = pending[j];
    }
    pending.resize(kept);
    for (std::size_t k = 0; k <= i; ++k) binding_of[k] = renumbered[binding_of[k]];
  }

  Dispatch out;
  out.grid = launch.grid;
  KernelSpec& kernel = out.kernel;
  kernel.source = launch.source;
  kernel.text = std::move(launch.text);
  kernel.constants = std::move(launch.constants);
  if (const std::uint32_t width = workgroup_width(caps); width < 256) {
    kernel.constants.emplace("WORKGROUP", static_cast<std::int64_t>(width));
  }
  kernel.features = launch.features;
  kernel.label = launch.label.empty() ? std::string(launch.source) : std::move(launch.label);
  if (pending.size() > caps.max_bindings) {
    return fail(ErrorCode::unsupported, "Kernel {} needs {} storage bindings; this device has {}.",
                kernel.label, pending.size(), caps.max_bindings);
  }
  for (const Pending& p : pending) {
    if (p.range.size() > caps.max_binding) {
      return fail(
          ErrorCode::unsupported,
          "Kernel {} needs a binding of {} bytes; this device binds at most {} bytes at once.",
          kernel.label, p.range.size(), caps.max_binding);
    }
    kernel.bindings.push_back(p.decl);
    out.ranges.push_back({p.slot, p.range.begin, p.range.size()});
  }
  for (std::size_t i = 0; i < launch.operands.size(); ++i) {
    const Operand& operand = launch.operands[i];
    const std::uint64_t start = operand.view.offset - pending[binding_of[i]].range.begin;
    launch.params.add(std::string(operand.name) + "_off",
                      static_cast<std::uint32_t>(start / size_of(operand.view.dtype)));
    if (caps.shapes) {
      out.shapes += formatted("{}{} {}{}", i == 0 ? "" : " ", operand.name,
                              name(operand.view.dtype), describe(operand.view.extents()));
    }
    kernel.operands.push_back({std::string(operand.name), operand.view.dtype, operand.access,
                               static_cast<std::uint32_t>(binding_of[i])});
  }
  kernel.params = std::move(launch.params.fields);
  out.params = std::move(launch.params.words);
  for (const std::uint32_t extent : {out.grid.x, out.grid.y, out.grid.z}) {
    if (extent > caps.max_workgroups) {
      return fail(ErrorCode::unsupported,
                  "Kernel {} needs a grid of {} x {} x {} workgroups; this device starts at most "
                  "{} per dimension.",
                  kernel.label, out.grid.x, out.grid.y, out.grid.z, caps.max_workgroups);
    }
  }
  return out;
}

}  // namespace weft::ops
