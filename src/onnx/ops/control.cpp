#include <algorithm>

#include "onnx/host.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;

/// The results of both branches by their shapes, where these are the same; what follows from an
/// open condition has no elements.
Values either(Call& c) {
  const Values yes = run_graph(c.context, c.graph("then_branch"), &c.scope, {});
  const Values no = run_graph(c.context, c.graph("else_branch"), &c.scope, {});
  Values out;
  for (std::size_t i = 0; i < yes.size(); ++i) {
    const bool tensors = i < no.size() && yes[i].exists() && no[i].exists() &&
                         !yes[i].is_sequence() && !no[i].is_sequence();
    const auto dtype = tensors ? dtype_of(yes[i].type()) : std::nullopt;
    if (!dtype || yes[i].type() != no[i].type() || yes[i].shape() != no[i].shape())
      throw NeedsElements(c.in(0).sources(), "The shapes of a result follow from a condition.");
    Value& value = out.emplace_back(c.device().full(yes[i].shape(), 0, *dtype));
    value.set_sources(c.in(0).sources());
  }
  return out;
}

Values if_op(Call& c) {
  if (c.context.shapes_only && c.in(0).known() == nullptr) return either(c);
  const Array& condition = c.host(0);
  if (condition.size() != 1) c.wrong(formatted("The condition is {}.", describe(c.in(0))));
  return run_graph(c.context,
                   c.graph(condition.ints().front() != 0 ? "then_branch" : "else_branch"), &c.scope,
                   {});
}

Value number(I value) { return array_of(Type::i64, {}, std::vector<I>{value}); }
Value truth(bool value) { return array_of(Type::boolean, {}, std::vector<I>{value ? 1 : 0}); }

/// Values of one shape along a new axis.
Value stacked(const Call& c, const Values& values, int axis, const ValueInfo& info) {
  if (values.empty()) {  // nothing to take a shape from but what the graph says
    Shape shape;
    if (info.shape) {
      for (const Dimension& d : *info.shape)
        shape.push_back(d.value && *d.value > 0 ? static_cast<std::uint64_t>(*d.value) : 0);
    }
    shape.insert(shape.begin() + axis, 0);
    return array_of(info.type == Type::none ? Type::f32 : info.type, shape, std::vector<I>(0));
  }
  bool known = true;
  for (const Value& value : values) {
    if (value.shape() != values.front().shape() || value.type() != values.front().type())
      c.wrong(formatted("{} and {} cannot be stacked.", describe(values.front()), describe(value)));
    known = known && value.known() != nullptr;
  }
  if (known && axis == 0) {
    const auto owner = std::make_shared<std::vector<std::byte>>();
    Array out{.type = values.front().type(),
              .shape = values.front().shape(),
              .bytes = {},
              .keep = owner,
              .strings = {}};
    out.shape.insert(out.shape.begin(), values.size());
    for (const Value& value : values) {
      owner->insert(owner->end(), value.known()->bytes.begin(), value.known()->bytes.end());
      out.strings.insert(out.strings.end(), value.known()->strings.begin(),
                         value.known()->strings.end());
    }
    out.bytes = *owner;
    return out;
  }
  std::vector<Tensor> parts;
  for (const Value& value : values) parts.push_back(value.on(c.device()));
  return stack(parts, axis);
}

