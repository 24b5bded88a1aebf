#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/format.hpp"
#include "base/math.hpp"
#include "graph/attributes/fused.hpp"
#include "graph/attributes/reduce.hpp"
#include "graph/destinations.hpp"
#include "graph/kinds.hpp"
#include "graph/program.hpp"
#include "ops/map/map.hpp"
#include "ops/quant/quant.hpp"

namespace weft::graph {
namespace {

constexpr int at_the_end = std::numeric_limits<int>::max();

/// Which tensors share memory because one is a view of the other, and who reads it last.
class Aliases {
 public:
  explicit Aliases(const Graph& graph) {
    for (std::size_t i = 0; i < graph.operations.size(); ++i) {
      const Operation& operation = graph.operations[i];
      const int number = static_cast<int>(i);
      if (operation.rule->view != nullptr) {
        bases_[{number, 0}] = base(operation.inputs.front());
        continue;
      }
      for (const Edge& input : operation.inputs) {
        if (input.given()) note_read(base(input), number);
      }
    }
    for (const Edge& output : graph.outputs) note_read(base(output), at_the_end);
    for (const GraphUpdate& update : graph.updates) {
      // The memory of a value that is computed may become the variable's; that is decided by
      // homes_of.
      const bool computed = graph.at(update.value.node).rule->lower != nullptr;
      if (!computed) note_read(base(update.value), at_the_end);
    }
  }

  /// The tensor whose memory an edge looks at.
  [[nodiscard]] Edge base(Edge edge) const {
    const auto found = bases_.find(edge);
    return found == bases_.end() ? edge : found->second;
  }
  /// The last operation that reads the memory of a base; -1 if there is none.
  [[nodiscard]] int last_read(Edge base_edge) const {
    const auto found = last_.find(base_edge);
    return found == last_.end() ? -1 : found->second;
  }

 private:
  void note_read(Edge base_edge, int reader) {
    const auto found = last_.try_emplace(base_edge, reader).first;
    found->second = std::max(found->second, reader);
  }
  std::map<Edge, Edge> bases_;
  std::map<Edge, int> last_;
};

bool may_replace(const Operation& operation, std::size_t output, std::size_t input) {
  // A chain that ends with a reduction may repeat an input that has the very shape of its result.
  const auto* chain = operation.attributes.get_if<FusedTailAttributes>();
  if (chain != nullptr && std::holds_alternative<ReduceAttributes>(chain->tail)) return false;
  return std::ranges::any_of(operation.rule->in_place, [&](const InPlace& allowed) {
    return allowed.output == output && allowed.input == input;
  });
}

/// The updates whose value can be computed right in the variable's memory: nobody reads the old
/// values afterwards, and the operation itself reads them, if at all, element by element.
std::map<Edge, int> homes_of(const Graph& graph, const Aliases& aliases) {
  std::map<Edge, int> uses;
  for (const GraphUpdate& update : graph.updates) ++uses[update.value];
  std::map<Edge, int> homes;
  for (const GraphUpdate& update : graph.updates) {
    const Operation& maker = graph.at(update.value.node);
    const Edge old{update.variable, 0};
    const int last = aliases.last_read(old);
    if (maker.rule->lower == nullptr || uses[update.value] > 1 || last > update.value.node)
      continue;
    bool safe = true;
    for (std::size_t i = 0; i < maker.inputs.size() && last == update.value.node; ++i) {
      const Edge input = maker.inputs[i];
      if (!input.given() || aliases.base(input) != old) continue;
      safe = safe && input == old && may_replace(maker, update.value.output, i);
    }
    if (safe && std::ranges::find(graph.outputs, update.value) == graph.outputs.end()) {
      homes.emplace(update.value, update.variable);
    }
  }
  return homes;
}

class Lowering {
 public:
  Lowering(const Graph& graph, const Caps& caps, const LowerOptions& options)
      : graph_(graph),
        caps_(caps),
        options_(options),
        aliases_(graph),
        homes_(homes_of(graph, aliases_)),
        destinations_(find_destinations(graph)) {
    for (Edge edge : graph.outputs) {
      while (kept_.insert(edge).second && graph.at(edge.node).rule->view != nullptr) {
        edge = graph.at(edge.node).inputs.front();
      }
    }
  }

