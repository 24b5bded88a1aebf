// ONNX models that are well-formed files and make no sense: each of these crashed, hung or took all
// memory once. The answer is an error with a sentence, or a result.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <weft/onnx.hpp>
#include <weft/weft.hpp>

#include "../onnx/bytes.hpp"
#include "onnx/call.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

namespace b = onnx_bytes;
using I = std::int64_t;
using Ints = std::vector<I>;
constexpr int f32 = 1;
constexpr int i64 = 7;
constexpr I huge = I{1} << 40;

std::string text(const std::string& name, const std::string& value) {
  return b::text(5, b::text(1, name) + b::text(4, value) + b::number(20, 3));
}
std::string tensor(const std::string& name, const std::string& value) {
  return b::text(5, b::text(1, name) + b::text(5, value) + b::number(20, 4));
}

std::string floats(const std::string& name, const Ints& shape, float value = 1) {
  std::size_t count = 1;
  for (const I extent : shape) count *= static_cast<std::size_t>(extent);
  return b::weight(b::tensor(name, f32, shape, b::floats(std::vector<float>(count, value))));
}
std::string longs(const std::string& name, const Ints& shape, const Ints& values) {
  return b::weight(b::tensor(name, i64, shape, b::longs(values)));
}
std::string truths(const std::string& name, std::size_t count) {
  return b::weight(b::tensor(name, 9, {static_cast<I>(count)}, std::string(count, '\1')));
}
std::string words(const std::string& name, std::size_t count) {
  std::string list = b::number(1, static_cast<I>(count)) + b::number(2, 8) + b::text(8, name);
  for (std::size_t i = 0; i < count; ++i) list += b::text(6, "word");
  return b::weight(list);
}

/// A graph of one node whose result is "y".
std::string graph(const std::string& op, const std::vector<std::string>& inputs,
                  const std::string& weights, const std::string& attributes = {}) {
  return b::nodes({b::node(op, inputs, {"y"}, attributes)}) + weights +
         b::output(b::port("y", f32, {}));
}

/// Elements that are read at most: sanitizers end the process where the host has no memory for
/// more.
constexpr std::size_t most_read = std::size_t{1} << 28U;

/// What running a graph without inputs ends with: "" where it has a result.
std::string outcome(const std::string& graph, int opset = 21) {
  const onnx::Model model = onnx::load(api_device(), b::bytes(b::model(graph, opset)));
  try {
    for (const auto& [name, tensor] : model.run({})) {
      const Tensor wide = tensor.to(DType::f32);
      if (wide.size() <= most_read) {
        (void)wide.to_vector();
      } else {
        wide.eval();
      }
    }
    return "";
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
    EXPECT_GT(std::string_view(error.what()).size(), 30U) << error.what();
    return error.what();
  }
}

struct Row {
  const char* what;
  std::string graph;
  const char* says;  ///< A part of the error.
  int opset = 21;
};

std::vector<Row> types_that_do_not_fit() {
  const std::string number = longs("n", {2}, {1, 2});
  const std::string word = words("s", 2);
  return {
      {"numbers and texts", graph("Add", {"n", "s"}, number + word), "not of one type"},
      {"a text as a number", graph("Neg", {"s"}, word), "has no numbers"},
      {"texts and numbers", graph("Equal", {"s", "n"}, number + word), "not of one type"},
      {"one of two kinds", graph("Where", {"c", "s", "n"}, truths("c", 2) + number + word),
       "not of one type"},
      {"the other of two kinds", graph("Where", {"c", "n", "s"}, truths("c", 2) + number + word),
       "not of one type"},
      {"a text as a condition", graph("Where", {"s", "n", "n"}, number + word), "has no numbers"},
      {"joined numbers", graph("StringConcat", {"n", "n"}, number), "no texts"},
      {"joined texts", graph("StringConcat", {"s", "t"}, word + words("t", 3)), "do not broadcast"},
      {"texts that differ", graph("Unique", {"s"}, word), "has no numbers"},
      {"no such type", graph("Cast", {"n"}, number, b::int_attribute("to", 200)),
       "no element type 200"},
      {"a type that is cut off",
       graph("Cast", {"n"}, number, b::int_attribute("to", (I{1} << 40) + 1)), "no element type"},
      {"no such type of a matrix",
       graph("EyeLike", {"m"}, floats("m", {2, 2}), b::int_attribute("dtype", 99)),
       "no element type 99"},
      {"a shape of texts",
       graph("ConstantOfShape", {"n"}, number,
             tensor("value", b::number(1, 1) + b::number(2, 8) + b::text(6, "x"))),
       "not one number"},
      {"scores that are texts",
       graph("NonMaxSuppression", {"box", "score"},
             floats("box", {1, 1, 4}) +
                 b::weight(b::number(1, 1) + b::number(1, 1) + b::number(1, 1) + b::number(2, 8) +
                           b::text(8, "score") + b::text(6, "x"))),
       "has no numbers"},
  };
}

