#include "onnx_run.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <random>
#include <ranges>
#include <set>

#include "commands.hpp"
#include "files.hpp"
#include "formats/mapped_file.hpp"
#include "media.hpp"
#include "npy.hpp"
#include "python.hpp"

namespace weft::cli {
namespace {

using onnx::Array;
using onnx::Port;
using onnx::Type;
using onnx::Value;

Array read_input(const std::filesystem::path& path, const Port& port) {
  if (path.extension() == ".npy") return read_npy(path);
  if (is_media(path)) return read_media(path, port);
  if (path.extension() != ".pb")
    throw CommandError(
        formatted("{}: inputs are read from .npy, .pb, .wav, .ppm, .pgm, .png and .jpg files.",
                  path.string()));
  const auto file = std::make_shared<MappedFile>(value_or_exit(MappedFile::open(path)));
  const auto of_file = [&](auto read) {
    if (!read) throw CommandError(formatted("{}: {}", path.string(), read.error().message));
    return std::move(*read);
  };
  const onnx::TensorProto proto = of_file(onnx::read_tensor(file->bytes()));
  return of_file(onnx::array_from(proto, file));
}

std::pair<std::string, std::string> pair_of(const std::string& text, const char* what) {
  const auto at = text.find('=');
  if (at == std::string::npos || at == 0)
    throw CommandError(formatted("\"{}\" is not of the form {}.", text, what));
  return {text.substr(0, at), text.substr(at + 1)};
}

template <class T>
std::optional<T> parsed(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string list(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "'" : ", '") + name + "'";
  return out;
}

/// What is said about the extents of inputs that the model leaves open.
struct Sizes {
  Sizes(const OnnxRun& run, const std::vector<Port>& inputs) {
    std::set<std::string> names;  // of extents
    for (const Port& port : inputs) {
      for (const onnx::Extent& extent : port.shape.value_or(std::vector<onnx::Extent>{}))
        if (!extent.symbol.empty()) names.insert(extent.symbol);
    }
    for (const std::string& text : run.dims) {
      const auto [name, number] = pair_of(text, "NAME=NUMBER");
      if (!names.contains(name))
        throw CommandError(
            formatted("No input has an extent named '{}'; {}.", name,
                      names.empty() ? "none has a name" : "there are " + list(names)));
      const auto value = parsed<std::uint64_t>(number);
      if (!value) throw CommandError(formatted("\"{}\" in \"{}\" is no number.", number, text));
      symbols[name] = *value;
    }
    for (const std::string& text : run.shapes) {
      const auto [name, numbers] = pair_of(text, "NAME=NUMBER,NUMBER,…");
      if (std::ranges::find(inputs, name, &Port::name) == inputs.end())
        throw CommandError(formatted("The model has no input '{}'.", name));
      Shape& shape = shapes[name];
      for (const auto part : std::views::split(numbers, ',')) {
        const auto value = parsed<std::uint64_t>(std::string(part.begin(), part.end()));
        if (!value) throw CommandError(formatted("\"{}\" has an extent that is no number.", text));
        shape.push_back(*value);
      }
    }
  }

  [[nodiscard]] Shape of(const Port& port) const {
    const auto given = shapes.find(port.name);
    Shape out;
    if (given != shapes.end()) {
      out = given->second;
    } else if (port.shape) {
      for (const onnx::Extent& extent : *port.shape) {
        const auto named = symbols.find(extent.symbol);
        out.push_back(extent.value ? *extent.value : named != symbols.end() ? named->second : 1);
      }
    } else {
      throw CommandError(formatted(
          "The input '{}' has no shape in the model; give it one with --shape.", port.name));
    }
    constexpr std::uint64_t most = std::uint64_t{1} << 28;
    std::uint64_t count = 1;
    for (const std::uint64_t extent : out) {
      if (extent != 0 && count > most / extent)
        throw CommandError(formatted("The input '{}' of {} has more than {} elements.", port.name,
                                     onnx::text_of(out), most));
      count *= extent;
    }
    return out;
  }