  Result<Program> run() {
    for (std::size_t i = 0; i < graph_.operations.size(); ++i) {
      const Operation& operation = graph_.operations[i];
      if (const Status ok = lower_one(static_cast<int>(i), operation); !ok) {
        std::string types;
        for (const Edge& input : operation.inputs) {
          if (input.given()) types += " " + describe(graph_.type(input));
        }
        return wrap(ok.error(),
                    formatted("computing {} of{}",
                              describe_place(operation.rule->name, operation.where), types));
      }
    }
    if (const Status ok = finish_updates(); !ok) return std::unexpected(ok.error());
    if (const Status ok = finish_outputs(); !ok) return std::unexpected(ok.error());
    return std::move(program_);
  }

 private:
  ops::Slot add_block(Block block) {
    program_.blocks.push_back(std::move(block));
    return ops::Slot(program_.blocks.size() - 1);
  }

  Block& block(const ops::View& view) { return program_.blocks[view.slot.number()]; }

  ops::View new_dense(const Type& type, Block::Place place = Block::Place::arena) {
    ops::View view = ops::View::dense(type.dtype, type.shape);
    view.slot = add_block({.place = place, .bytes = view.bytes().size()});
    return view;
  }

  /// Asked before planning: a plan for more than a buffer can hold would have launches without end.
  [[nodiscard]] Status fits_a_buffer(const ops::View& view) const {
    if (view.bytes().size() <= caps_.max_buffer) return {};
    return fail(ErrorCode::out_of_memory,
                "A result {} takes {} bytes; the largest buffer of this device has {} bytes.",
                ops::describe(view), view.bytes().size(), caps_.max_buffer);
  }

  Status lower_one(int number, const Operation& operation) {
    auto& mine = views_.emplace_back();
    if (!operation.storage.empty()) {
      for (const Storage& storage : operation.storage) {
        ops::View view = storage.view;
        view.slot = external_block(storage.buffer);
        mine.push_back(view);
      }
      return {};
    }
    if (operation.input >= 0) {
      mine.push_back(new_dense(operation.types.front(), Block::Place::input));
      block(mine.back()).input = operation.input;
      return {};
    }
    std::vector<ops::View> inputs;
    for (const Edge& input : operation.inputs) {
      inputs.push_back(input.given() ? view_of(input) : ops::View{});
    }
    if (operation.rule->view != nullptr) return lower_view(number, operation, inputs.front(), mine);
    return lower_kernel(number, operation, inputs, mine);
  }

  ops::Slot external_block(const gpu::Buffer& buffer) {
    const auto found = externals_.find(buffer.id());
    if (found != externals_.end()) return found->second;
    const ops::Slot made =
        add_block({.place = Block::Place::external, .bytes = buffer.size(), .buffer = buffer});
    externals_.emplace(buffer.id(), made);
    return made;
  }

  const ops::View& view_of(Edge edge) const {
    return views_[static_cast<std::size_t>(edge.node)][edge.output];
  }

  Status lower_view(int number, const Operation& operation, const ops::View& input,
                    std::vector<ops::View>& mine) {
    auto view = operation.rule->view(input, operation.attributes);
    if (!view) {
      const ops::View dense =
          new_dense({input.dtype, {input.extents().begin(), input.extents().end()}},
                    kept_.contains({number, 0}) ? Block::Place::output : Block::Place::arena);
      if (const Status ok = fits_a_buffer(dense); !ok) return ok;
      if (const Status ok = copy(input, dense); !ok) return ok;
      view = operation.rule->view(dense, operation.attributes);
      if (!view) return std::unexpected(view.error());
    }
    mine.push_back(*view);
    return {};
  }

