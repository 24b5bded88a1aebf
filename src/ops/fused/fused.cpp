#include "ops/fused/fused.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <tuple>

#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/iterate.hpp"

namespace weft::ops::fused {
namespace {

constexpr std::uint32_t group_size = 256;  // as in fused.wgsl
constexpr std::array<std::string_view, max_inputs> input_names{"x0", "x1", "x2", "x3", "x4", "x5"};

struct Variant {
  std::uint32_t inputs = 0;
  std::uint32_t rank = 1;
  std::uint32_t chunk = 1;
  bool ragged = false;
  std::string_view domain = "f32";

  static constexpr auto fields =
      std::tuple{field("INPUTS", &Variant::inputs), field("RANK", &Variant::rank),
                 field("CHUNK", &Variant::chunk), field("RAGGED", &Variant::ragged),
                 field("DOMAIN", &Variant::domain)};
};

Status check(const Args& args) {
  if (args.inputs.size() > max_inputs || args.steps.empty() || args.steps.size() > max_steps) {
    return fail(ErrorCode::invalid_argument,
                "A chain has at most {} inputs and 1 to {} steps; {} and {} were given.",
                max_inputs, max_steps, args.inputs.size(), args.steps.size());
  }
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  if (!is_float(args.y.dtype) || !args.y.is_dense()) {
    return fail(ErrorCode::unsupported, "The output of a chain is dense and float; it is {}.",
                describe(args.y));
  }
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (const Status ok = validate(args.inputs[i], input_names[i]); !ok) return ok;
    if (!is_float(args.inputs[i].dtype)) {
      return fail(ErrorCode::unsupported, "Chains are of floats; input {} is {}.", i,
                  describe(args.inputs[i]));
    }
  }
  for (std::size_t k = 0; k < args.steps.size(); ++k) {
    const Step& step = args.steps[k];
    const map::Function* function = map::find_function(step.function);
    if (function == nullptr || function->name == "arange" ||
        function->inputs != step.inputs.size()) {
      return fail(ErrorCode::invalid_argument,
                  "Step {} of a chain is `{}` of {} inputs, which is no elementwise function.", k,
                  step.function, step.inputs.size());
    }
    for (const std::uint32_t input : step.inputs) {
      if (input >= args.inputs.size() + k) {
        return fail(ErrorCode::invalid_argument,
                    "Step {} of a chain reads value {}, of which there are {} so far.", k, input,
                    args.inputs.size() + k);
      }
    }
  }
  return {};
}

/// An input may share memory with the output only as the same view.
Status check_overlap(const View& input, const View& y) {
  if (input.slot != y.slot || input.empty() || y.empty()) return {};
  const ByteRange a = input.bytes();
  const ByteRange b = y.bytes();
  bool same = input.offset == y.offset && size_of(input.dtype) == size_of(y.dtype);
  for (std::uint32_t i = 0; i < y.rank; ++i) {
    same = same && (y.shape[i] == 1 || input.stride[i] == y.stride[i]);
  }
  if (same || a.end <= b.begin || b.end <= a.begin) return {};
  return fail(ErrorCode::invalid_argument,
              "An input ({}) overlaps the output ({}) of a chain without being the same view.",
              describe(input), describe(y));
}

struct Chunking {
  std::uint32_t chunk = 1;
  bool ragged = true;
  bool atomic = false;  // 16-bit elements that share words with those of other invocations
};

/// The widest chunks in which the dense output can be stored.
Chunking chunking_of(std::span<const View> views) {
  const View& y = views.front();
  const std::uint64_t inner = y.shape[y.rank - 1];
  const bool narrow = std::ranges::all_of(views, [](const View& view) {
    return size_of(view.dtype) == 2 || view.stride[view.rank - 1] == 0;
  });
  for (const std::uint32_t chunk : {8U, 4U}) {
    const bool fits = y.rank == 1 || inner % chunk == 0;
    if (fits && (chunk == 4 || narrow) &&
        y.offset % (std::uint64_t{chunk} * size_of(y.dtype)) == 0) {
      return {.chunk = chunk, .ragged = false};
    }
  }
  if (y.offset % 4 != 0) return {.atomic = true};
  return {.chunk = size_of(y.dtype) == 4 ? 1U : 2U};
}

std::string value_name(std::uint32_t number, std::size_t inputs) {
  return number < inputs ? std::format("x{}", number) : std::format("t{}", number - inputs);
}

/// The functions of the chain as template text.
std::string text_of(const Args& args, std::span<const std::string_view> kinds) {
  std::string text =
      "#let NEEDS_ERF = 1\n#let NEEDS_EXPM1 = 1\n#let NEEDS_LOG1P = 1\n"
      "#include \"map/helpers.wgsl\"\n";
  for (std::size_t k = 0; k < args.steps.size(); ++k) {
    text += std::format(
        "#include \"map/functions.wgsl\" with FN=\"{}\" F_NAME=\"f{}\" S_NAME=\"s{}\"\n",
        args.steps[k].function, k, k);
  }
  std::string parameters;
  std::string wholes;
  std::string singles;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    text += std::format("#include \"fused/input.wgsl\" with NAME=\"x{}\" K={} KIND=\"{}\"\n", i, i,
                        kinds[i]);
    const std::string_view comma = i == 0 ? "" : ", ";
    parameters += std::format("{}x{}: V", comma, i);
    wholes += std::format("{0}load_x{1}(at.i{1}, h)", comma, i);
    singles += std::format("{0}V(T(x{1}_at(at.i{1})))", comma, i);
  }
  text += std::format("fn compute({}) -> V {{\n", parameters);
  for (std::size_t k = 0; k < args.steps.size(); ++k) {
    std::string arguments;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& inputs = args.steps[k].inputs;
      arguments +=
          std::format("{}{}", i == 0 ? "" : ", ",
                      i < inputs.size() ? value_name(inputs[i], args.inputs.size()) : "V()");
    }
    text += std::format("  let t{} = f{}({});\n", k, k, arguments);
  }
  text += std::format("  return t{};\n}}\n", args.steps.size() - 1);
  text += std::format("fn whole(at: Place, h: u32) -> V {{ return compute({}); }}\n", wholes);
  text += std::format("fn single(at: Place) -> V {{ return compute({}); }}\n", singles);
  return text;
}

