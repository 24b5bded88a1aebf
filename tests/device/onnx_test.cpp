// ONNX models: shapes that change, elements that decide, and sentences about what cannot work.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>
#include <weft/onnx.hpp>
#include <weft/weft.hpp>

#include "../onnx/bytes.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

namespace b = onnx_bytes;
using Floats = std::vector<float>;

onnx::Model loaded(const std::string& model) { return onnx::load(api_device(), b::bytes(model)); }

std::string message(const onnx::Model& model, const std::map<std::string, Tensor>& inputs) {
  try {
    (void)model.run(inputs);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(DeviceOnnx, NamedExtentsTakeAnyNumberAndAreReplayed) {
  const onnx::Model model = loaded(b::small_model());
  EXPECT_EQ(model.operations().at("MatMul"), 1U);
  EXPECT_TRUE(model.unsupported().empty());
  for (const std::uint64_t rows : {1, 3, 1, 0}) {
    const Tensor x = api_device().full({rows, 2}, 1);
    Floats expected;
    for (std::uint64_t i = 0; i < rows; ++i) expected.insert(expected.end(), {15, 27, 39});
    EXPECT_EQ(model.run({{"x", x}}).at("y").to_vector(), expected);
    EXPECT_TRUE(model.report().replayed);
  }
}

TEST(DeviceOnnx, WrongInputsAreNamed) {
  const onnx::Model model = loaded(b::small_model());
  EXPECT_EQ(message(model, {}), "The input 'x' is missing.");
  EXPECT_EQ(message(model, {{"z", api_device().full({1, 2}, 1)}}), "The model has no input 'z'.");
  EXPECT_EQ(message(model, {{"x", api_device().full({1, 5}, 1)}}),
            "The input 'x' is f32[1,5]; the model takes [n,2].");
  EXPECT_EQ(message(model, {{"x", api_device().full({1, 2}, 1, DType::i32)}}),
            "The input 'x' is i32[1,2]; the model takes f32.");
  // Extents of the same name are the same number: "n" in each of these, twice in the third.
  const onnx::Model named =
      loaded(b::model(b::nodes({b::node("Sum", {"x", "z", "s"}, {"y"})}) +
                      b::input(b::port("x", 1, {-1, 1})) + b::input(b::port("z", 1, {1, -1})) +
                      b::input(b::port("s", 1, {-1, -1})) + b::output(b::port("y", 1, {-1, -1}))));
  const auto with = [&](const Shape& x, const Shape& z, const Shape& s) {
    return message(named, {{"x", api_device().full(x, 1)},
                           {"z", api_device().full(z, 1)},
                           {"s", api_device().full(s, 1)}});
  };
  EXPECT_EQ(with({3, 1}, {1, 3}, {3, 3}), "");
  EXPECT_EQ(with({3, 1}, {1, 4}, {3, 4}),
            "The input 'z' is f32[1,4]: 'n' is 4 in it, but 3 in the input 'x'.");
  EXPECT_EQ(with({3, 1}, {1, 3}, {3, 1}),
            "The input 's' is f32[3,1]: 'n' is 1 in it, but 3 in the input 'x'.");
  const onnx::Model square =
      loaded(b::model(b::nodes({b::node("Neg", {"x"}, {"y"})}) +
                      b::input(b::port("x", 1, {-1, -1})) + b::output(b::port("y", 1, {-1, -1}))));
  EXPECT_EQ(message(square, {{"x", api_device().full({2, 3}, 1)}}),
            "The input 'x' is f32[2,3]: 'n' is 3 in it, but 2 in the input 'x'.");
  EXPECT_EQ(message(square, {{"x", api_device().full({0, 3}, 1)}}), "");  // an empty cache
}

TEST(DeviceOnnx, NodesThatCannotRunAreNamed) {
  const std::string ports = b::input(b::port("x", 1, {2})) + b::output(b::port("y", 1, {2}));
  const onnx::Model unknown = loaded(b::model(b::nodes({b::node("Fly", {"x"}, {"y"})}) + ports));
  ASSERT_EQ(unknown.unsupported().size(), 1U);
  EXPECT_NE(unknown.unsupported()[0].find("'my Fly' (Fly)"), std::string::npos);
  const Tensor x = api_device().arange(2);
  EXPECT_EQ(message(unknown, {{"x", x}}),
            "Node 'my Fly' (Fly): Weft does not know this operation.");
  const onnx::Model missing =
      loaded(b::model(b::nodes({b::node("Add", {"x", "nothing"}, {"y"})}) + ports));
  EXPECT_EQ(message(missing, {{"x", x}}),
            "Node 'my Add' (Add): There is no value 'nothing' before it.");
  const onnx::Model few = loaded(b::model(b::nodes({b::node("Add", {"x"}, {"y"})}) + ports));
  EXPECT_EQ(message(few, {{"x", x}}), "Node 'my Add' (Add): Input 1 is missing.");
  const onnx::Model twice = loaded(
      b::model(b::nodes({b::node("Neg", {"x"}, {"y"}), b::node("Abs", {"x"}, {"y"})}) + ports));
  EXPECT_EQ(message(twice, {{"x", x}}), "Node 'my Abs' (Abs): There is a value 'y' already.");
  const onnx::Model none = loaded(b::model(b::nodes({}) + ports));
  EXPECT_NE(message(none, {{"x", x}}).find("no value 'y' to give back"), std::string::npos);
  const onnx::Model damaged = loaded(b::model(b::nodes({b::node("Add", {"x", "w"}, {"y"})}) +
                                              b::weight(b::tensor("w", 1, {2}, "xyz")) + ports));
  EXPECT_NE(message(damaged, {{"x", x}}).find("needs 8 bytes; there are 3"), std::string::npos);
}

TEST(DeviceOnnx, ElementsOfSmallInputsDecideAndAreReplayed) {
  const std::string x = b::input(b::port("x", 1, {6}));
  const onnx::Model shaped =
      loaded(b::model(b::nodes({b::node("Reshape", {"x", "shape"}, {"y"})}) + x +
                      b::input(b::port("shape", 7, {2})) + b::output(b::port("y", 1, {-1, -1}))));
  for (const std::int64_t rows : {2, 3, 2}) {
    const auto y =
        shaped
            .run({{"x", api_device().arange(6)},
                  {"shape", api_device().tensor({2}, std::vector<std::int64_t>{rows, -1})}})
            .at("y");
    EXPECT_EQ(y.shape(),
              (Shape{static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(6 / rows)}));
    EXPECT_TRUE(shaped.report().replayed);
  }
  const auto branch = [](const char* op) {
    return b::nodes({b::node(op, {"x"}, {op})}) + b::output(b::port(op, 1, {6}));
  };
  const onnx::Model chosen =
      loaded(b::model(b::nodes({b::node("If", {"c"}, {"y"},
                                        b::graph_attribute("then_branch", branch("Neg")) +
                                            b::graph_attribute("else_branch", branch("Exp")))}) +
                      x + b::input(b::port("c", 9, {})) + b::output(b::port("y", 1, {6}))));
  for (const bool neg : {true, false, true}) {
    const auto y = chosen
                       .run({{"x", api_device().full({6}, 0.0)},
                             {"c", api_device().tensor({}, std::vector<bool>{neg})}})
                       .at("y");
    EXPECT_EQ(y.to_vector()[0], neg ? 0.0F : 1.0F);
    EXPECT_TRUE(chosen.report().replayed);
  }
}

TEST(DeviceOnnx, WhereShapesFollowFromLargeInputsNodesRunOneByOne) {
  const onnx::Model model =
      loaded(b::model(b::nodes({b::node("NonZero", {"x"}, {"y"})}) +
                      b::input(b::port("x", 1, {-1})) + b::output(b::port("y", 7, {1, -1}))));
  Floats values(5000);
  values[17] = 1;
  values[4999] = 2;
  const auto y = model.run({{"x", api_device().tensor({5000}, values)}}).at("y");
  EXPECT_EQ(y.to_vector<std::int64_t>(), (std::vector<std::int64_t>{17, 4999}));
  EXPECT_FALSE(model.report().replayed);
  EXPECT_NE(model.report().why.find("NonZero needs the elements"), std::string::npos);
}

TEST(DeviceOnnx, ResultsThatAreInputsWeightsOrTheSameValueTwice) {
  const onnx::Model model = loaded(b::model(
      b::nodes({b::node("Neg", {"x"}, {"y"})}) +
      b::weight(b::tensor("w", 1, {2}, b::floats({5, 6}))) + b::input(b::port("x", 1, {2})) +
      b::output(b::port("x", 1, {2})) + b::output(b::port("w", 1, {2})) +
      b::output(b::port("y", 1, {2})) + b::output(b::port("y", 1, {2}))));
  const auto all = model.run({{"x", api_device().arange(2)}});
  EXPECT_EQ(all.at("x").to_vector(), (Floats{0, 1}));
  EXPECT_EQ(all.at("w").to_vector(), (Floats{5, 6}));
  EXPECT_EQ(all.at("y").to_vector(), (Floats{0, -1}));
}

TEST(DeviceOnnx, FunctionsThatCallThemselvesEnd) {
  const std::string self = b::text(
      25, b::text(1, "F") + b::text(4, "a") + b::text(5, "b") +
              b::text(7, b::node("F", {"a"}, {"b"}) + b::text(7, "mine")) + b::text(10, "mine"));
  const onnx::Model model =
      loaded(b::model(b::nodes({b::node("F", {"x"}, {"y"}) + b::text(7, "mine")}) +
                      b::input(b::port("x", 1, {1})) + b::output(b::port("y", 1, {1}))) +
             self);
  EXPECT_NE(message(model, {{"x", api_device().arange(1)}}).find("deep in each other"),
            std::string::npos);
}

/// The result "y" of a graph of one node and constants.
std::vector<float> constant_result(const std::string& node, const std::string& weights) {
  const onnx::Model model =
      loaded(b::model(b::nodes({node}) + weights + b::output(b::port("y", 1, {}))));
  return model.run({}).at("y").to(DType::f32).to_vector();
}

std::string row(const char* name, std::vector<std::int64_t> shape, const Floats& values) {
  return b::weight(b::tensor(name, 1, std::move(shape), b::floats(values)));
}
std::string whole(const char* name, std::vector<std::int64_t> shape,
                  const std::vector<std::int64_t>& values) {
  return b::weight(b::tensor(name, 7, std::move(shape), b::longs(values)));
}
std::string text_attribute(const std::string& name, const std::string& value) {
  return b::text(5, b::text(1, name) + b::text(4, value) + b::number(20, 3));
}
std::string ints_attribute(const std::string& name, std::int64_t value) {
  return b::text(5, b::text(1, name) + b::number(8, value) + b::number(20, 7));
}

/// Found by comparing random nodes with ONNX Runtime.
TEST(DeviceOnnx, FunctionsOfOneNameDifferByTheirOverload) {
  const auto function = [](const std::string& op, const std::string& overload) {
    return b::text(25, b::text(1, "F") + b::text(4, "x") + b::text(5, "y") +
                           b::text(7, b::node(op, {"x"}, {"y"})) + b::text(9, b::number(2, 21)) +
                           b::text(10, "own") + b::text(13, overload));
  };
  const auto call = [](const std::string& overload, const std::string& from,
                       const std::string& to) {
    return b::node("F", {from}, {to}) + b::text(7, "own") + b::text(8, overload);
  };
  const std::string model =
      b::model(b::nodes({call("first", "x", "a"), call("second", "a", "y")}) +
               b::input(b::port("x", 1, {2})) + b::output(b::port("y", 1, {2}))) +
      function("Neg", "first") + function("Exp", "second");
  const onnx::Model loaded = onnx::load(api_device(), b::bytes(model));
  EXPECT_TRUE(loaded.unsupported().empty());
  const auto y = loaded.run({{"x", api_device().tensor({2}, Floats{0, 1})}}).at("y").to_vector();
  EXPECT_FLOAT_EQ(y[0], 1);
  EXPECT_NEAR(y[1], 0.36788, 1e-4);
}

TEST(DeviceOnnx, LoopsWithoutStepsGiveWhatTheirStepsWould) {
  const std::string body = b::nodes({b::node("Identity", {"go"}, {"on"}),
                                     b::node("Neg", {"s"}, {"t"}), b::node("Exp", {"t"}, {"u"})}) +
                           b::input(b::port("i", 7, {})) + b::input(b::port("go", 9, {})) +
                           b::input(b::port("s", 1, {-1, -1})) + b::output(b::port("on", 9, {})) +
                           b::output(b::port("t", 1, {-1, -1})) +
                           b::output(b::text(1, "u") + b::text(2, b::text(1, b::number(1, 1))));
  const onnx::Model model = loaded(
      b::model(b::nodes({b::node("Loop", {"times", "", "x"}, {"last", "all"},
                                 b::graph_attribute("body", body))}) +
               b::input(b::port("times", 7, {})) + b::input(b::port("x", 1, {2, 3})) +
               b::output(b::port("last", 1, {2, 3})) + b::output(b::port("all", 1, {-1, 2, 3}))));
  const Tensor x = api_device().full({2, 3}, 1);
  for (const std::uint64_t times : {2, 0}) {
    const Tensor count = api_device().full({}, static_cast<double>(times), DType::i64);
    const auto results = model.run({{"times", count}, {"x", x}});
    EXPECT_EQ(results.at("all").shape(), (Shape{times, 2, 3}));
    EXPECT_EQ(results.at("last").to_vector(), Floats(6, 1));
  }
}

// Without axes nothing is reduced, so that no bit of a whole number may change.
TEST(DeviceOnnx, MeansOfElementsByThemselvesAreExact) {
  const std::vector<std::int64_t> large{(std::int64_t{1} << 53) + 1, -(std::int64_t{1} << 53) - 1};
  const onnx::Model model = loaded(b::model(
      b::nodes({b::node("ReduceMean", {"x"}, {"y"}, b::int_attribute("noop_with_empty_axes", 1))}) +
      b::input(b::port("x", 7, {2})) + b::output(b::port("y", 7, {2}))));
  const auto results = model.run({{"x", api_device().tensor({2}, large)}});
  EXPECT_EQ(results.at("y").to_vector<std::int64_t>(), large);
}

TEST(DeviceOnnx, NamesOfAnyBytesAreTextInJson) {
  const onnx::Model model =
      loaded(b::model(b::nodes({b::node("Neg", {"\xffx"}, {"y"})}) +
                      b::input(b::port("\xffx", 1, {2})) + b::output(b::port("y", 1, {2}))));
  EXPECT_NE(model.to_json().find("\"?x\""), std::string::npos) << model.to_json();
}

TEST(DeviceOnnx, NodesAtTheEdgesOfTheStandard) {
  // Backwards from before the first element: the first one.
  EXPECT_EQ(
      constant_result(b::node("Slice", {"x", "s", "e", "a", "t"}, {"y"}),
                      row("x", {4}, {5, 6, 7, 8}) + whole("s", {1}, {-9}) + whole("e", {1}, {-99}) +
                          whole("a", {1}, {0}) + whole("t", {1}, {-2})),
      (Floats{5}));
  // Of types that index_copy's kernel does not move. The input keeps it on the device.
  const onnx::Model scattered =
      loaded(b::model(b::nodes({b::node("ScatterND", {"x", "i", "u"}, {"y"})}) +
                      whole("i", {2, 1}, {1, 2}) + whole("u", {2}, {9, std::int64_t{1} << 40}) +
                      b::input(b::port("x", 7, {-1})) + b::output(b::port("y", 7, {-1}))));
  EXPECT_EQ(scattered.run({{"x", api_device().arange(5000, 0, 1, DType::i64)}})
                .at("y")
                .slice(0, 0, 4)
                .to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 9, std::int64_t{1} << 40, 3}));
  // What is too much goes at the start, but for SAME_UPPER.
  for (const bool upper : {false, true}) {
    const std::string how = upper ? text_attribute("auto_pad", "SAME_UPPER") : "";
    EXPECT_EQ(constant_result(b::node("ConvTranspose", {"x", "w"}, {"y"},
                                      ints_attribute("output_shape", 2) + how),
                              row("x", {1, 1, 2}, {1, 2}) + row("w", {1, 1, 2}, {1, 10})),
              upper ? (Floats{1, 12}) : (Floats{12, 20}));
  }
  // Signals as PyTorch writes them, without a last dimension of 1.
  EXPECT_EQ(
      constant_result(b::node("STFT", {"x", "s", "", "n"}, {"y"}),
                      row("x", {1, 4}, {1, 2, 3, 4}) + whole("s", {}, {2}) + whole("n", {}, {2})),
      (Floats{3, 0, -1, 0, 7, 0, -1, 0}));
  // Functions without parameters take none from the lists.
  const auto list = [](const std::string& name, float value) {
    return b::text(5, b::text(1, name) + b::text(7, b::floats({value})) + b::number(20, 6));
  };
  const std::string functions = b::text(5, b::text(1, "activations") + b::text(9, "Relu") +
                                               b::text(9, "HardSigmoid") + b::number(20, 8));
  EXPECT_EQ(
      constant_result(
          b::node("RNN", {"x", "w", "r"}, {"y"},
                  text_attribute("direction", "bidirectional") +
                      b::int_attribute("hidden_size", 1) + functions +
                      list("activation_alpha", 0.5) + list("activation_beta", 0.25)),
          row("x", {1, 1, 1}, {1}) + row("w", {2, 1, 1}, {1, 1}) + row("r", {2, 1, 1}, {0, 0})),
      (Floats{1, 0.75}));
}

