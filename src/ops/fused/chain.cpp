#include "ops/fused/chain.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/format.hpp"

namespace weft::ops::fused {
namespace {

std::string value_name(std::uint32_t number, std::size_t inputs) {
  return number < inputs ? formatted("x{}", number) : formatted("t{}", number - inputs);
}

/// Functions whose helpers stand in map/special.wgsl.
bool is_special(std::string_view function) {
  constexpr std::array names{"asin",  "acos",  "atan",  "atan2",  "sinh",   "cosh",
                             "asinh", "acosh", "atanh", "erfinv", "lgamma", "digamma"};
  return std::ranges::contains(names, function);
}

/// An input may share memory with the output only as the same view.
Status check_overlap(const View& input, const View& y) {
  if (input.slot != y.slot || input.empty() || y.empty()) return {};
  const ByteRange a = input.bytes();
  const ByteRange b = y.bytes();
  if (a.end <= b.begin || b.end <= a.begin) return {};
  bool same =
      input.offset == y.offset && size_of(input.dtype) == size_of(y.dtype) && input.rank == y.rank;
  for (std::uint32_t i = 0; same && i < y.rank; ++i) {
    same = input.shape[i] == y.shape[i] && (y.shape[i] == 1 || input.stride[i] == y.stride[i]);
  }
  if (same) return {};
  return fail(ErrorCode::invalid_argument,
              "An input ({}) overlaps the output ({}) of a chain without being the same view.",
              describe(input), describe(y));
}

}  // namespace

Status check(const Chain& chain) {
  if (chain.inputs.size() > max_inputs || chain.steps.empty() || chain.steps.size() > max_steps) {
    return fail(ErrorCode::invalid_argument,
                "A chain has at most {} inputs and 1 to {} steps; {} and {} were given.",
                max_inputs, max_steps, chain.inputs.size(), chain.steps.size());
  }
  for (std::size_t i = 0; i < chain.inputs.size(); ++i) {
    if (const Status ok = validate(chain.inputs[i], input_names[i]); !ok) return ok;
    if (!is_float(chain.inputs[i].dtype) && chain.inputs[i].dtype != DType::boolean) {
      return fail(ErrorCode::unsupported, "Chains are of floats and booleans; input {} is {}.", i,
                  describe(chain.inputs[i]));
    }
  }
  for (std::size_t k = 0; k < chain.steps.size(); ++k) {
    const Step& step = chain.steps[k];
    const map::Function* function = map::find_function(step.function);
    if (function == nullptr || function->name == "arange" ||
        function->inputs != step.inputs.size()) {
      return fail(ErrorCode::invalid_argument,
                  "Step {} of a chain is `{}` of {} inputs, which is no elementwise function.", k,
                  step.function, step.inputs.size());
    }
    for (const std::uint32_t input : step.inputs) {
      if (input >= chain.inputs.size() + k) {
        return fail(ErrorCode::invalid_argument,
                    "Step {} of a chain reads value {}, of which there are {} so far.", k, input,
                    chain.inputs.size() + k);
      }
    }
  }
  return {};
}

Result<std::vector<View>> broadcast_inputs(const Chain& chain, std::span<const std::uint64_t> shape,
                                           const View& y) {
  if (const Status ok = check(chain); !ok) return std::unexpected(ok.error());
  std::vector<View> out;
  for (const View& given : chain.inputs) {
    const auto input = given.broadcast_to(shape);
    if (!input) return wrap(input.error(), "planning a chain");
    if (const Status ok = check_overlap(*input, y); !ok) return std::unexpected(ok.error());
    out.push_back(*input);
  }
  return out;
}

std::string text_of(const Chain& chain) {
  std::string text = formatted(
      "#let NEEDS_ERF = 1\n#let NEEDS_EXPM1 = 1\n#let NEEDS_LOG1P = 1\n#let NEEDS_POWER = 1\n"
      "#let NEEDS_REST = 1\n"
      "#let NEEDS_SPECIAL = {}\n#let DOMAIN = \"f32\"\n"
      "#include \"map/helpers.wgsl\"\n",
      std::ranges::any_of(chain.steps, is_special, &Step::function) ? 1 : 0);
  for (std::size_t k = 0; k < chain.steps.size(); ++k) {
    text += formatted(
        "#include \"map/functions.wgsl\" with FUNCTION=\"{}\" F_NAME=\"f{}\" S_NAME=\"s{}\"\n",
        chain.steps[k].function, k, k);
  }
  std::string parameters;
  for (std::size_t i = 0; i < chain.inputs.size(); ++i) {
    parameters += formatted("{}x{}: V", i == 0 ? "" : ", ", i);
  }
  text += formatted("fn chain({}) -> V {{\n", parameters);
  for (std::size_t k = 0; k < chain.steps.size(); ++k) {
    std::string arguments;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& inputs = chain.steps[k].inputs;
      arguments +=
          formatted("{}{}", i == 0 ? "" : ", ",
                    i < inputs.size() ? value_name(inputs[i], chain.inputs.size()) : "V()");
    }
    text += formatted("  let t{} = f{}({});\n", k, k, arguments);
  }
  return text + formatted("  return t{};\n}}\n", chain.steps.size() - 1);
}

void add_scalars(ParamBlock& params, const Chain& chain) {
  for (std::size_t k = 0; k < chain.steps.size(); ++k) {
    for (std::size_t i = 0; i < 4; ++i) {
      params.add(formatted("s{}_{}", k, i),
                 std::bit_cast<std::uint32_t>(static_cast<float>(chain.steps[k].scalars[i])));
    }
  }
}

std::string label_of(const Chain& chain) {
  std::string label;
  for (const Step& step : chain.steps) label += (label.empty() ? "" : "+") + step.function;
  return label.size() > 60 ? label.substr(0, 57) + "..." : label;
}

}  // namespace weft::ops::fused
