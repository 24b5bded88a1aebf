#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "base/format.hpp"
#include "formats/mapped_file.hpp"
#include "onnx/model.hpp"

// Runs the conformance tests of ONNX (Debian's libonnx-testdata): folders with a model, inputs, and
// the results that it must have.

namespace {

using namespace weft;
using namespace weft::onnx;
namespace fs = std::filesystem;

struct Options {
  fs::path data = "/usr/share/libonnx-testdata/data";
  fs::path gaps;
  fs::path table;
  std::vector<std::string> names;
  std::size_t sample = 0;
  std::uint64_t seed = 1;
  bool verbose = false;
};

struct Outcome {
  std::string folder;    ///< "node/test_add".
  std::string op;        ///< The operation that it is about.
  bool in_scope = true;  ///< All types are those of Weft.
  bool passed = false;
  bool replayed = false;
  std::string why;
  double seconds = 0;
};

bool weft_has(Type type) { return dtype_of(type) && type != Type::i16; }

Array elements(const TensorProto& proto, const std::shared_ptr<const void>& keep) {
  Result<Array> array = array_from(proto, keep);
  if (!array) throw Error(array.error().code, array.error().message);
  return *array;
}

/// The value in a file of test data; nothing for an empty optional.
Value read_value(const fs::path& path, const std::string& kind) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped) throw Error(mapped.error().code, mapped.error().message);
  const auto file = std::make_shared<MappedFile>(std::move(*mapped));
  Result<DataProto> data = read_data(file->bytes(), kind);
  if (!data) throw Error(data.error().code, path.string() + ": " + data.error().message);
  if (data->is_empty) return {};
  std::vector<Value> values;
  for (const TensorProto& tensor : data->tensors) values.emplace_back(elements(tensor, file));
  return data->is_sequence ? Value::sequence(values) : values.at(0);
}

/// Why a result is not what it must be; empty if it is.
/// Sums of many numbers (`sums`) may also be off by a part of the largest result, where terms
/// cancel each other.
std::string difference(const Value& is, const Value& must, double rtol, bool sums = false) {
  if (is.exists() != must.exists() || is.is_sequence() != must.is_sequence())
    return formatted("{} in place of {}", describe(is), describe(must));
  if (!is.exists()) return "";
  if (is.is_sequence()) {
    if (is.values().size() != must.values().size())
      return formatted("{} members in place of {}", is.values().size(), must.values().size());
    for (std::size_t i = 0; i < is.values().size(); ++i) {
      if (const std::string one = difference(is.values()[i], must.values()[i], rtol); !one.empty())
        return one;
    }
    return "";
  }
  if (is.type() != must.type() || is.shape() != must.shape())
    return formatted("{} in place of {}", describe(is), describe(must));
  const Array& a = is.read();
  const Array& b = must.read();
  if (a.strings != b.strings) return "other texts";
  if (a.type == Type::string) return "";
  if (a.type == Type::f16) rtol = std::max(rtol, 2e-3);
  if (a.type == Type::bf16) rtol = std::max(rtol, 1e-2);
  const auto x = a.doubles();
  const auto y = b.doubles();
  double atol = 1e-7;
  if (sums) {
    for (const double value : y) atol = std::max(atol, 1e-6 * std::fabs(value));
  }
  std::size_t wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ||
                      std::fabs(x[i] - y[i]) <= atol + rtol * std::fabs(y[i]);
    if (same) continue;
    if (wrong++ == 0) first = formatted("element {} is {} in place of {}", i, x[i], y[i]);
  }
  return wrong == 0 ? "" : formatted("{} ({} of {} differ)", first, wrong, x.size());
}

bool types_known(const Value& value) {
  if (!value.exists() || value.is_sequence()) return false;
  return weft_has(value.type());
}