/// A tree with one branch, whose numbers are given.
std::string tree(I feature, I yes, I yes_leaf, I root, I target, I mode) {
  const auto list = [](const char* name, I value) {
    return b::text(5, b::text(1, name) + b::number(8, value) + b::number(20, 7));
  };
  const std::string byte(1, static_cast<char>(mode));
  return b::text(7, "ai.onnx.ml") + list("nodes_featureids", feature) +
         list("nodes_truenodeids", yes) + list("nodes_falsenodeids", 0) +
         list("nodes_trueleafs", yes_leaf) + list("nodes_falseleafs", 1) +
         list("tree_roots", root) + list("leaf_targetids", target) +
         tensor("nodes_modes", b::tensor("m", 2, {1}, byte)) +
         tensor("nodes_splits", b::tensor("s", f32, {1}, b::floats({2}))) +
         tensor("leaf_weights", b::tensor("w", f32, {1}, b::floats({3})));
}

std::vector<Row> trees_and_patterns() {
  const std::string x = floats("x", {2, 3});
  const auto with = [&](const std::string& attributes) {
    return graph("TreeEnsemble", {"x"}, x, attributes);
  };
  const auto pattern = [](const std::string& value) {
    return graph("RegexFullMatch", {"s"}, words("s", 2), text("pattern", value));
  };
  return {
      {"a tree", with(tree(0, 0, 1, 0, 0, 0)), ""},
      {"a circle", with(tree(0, 0, 0, 0, 0, 0)), "circle"},
      {"no such column", with(tree(3, 0, 1, 0, 0, 0)), "nodes_featureids has 3"},
      {"no such leaf", with(tree(0, huge, 1, 0, 0, 0)), "A branch has"},
      {"no such branch", with(tree(0, -1, 0, 0, 0, 0)), "A branch has -1"},
      {"no such root", with(tree(0, 0, 1, 7, 0, 0)), "tree_roots has 7"},
      {"no such target", with(tree(0, 0, 1, 0, 5, 0)), "leaf_targetids has 5"},
      {"no such mode", with(tree(0, 0, 1, 0, 0, 9)), "There is no mode 9"},
      {"no set", with(tree(0, 0, 1, 0, 0, 6)), "too few sets"},
      {"no tree at all", with(b::text(7, "ai.onnx.ml")), ""},
      {"trees without a table",
       graph("TreeEnsemble", {"x"}, floats("x", {3}), tree(0, 0, 1, 0, 0, 0)), "is no table"},
      {"a pattern without an end", pattern("(a"), "a group has no end"},
      {"a pattern of patterns", pattern("((a{999}){999}){999}"), "too large"},
      {"derivatives of nothing",
       graph("Gradient", {"x"}, x, b::text(7, "ai.onnx.preview.training") + text("y", "none")),
       "before it to differentiate"},
  };
}

std::vector<Row> numbers_without_end() {
  const std::string one = longs("x", {1}, {5});
  return {
      {"an extent that goes round",
       graph("Reshape", {"x", "s"}, one + longs("s", {2}, {7, 0x6DB6DB6DB6DB6DB7})),
       "An extent is"},
      {"extents that go round",
       graph("Reshape", {"x", "s"}, one + longs("s", {3}, {huge, huge, -1})), "too large"},
      {"nothing, very often",
       graph("Tile", {"x", "n"}, longs("x", {0}, {}) + longs("n", {1}, {huge})), ""},
      {"rows of nothing",
       graph("ReduceSum", {"x", "a"}, longs("x", {0, huge}, {}) + longs("a", {1}, {0})), ""},
      {"too many parts",
       graph("Split", {"x"}, longs("x", {2}, {1, 2}), b::int_attribute("num_outputs", 1 << 20)),
       "not the 1 results"},
      {"words that are very long",
       graph("TfIdfVectorizer", {"x"}, one,
             b::int_attribute("max_gram_length", huge) + text("mode", "TF")),
       "Groups of"},
      {"pads at the end of numbers",
       graph("Pad", {"x", "p"},
             floats("x", {1}) + longs("p", {2}, {std::numeric_limits<I>::min(), 0})),
       "too large"},
      {"a window without end", graph("HannWindow", {"x"}, longs("x", {}, {I{1} << 27})), "is none"},
      {"tones that are none",
       graph("MelWeightMatrix", {"n", "n", "n", "f", "f"},
             longs("n", {}, {8}) + b::weight(b::tensor("f", f32, {}, b::floats({-1e9F})))),
       "The edge of bin"},
      {"an image without end",
       graph("Resize", {"x", "", "", "s"},
             floats("x", {1, 1, 1, 1}) + longs("s", {4}, {1, 1, I{1} << 30, 1})),
       "too large"},
      {"samples that go round",
       graph("RoiAlign", {"x", "r", "b"},
             floats("x", {1, 1, 4, 4}) + floats("r", {1, 4}) + longs("b", {1}, {0}),
             b::int_attribute("sampling_ratio", I{1} << 32)),
       "samples are none"},
  };
}

