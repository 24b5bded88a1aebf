#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/math.hpp"
#include "gpu/stream_state.hpp"

// Copies and fills of any byte range. WebGPU's own commands take multiples of four only; the two
// kernels here change single bytes by reading, masking and writing the word around them.

namespace weft::gpu {
namespace {

constexpr std::uint32_t workgroup_invocations = 64;
constexpr std::uint32_t words_per_invocation = 4;
constexpr std::uint64_t bytes_per_workgroup =
    std::uint64_t{4} * workgroup_invocations * words_per_invocation;
// Temporary bytes for a copy inside one buffer.
constexpr std::uint64_t bounce_bytes = std::uint64_t{16} << 20;

// Offsets are bytes inside the bound windows. A window's last word always lies inside the buffer,
// because buffers are multiples of 16 bytes.
constexpr std::string_view fill_source = R"(
struct Params { begin: u32, end: u32, pattern: u32, groups_x: u32 }
@group(0) @binding(0) var<storage, read_write> bytes: array<u32>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let base = params.begin / 4u + (group.y * params.groups_x + group.x) * 256u + lane;
  for (var i = 0u; i < 4u; i++) {
    let word = base + i * 64u;
    let first = max(word * 4u, params.begin);
    let last = min(word * 4u + 4u, params.end);
    if (first >= last) { continue; }
    if (last - first == 4u) {
      bytes[word] = params.pattern;
    } else {
      let mask = ((1u << ((last - first) * 8u)) - 1u) << ((first % 4u) * 8u);
      bytes[word] = (bytes[word] & ~mask) | (params.pattern & mask);
    }
  }
}
)";

constexpr std::string_view copy_source = R"(
struct Params { source: u32, begin: u32, end: u32, groups_x: u32 }
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let base = params.begin / 4u + (group.y * params.groups_x + group.x) * 256u + lane;
  for (var i = 0u; i < 4u; i++) {
    let word = base + i * 64u;
    let first = max(word * 4u, params.begin);
    let last = min(word * 4u + 4u, params.end);
    if (first >= last) { continue; }
    let count = last - first;
    let at = first - params.begin + params.source;
    let skew = at % 4u;
    var value = input[at / 4u] >> (skew * 8u);
    if (skew + count > 4u) { value |= input[at / 4u + 1u] << (32u - skew * 8u); }
    if (count == 4u) {
      output[word] = value;
    } else {
      let shift = (first % 4u) * 8u;
      let mask = ((1u << (count * 8u)) - 1u) << shift;
      output[word] = (output[word] & ~mask) | ((value << shift) & mask);
    }
  }
}
)";

struct FillParams {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t pattern = 0;
  std::uint32_t groups_x = 1;
};

struct CopyParams {
  std::uint32_t source = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t groups_x = 1;
};

Result<std::shared_ptr<const KernelState>> compile(DeviceState& device, std::string_view label,
                                                   std::string_view source,
                                                   std::vector<Access> bindings) {
  KernelDesc desc;
  desc.label = label;
  desc.wgsl = source;
  desc.bindings = std::move(bindings);
  desc.params_bytes = 16;
  desc.trusted = true;
  auto kernels = device.pipelines->get(std::span(&desc, 1));
  if (!kernels) return std::unexpected(kernels.error());
  return kernels->front();
}

/// The part of a slice's buffer to bind: it starts at a multiple of the alignment.
struct Window {
  Slice slice;
  std::uint32_t begin = 0;  ///< Where the bytes start inside the window.
};

Window window(const DeviceState& device, const Slice& slice) {
  const std::uint64_t start =
      round_down<std::uint64_t>(slice.offset, device.info.caps.binding_alignment);
  const std::uint64_t begin = slice.offset - start;
  return {{slice.buffer, start, round_up<std::uint64_t>(begin + slice.size, 4)},
          static_cast<std::uint32_t>(begin)};
}

/// The most bytes one dispatch covers: they and their window fit one binding, a grid and 32 bits.
std::uint64_t piece_bytes(const DeviceState& device) {
  const Caps& caps = device.info.caps;
  const std::uint64_t binding = caps.max_binding - caps.binding_alignment - 4;
  return round_down<std::uint64_t>(std::min(binding, std::uint64_t{1} << 30), 4);
}

Grid grid_for(const DeviceState& device, std::uint64_t bytes) {
  // One word more, because the bytes may start in the middle of one.
  const std::uint64_t groups = ceil_div(bytes + 4, bytes_per_workgroup);
  const std::uint64_t x = std::min<std::uint64_t>(groups, device.info.caps.max_workgroups);
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(ceil_div(groups, x)), 1};
}