Outcome run_one(const Device& device, const Options& options, const std::string& folder) {
  Outcome out{.folder = folder,
              .op = {},
              .in_scope = true,
              .passed = false,
              .replayed = false,
              .why = {},
              .seconds = 0};
  const auto start = std::chrono::steady_clock::now();
  try {
    const Model model = load(device, options.data / folder / "model.onnx");
    const ModelProto& proto = ModelAccess::proto(model);
    out.op = proto.graph.nodes.empty() ? "" : proto.graph.nodes.back().op;
    bool any = false;
    std::vector<std::map<std::string, Value>> all_inputs;
    std::vector<std::map<std::string, Value>> all_results;
    for (const auto& entry : fs::directory_iterator(options.data / folder)) {
      if (!entry.is_directory()) continue;
      std::map<std::string, Value> inputs;
      std::map<std::string, Value> results;
      for (std::size_t i = 0; i < proto.graph.inputs.size(); ++i) {
        const fs::path path = entry.path() / formatted("input_{}.pb", i);
        if (!fs::exists(path)) continue;
        const Value value = read_value(path, proto.graph.inputs[i].kind);
        out.in_scope = out.in_scope && types_known(value);
        inputs[proto.graph.inputs[i].name] = value;
      }
      for (std::size_t i = 0; i < proto.graph.outputs.size(); ++i) {
        const fs::path path = entry.path() / formatted("output_{}.pb", i);
        if (!fs::exists(path)) continue;
        const Value value = read_value(path, proto.graph.outputs[i].kind);
        out.in_scope = out.in_scope && types_known(value);
        results[proto.graph.outputs[i].name] = value;
      }
      all_inputs.push_back(inputs);
      all_results.push_back(results);
    }
    for (std::size_t set = 0; set < all_inputs.size(); ++set) {
      std::map<std::string, Value> results;
      if (out.in_scope) {
        std::map<std::string, Tensor> tensors;
        for (const auto& [name, value] : all_inputs[set]) tensors[name] = value.on(device);
        for (const auto& [name, tensor] : model.run(tensors)) results[name] = Value(tensor);
        out.replayed = model.report().replayed;
      } else {
        std::map<std::string, Value> inputs;
        for (const auto& [name, value] : all_inputs[set])
          inputs[name] = types_known(value) ? Value(value.on(device)) : value;
        results = ModelAccess::run(model, inputs);
      }
      for (const auto& [name, must] : all_results[set]) {
        const std::string why =
            difference(results.at(name), must, 1e-3, out.op == "DFT" || out.op == "STFT");
        if (!why.empty()) throw Error(ErrorCode::internal, formatted("'{}': {}", name, why));
        any = true;
      }
    }
    out.passed = any;
    if (!any) out.why = "there is nothing to compare";
  } catch (const std::exception& error) {
    out.why = error.what();
    std::ranges::replace(out.why, '\n', ' ');
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

/// Tests that are known not to pass, with reasons: lines "folder: reason"; a folder may end with *.
std::vector<std::pair<std::string, std::string>> read_gaps(const fs::path& path) {
  std::vector<std::pair<std::string, std::string>> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (!line.empty() && line[0] != '#' && colon != std::string::npos)
      out.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return out;
}

std::string gap_of(const std::vector<std::pair<std::string, std::string>>& gaps,
                   const std::string& folder) {
  for (const auto& [name, reason] : gaps) {
    if (name == folder ||
        (name.ends_with('*') && folder.starts_with(name.substr(0, name.size() - 1))))
      return reason;
  }
  return "";
}

std::vector<std::string> folders(const Options& options) {
  std::vector<std::string> out;
  for (const char* suite : {"node", "simple", "pytorch-converted", "pytorch-operator", "light"}) {
    if (!fs::exists(options.data / suite)) continue;
    for (const auto& entry : fs::directory_iterator(options.data / suite)) {
      const std::string name = std::string(suite) + "/" + entry.path().filename().string();
      if (!fs::exists(entry.path() / "model.onnx")) continue;
      const bool named =
          options.names.empty() || std::ranges::any_of(options.names, [&](const std::string& part) {
            return name.contains(part);
          });
      if (named) out.push_back(name);
    }
  }
  std::ranges::sort(out);
  if (options.sample != 0 && options.sample < out.size()) {
    std::mt19937_64 random(options.seed);
    std::ranges::shuffle(out, random);
    out.resize(options.sample);
    std::ranges::sort(out);
  }
  return out;
}

int usage() {
  std::cerr << "usage: onnx_tests [--data DIR] [--gaps FILE] [--table FILE] [--sample N] [--seed "
               "N] [--verbose] [PARTS OF NAMES…]\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    const bool more = i + 1 < arguments.size();
    if (a == "--verbose")
      options.verbose = true;
    else if (a == "--data" && more)
      options.data = arguments[++i];
    else if (a == "--gaps" && more)
      options.gaps = arguments[++i];
    else if (a == "--table" && more)
      options.table = arguments[++i];
    else if (a == "--sample" && more)
      options.sample = std::stoul(arguments[++i]);
    else if (a == "--seed" && more)
      options.seed = std::stoull(arguments[++i]);
    else if (a.starts_with("--"))
      return usage();
    else
      options.names.push_back(a);
  }
  if (!fs::exists(options.data)) {
    std::cout << "skipped: there is no " << options.data.string()
              << " (Debian's libonnx-testdata)\n0 passed, 0 failed\n";
    return 0;
  }
  const auto gaps = read_gaps(options.gaps);
  const Device device;
  std::vector<Outcome> all;
  std::size_t failed = 0;
  std::size_t wrongly_listed = 0;
  for (const std::string& folder : folders(options)) {
    Outcome one = run_one(device, options, folder);
    const std::string gap = gap_of(gaps, folder);
    const bool bad = one.passed ? !gap.empty() : gap.empty();
    failed += bad ? 1 : 0;
    wrongly_listed += one.passed && bad ? 1 : 0;
    if (bad || options.verbose) {
      const char* verdict = one.passed    ? (gap.empty() ? "passed" : "FAILED")
                            : gap.empty() ? "FAILED"
                                          : "gap";
      std::cout << verdict << ' ' << folder << (one.in_scope ? "" : " (types)")
                << (one.replayed ? " replayed" : "") << ' '
                << (one.passed && !gap.empty() ? "it passes, but is listed as a gap: " + gap
                                               : one.why)
                << std::endl;
    }
    all.push_back(std::move(one));
  }
  std::map<std::string, std::array<std::size_t, 4>> suites;
  for (const Outcome& one : all) {
    auto& counts = suites[one.folder.substr(0, one.folder.find('/'))];
    counts[one.in_scope ? 0 : 2] += one.passed ? 1 : 0;
    counts[one.in_scope ? 1 : 3] += 1;
  }
  for (const auto& [suite, counts] : suites) {
    std::cout << suite << ": " << counts[0] << " of " << counts[1] << " with Weft's types, "
              << counts[2] << " of " << counts[3] << " others\n";
  }
  if (!options.table.empty()) {
    std::ofstream file(options.table);
    for (const Outcome& one : all) {
      const std::string gap = gap_of(gaps, one.folder);
      file << one.folder << '\t' << one.op << '\t' << (one.in_scope ? 1 : 0) << '\t'
           << (one.passed ? 1 : 0) << '\t' << (one.replayed ? 1 : 0) << '\t'
           << (one.passed    ? ""
               : gap.empty() ? one.why
                             : gap)
           << '\n';
    }
  }
  const auto passed = static_cast<std::size_t>(std::ranges::count_if(all, &Outcome::passed));
  std::cout << all.size() - passed << " known gaps and failures\n"
            << passed - std::min(passed, wrongly_listed) << " passed, " << failed << " failed"
            << std::endl;
  return failed == 0 ? 0 : 1;
}
