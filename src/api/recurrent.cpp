#include "weft/recurrent.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "describe/attributes/recurrent_steps.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "ops/recurrent_steps/recurrent_steps.hpp"
#include "weft/device.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

using ops::recurrent_steps::Cell;

/// What every device binds at once: the sums of two steps have to fit.
constexpr std::uint64_t smallest_binding = 128ULL << 20;

/// What a token leaves for the next one: [directions, batch, …] of f32. Only lstm() has a cell.
struct Carried {
  Tensor state;
  Tensor cell;
};

/// The walk through the tokens that all recurrent layers share. The rows of weights belong to
/// `gates` gates.
class Walk {
 public:
  Walk(std::string_view function, std::uint64_t gates, In x, const Tensor& weight,
       const Tensor& recurrent, const Tensor& projection, Direction direction, double clip)
      : at_(x.where),
        function_(function),
        gates_(gates),
        direction_(direction),
        clip_(clip),
        x_(x.tensor),
        projection_(projection) {
    need(function, "x", x_, at_);
    need(function, "its weight", weight, at_);
    need(function, "its recurrent weight", recurrent, at_);
    const std::uint64_t directions = direction == Direction::both ? 2 : 1;
    const Shape& w = weight.shape();
    const Shape& r = recurrent.shape();
    const bool ranks = x_.shape().size() == 3 && w.size() == 3 && r.size() == 3;
    if (!ranks || !is_float(x_.dtype()) || weight.dtype() != x_.dtype() ||
        recurrent.dtype() != x_.dtype() || w[0] != directions || r[0] != directions ||
        w[1] % gates != 0 || r[1] != w[1] || w[2] != x_.shape()[2]) {
      refuse(function, at_,
             formatted("{} needs x [tokens, batch, inputs], a weight [{}, {} hidden, inputs] and a "
                       "recurrent weight [{}, {} hidden, size] of one float type; it was given {}, "
                       "{} and {}.",
                       function, directions, gates, directions, gates, describe(x_),
                       describe(weight), describe(recurrent)));
    }
    if (!(clip >= 0)) {
      refuse(function, at_, formatted("{} takes a clip of 0 or more; it is {}.", function, clip));
    }
    tokens_ = x_.shape()[0];
    batch_ = x_.shape()[1];
    directions_ = directions;
    hidden_ = w[1] / gates;
    size_ = r[2];
    if (projection) check("projection", projection, {directions, size_, hidden_});
    if (!projection && size_ != hidden_) {
      refuse(function, at_,
             formatted("{} without a projection needs a recurrent weight [{}, {}, {}]; it is {}.",
                       function, directions, w[1], hidden_, describe(recurrent)));
    }
    weight_ = weight;
    recurrent_ = recurrent;
    across_ = recurrent.transpose(at_);  // [directions, size, gates · hidden]
  }

  [[nodiscard]] const Where& at() const { return at_; }
  [[nodiscard]] std::uint64_t hidden() const { return hidden_; }

  void check(std::string_view what, const Tensor& tensor, const Shape& shape) const {
    if (!tensor || (tensor.shape() == shape && tensor.dtype() == x_.dtype())) return;
    refuse(function_, at_,
           formatted("{} needs its {} to be {}{}; it is {}.", function_, what, name(x_.dtype()),
                     ops_shape(shape), describe(tensor)));
  }

  /// A vector for each direction [directions, parts · hidden] as [directions, 1, parts · hidden] of
  /// f32; empty as it is.
  [[nodiscard]] Tensor rows(std::string_view what, const Tensor& tensor,
                            std::uint64_t parts) const {
    check(what, tensor, {directions_, parts * hidden_});
    return tensor ? wide(tensor.reshape({directions_, 1, parts * hidden_}, at_)) : tensor;
  }

