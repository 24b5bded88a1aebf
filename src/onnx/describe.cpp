#include <string>

#include "base/format.hpp"
#include "base/json.hpp"
#include "weft/onnx.hpp"

namespace weft::onnx {
namespace {

/// Parts between brackets, with commas between them.
template <class Range, class Text>
std::string listed(const Range& range, Text text, char open = '[', char close = ']') {
  std::string out(1, open);
  for (const auto& one : range) out += (out.size() > 1 ? "," : "") + text(one);
  return out + close;
}

std::string port_text(const Port& port) {
  std::string out =
      formatted("{{\"name\":{},\"type\":{}", json::quoted(port.name), json::quoted(port.type));
  if (port.shape) {
    out += ",\"shape\":" + listed(*port.shape, [](const Extent& extent) {
             return extent.value ? std::to_string(*extent.value) : json::quoted(extent.symbol);
           });
  }
  return out + (port.optional ? ",\"optional\":true}" : "}");
}

}  // namespace

std::string Model::to_json() const {
  const auto entry = [](const auto& one) {
    return formatted("{}:{}", json::quoted(one.first), one.second);
  };
  const RunReport last = report();
  return formatted(
      "{{\"inputs\":{},\"outputs\":{},\"shapes\":{},\"opsets\":{},\"operations\":{},"
      "\"unsupported\":{},"
      "\"replayed\":{},\"why\":{},\"dispatches\":{}}}",
      listed(inputs(), port_text), listed(outputs(), port_text),
      listed(shapes(), [](const auto& one) { return port_text(one.second); }),
      listed(opsets(), entry, '{', '}'), listed(operations(), entry, '{', '}'),
      listed(unsupported(), json::quoted), last.replayed, json::quoted(last.why), last.dispatches);
}

}  // namespace weft::onnx