std::string label_of(const Args& args) {
  std::string label;
  for (const Step& step : args.steps) label += (label.empty() ? "" : "+") + step.function;
  return label.size() > 60 ? label.substr(0, 57) + "..." : label;
}

Result<Dispatch> launch_piece(const Args& args, std::span<const View> views, const Caps& caps) {
  const View& y = views.front();
  const Chunking chunking = chunking_of(views);
  const Variant variant{.inputs = static_cast<std::uint32_t>(args.inputs.size()),
                        .rank = y.rank,
                        .chunk = chunking.chunk,
                        .ragged = chunking.ragged};
  Launch launch;
  launch.source = "fused/fused.wgsl";
  std::vector<std::string_view> kinds;
  launch.params.add("count", static_cast<std::uint32_t>(y.count()));
  for (std::size_t k = 0; k < args.steps.size(); ++k) {
    for (std::size_t i = 0; i < 4; ++i) {
      launch.params.add(std::format("s{}_{}", k, i),
                        std::bit_cast<std::uint32_t>(static_cast<float>(args.steps[k].scalars[i])));
    }
  }
  for (std::uint32_t d = 0; d < y.rank; ++d) {
    launch.params.add(std::format("shape_{}", d), static_cast<std::uint32_t>(y.shape[d]));
  }
  for (std::size_t i = 1; i < views.size(); ++i) {
    const View& view = views[i];
    // A single row may end in a part of a chunk, which is read one by one.
    const bool aligned = view.rank == 1 ? view.stride[0] == 1 && view.offset % 16 == 0
                                        : rows_aligned(view, chunking.chunk);
    const bool vec = !chunking.ragged && view.stride[view.rank - 1] == 1 && aligned;
    kinds.emplace_back(vec ? "vec" : view.stride[view.rank - 1] == 0 ? "splat" : "step");
    for (std::uint32_t d = 0; d < y.rank; ++d) {
      launch.params.add(std::format("stride{}_{}", i - 1, d),
                        static_cast<std::uint32_t>(view.stride[d]));
    }
    launch.operands.push_back({input_names[i - 1], view, Access::read,
                               vec ? std::min(4U, chunking.chunk * size_of(view.dtype) / 4) : 1});
  }
  launch.operands.push_back(
      {"y", y, chunking.atomic ? Access::atomic : Access::write,
       chunking.ragged ? 1 : std::min(4U, chunking.chunk * size_of(y.dtype) / 4)});
  launch.text = text_of(args, kinds);
  launch.label = label_of(args);
  launch.constants = constants_of(variant);
  const std::uint64_t chunks = ceil_div<std::uint64_t>(y.count(), chunking.chunk);
  launch.grid = grid_1d(ceil_div<std::uint64_t>(chunks, group_size), caps);
  return make_dispatch(std::move(launch), caps);
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  std::vector<View> views{args.y};
  for (const View& given : args.inputs) {
    const auto input = given.broadcast_to(args.y.extents());
    if (!input) return wrap(input.error(), "planning a chain");
    if (const Status ok = check_overlap(*input, args.y); !ok) return std::unexpected(ok.error());
    views.push_back(*input);
  }
  Plan plan;
  if (args.y.empty()) return plan;
  const Status done = for_each_piece(views, caps, [&](std::span<const View> given) -> Status {
    std::vector<View> piece(given.begin(), given.end());
    collapse(piece);
    auto dispatch = launch_piece(args, piece, caps);
    if (!dispatch) return std::unexpected(dispatch.error());
    plan.dispatches.push_back(std::move(*dispatch));
    return {};
  });
  if (!done) return wrap(done.error(), std::format("planning `{}`", label_of(args)));
  return plan;
}

}  // namespace weft::ops::fused
