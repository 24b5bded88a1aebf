#include <algorithm>

#include "gpu/lifetime.hpp"
#include "graph/program.hpp"

namespace weft::graph {
namespace {

/// Which launches touch each block. Blocks outside of the arena have no lifetime.
std::vector<Lifetime> lifetimes_of(const Program& program) {
  std::vector<Lifetime> out(program.blocks.size());
  for (std::size_t i = 0; i < program.dispatches.size(); ++i) {
    const int now = static_cast<int>(i);
    for (const ops::BoundRange& range : program.dispatches[i].ranges) {
      if (is_global(range.slot)) continue;
      const std::size_t block = range.slot.number();
      if (program.blocks[block].place != Block::Place::arena) continue;
      Lifetime& life = out[block];
      if (life.last < life.first) life.first = now;
      life.last = now;
      life.bytes = program.blocks[block].bytes;
    }
  }
  return out;
}

}  // namespace

Layout lay_out(const Program& program, const Caps& caps) {
  Layout out{.lifetimes = lifetimes_of(program), .arena = {}};
  out.arena = plan_memory(out.lifetimes, std::max<std::uint64_t>(caps.binding_alignment, 256));
  return out;
}

Result<Placed> place(const Program& program, const Layout& layout, gpu::Device device) {
  const Caps& caps = device.caps();
  const auto& [lifetimes, arena] = layout;
  Placed placed;
  placed.bound_bytes = arena.bound;
  placed.arena_bytes = arena.bytes;
  const bool one_buffer = !gpu::checks_aliases(device) && arena.bytes <= caps.max_buffer;
  gpu::Buffer shared;
  if (one_buffer && arena.bytes > 0) {
    auto buffer = device.allocate(arena.bytes, "arena");
    if (!buffer) return wrap(buffer.error(), "allocating memory between operations");
    shared = *buffer;
    placed.one_buffer = true;
  }
  for (std::size_t i = 0; i < program.blocks.size(); ++i) {
    const Block& block = program.blocks[i];
    if (block.place == Block::Place::external) {
      placed.slices.push_back({block.buffer, 0, block.buffer.capacity()});
    } else if (block.place == Block::Place::arena && lifetimes[i].last < lifetimes[i].first) {
      placed.slices.emplace_back();  // no launch touches it
    } else if (block.place == Block::Place::arena && shared) {
      placed.slices.push_back({shared, arena.offsets[i], block.bytes});
    } else {
      auto buffer = device.allocate(block.bytes);
      if (!buffer) return wrap(buffer.error(), "allocating a tensor");
      placed.slices.push_back({*buffer, 0, buffer->capacity()});
    }
  }
  return placed;
}

}  // namespace weft::graph