  /// The state before the first token, or none.
  [[nodiscard]] Tensor start_of(std::string_view what, const Tensor& tensor, bool cell) const {
    check(what, tensor, {directions_, batch_, cell ? hidden_ : size_});
    return tensor;
  }
  /// The same in f32, zeros where there is none.
  [[nodiscard]] Tensor start(std::string_view what, const Tensor& tensor, bool cell) const {
    const Shape shape{directions_, batch_, cell ? hidden_ : size_};
    check(what, tensor, shape);
    return tensor ? wide(tensor) : x_.device().full(shape, 0, DType::f32, at_);
  }

  /// A vector of hidden elements for each direction without the dimension between.
  [[nodiscard]] Tensor flat(const Tensor& rows) const {
    return rows.reshape({directions_, hidden_}, at_);
  }

  void set_lengths(const Tensor& lengths) {
    if (!lengths) return;
    if (lengths.dtype() != DType::i32 || lengths.shape() != Shape{batch_}) {
      refuse(function_, at_,
             formatted("{} needs lengths i32[{}]; they are {}.", function_, batch_,
                       describe(lengths)));
    }
    flat_lengths_ = lengths;
    lengths_ = lengths.reshape({1, batch_, 1}, at_);
  }

  [[nodiscard]] Tensor add(const Tensor& a, const Tensor& b) const {
    return b ? map("add", {a, b}, {}, at_) : a;
  }
  [[nodiscard]] Tensor mul(const Tensor& a, const Tensor& b) const {
    return map("mul", {a, b}, {}, at_);
  }
  [[nodiscard]] Tensor apply(std::string_view function, const Tensor& a) const {
    return map(function, {a}, {}, at_);
  }
  /// What goes into a gate.
  [[nodiscard]] Tensor clipped(const Tensor& a) const {
    return clip_ > 0 ? map("clamp", {a}, {-clip_, clip_}, at_) : a;
  }
  [[nodiscard]] Tensor sigmoid(const Tensor& a) const { return apply("sigmoid", clipped(a)); }
  [[nodiscard]] Tensor tanh(const Tensor& a) const { return apply("tanh", clipped(a)); }
  /// Some gates of [directions, batch, gates · hidden].
  [[nodiscard]] Tensor gate(const Tensor& all, std::uint64_t first, std::uint64_t count = 1) const {
    return all.slice(2, static_cast<std::int64_t>(first * hidden_), count * hidden_, 1, at_);
  }
  /// The product of a state with rows of the recurrent weight, in f32.
  [[nodiscard]] Tensor across(const Tensor& state, std::uint64_t first, std::uint64_t count) const {
    return product(state, gate(across_, first, count));
  }
  [[nodiscard]] Tensor projected(const Tensor& hidden) const {
    return projection_ ? product(hidden, projection_.transpose(at_)) : hidden;
  }

  /// Whether run_steps() can go through all tokens. States stay finite where x is, or can be
  /// infinite: a unit more would make NaN of that.
  [[nodiscard]] bool has_steps(bool finite = true) const {
    return tokens_ * batch_ * hidden_ > 0 && !projection_ && clip_ == 0 && (!is_odd() || finite) &&
           2 * batch_ * 4 * (hidden_ + 1) * sizeof(float) <= smallest_binding;
  }

