#include <string>

#include "base/format.hpp"
#include "weft/onnx.hpp"

namespace weft::onnx {
namespace {

/// A text of JSON; what is not ASCII stays as it is.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    if (static_cast<unsigned char>(letter) < 0x20) {
      out += formatted("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      out += letter;
    }
  }
  return out + '"';
}

/// Parts between brackets, with commas between them.
template <class Range, class Text>
std::string listed(const Range& range, Text text, char open = '[', char close = ']') {
  std::string out(1, open);
  for (const auto& one : range) out += (out.size() > 1 ? "," : "") + text(one);
  return out + close;
}

std::string port_text(const Port& port) {
  std::string out =
      formatted("{{\"name\":{},\"type\":{}", json_text(port.name), json_text(port.type));
  if (port.shape) {
    out += ",\"shape\":" + listed(*port.shape, [](const Extent& extent) {
             return extent.value ? std::to_string(*extent.value) : json_text(extent.symbol);
           });
  }
  return out + (port.optional ? ",\"optional\":true}" : "}");
}

}  // namespace

std::string Model::to_json() const {
  const auto entry = [](const auto& one) {
    return formatted("{}:{}", json_text(one.first), one.second);
  };
  const RunReport last = report();
  return formatted(
      "{{\"inputs\":{},\"outputs\":{},\"shapes\":{},\"opsets\":{},\"operations\":{},"
      "\"unsupported\":{},"
      "\"replayed\":{},\"why\":{},\"dispatches\":{}}}",
      listed(inputs(), port_text), listed(outputs(), port_text),
      listed(shapes(), [](const auto& one) { return port_text(one.second); }),
      listed(opsets(), entry, '{', '}'), listed(operations(), entry, '{', '}'),
      listed(unsupported(), json_text), last.replayed, json_text(last.why), last.dispatches);
}

}  // namespace weft::onnx