template <class T>
std::span<const std::byte> bytes_of(const T& params) {
  return std::as_bytes(std::span(&params, 1));
}

Status copy_with_kernel(StreamState& stream, const Slice& from, const Slice& to) {
  DeviceState& device = *stream.device;
  const auto kernel =
      compile(device, "weft.copy_bytes", copy_source, {Access::read, Access::write});
  if (!kernel) return std::unexpected(kernel.error());
  const std::uint64_t piece = piece_bytes(device);
  for (std::uint64_t done = 0; done < from.size; done += piece) {
    const std::uint64_t size = std::min(piece, from.size - done);
    const Window source = window(device, {from.buffer, from.offset + done, size});
    const Window target = window(device, {to.buffer, to.offset + done, size});
    const Grid grid = grid_for(device, size);
    const CopyParams params{source.begin, target.begin,
                            target.begin + static_cast<std::uint32_t>(size), grid.x};
    const Slice slices[] = {source.slice, target.slice};
    if (Status status = stream.dispatch(*kernel, slices, bytes_of(params), grid); !status) {
      return status;
    }
  }
  return {};
}

/// A copy between different buffers.
Status copy_apart(StreamState& stream, const Slice& from, const Slice& to) {
  const bool aligned = from.offset % 4 == 0 && to.offset % 4 == 0 && from.size % 4 == 0;
  // A recording consists of dispatches only, so that it replays in one pass.
  if (!aligned || stream.draft) return copy_with_kernel(stream, from, to);
  stream.commands().CopyBufferToBuffer(Unwrap::state(from.buffer)->block.buffer, from.offset,
                                       Unwrap::state(to.buffer)->block.buffer, to.offset,
                                       from.size);
  stream.retain(from.buffer);
  stream.retain(to.buffer);
  return stream.count_command();
}

/// A copy inside one buffer: piece by piece through a temporary buffer, from the end that is not
/// overwritten before it is read.
Status copy_within(StreamState& stream, const Slice& from, const Slice& to) {
  if (from.offset == to.offset) return {};
  const std::uint64_t piece = std::min(from.size, bounce_bytes);
  const Result<Buffer> bounce =
      Unwrap::wrap<Device>(stream.device).allocate(piece, "weft.copy.bounce");
  if (!bounce) return wrap(bounce.error(), "copying inside one buffer");
  const std::uint64_t pieces = ceil_div(from.size, piece);
  const bool backwards = to.offset > from.offset;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::uint64_t start = (backwards ? pieces - 1 - i : i) * piece;
    const std::uint64_t size = std::min(piece, from.size - start);
    const Slice middle{*bounce, 0, size};
    if (Status s = copy_apart(stream, {from.buffer, from.offset + start, size}, middle); !s)
      return s;
    if (Status s = copy_apart(stream, middle, {to.buffer, to.offset + start, size}); !s) return s;
  }
  return {};
}

}  // namespace

Status record_copy(StreamState& stream, const Slice& from, const Slice& to) {
  if (from.size == 0) return {};
  if (from.buffer == to.buffer) return copy_within(stream, from, to);
  return copy_apart(stream, from, to);
}

Status record_fill(StreamState& stream, const Slice& to, std::uint32_t pattern) {
  if (to.size == 0) return {};
  if (pattern == 0 && to.offset % 4 == 0 && to.size % 4 == 0 && !stream.draft) {
    stream.commands().ClearBuffer(Unwrap::state(to.buffer)->block.buffer, to.offset, to.size);
    stream.retain(to.buffer);
    return stream.count_command();
  }
  DeviceState& device = *stream.device;
  const auto kernel = compile(device, "weft.fill_bytes", fill_source, {Access::write});
  if (!kernel) return std::unexpected(kernel.error());
  const std::uint64_t piece = piece_bytes(device);
  for (std::uint64_t done = 0; done < to.size; done += piece) {
    const std::uint64_t size = std::min(piece, to.size - done);
    const Window target = window(device, {to.buffer, to.offset + done, size});
    const Grid grid = grid_for(device, size);
    const FillParams params{target.begin, target.begin + static_cast<std::uint32_t>(size), pattern,
                            grid.x};
    if (Status status =
            stream.dispatch(*kernel, std::span(&target.slice, 1), bytes_of(params), grid);
        !status) {
      return status;
    }
  }
  return {};
}

}  // namespace weft::gpu