/// A recurrent node in both directions, with everything that it can be given.
onnx::Model recurrent_node(const char* op, std::int64_t gates, const std::string& attributes) {
  const bool lstm = gates == 4;
  std::vector<std::string> inputs{"x", "w", "r", "b", "lengths", "h0"};
  std::vector<std::string> outputs{"y", "h"};
  std::string ports =
      b::input(b::port("x", 1, {3, 2, 3})) + b::input(b::port("w", 1, {2, gates * 4, 3})) +
      b::input(b::port("r", 1, {2, gates * 4, 4})) + b::input(b::port("b", 1, {2, gates * 8})) +
      b::input(b::port("lengths", 6, {2})) + b::input(b::port("h0", 1, {2, 2, 4})) +
      b::output(b::port("y", 1, {3, 2, 2, 4})) + b::output(b::port("h", 1, {2, 2, 4}));
  if (lstm) {
    inputs.insert(inputs.end(), {"c0", "p"});
    outputs.emplace_back("c");
    ports += b::input(b::port("c0", 1, {2, 2, 4})) + b::input(b::port("p", 1, {2, 12})) +
             b::output(b::port("c", 1, {2, 2, 4}));
  }
  const std::string both =
      b::text(5, b::text(1, "direction") + b::text(4, "bidirectional") + b::number(20, 3)) +
      b::int_attribute("hidden_size", 4);
  return loaded(b::model(b::nodes({b::node(op, inputs, outputs, both + attributes)}) + ports));
}

