#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "device/caps.hpp"
#include "gpu/gpu.hpp"
#include "graph/executor.hpp"
#include "graph/graph.hpp"
#include "graph/memory.hpp"
#include "ops/plan.hpp"
#include "ops/view.hpp"

namespace weft::graph {

/// Memory that launches of a program touch.
struct Block {
  enum class Place : std::uint8_t {
    arena,     ///< Between operations.
    external,  ///< A leaf's buffer.
    input,     ///< Filled before each run.
    output,    ///< Kept after the run.
  };
  Place place = Place::arena;
  std::uint64_t bytes = 0;
  gpu::Buffer buffer;  ///< Of external blocks.
  int input = -1;
};

/// Whether a slot means the same buffer in every program: it is none of the program's blocks.
inline bool is_global(ops::Slot slot) {
  return slot.kind() == ops::Slot::Kind::table || slot.kind() == ops::Slot::Kind::report;
}

/// A graph as launches. The slots of their ranges are numbers of blocks.
struct Program {
  std::vector<Block> blocks;
  std::vector<ops::Dispatch> dispatches;
  std::vector<ops::View> outputs;  ///< `slot` is the number of the block.
};

/// How a graph is lowered.
struct LowerOptions {
  bool in_place = true;      ///< Let results take the memory of inputs that nobody reads any more.
  bool own_outputs = false;  ///< Outputs must be dense and in blocks of their own.
};

/// Plans every operation of a graph for a device.
Result<Program> lower(const Graph& graph, const Caps& caps, const LowerOptions& options);

/// When each block is needed and where it goes in an arena: what follows from a program alone.
struct Layout {
  std::vector<Lifetime> lifetimes;  ///< Blocks outside of the arena have none.
  Arena arena;
};

Layout lay_out(const Program& program, const Caps& caps);

/// A program with memory: `slices[i]` is where block i lies.
struct Placed {
  std::vector<gpu::Slice> slices;
  std::uint64_t arena_bytes = 0;
  std::uint64_t bound_bytes = 0;
  bool one_buffer = false;  ///< What lives between operations shares a buffer, which launches bind
                            ///< more than once.
};

/// Allocates the memory of a program: one arena for what lives between operations, buffers for
/// inputs and outputs. In safe mode, where one buffer cannot be read and written by one launch (and
/// after the device has refused something, because then it is the same), every block is a buffer.
Result<Placed> place(const Program& program, const Layout& layout, gpu::Device device);
inline Result<Placed> place(const Program& program, const gpu::Device& device) {
  return place(program, lay_out(program, device.caps()), device);
}

}  // namespace weft::graph