  /// Goes through all tokens with a launch for each step. `of_n` is the bias of the product for the
  /// gate n of a gru().
  [[nodiscard]] Recurrent run_steps(Cell cell, const Tensor& bias, const Tensor& state,
                                    const Tensor& memory, const Tensor& of_n = {}) const {
    const bool reverse = direction_ == Direction::reverse;
    const auto node = graph::make_node(
        graph::kinds::recurrent_steps,
        graph::RecurrentStepsAttributes{.cell = static_cast<std::uint32_t>(cell),
                                        .reverse = reverse},
        {even(sums(bias), 3, gates_), even(even(recurrent_, 1, gates_), 2), even(state, 2),
         even(memory ? wide(memory) : memory, 2), even(of_n, 1), flat_lengths_},
        at_);
    const auto output = [&](std::uint32_t number) {
      const Tensor all = Access::tensor({node, number});
      return is_odd() ? all.slice(3, 0, hidden_, 1, at_) : all;
    };
    const Tensor states = output(0);
    // What the last step of each direction left of [directions, tokens, batch, hidden].
    const auto last = [&](const Tensor& all) {
      std::vector<Tensor> parts;
      for (std::uint64_t d = 0; d < directions_; ++d) {
        const auto token = static_cast<std::int64_t>(reverse || d == 1 ? 0 : tokens_ - 1);
        parts.push_back(all.slice(0, static_cast<std::int64_t>(d), 1, 1, at_)
                            .slice(1, token, 1, 1, at_)
                            .reshape({1, batch_, hidden_}, at_));
      }
      return narrow(parts.size() == 1 ? parts[0] : concat(parts, 0, at_));
    };
    Tensor y = states;
    if (lengths_) {
      const Tensor tokens = x_.device().arange(tokens_, 0, 1, DType::i32, at_);
      const Tensor counts = greater(In(lengths_.reshape({1, 1, batch_, 1}, at_), at_),
                                    tokens.reshape({1, tokens_, 1, 1}, at_));
      y = where(In(counts, at_), y, x_.device().full({}, 0, x_.dtype(), at_));
    }
    return {y.permute({1, 2, 0, 3}, at_).reshape({tokens_, batch_, directions_ * hidden_}, at_),
            last(states), cell == Cell::lstm ? last(output(2)) : Tensor()};
  }

  /// Goes through all tokens: `step` makes what a token leaves from x · weightᵀ + bias of that
  /// token and what was before.
  [[nodiscard]] Recurrent run(const Tensor& bias, Carried now,
                              const std::function<Carried(const Tensor&, const Carried&)>& step) {
    const Shape shape{tokens_, batch_, directions_ * size_};
    if (tokens_ * batch_ * size_ == 0) {
      return {x_.device().full(shape, 0, x_.dtype(), at_), narrow(now.state), narrow(now.cell)};
    }
    // The second half in the order in which it is read.
    const Tensor all = turned(sums(bias));
    std::vector<Tensor> outputs;
    for (std::uint64_t t = 0; t < tokens_; ++t) {
      const Tensor here = all.slice(1, static_cast<std::int64_t>(t), 1, 1, at_)
                              .reshape({directions_, batch_, gates_ * hidden_}, at_);
      Carried next = step(here, now);
      Tensor y = next.state;
      if (lengths_) {
        const Tensor counts = counting(t);
        y = where(In(counts, at_), y, x_.device().full({}, 0, DType::f32, at_));
        next.state = where(In(counts, at_), next.state, now.state);
        if (next.cell) next.cell = where(In(counts, at_), next.cell, now.cell);
      }
      outputs.push_back(y.reshape({directions_, 1, batch_, size_}, at_));
      now = next;
    }
    const Tensor y = turned(concat(outputs, 1, at_)).permute({1, 2, 0, 3}, at_);
    return {narrow(y).reshape(shape, at_), narrow(now.state), narrow(now.cell)};
  }

 private:
  /// Pairs of 16-bit units are written together, so that an odd number of them needs one more.
  [[nodiscard]] bool is_odd() const { return x_.dtype() != DType::f32 && hidden_ % 2 == 1; }

  /// Units of all gates along an axis, with one more of each gate where their number is odd: its
  /// sums and weights are 0, and so is its state.
  [[nodiscard]] Tensor even(const Tensor& x, int axis, std::uint64_t gates = 1) const {
    if (!x || !is_odd()) return x;
    const auto dim = static_cast<std::size_t>(axis);
    Shape split = x.shape();
    split[dim] = hidden_;
    split.insert(split.begin() + axis, gates);
    Shape more(split.size(), 0);
    more[dim + 1] = 1;
    Shape whole = x.shape();
    whole[dim] = gates * (hidden_ + 1);
    return pad(In(x.reshape(split, at_), at_), Shape(split.size(), 0), more).reshape(whole, at_);
  }