/// Layers with the usual activations are those of the library, with the gates in its order; a
/// parameter that the activations do not use leads to the translation step by step.
TEST(DeviceOnnx, RecurrentLayersAreThoseOfTheLibrary) {
  const auto some = [](const Shape& shape, double phase) {
    std::uint64_t count = 1;
    for (const std::uint64_t n : shape) count *= n;
    Floats values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(std::sin(phase + 1.7 * static_cast<double>(i * i % 97)));
    return api_device().tensor(shape, values);
  };
  const std::string unused =
      b::text(5, b::text(1, "activation_alpha") + b::text(7, b::floats({1})) + b::number(20, 6));
  for (const auto& [op, gates, attributes] :
       {std::tuple{"LSTM", std::uint64_t{4}, std::string()},
        {"LSTM", 4, b::int_attribute("input_forget", 1)},
        {"GRU", 3, std::string()},
        {"GRU", 3, b::int_attribute("linear_before_reset", 1)},
        {"RNN", 1, std::string()}}) {
    SCOPED_TRACE(op);
    std::map<std::string, Tensor> in{
        {"x", some({3, 2, 3}, 0.1)},
        {"w", some({2, gates * 4, 3}, 0.2)},
        {"r", some({2, gates * 4, 4}, 0.3)},
        {"b", some({2, gates * 8}, 0.4)},
        {"lengths", api_device().tensor({2}, std::vector<std::int32_t>{3, 2})},
        {"h0", some({2, 2, 4}, 0.5)}};
    if (gates == 4) {
      in["c0"] = some({2, 2, 4}, 0.6);
      in["p"] = some({2, 12}, 0.7);
    }
    const auto signed_gates = static_cast<std::int64_t>(gates);
    const auto got = recurrent_node(op, signed_gates, attributes).run(in);
    const auto wanted = recurrent_node(op, signed_gates, attributes + unused).run(in);
    ASSERT_EQ(got.size(), wanted.size());
    for (const auto& [name, tensor] : wanted) {
      const Floats a = got.at(name).to_vector();
      const Floats c = tensor.to_vector();
      ASSERT_EQ(a.size(), c.size()) << name;
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], c[i], 1e-5) << name << " " << i;
    }
  }
}

}  // namespace
}  // namespace weft::test
