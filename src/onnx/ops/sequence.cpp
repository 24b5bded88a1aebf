#include <algorithm>

#include "onnx/host.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;

std::size_t place_in(const Call& c, std::size_t input, std::size_t count, bool behind) {
  const I at = c.scalar_int(input);
  const auto size = static_cast<I>(count);
  if (at < -size || at > size || (at == size && !behind))
    c.wrong(formatted("There is no place {} in a sequence of {}.", at, count));
  return static_cast<std::size_t>(at < 0 ? at + size : at);
}

Values insert(Call& c) {
  Values all = c.in(0).values();
  const std::size_t at = c.has(2) ? place_in(c, 2, all.size(), true) : all.size();
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), c.in(1));
  return {Value::sequence(all)};
}

Values erase(Call& c) {
  Values all = c.in(0).values();
  if (all.empty()) c.wrong("The sequence is empty.");
  const std::size_t at = c.has(1) ? place_in(c, 1, all.size(), false) : all.size() - 1;
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  return {Value::sequence(all)};
}

Values split_to_sequence(Call& c) {
  const Value& x = c.in(0);
  const std::size_t axis = axis_of(c, c.i("axis", 0), x.shape().size());
  const std::uint64_t extent = x.shape().at(axis);
  const bool drop = !c.has(1) && c.i("keepdims", 1) == 0;
  std::vector<I> sizes;
  constexpr std::size_t most_parts = 1 << 20;
  if (!c.has(1)) {
    if (extent > most_parts) c.refuse(formatted("A sequence of {} is not done.", extent));
    sizes.assign(extent, 1);
  } else if (c.shape(1).empty()) {
    const I each = c.scalar_int(1);
    if (each <= 0 || extent / static_cast<std::uint64_t>(each) > most_parts)
      c.wrong(formatted("Parts of {} in {} are too small.", each, describe(x)));
    for (I left = static_cast<I>(extent); left > 0; left -= each)
      sizes.push_back(std::min(left, each));
  } else {
    sizes = c.ints(1);
  }
  Values out;
  std::uint64_t at = 0;
  for (const I size : sizes) {
    const auto count = static_cast<std::uint64_t>(size);
    if (size < 0 || count > extent - at || out.size() >= most_parts)
      c.wrong(formatted("Parts of {} do not fit in {} elements.", size, extent));
    Value part;
    if (const Array* known = x.known()) {
      part = cut(*known, axis, at, count);
    } else {
      part = c.t(0).slice(static_cast<int>(axis), static_cast<I>(at), count);
    }
    if (drop) {
      Shape shape = part.shape();
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
      part = with_shape(c, part, shape);
    }
    out.push_back(part);
    at += count;
  }
  return {Value::sequence(out)};
}

Values concat_from_sequence(Call& c) {
  std::vector<Tensor> parts;
  for (const Value& value : c.in(0).values()) parts.push_back(value.on(c.device()));
  if (parts.empty()) c.wrong("The sequence is empty.");
  const bool fresh = c.i("new_axis", 0) != 0;
  const std::size_t rank = parts.front().shape().size() + (fresh ? 1 : 0);
  const int axis = int_axis(c, c.i("axis", 0), rank);
  return {fresh ? stack(parts, axis) : concat(parts, axis)};
}

/// A graph for each member of a sequence.
Values sequence_map(Call& c) {
  const GraphProto& body = c.graph("body");
  const std::size_t count = c.in(0).values().size();
  std::vector<Values> out(body.outputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    Values inputs;
    for (const Value& value : c.inputs) {
      if (value.is_sequence() && value.values().size() != count)
        c.wrong(formatted("Sequences have {} and {} members.", count, value.values().size()));
      inputs.push_back(value.is_sequence() ? value.values()[i] : value);
    }
    const Values results = run_graph(c.context, body, &c.scope, inputs);
    for (std::size_t k = 0; k < out.size(); ++k) out[k].push_back(results[k]);
  }
  Values sequences;
  for (Values& one : out) sequences.push_back(Value::sequence(std::move(one)));
  return sequences;
}

}  // namespace

void add_sequence(Table& table) {
  table["SequenceConstruct"] = +[](Call& c) { return Values{Value::sequence(c.inputs)}; };
  table["SequenceEmpty"] = +[](Call&) { return Values{Value::sequence({})}; };
  table["SequenceAt"] = +[](Call& c) {
    return Values{c.in(0).values()[place_in(c, 1, c.in(0).values().size(), false)]};
  };
  table["SequenceLength"] = +[](Call& c) {
    return Values{array_of(Type::i64, {}, std::vector<I>{static_cast<I>(c.in(0).values().size())})};
  };
  table["SequenceInsert"] = insert;
  table["SequenceErase"] = erase;
  table["SplitToSequence"] = split_to_sequence;
  table["ConcatFromSequence"] = concat_from_sequence;
  table["SequenceMap"] = sequence_map;
  table["Optional"] = +[](Call& c) { return Values{c.has(0) ? c.in(0) : Value()}; };
  table["OptionalHasElement"] = +[](Call& c) {
    return Values{array_of(Type::boolean, {}, std::vector<I>{c.has(0) ? 1 : 0})};
  };
  table["OptionalGetElement"] = +[](Call& c) {
    if (!c.has(0)) c.wrong("The optional value is empty.");
    return Values{c.in(0)};
  };
}

}  // namespace weft::onnx
