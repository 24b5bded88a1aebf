// Indices out of range, reported at the next wait.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace weft {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Calls a function that takes indices, and waits by reading its result.
struct Call {
  std::string name;
  std::function<Tensor(const Tensor& indices)> run;
};

std::vector<Call> calls(const Device& device) {
  const Tensor table = device.arange(12).reshape({4, 3});
  const Tensor rows = device.full({3, 3}, 1);
  const auto columns = [](const Tensor& i) { return i.reshape({3, 1}); };
  return {{"embedding", [=](const Tensor& i) { return embedding(table, i); }},
          {"index_copy", [=](const Tensor& i) { return index_copy(table, i, rows); }},
          {"the gradient of embedding",
           [=](const Tensor& i) {
             const Tensor weights = variable(table);
             return grad(sum(embedding(weights, i) * rows), {weights})[0];
           }},
          {"gather", [=](const Tensor& i) { return gather(table, columns(i), 0); }},
          {"scatter_add",
           [=](const Tensor& i) {
             return scatter_add(table, columns(i), columns(i).to(DType::f32), 0);
           }},
          {"embedding",
           [=](const Tensor& i) { return embedding(device.full({4, 32}, 1).to(DType::q8_0), i); }},
          {"grouped_linear", [=](const Tensor& i) {
             return grouped_linear(device.full({3, 1, 32}, 1), device.full({4, 2, 32}, 1),
                                   i.reshape({3, 1}));
           }}};
}

TEST(CheckIndices, AreAnErrorOfTheNextRead) {
  const Device device({.check_indices = true});
  const Tensor good = device.tensor({3}, std::vector<std::int32_t>{0, 3, 1});
  const Tensor bad = device.tensor({3}, std::vector<std::int32_t>{2, 4, -1});
  for (const Call& call : calls(device)) {
    SCOPED_TRACE(call.name);
    EXPECT_EQ(error_of([&] { (void)call.run(good).to_vector(); }), "");
    const std::string text = error_of([&] { (void)call.run(bad).to_vector(); });
    EXPECT_NE(text.find(call.name + " met 2 indices out of range, the first at position 1"),
              std::string::npos)
        << text;
    EXPECT_EQ(error_of([&] { (void)call.run(good).to_vector(); }), "");  // said once
  }
}

TEST(CheckIndices, LabelsThatAreNoClassAreReported) {
  const Device device({.check_indices = true});
  const Tensor logits = device.arange(12).reshape({3, 4});
  const Tensor good = device.tensor({3}, std::vector<std::int32_t>{0, 3, -7});  // none: negative
  const Tensor bad = device.tensor({3}, std::vector<std::int32_t>{0, 4, 9});
  const Tensor weights = device.full({4}, 1);
  const auto nll = [&](const Tensor& i, std::int32_t ignored) {
    return nll_loss(log_softmax(logits), i, {.weight = weights, .ignored = ignored});
  };
  const auto cross = [&](const Tensor& i, std::int32_t ignored, float smoothing) {
    return cross_entropy(logits, i, {.ignored = ignored, .label_smoothing = smoothing});
  };
  const float plain = cross(good, -1, 0).item();
  EXPECT_FLOAT_EQ(nll(good, -1).item(), plain);
  for (const float smoothing : {0.0F, 0.25F}) {
    EXPECT_NE(error_of([&] {
                (void)cross(bad, -1, smoothing).item();
              }).find("cross_entropy met 2 indices out of range, the first at position 1"),
              std::string::npos);
    EXPECT_NE(error_of([&] {
                (void)cross(bad, 4, smoothing).item();
              }).find("cross_entropy met 1 index out of range, the first at position 2"),
              std::string::npos);
  }
  EXPECT_NE(error_of([&] {
              (void)nll(bad, -1).item();
            }).find("gather met 2 indices out of range, the first at position 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              (void)nll(bad, 4).item();
            }).find("gather met 1 index out of range, the first at position 2"),
            std::string::npos);
  const Tensor w = variable(logits);
  EXPECT_NE(error_of([&] {
              (void)grad(cross_entropy(w, bad), {w})[0].to_vector();
            }).find("cross_entropy met 2 indices"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { (void)cross(good, -1, 0.5F).item(); }), "");

  // Without the check such a label counts for nothing in nll_loss.
  const Device plainly;
  const Tensor x = plainly.arange(12).reshape({3, 4});
  const auto labels = [&](std::int32_t second) {
    return plainly.tensor({3}, std::vector<std::int32_t>{0, second, -1});
  };
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    EXPECT_FLOAT_EQ(nll_loss(log_softmax(x), labels(4), {.reduction = reduction}).item(),
                    cross_entropy(x, labels(-1), {.reduction = reduction}).item());
  }
}

TEST(CheckIndices, AreAnErrorOfSynchronizeAndNotOfWhatIsQueued) {
  const Device device({.check_indices = true});
  const Tensor table = device.arange(12).reshape({4, 3});
  const Tensor bad = device.tensor({2}, std::vector<std::int32_t>{9, 0});
  const Tensor y = embedding(table, bad);
  y.eval();  // queued, and nothing waits for it
  const std::string text = error_of([&] { device.synchronize(); });
  EXPECT_NE(text.find("embedding met 1 index out of range, the first at position 0"),
            std::string::npos)
      << text;
  EXPECT_EQ(y.to_vector(), (std::vector<float>{0, 0, 0, 0, 1, 2}));
}

TEST(CheckIndices, AreAnOptionOfCompile) {
  const Device device;
  const Tensor table = device.arange(12).reshape({4, 3});
  const Tensor bad = device.tensor({2}, std::vector<std::int32_t>{9, 0});
  EXPECT_EQ(error_of([&] { (void)embedding(table, bad).to_vector(); }), "");
  const auto function = [&](const std::vector<Tensor>& in) -> Outputs {
    return embedding(table, in[0]) * 2.0;
  };
  const Compiled plain = compile(function);
  EXPECT_EQ(error_of([&] { (void)plain.one({bad}).to_vector(); }), "");
  const Compiled checked = compile(function, {.check_indices = true});
  for (int i = 0; i < 2; ++i) {
    EXPECT_NE(error_of([&] { (void)checked.one({bad}).to_vector(); }).find("embedding met 1 index"),
              std::string::npos);
  }
  EXPECT_EQ(error_of([&] { (void)embedding(table, bad).to_vector(); }), "");
}

}  // namespace
}  // namespace weft
