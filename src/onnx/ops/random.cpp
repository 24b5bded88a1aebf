#include "weft/random.hpp"

#include <bit>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

// Random numbers follow from the seed of the node, or from its place among those of the run, so
// that a model gives the same ones in each run. They are not those of other programs: the standard
// does not say which ones they are.

namespace weft::onnx {
namespace {

Tensor key_of(Call& c) {
  const std::uint64_t number = c.context.drawn++;
  const auto seed = std::bit_cast<std::uint32_t>(static_cast<float>(c.f("seed", 0)));
  return random::Key(seed, static_cast<std::uint32_t>(number)).on(c.device());
}

DType wanted(const Call& c, DType otherwise) {
  if (c.attribute("dtype") == nullptr) return otherwise;
  const Type type = c.type("dtype", Type::f32);
  const auto dtype = dtype_of(type);
  if (!dtype) c.refuse(formatted("Random numbers of {} are not made.", name(type)));
  return *dtype;
}

Values dropout(Call& c) {
  const Value x = c.in(0);
  // Before opset 12 a file for training would have said so by its mode, which is gone from
  // inference.
  const bool training = c.opset >= 12 && c.has(2) && c.host(2).ints().at(0) != 0;
  const double ratio = c.opset >= 12 ? (c.has(1) ? c.scalar(1) : 0.5) : c.f("ratio", 0.5);
  if (!training || ratio == 0) {
    Values out{x};
    if (c.wants(1)) {
      const Tensor mask = ones(c.device(), x.shape(), DType::boolean);
      out.emplace_back(c.opset >= 10 ? mask : mask.to(c.t(0).dtype()));
    }
    return out;
  }
  if (ratio < 0 || ratio >= 1) c.wrong(formatted("The ratio is {}.", ratio));
  const Tensor kept = random::bernoulli(key_of(c), x.shape(), 1 - ratio);
  const Tensor t = c.t(0);
  return {as(where(kept, t * (1 / (1 - ratio)), zeros_like(t)), t.dtype()),
          as(kept, DType::boolean)};
}

Values normal(Call& c, const Shape& shape, DType otherwise) {
  const DType dtype = wanted(c, otherwise);
  return {as(random::normal(key_of(c), shape, {.mean = c.f("mean", 0), .std = c.f("scale", 1)}),
             dtype)};
}

Values uniform(Call& c, const Shape& shape, DType otherwise) {
  const DType dtype = wanted(c, otherwise);
  return {
      as(random::uniform(key_of(c), shape, {.low = c.f("low", 0), .high = c.f("high", 1)}), dtype)};
}

Values bernoulli(Call& c) {
  const Tensor p = c.t(0);
  return {as(random::bernoulli(key_of(c), as(p, DType::f32)), wanted(c, p.dtype()))};
}

Values multinomial(Call& c) {
  const Tensor logits = as(c.t(0), DType::f32);
  const auto count = static_cast<std::uint64_t>(c.i("sample_size", 1));
  return {as(random::multinomial(key_of(c), softmax(logits), count, true), wanted(c, DType::i32))};
}

}  // namespace

void add_random(Table& table) {
  table["Dropout"] = dropout;
  table["RandomNormal"] =
      +[](Call& c) { return normal(c, shape_from(c, c.is("shape")), DType::f32); };
  table["RandomUniform"] =
      +[](Call& c) { return uniform(c, shape_from(c, c.is("shape")), DType::f32); };
  table["RandomNormalLike"] = +[](Call& c) { return normal(c, c.shape(0), c.t(0).dtype()); };
  table["RandomUniformLike"] = +[](Call& c) { return uniform(c, c.shape(0), c.t(0).dtype()); };
  table["Bernoulli"] = bernoulli;
  table["Multinomial"] = multinomial;
}

}  // namespace weft::onnx
