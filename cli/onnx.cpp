#include "onnx.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "commands.hpp"
#include "files.hpp"
#include "late_notice.hpp"
#include "npy.hpp"
#include "number_range.hpp"
#include "onnx_bench.hpp"
#include "onnx_run.hpp"

// `weft onnx MODEL`: what is in a model, and running it.

namespace weft::cli {
namespace {

using onnx::Model;
using onnx::Port;
using onnx::Value;

struct OnnxOptions {
  std::filesystem::path model;
  OnnxRun run;
  bool runs = false;
  bool bench = false;
  bool compare = false;
  bool dot = false;
  bool shapes = false;
  std::filesystem::path out;
  double seconds = 1;
  double tolerance = 1e-3;
};

void print(const std::string& text) { std::fputs(shown(text).c_str(), stdout); }

std::string extent_text(const onnx::Extent& extent) {
  if (extent.value) return std::to_string(*extent.value);
  return extent.symbol.empty() ? "?" : extent.symbol;
}

std::string shape_text(const Port& port) {
  if (!port.shape) return "";
  std::string out = "[";
  for (const onnx::Extent& extent : *port.shape)
    out += (out.size() == 1 ? "" : ",") + extent_text(extent);
  return out + "]";
}

/// What follows from the inputs, where that is known, and what the file says elsewhere.
std::string better_shape(const Port& port, const Port* inferred) {
  if (inferred == nullptr || !inferred->shape) return shape_text(port);
  Port both = *inferred;
  for (std::size_t d = 0; d < both.shape->size(); ++d) {
    onnx::Extent& extent = (*both.shape)[d];
    const bool known = extent.value || !extent.symbol.empty();
    if (!known && port.shape && d < port.shape->size()) extent = (*port.shape)[d];
  }
  return shape_text(both);
}

/// The results of all nodes, with their shapes.
void print_shapes(const Model& model) {
  const auto shapes = model.shapes();
  for (const onnx::Node& node : onnx::ModelAccess::proto(model).graph.nodes) {
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      const auto found = shapes.find(name);
      print(
          formatted("{:<20} {:<32} {}\n", node.op, name,
                    found == shapes.end() ? "?" : found->second.type + shape_text(found->second)));
    }
  }
}

void summarize(const Model& model) {
  const onnx::ModelProto& proto = onnx::ModelAccess::proto(model);
  std::string sets;
  for (const auto& [domain, version] : model.opsets())
    sets += formatted("{}{} {}", sets.empty() ? "" : ", ", domain.empty() ? "ai.onnx" : domain,
                      version);
  print(formatted("graph '{}' by {}, IR version {}, opsets: {}\n", proto.graph.name,
                  proto.producer.empty() ? "?" : proto.producer, proto.ir_version, sets));
  for (const Port& port : model.inputs())
    print(formatted("input  {:<24} {}{}{}\n", port.name, port.type, shape_text(port),
                    port.optional ? " (may be left out)" : ""));
  const auto shapes = model.shapes();
  for (const Port& port : model.outputs()) {
    const auto found = shapes.find(port.name);
    print(formatted("output {:<24} {}{}\n", port.name, port.type,
                    better_shape(port, found == shapes.end() ? nullptr : &found->second)));
  }
  std::uint64_t elements = 0;
  for (const auto& tensor : proto.graph.initializers) {
    std::uint64_t count = 1;
    for (const std::int64_t extent : tensor->dims)
      count *= static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 0));
    elements += count;
  }
  std::size_t nodes = 0;
  for (const auto& [name, count] : model.operations()) nodes += count;
  print(formatted("{} nodes, {} weights with {} elements, {} functions\n", nodes,
                  proto.graph.initializers.size(), elements, proto.functions.size()));
  std::vector<std::pair<std::string, std::size_t>> operations(model.operations().begin(),
                                                              model.operations().end());
  std::ranges::stable_sort(operations, std::ranges::greater(),
                           &std::pair<std::string, std::size_t>::second);
  for (const auto& [name, count] : operations) print(formatted("{:>8} {}\n", count, name));
  if (model.unsupported().empty()) print("Weft runs all of them.\n");
  for (const std::string& one : model.unsupported()) print(one + "\n");
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char letter : text)
    out += letter == '"' || letter == '\\' ? std::string("\\") + letter : std::string(1, letter);
  return out;
}