std::vector<Row> shapes_that_do_not_fit() {
  const std::string image = floats("x", {1, 2, 4, 4});
  const std::string small = floats("w", {1, 2, 3, 3});
  const std::string heads = floats("q", {1, 1, 2, 4});
  return {
      {"an image of nothing",
       graph("Resize", {"x", "", "", "s"},
             floats("x", {1, 1, 0, 4}) + longs("s", {4}, {1, 1, 0, 8})),
       ""},
      {"no groups",
       graph("DeformConv", {"x", "w", "o"}, image + small + floats("o", {1, 18, 2, 2}),
             b::int_attribute("group", 0)),
       "0 groups"},
      {"keys without heads",
       graph("Attention", {"q", "k", "v"},
             heads + floats("k", {1, 2, 4}) + floats("v", {1, 1, 2, 4})),
       "is not [batch, heads", 23},
      {"one angle", graph("RotaryEmbedding", {"q", "c", "c"}, heads + floats("c", {})),
       "no tables of angles", 23},
      {"scores without classes",
       graph("SoftmaxCrossEntropyLoss", {"x", "l"}, floats("x", {3}) + longs("l", {}, {1})),
       "are not those of"},
      {"a state that is a number",
       graph("LSTM", {"x", "w", "r", "", "", "h"},
             floats("x", {2, 1, 3}) + floats("w", {1, 8, 3}) + floats("r", {1, 8, 2}) +
                 floats("h", {}),
             b::int_attribute("hidden_size", 2)),
       "Input 5 is one number"},
      {"blocks that do not fit",
       graph("QuantizeLinear", {"x", "s", "z"},
             floats("x", {8}) + floats("s", {2}) +
                 b::weight(b::tensor("z", 21, {2}, std::string(1, '\0'))),
             b::int_attribute("axis", 0) + b::int_attribute("block_size", 1)),
       "are not those of blocks of 1"},
      {"a part of fewer dimensions", graph("TensorScatter", {"x", "u"}, image + floats("u", {4})),
       "is no part of", 24},
      {"indices past the end",
       graph("ScatterElements", {"x", "i", "u"},
             floats("x", {2, 2}) + longs("i", {2, 3}, {0, 0, 0, 0, 0, 0}) + floats("u", {2, 3})),
       "reach past"},
      {"other batches",
       graph("GatherND", {"x", "i"}, floats("x", {2, 2}) + longs("i", {3, 1}, {0, 0, 0}),
             b::int_attribute("batch_dims", 1)),
       "other batches"},
      {"nothing to scan",
       graph("Scan", {}, "",
             b::graph_attribute("body", "") + b::int_attribute("num_scan_inputs", 0)),
       "There are no 0 inputs", 8},
      {"a mask that is a number", graph("Attention", {"x", "x", "x", "m"}, image + floats("m", {})),
       "is no mask of keys", 23},
      {"a product of weights without rows",
       graph("QLinearConv", {"x", "s", "z", "x", "s", "z", "s", "z", "b"},
             b::weight(b::tensor("x", 2, {3}, std::string(3, 1))) + floats("s", {}) +
                 b::weight(b::tensor("z", 2, {}, std::string(1, 1))) +
                 b::weight(b::tensor("b", 6, {1}, std::string(4, 0)))),
       " ", 10},
      {"a sequence of a number",
       graph("Scan", {"", "x", "x"}, floats("x", {}),
             b::graph_attribute("body", "") + b::int_attribute("num_scan_inputs", 1)),
       "", 8},
  };
}

class OnnxHostile : public testing::TestWithParam<int> {};