  /// The input whose memory output number `output` can take over, or -1.
  int replaceable(int number, const Operation& operation, std::span<const ops::View> inputs,
                  std::size_t output) {
    if (!options_.in_place) return -1;
    const Type& type = operation.types[output];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ops::View& input = inputs[i];
      if (!input.given() || !may_replace(operation, output, i)) continue;
      if (block(input).place != Block::Place::arena || input.dtype != type.dtype ||
          !std::ranges::equal(input.extents(), type.shape) || !input.is_dense() ||
          input.bytes() != ops::ByteRange{0, block(input).bytes} || taken_.contains(input.slot) ||
          shared_.contains(input.slot)) {
        continue;
      }
      if (aliases_.last_read(aliases_.base(operation.inputs[i])) != number) continue;
      bool alone = true;
      for (std::size_t j = 0; j < inputs.size(); ++j) {
        alone =
            alone && (inputs[j].slot != input.slot || operation.inputs[j] == operation.inputs[i]);
      }
      if (alone) return static_cast<int>(i);
    }
    return -1;
  }

  /// The memory of a concatenation that some of its parts are computed in.
  const ops::View& concatenated(int number) {
    const auto found = concats_.find(number);
    if (found != concats_.end()) return found->second;
    const ops::View& made =
        concats_.emplace(number, new_dense(graph_.at(number).types.front())).first->second;
    shared_.insert(made.slot);
    return made;
  }

  /// Where a concatenation wants a result, unless the operation reads memory of the same
  /// concatenation.
  std::optional<ops::View> destination(Edge edge, const Type& type,
                                       std::span<const ops::View> inputs) {
    const auto found = destinations_.find(edge);
    if (found == destinations_.end() || !options_.in_place) return std::nullopt;
    const ops::View& whole = concatenated(found->second.concat);
    for (const ops::View& input : inputs) {
      if (input.given() && input.slot == whole.slot) return std::nullopt;
    }
    ops::View view = ops::View::dense(type.dtype, type.shape);
    view.slot = whole.slot;
    view.offset = whole.offset + found->second.element * size_of(type.dtype);
    return view;
  }

  Status lower_kernel(int number, const Operation& operation, std::span<const ops::View> inputs,
                      std::vector<ops::View>& mine) {
    taken_.clear();
    for (std::size_t k = 0; k < operation.types.size(); ++k) {
      const Edge edge{number, static_cast<std::uint32_t>(k)};
      const bool keep = kept_.contains(edge);
      if (const auto home = homes_.find(edge); home != homes_.end()) {
        mine.push_back(view_of({home->second, 0}));
      } else if (const auto made = concats_.find(number); made != concats_.end()) {
        mine.push_back(made->second);
      } else if (const auto place = destination(edge, operation.types[k], inputs)) {
        mine.push_back(*place);
      } else if (const int from = replaceable(number, operation, inputs, k); from >= 0) {
        mine.push_back(inputs[static_cast<std::size_t>(from)]);
        if (keep) block(mine.back()).place = Block::Place::output;
      } else {
        mine.push_back(
            new_dense(operation.types[k], keep ? Block::Place::output : Block::Place::arena));
      }
      if (const Status ok = fits_a_buffer(mine.back()); !ok) return ok;
      taken_.insert(mine.back().slot);
    }
    for (const InPlace& pair : operation.rule->in_place) {
      if (!operation.rule->accumulates || inputs[pair.input].slot == mine[pair.output].slot)
        continue;
      if (const Status ok = copy(inputs[pair.input], mine[pair.output]); !ok) return ok;
    }
    // Plans number the buffers of one operation; blocks are numbered over the whole program.
    std::vector<ops::Slot> slots;
    const auto local = [&](std::span<const ops::View> views) {
      std::vector<ops::View> out(views.begin(), views.end());
      for (ops::View& view : out) {
        if (!view.given()) continue;
        auto found = std::ranges::find(slots, view.slot);
        if (found == slots.end()) found = slots.insert(found, view.slot);
        view.slot = ops::Slot(static_cast<std::size_t>(found - slots.begin()));
      }
      return out;
    };
    const std::vector<ops::View> in = local(inputs);
    const std::vector<ops::View> out = local(mine);
    return append(
        operation.rule->lower(
            {.attributes = operation.attributes, .inputs = in, .outputs = out, .caps = caps_}),
        slots);
  }

