#include "graph/passes.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/format.hpp"

namespace weft::graph {
namespace {

constexpr Pass list[] = {
    {"fold", "computes once what depends on constants alone", passes::fold},
    {"share", "computes equal expressions once", passes::share},
    {"views", "joins views of views, and drops those that change nothing", passes::views},
    {"attend", "runs softmax(q·kᵀ)·v as one kernel", passes::attend},
    {"retype", "lets kernels read and write the types that casts are for", passes::retype},
    {"join", "makes products of one x with quantized weights, and gated units of them, at once",
     passes::join},
    {"epilogue", "adds a bias and applies a function inside of matrix products", passes::epilogue},
    {"residual", "adds a residual inside of the norm that reads the sum", passes::residual},
    {"pack", "rounds x to 8 bits once, for all products that take it so", passes::pack},
    {"cache", "writes what rope() turns right into the rows of a table", passes::cache},
    {"fuse", "runs chains of elementwise operations as one kernel", passes::fuse},
    {"drop", "leaves out what nobody reads", passes::drop},
};

}  // namespace

std::span<const Pass> all_passes() { return list; }

Result<std::vector<std::string_view>> parse_passes(std::string_view without) {
  std::vector<std::string_view> out;
  while (!without.empty()) {
    const std::size_t comma = std::min(without.find(','), without.size());
    std::string_view word = without.substr(0, comma);
    without.remove_prefix(std::min(comma + 1, without.size()));
    if (word.starts_with('-')) word.remove_prefix(1);
    if (word.empty()) continue;
    if (word == "all") {
      for (const Pass& pass : list) out.push_back(pass.name);
      continue;
    }
    const auto* found = std::ranges::find(list, word, &Pass::name);
    if (found == std::end(list)) {
      std::string known;
      for (const Pass& pass : list) known += formatted(", {}", pass.name);
      return fail(ErrorCode::not_found, "There is no pass named `{}`; the passes are all{}.", word,
                  known);
    }
    out.push_back(found->name);
  }
  return out;
}

Status run_passes(Graph& graph, DeviceData& device, std::string_view without,
                  const std::function<void(std::string_view, const Graph&)>& after) {
  std::string left_out(without);
  if (const char* more = std::getenv("WEFT_PASSES"); more != nullptr) {
    left_out += std::string(",") + more;
  }
  const auto skipped = parse_passes(left_out);
  if (!skipped) return std::unexpected(skipped.error());
  for (const Pass& pass : list) {
    if (std::ranges::find(*skipped, pass.name) != skipped->end()) continue;
    if (const Status ok = pass.run(graph, device); !ok) {
      return wrap(ok.error(), formatted("running the pass `{}`", pass.name));
    }
    if (after) after(pass.name, graph);
  }
  return {};
}

std::vector<int> count_readers(const Graph& graph) {
  std::vector<int> out(graph.operations.size(), 0);
  const auto read = [&](Edge edge) {
    if (edge.given()) ++out[static_cast<std::size_t>(edge.node)];
  };
  for (const Operation& operation : graph.operations) {
    for (const Edge& input : operation.inputs) read(input);
  }
  for (const Edge& output : graph.outputs) read(output);
  for (const GraphUpdate& update : graph.updates) {
    read(update.value);
    read({update.variable, 0});
  }
  return out;
}

void redirect(Graph& graph, Edge from, Edge to) {
  for (Operation& operation : graph.operations) std::ranges::replace(operation.inputs, from, to);
  std::ranges::replace(graph.outputs, from, to);
  for (GraphUpdate& update : graph.updates) {
    if (update.value == from) update.value = to;
  }
}

void compact(Graph& graph) {
  // Depth first from everything that is wanted, operations in their present order, so that what was
  // early stays early.
  enum class State : std::uint8_t { unseen, open, done };
  std::vector<bool> wanted(graph.operations.size(), false);
  std::vector<int> pending;
  const auto want = [&](Edge edge) {
    if (!edge.given() || wanted[static_cast<std::size_t>(edge.node)]) return;
    wanted[static_cast<std::size_t>(edge.node)] = true;
    pending.push_back(edge.node);
  };
  for (const Edge& output : graph.outputs) want(output);
  for (const GraphUpdate& update : graph.updates) {
    want(update.value);
    want({update.variable, 0});
  }
  while (!pending.empty()) {
    const int node = pending.back();
    pending.pop_back();
    for (const Edge& input : graph.at(node).inputs) want(input);
  }
  std::vector<int> renumbered(graph.operations.size(), -1);
  std::vector<State> states(graph.operations.size(), State::unseen);
  std::vector<Operation> sorted;
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    if (!wanted[i]) continue;
    std::vector<int> stack{static_cast<int>(i)};
    while (!stack.empty()) {
      const int node = stack.back();
      State& state = states[static_cast<std::size_t>(node)];
      if (state == State::unseen) {
        state = State::open;
        for (const Edge& input : graph.at(node).inputs) {
          if (input.given() && states[static_cast<std::size_t>(input.node)] == State::unseen)
            stack.push_back(input.node);
        }
        continue;
      }
      stack.pop_back();
      if (state == State::done) continue;
      state = State::done;
      renumbered[static_cast<std::size_t>(node)] = static_cast<int>(sorted.size());
      sorted.push_back(std::move(graph.at(node)));
    }
  }
  graph.operations = std::move(sorted);
  const auto renumber = [&](Edge& edge) {
    if (edge.given()) edge.node = renumbered[static_cast<std::size_t>(edge.node)];
  };
  for (Operation& operation : graph.operations) {
    for (Edge& input : operation.inputs) renumber(input);
  }
  for (Edge& output : graph.outputs) renumber(output);
  for (GraphUpdate& update : graph.updates) {
    update.variable = renumbered[static_cast<std::size_t>(update.variable)];
    renumber(update.value);
  }
}

namespace passes {

Status drop(Graph& graph, DeviceData&) {
  compact(graph);
  return {};
}

}  // namespace passes
}  // namespace weft::graph