TEST_P(OnnxHostile, IsAnErrorOrAResult) {
  const auto rows = GetParam() == 0   ? types_that_do_not_fit()
                    : GetParam() == 1 ? numbers_without_end()
                    : GetParam() == 2 ? shapes_that_do_not_fit()
                                      : trees_and_patterns();
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const std::string said = outcome(row.graph, row.opset);
    EXPECT_TRUE(said.contains(row.says)) << said;
    if (row.says[0] != '\0') {
      EXPECT_FALSE(said.empty());
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Device, OnnxHostile, testing::Range(0, 4));

TEST(DeviceOnnxHostile, HeadsThatGoRound) {
  const auto node = [](const std::string& op, const std::vector<std::string>& inputs,
                       const std::string& attributes) {
    return b::node(op, inputs, {"y"}, attributes) + b::text(7, "com.microsoft");
  };
  const std::string weights = floats("x", {1, 2, 4}) + longs("n", {1}, {1}) + floats("p", {});
  for (const std::string& one :
       {node("GroupQueryAttention", {"x", "", "", "", "", "n", "n"},
             b::int_attribute("num_heads", std::numeric_limits<I>::max() - 1) +
                 b::int_attribute("kv_num_heads", (I{1} << 62) + 1)),
        node("Attention", {"x", "w", "", "", "p"}, b::int_attribute("num_heads", 1))}) {
    EXPECT_NE(outcome(b::nodes({one}) + weights + floats("w", {4, 12}) +
                      b::output(b::port("y", f32, {}))),
              "");
  }
}

/// The error of a graph that may run 1,000 nodes.
std::string outcome_of_nodes(const std::string& model) {
  const std::string bytes = b::model(model);
  const auto read = onnx::read_model(b::bytes(bytes));
  EXPECT_TRUE(read);
  onnx::Context context{.device = api_device()};
  context.opsets = read->opsets;
  for (const onnx::Function& function : read->functions)
    context.functions[{function.domain, function.name}] = &function;
  context.most_nodes = 1000;
  try {
    (void)onnx::run_graph(context, read->graph, nullptr, {});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(DeviceOnnxHostile, LoopsWithoutEndEnd) {
  const std::string body = b::nodes({b::node("Identity", {"c"}, {"d"})}) +
                           b::input(b::port("i", i64, {})) + b::input(b::port("c", 9, {})) +
                           b::output(b::port("d", 9, {}));
  const std::string said = outcome_of_nodes(
      b::nodes({b::node("Loop", {"", "t"}, {}, b::graph_attribute("body", body))}) +
      truths("t", 1));
  EXPECT_TRUE(said.contains("More than 1000 nodes in one run")) << said;
}

TEST(DeviceOnnxHostile, FunctionsThatCallOthersTwiceEnd) {
  // f0 calls f1 twice, f1 calls f2 twice, …: 2^30 calls in a few hundred bytes.
  std::string functions;
  for (int i = 0; i < 30; ++i) {
    const std::string inner = i == 29 ? "Identity" : "f" + std::to_string(i + 1);
    const std::string domain = i == 29 ? "" : b::text(7, "f");
    const std::string nodes = b::text(7, b::node(inner, {"x"}, {"a"}) + domain) +
                              b::text(7, b::node(inner, {"a"}, {"y"}) + domain);
    functions +=
        b::text(25, b::text(1, "f" + std::to_string(i)) + b::text(4, "x") + b::text(5, "y") +
                        nodes + b::text(9, b::number(2, 21)) + b::text(10, "f"));
  }
  const std::string call = b::node("f0", {"x"}, {"y"}) + b::text(7, "f");
  const std::string graph = b::nodes({call}) + floats("x", {1}) + b::output(b::port("y", f32, {1}));
  const std::string bytes = b::model(graph) + functions;
  const auto read = onnx::read_model(b::bytes(bytes));
  ASSERT_TRUE(read) << read.error().message;
  onnx::Context context{.device = api_device()};
  context.opsets = read->opsets;
  for (const onnx::Function& function : read->functions)
    context.functions[{function.domain, function.name}] = &function;
  context.most_nodes = 1000;
  EXPECT_THROW((void)onnx::run_graph(context, read->graph, nullptr, {}), Error);
}

TEST(DeviceOnnxHostile, AnEmptyModelIsAnError) {
  const onnx::Model none;
  EXPECT_THROW((void)none.inputs(), Error);
  EXPECT_THROW((void)none.shapes(), Error);
  EXPECT_THROW((void)none.to_json(), Error);
  EXPECT_THROW((void)none.run({}), Error);
}

}  // namespace
}  // namespace weft::test