  Status append(Result<ops::Plan> plan, std::span<const ops::Slot> slots) {
    if (!plan) return std::unexpected(plan.error());
    // Drivers end the process when they get a hundred thousand at once.
    constexpr std::size_t most_launches = 1U << 16U;
    if (plan->dispatches.size() > most_launches) {
      return fail(ErrorCode::unsupported,
                  "It would take {} launches, because this device binds {} bytes at once.",
                  plan->dispatches.size(), caps_.max_binding);
    }
    std::vector<ops::Slot> scratch;
    for (const std::uint64_t bytes : plan->scratch) scratch.push_back(add_block({.bytes = bytes}));
    for (ops::Dispatch& dispatch : plan->dispatches) {
      for (ops::BoundRange& range : dispatch.ranges) {
        if (is_global(range.slot)) continue;
        const bool is_scratch = range.slot.kind() == ops::Slot::Kind::scratch;
        range.slot =
            (is_scratch ? std::span<const ops::Slot>(scratch) : slots)[range.slot.number()];
      }
      program_.dispatches.push_back(std::move(dispatch));
    }
    return {};
  }

  Status copy(ops::View from, ops::View to) {
    const std::array slots{from.slot, to.slot};
    from.slot = ops::Slot(0);
    to.slot = ops::Slot(slots[0] == slots[1] ? 0 : 1);
    if (is_quantized(to.dtype)) {
      return append(ops::quant::plan(ops::quant::CopyArgs{.x = from, .y = to}, caps_), slots);
    }
    return append(ops::map::plan({.function = "copy", .inputs = {from}, .y = to}, caps_), slots);
  }

  /// Values that could not be computed in their variable's memory are copied there, after all of
  /// them are safe.
  Status finish_updates() {
    std::vector<std::pair<ops::View, ops::View>> moves;
    for (const GraphUpdate& update : graph_.updates) {
      const ops::View& target = view_of({update.variable, 0});
      ops::View from = view_of(update.value);
      if (homes_.contains(update.value)) continue;
      if (block(from).place == Block::Place::external) {
        const ops::View safe = new_dense(graph_.type(update.value));
        if (const Status ok = copy(from, safe); !ok) return ok;
        from = safe;
      }
      moves.emplace_back(from, target);
    }
    for (const auto& [from, to] : moves) {
      if (const Status ok = copy(from, to); !ok) return ok;
    }
    return {};
  }

  Status finish_outputs() {
    for (const Edge& output : graph_.outputs) {
      ops::View view = view_of(output);
      const bool own =
          block(view).place == Block::Place::output && view.is_dense() && view.offset == 0;
      if (options_.own_outputs && !own) {
        return fail(ErrorCode::internal,
                    "Result {} of a compiled function has no memory of its own.",
                    describe(graph_.type(output)));
      }
      program_.outputs.push_back(view);
    }
    return {};
  }

  const Graph& graph_;
  const Caps& caps_;
  const LowerOptions& options_;
  Aliases aliases_;
  std::map<Edge, int> homes_;  // value of an update → operation of the variable
  std::map<Edge, Destination> destinations_;
  std::map<int, ops::View>
      concats_;                 // operation → its result, where parts of it were computed already
  std::set<ops::Slot> shared_;  // blocks of these
  std::set<Edge> kept_;         // outputs, and what they are views of
  std::set<ops::Slot> taken_;   // blocks that the present operation writes
  std::map<std::uint64_t, ops::Slot> externals_;
  std::vector<std::vector<ops::View>> views_;
  Program program_;
};

}  // namespace

Result<Program> lower(const Graph& graph, const Caps& caps, const LowerOptions& options) {
  return Lowering(graph, caps, options).run();
}

}  // namespace weft::graph