/// What a body would give in its first step: only shapes and types of it are looked at, and nothing
/// of it is computed. Empty where it cannot be told.
Values results_without_steps(Call& c, const GraphProto& body, const Values& carried) {
  Values inputs{number(0), truth(true)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  const std::uint64_t drawn = c.context.drawn;
  Values out;
  try {
    out = run_graph(c.context, body, &c.scope, inputs);
  } catch (const Error&) {  // It may be for values only that a loop with steps has.
    out.clear();
  }
  c.context.drawn = drawn;
  return out;
}

Values loop(Call& c) {
  const GraphProto& body = c.graph("body");
  const bool bounded = c.has(0);
  const I most = bounded ? c.scalar_int(0) : 0;
  bool go = !c.has(1) || c.host(1).ints().at(0) != 0;
  Values carried(
      c.inputs.begin() + std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(c.inputs.size())),
      c.inputs.end());
  if (body.outputs.size() < 1 + carried.size())
    c.wrong(formatted("The body gives {} values for {} that are carried.", body.outputs.size(),
                      carried.size()));
  std::vector<Values> scanned(body.outputs.size() - 1 - carried.size());
  for (I i = 0; go && (!bounded || i < most); ++i) {
    Values inputs{number(i), truth(true)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Values results = run_graph(c.context, body, &c.scope, inputs);
    for (std::size_t k = 0; k < carried.size(); ++k) carried[k] = results[1 + k];
    for (std::size_t k = 0; k < scanned.size(); ++k)
      scanned[k].push_back(results[1 + carried.size() + k]);
    go = c.host(results[0]).ints().at(0) != 0;
  }
  const std::size_t first = 1 + carried.size();
  const std::size_t steps = scanned.empty() ? 0 : scanned.front().size();
  if (steps == 0 && !scanned.empty()) {
    const Values like = results_without_steps(c, body, carried);
    for (std::size_t k = 0; k < scanned.size(); ++k) {
      const Value one = first + k < like.size() ? like[first + k] : Value();
      if (!one.exists() || one.is_sequence() || !has_numbers(one.type())) continue;
      Shape shape = one.shape();
      shape.insert(shape.begin(), 0);
      if (!too_large(shape)) scanned[k] = {array_of(one.type(), shape, std::vector<I>(0))};
    }
    for (std::size_t k = 0; k < scanned.size(); ++k)
      carried.push_back(scanned[k].empty() ? stacked(c, {}, 0, body.outputs[first + k])
                                           : scanned[k].front());
    return carried;
  }
  for (std::size_t k = 0; k < scanned.size(); ++k)
    carried.push_back(stacked(c, scanned[k], 0, body.outputs[first + k]));
  return carried;
}

/// Element i of an axis, without it.
Value element(const Call& c, const Value& value, std::size_t axis, std::uint64_t i) {
  Shape shape = value.shape();
  if (axis >= shape.size() || i >= shape[axis])
    c.wrong(formatted("{} has no element {} of axis {}.", describe(value), i, axis));
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  if (const Array* known = value.known()) {
    Array one = cut(*known, axis, i, 1);
    one.shape = shape;
    return one;
  }
  return value.on(c.device()).slice(static_cast<int>(axis), static_cast<I>(i), 1).reshape(shape);
}

/// One run over a sequence: states first, then what is scanned.
Values scan_once(Call& c, const GraphProto& body, Values states, const Values& sequences,
                 const std::vector<I>& in_axes, const std::vector<I>& in_directions,
                 const std::vector<I>& out_axes, const std::vector<I>& out_directions) {
  if (sequences.empty()) c.wrong("There is nothing to scan.");
  std::vector<std::size_t> axes;
  for (std::size_t k = 0; k < sequences.size(); ++k)
    axes.push_back(axis_of(c, k < in_axes.size() ? in_axes[k] : 0, sequences[k].shape().size()));
  const std::uint64_t steps = sequences[0].shape().at(axes[0]);
  if (body.outputs.size() < states.size())
    c.wrong(
        formatted("The body gives {} values for {} states.", body.outputs.size(), states.size()));
  std::vector<Values> scanned(body.outputs.size() - states.size());
  for (std::uint64_t i = 0; i < steps; ++i) {
    Values inputs = states;
    for (std::size_t k = 0; k < sequences.size(); ++k) {
      if (sequences[k].shape().at(axes[k]) != steps)
        c.wrong(formatted("{} has not {} steps.", describe(sequences[k]), steps));
      const bool backwards = k < in_directions.size() && in_directions[k] != 0;
      inputs.push_back(element(c, sequences[k], axes[k], backwards ? steps - 1 - i : i));
    }
    Values results = run_graph(c.context, body, &c.scope, inputs);
    for (std::size_t k = 0; k < states.size(); ++k) states[k] = results[k];
    for (std::size_t k = 0; k < scanned.size(); ++k)
      scanned[k].push_back(results[states.size() + k]);
  }
  Values out = states;
  for (std::size_t k = 0; k < scanned.size(); ++k) {
    if (k < out_directions.size() && out_directions[k] != 0) std::ranges::reverse(scanned[k]);
    const I axis = k < out_axes.size() ? out_axes[k] : 0;
    const std::size_t rank = scanned[k].empty() ? 1 : scanned[k].front().shape().size() + 1;
    out.push_back(stacked(c, scanned[k], int_axis(c, axis, rank), body.outputs[states.size() + k]));
  }
  return out;
}

Values scan(Call& c) {
  const GraphProto& body = c.graph("body");
  const auto count = static_cast<std::size_t>(c.i("num_scan_inputs", 0));
  const std::size_t first = c.opset < 9 ? 1 : 0;
  if (first > c.inputs.size() || count > c.inputs.size() - first)
    c.wrong(formatted("There are no {} inputs to scan.", count));
  const Values states(c.inputs.begin() + static_cast<std::ptrdiff_t>(first),
                      c.inputs.end() - static_cast<std::ptrdiff_t>(count));
  const Values sequences(c.inputs.end() - static_cast<std::ptrdiff_t>(count), c.inputs.end());
  if (c.opset >= 9) {
    return scan_once(c, body, states, sequences, c.is("scan_input_axes"),
                     c.is("scan_input_directions"), c.is("scan_output_axes"),
                     c.is("scan_output_directions"));
  }
  // Opset 8: each sequence of a batch by itself.
  if (c.has(0)) c.refuse("Sequences of different lengths (opset 8) are not done.");
  if (sequences.empty()) c.wrong("There is nothing to scan.");
  const std::uint64_t batch = sequences[0].shape().at(0);
  std::vector<Values> results;
  for (std::uint64_t b = 0; b < batch; ++b) {
    Values one;
    Values some;
    for (const Value& state : states) one.push_back(element(c, state, 0, b));
    for (const Value& sequence : sequences) some.push_back(element(c, sequence, 0, b));
    results.push_back(scan_once(c, body, one, some, {}, c.is("directions"), {}, {}));
  }
  Values out;
  for (std::size_t k = 0; k < body.outputs.size(); ++k) {
    Values parts;
    for (const Values& one : results) parts.push_back(one[k]);
    out.push_back(stacked(c, parts, 0, body.outputs[k]));
  }
  return out;
}

}  // namespace

void add_control(Table& table) {
  table["If"] = if_op;
  table["Loop"] = loop;
  table["Scan"] = scan;
}

}  // namespace weft::onnx