  static std::string ops_shape(const Shape& shape) { return list({shape.begin(), shape.end()}); }
  [[nodiscard]] Tensor wide(const Tensor& x) const { return x.to(DType::f32, at_); }
  [[nodiscard]] Tensor narrow(const Tensor& x) const { return x ? x.to(x_.dtype(), at_) : x; }
  [[nodiscard]] Tensor product(const Tensor& a, const Tensor& b) const {
    return matmul(In(narrow(a), at_), b, {.dtype = DType::f32});
  }

  /// x · weightᵀ + bias: [directions, tokens, batch, gates · hidden].
  [[nodiscard]] Tensor sums(const Tensor& bias) const {
    const Tensor flat = x_.reshape({1, tokens_ * batch_, x_.shape()[2]}, at_);
    return add(matmul(In(flat, at_), weight_.transpose(at_), {.dtype = DType::f32}), bias)
        .reshape({directions_, tokens_, batch_, gates_ * hidden_}, at_);
  }

  /// [directions, tokens, …] with the tokens of the direction that reads from the end in that
  /// order; its own inverse.
  [[nodiscard]] Tensor turned(const Tensor& x) const {
    if (direction_ == Direction::forward || tokens_ == 0) return x;
    if (direction_ == Direction::reverse) return flip(In(x, at_), {1});
    return concat({x.slice(0, 0, 1, 1, at_), flip(In(x.slice(0, 1, 1, 1, at_), at_), {1})}, 0, at_);
  }

  /// Which sequences still have a token in step t, for each direction: [directions, batch, 1].
  [[nodiscard]] Tensor counting(std::uint64_t t) const {
    std::vector<std::int32_t> tokens;
    for (std::uint64_t d = 0; d < directions_; ++d) {
      const bool from_end = direction_ == Direction::reverse || d == 1;
      tokens.push_back(static_cast<std::int32_t>(from_end ? tokens_ - 1 - t : t));
    }
    return greater(In(lengths_, at_), x_.device().tensor({directions_, 1, 1}, tokens));
  }