void print_dot(const Model& model) {
  const onnx::GraphProto& graph = onnx::ModelAccess::proto(model).graph;
  std::map<std::string, std::string> from;  // values → what gives them
  print("digraph onnx {\n  node [shape=box];\n");
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    from[graph.inputs[i].name] = formatted("in{}", i);
    print(formatted("  in{} [label=\"{}\", shape=ellipse];\n", i, escaped(graph.inputs[i].name)));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& name : graph.nodes[i].outputs) from[name] = formatted("n{}", i);
    print(formatted("  n{} [label=\"{}\"];\n", i, escaped(graph.nodes[i].op)));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& name : graph.nodes[i].inputs) {
      if (const auto found = from.find(name); found != from.end())
        print(formatted("  {} -> n{} [label=\"{}\"];\n", found->second, i, escaped(name)));
    }
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    print(formatted("  out{} [label=\"{}\", shape=ellipse];\n", i, escaped(graph.outputs[i].name)));
    if (const auto found = from.find(graph.outputs[i].name); found != from.end())
      print(formatted("  {} -> out{};\n", found->second, i));
  }
  print("}\n");
}

void run(const OnnxOptions& options) {
  const Device device;
  const Model model = onnx::load(device, options.model);
  if (options.dot) return print_dot(model);
  if (options.shapes) return print_shapes(model);
  if (!options.runs && !options.bench && !options.compare) return summarize(model);
  const auto inputs = onnx_inputs(model, options.run);
  const auto results = [&] {
    const LateNotice notice(LateNotice::compiling);
    return run_onnx(device, model, inputs);
  }();
  if (options.runs) {
    for (const Port& port : model.outputs()) {
      const Value& value = results.at(port.name);
      print(formatted("{}: {}, {}\n", port.name, describe(value), range_of(value.read())));
    }
  }
  if (!options.out.empty()) {
    std::filesystem::create_directories(options.out);
    std::map<std::string, std::string> names;  // files → the results in them
    for (const auto& [name, value] : results) {
      std::string file = shown(name) + ".npy";
      std::ranges::replace(file, '/', '_');
      if (const auto [other, is_new] = names.emplace(file, name); !is_new)
        throw CommandError(
            formatted("Results '{}' and '{}' would both be in {}.", other->second, name, file));
      write_npy(options.out / file, value.read());
    }
  }
  if (options.bench) {
    const LateNotice notice("timing the model as a whole and node by node");
    bench_onnx(device, model, inputs, options.seconds);
  }
  if (options.compare && !compare_onnx(options.model, inputs, results, options.tolerance)) {
    throw CommandError("The results differ from those of ONNX Runtime.");
  }
}

}  // namespace

void add_onnx(CLI::App& app) {
  auto options = std::make_shared<OnnxOptions>();
  CLI::App* command = app.add_subcommand("onnx", "Show what is in an ONNX model, and run it");
  command->option_defaults()->always_capture_default(false);
  command->add_option("model", options->model, "The .onnx file")->required();
  command->add_flag("--run", options->runs,
                    "Run it and show its results; inputs without a file are random");
  command->add_option(
      "--input", options->run.inputs,
      "NAME=FILE: an input from a .npy, .pb, .wav, .ppm, .pgm, .png or .jpg file, or NAME=NUMBER "
      "for equal elements (again for others)");
  command->add_option("--dim", options->run.dims,
                      "NAME=NUMBER: a named extent of random inputs (1 where none is given)");
  command->add_option("--shape", options->run.shapes, "NAME=2,3: the shape of an input");
  command->add_option("--seed", options->run.seed, "Of random inputs");
  command->add_option("--out", options->out, "A folder for the results as .npy files (with --run)");
  command->add_flag("--bench", options->bench, "Time it, as a whole and node by node");
  command->add_option("--seconds", options->seconds, "How long to time it")
      ->check(number_range(0, 3600));
  command->add_flag("--compare", options->compare,
                    "Compare the results with ONNX Runtime's (python3-onnxruntime)");
  command->add_option("--tolerance", options->tolerance,
                      "The largest error, as a part of the largest value, that is no difference");
  command->add_flag("--dot", options->dot, "Print the graph in the DOT language");
  command->add_flag("--shapes", options->shapes, "Print the shape of every node's results");
  command->callback([options] { run(*options); });
}

}  // namespace weft::cli