  std::map<std::string, std::uint64_t> symbols;
  std::map<std::string, Shape> shapes;
};

std::uint64_t count_of(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

/// Floats between -1 and 1, small whole numbers that are not negative, true and false.
Array random_array(const Port& port, const Sizes& sizes, std::mt19937_64& random) {
  if (!port.dtype)
    throw CommandError(
        formatted("The input '{}' is {}; name a file for it with --input.", port.name, port.type));
  const Shape shape = sizes.of(port);
  const Type type = onnx::type_of(*port.dtype);
  std::vector<double> values(count_of(shape));
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int> whole(0, type == Type::boolean ? 1 : 3);
  for (double& value : values) value = onnx::is_float(type) ? real(random) : whole(random);
  return onnx::array_of(type, shape, values);
}

constexpr const char* helper = R"(
import sys, numpy, onnxruntime
onnxruntime.set_default_logger_severity(4)
model, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
inputs = {name: numpy.load(f"{folder}/input_{i}.npy") for i, name in enumerate(names)}
for i, result in enumerate(session.run(None, inputs)):
    numpy.save(f"{folder}/result_{i}.npy", numpy.asarray(result))
with open(f"{folder}/names", "w") as file:
    file.write("\n".join(o.name for o in session.get_outputs()))
)";

}  // namespace

std::map<std::string, Value> onnx_inputs(const onnx::Model& model, const OnnxRun& run) {
  std::map<std::string, Value> out;
  const Sizes sizes(run, model.inputs());
  for (const std::string& text : run.inputs) {
    const auto [name, file] = pair_of(text, "NAME=FILE");
    const auto port = std::ranges::find(model.inputs(), name, &Port::name);
    if (port == model.inputs().end())
      throw CommandError(formatted("The model has no input '{}'.", name));
    const auto number = parsed<double>(file);
    const auto dtype = port->dtype;
    if (number && dtype && !std::filesystem::exists(file)) {
      const Shape shape = sizes.of(*port);
      out[name] = onnx::array_of(onnx::type_of(*dtype), shape,
                                 std::vector<double>(count_of(shape), *number));
      continue;
    }
    Array array = read_input(file, *port);
    if (port->dtype && onnx::is_float(array.type) && onnx::is_float(onnx::type_of(*port->dtype)))
      array = onnx::converted(array, onnx::type_of(*port->dtype));
    out[name] = array;
  }
  std::mt19937_64 random(run.seed);
  for (const Port& port : model.inputs()) {
    if (!port.optional && !out.contains(port.name))
      out[port.name] = random_array(port, sizes, random);
  }
  return out;
}

std::map<std::string, Value> run_onnx(const Device& device, const onnx::Model& model,
                                      const std::map<std::string, Value>& inputs) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, value] : inputs) tensors[name] = value.on(device);
  std::map<std::string, Value> out;
  for (const auto& [name, tensor] : model.run(tensors)) out[name] = Value(tensor);
  return out;
}

std::string range_of(const Array& array) {
  const auto values = array.doubles();
  if (values.empty()) return "no elements";
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0;
  std::size_t nan = 0;
  for (const double v : values) {
    if (std::isnan(v)) {
      ++nan;
      continue;
    }
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
  }
  if (nan == values.size()) return formatted("{} NaN and nothing else", nan);
  const std::string range = formatted("min {:.6g}, mean {:.6g}, max {:.6g}", low,
                                      sum / static_cast<double>(values.size() - nan), high);
  return nan == 0 ? range : formatted("{}, {} NaN", range, nan);
}

bool compare_onnx(const std::filesystem::path& model, const std::map<std::string, Value>& inputs,
                  const std::map<std::string, Value>& results, double tolerance) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments{model.string(), folder.path().string()};
  std::size_t number = 0;
  for (const auto& [name, value] : inputs) {
    write_npy(folder.path() / formatted("input_{}.npy", number++), value.read());
    arguments.push_back(name);
  }
  run_python(folder, helper, arguments, "ONNX Runtime (python3-onnxruntime) did not run the model");
  std::ifstream names(folder.path() / "names");
  bool close = true;
  number = 0;
  for (std::string name; std::getline(names, name); ++number) {
    const Array theirs = read_npy(folder.path() / formatted("result_{}.npy", number));
    const auto found = results.find(name);
    if (found == results.end())
      throw CommandError(formatted("ONNX Runtime gives '{}', which Weft does not.", name));
    const Array& ours = found->second.read();
    if (theirs.shape != ours.shape) {
      std::fputs(formatted("{}: {} here and {} there\n", shown(name), onnx::text_of(ours.shape),
                           onnx::text_of(theirs.shape))
                     .c_str(),
                 stdout);
      close = false;
      continue;
    }
    const auto a = ours.doubles();
    const auto b = theirs.doubles();
    double largest = 0;
    double error = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if ((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]) continue;
      largest = std::max(largest, std::fabs(b[i]));
      error = std::max(error, std::isfinite(a[i] - b[i]) ? std::fabs(a[i] - b[i]) : INFINITY);
    }
    for (const double value : b)
      largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
    const bool good = error <= tolerance * std::max(largest, 1e-30);
    close = close && good;
    std::fputs(formatted("{}: largest error {:.3g}, largest value {:.3g}{}\n", shown(name), error,
                         largest, good ? "" : "  DIFFERS")
                   .c_str(),
               stdout);
  }
  return close;
}

}  // namespace weft::cli