  Where at_;
  std::string_view function_;
  std::uint64_t gates_;
  Direction direction_;
  double clip_;
  Tensor x_;
  Tensor projection_;
  Tensor weight_;
  Tensor recurrent_;
  Tensor across_;
  Tensor lengths_;
  Tensor flat_lengths_;
  std::uint64_t tokens_ = 0;
  std::uint64_t batch_ = 0;
  std::uint64_t directions_ = 0;
  std::uint64_t hidden_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace

Recurrent lstm(In x, const Tensor& weight, const Tensor& recurrent, const LstmOptions& options) {
  Walk walk("lstm", 4, x, weight, recurrent, options.projection, options.direction, options.clip);
  walk.set_lengths(options.lengths);
  const Tensor bias = walk.rows("recurrent bias", options.recurrent_bias, 4);
  const Tensor of_x = walk.rows("bias", options.bias, 4);
  const Tensor peepholes = walk.rows("peepholes", options.peepholes, 3);
  const Tensor both = of_x && bias ? walk.add(of_x, bias) : (of_x ? of_x : bias);
  const Tensor state = walk.start_of("state", options.state, false);
  const Tensor memory = walk.start_of("cell", options.cell, true);
  if (!peepholes && !options.coupled && walk.has_steps()) {
    return walk.run_steps(Cell::lstm, both, state, memory);
  }
  // How the cell enters a gate; the gate o sees the new one.
  const auto seen = [&](const Tensor& gate, std::uint64_t which, const Tensor& cell) {
    return peepholes ? walk.add(gate, walk.mul(walk.gate(peepholes, which), cell)) : gate;
  };
  return walk.run(both, {walk.start("state", state, false), walk.start("cell", memory, true)},
                  [&](const Tensor& here, const Carried& before) -> Carried {
                    const Tensor all = walk.add(here, walk.across(before.state, 0, 4));
                    const Tensor i = walk.sigmoid(seen(walk.gate(all, 0), 0, before.cell));
                    const Tensor f = options.coupled
                                         ? 1.0 - In(i, x.where)
                                         : walk.sigmoid(seen(walk.gate(all, 1), 1, before.cell));
                    const Tensor g = walk.tanh(walk.gate(all, 2));
                    const Tensor cell = walk.add(walk.mul(f, before.cell), walk.mul(i, g));
                    const Tensor o = walk.sigmoid(seen(walk.gate(all, 3), 2, cell));
                    return {walk.projected(walk.mul(o, walk.apply("tanh", cell))), cell};
                  });
}

Recurrent gru(In x, const Tensor& weight, const Tensor& recurrent, const GruOptions& options) {
  Walk walk("gru", 3, x, weight, recurrent, {}, options.direction, options.clip);
  walk.set_lengths(options.lengths);
  const Tensor bias = walk.rows("recurrent bias", options.recurrent_bias, 3);
  const auto part = [&](std::uint64_t first, std::uint64_t count) {
    return bias ? walk.gate(bias, first, count) : bias;
  };
  const Tensor of_x = walk.rows("bias", options.bias, 3);
  const Tensor state = walk.start_of("state", options.state, false);
  if (options.linear_before_reset && walk.has_steps()) {
    // The recurrent biases of r and z are added to sums like any other; that of n is multiplied by
    // r.
    Tensor both = of_x;
    if (bias) {
      const Tensor early =
          concat({part(0, 2), x.tensor.device().full(part(2, 1).shape(), 0, DType::f32, x.where)},
                 2, x.where);
      both = both ? walk.add(both, early) : early;
    }
    return walk.run_steps(Cell::gru, both, state, {}, bias ? walk.flat(part(2, 1)) : bias);
  }
  return walk.run(
      of_x, {walk.start("state", state, false), {}},
      [&](const Tensor& here, const Carried& before) -> Carried {
        const bool before_reset = options.linear_before_reset;
        const Tensor all = walk.add(walk.across(before.state, 0, before_reset ? 3 : 2),
                                    part(0, before_reset ? 3 : 2));
        const Tensor both = walk.sigmoid(walk.add(walk.gate(here, 0, 2), walk.gate(all, 0, 2)));
        const Tensor r = walk.gate(both, 0);
        const Tensor z = walk.gate(both, 1);
        const Tensor of_state =
            before_reset ? walk.mul(r, walk.gate(all, 2))
                         : walk.add(walk.across(walk.mul(r, before.state), 2, 1), part(2, 1));
        const Tensor n = walk.tanh(walk.add(walk.gate(here, 2), of_state));
        // n + z (h - n)
        return {walk.add(n, walk.mul(z, map("sub", {before.state, n}, {}, x.where))), {}};
      });
}

Recurrent rnn(In x, const Tensor& weight, const Tensor& recurrent, const RnnOptions& options) {
  if (options.activation != "tanh" && options.activation != "relu") {
    refuse("rnn", x.where,
           formatted("rnn has the activations \"tanh\" and \"relu\"; it was given \"{}\".",
                     options.activation));
  }
  Walk walk("rnn", 1, x, weight, recurrent, {}, options.direction, options.clip);
  walk.set_lengths(options.lengths);
  const Tensor bias = walk.rows("recurrent bias", options.recurrent_bias, 1);
  const Tensor of_x = walk.rows("bias", options.bias, 1);
  const Tensor both = of_x && bias ? walk.add(of_x, bias) : (of_x ? of_x : bias);
  const Tensor state = walk.start_of("state", options.state, false);
  const bool relu = options.activation == "relu";
  if (walk.has_steps(!relu)) return walk.run_steps(relu ? Cell::relu : Cell::tanh, both, state, {});
  return walk.run(both, {walk.start("state", state, false), {}},
                  [&](const Tensor& here, const Carried& before) -> Carried {
                    const Tensor sum = walk.add(here, walk.across(before.state, 0, 1));
                    return {walk.apply(options.activation, walk.clipped(sum)), {}};
                  });
}

}  // namespace weft
