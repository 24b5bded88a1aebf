#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "gpu/fault.hpp"
#include "gpu/lifetime.hpp"
#include "graph/node.hpp"
#include "scenarios.hpp"

// A device that is lost, and one with fewer capabilities that takes its place: another adapter, as
// far as everything above the device layer can see. What was planned, recorded, prepared or laid
// down for the first must not be used with the second.

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Results = std::map<std::string, Floats>;

/// What WEFT_CAPS is while this lives.
class Masked {
 public:
  explicit Masked(const char* mask) { ::setenv("WEFT_CAPS", mask, 1); }
  ~Masked() { ::unsetenv("WEFT_CAPS"); }
  Masked(const Masked&) = delete;
  Masked& operator=(const Masked&) = delete;
};

/// Everything that has something made for its device: kept tensors of several types, weights of a
/// file that lie in one buffer, compiled functions, plans that come again, a model that learns.
class Work {
 public:
  explicit Work(const std::filesystem::path& folder) {
    const auto wave = [&](std::uint64_t rows, std::uint64_t columns, double by) {
      return (sin(device.arange(rows * columns) * by)).reshape({rows, columns});
    };
    large = wave(700, 512, 0.01).to(DType::f32);  // 1.4 MB
    half = wave(40, 64, 0.03).to(DType::f16);
    bytes = (wave(9, 50, 0.2) * 100 + 120).to(DType::u8);
    for (const Tensor& each : {large, half, bytes}) keep(each);
    save(folder / "w.gguf", {.tensors = {{"blk.0.attn_q.weight", wave(24, 64, 0.1).to(DType::q8_0)},
                                         {"blk.0.attn_k.weight", wave(17, 64, 0.2).to(DType::q8_0)},
                                         {"blk.0.attn_v.weight", wave(5, 64, 0.3).to(DType::q8_0)},
                                         {"norm", wave(1, 64, 0.4)}},
                             .texts = {}});
    file = load(device, folder / "w.gguf");
    nn::Init init(device, 5);
    model = std::make_unique<nn::MLP>(init, std::vector<std::uint64_t>{64, 32, 4},
                                      [](const Tensor& x) { return gelu(x); });
    optimizer = std::make_unique<optim::SGD>(*model);
    optimizer->keep();
    step = std::make_unique<optim::Step>(*model, *optimizer, [&](const auto& batch) {
      return mean((*model)(batch[0]) * (*model)(batch[0]));
    });
    attend = compile([this](const std::vector<Tensor>& in) -> Outputs {
      const Tensor x = rms_norm(in[0], file.tensors.at("norm").reshape({64}));
      const Tensor q = linear(x, file.tensors.at("blk.0.attn_q.weight"));
      const Tensor k = linear(x, file.tensors.at("blk.0.attn_k.weight"));
      const Tensor v = linear(x, file.tensors.at("blk.0.attn_v.weight"));
      return {softmax(q), k, v, sum(q) + sum(k)};
    });
    moves = compile([this](const std::vector<Tensor>& in) -> Outputs {
      return {large.transpose().reshape({700, 512}) * in[0], cumsum(large, 0) * in[0]};
    });
    never_computed = matmul(half, half.transpose());
  }

  Results run() {
    Results out;
    const Tensor x = (cos(device.arange(3 * 64) * 0.07)).reshape({3, 64});
    const std::vector<Tensor> attended = attend({x});
    const Tensor two = device.full({1}, 2);
    const std::vector<Tensor> moved = moves({two});
    out["loss"] = (*step)({x}, 0.1).to_vector();
    out["model"] = (*model)(x).to_vector();
    for (std::size_t i = 0; i < attended.size(); ++i) {
      out["attended " + std::to_string(i)] = attended[i].to_vector();
    }
    out["moved"] = moved[0].to_vector();
    out["sums"] = moved[1].slice(0, 0, 40).to_vector();
    out["lazy"] = (matmul(x.to(DType::f16), half.transpose()).to(DType::f32) + 1).to_vector();
    out["products"] = matmul(half, half.transpose()).to(DType::f32).to_vector();
    out["sorted"] = sort(bytes.to(DType::f32)).values.to_vector();
    out["whole"] = sum(large, {0}).to_vector();
    out["row"] = (large + 1).slice(0, 699, 1).to_vector();
    return out;
  }

  const Device device;
  Tensor large, half, bytes, never_computed;
  NamedTensors file;
  std::unique_ptr<nn::MLP> model;
  std::unique_ptr<optim::SGD> optimizer;
  std::unique_ptr<optim::Step> step;
  Compiled attend, moves;
};

void expect_close(const Results& got, const Results& expected) {
  for (const auto& [name, values] : expected) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(got.contains(name));
    const Floats& others = got.at(name);
    ASSERT_EQ(others.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(others[i], values[i], 2e-2 * (1 + std::abs(values[i]))) << i;
    }
  }
}

class FaultOtherAdapter : public testing::TestWithParam<const char*> {};

TEST_P(FaultOtherAdapter, TakesThePlaceWithFewerCapabilities) {
  gpu::set_faults({});
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("weft-other-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  Work work(folder);
  const auto lose = [&] {
    (void)Access::data(work.device)->device.lose_for_test("a test took it away");
  };
  const auto weights = [&] {
    std::map<std::string, Tensor> values;
    for (const nn::Named& each : work.model->state()) {
      values[each.name] = work.device.tensor(each.tensor.shape(), each.tensor.to_vector());
    }
    return values;
  };
  const auto first = weights();
  for (const auto& [name, tensor] : first) keep(tensor);
  Results expected = work.run();
  work.model->load_state(first);
  expected = work.run();  // with plans that come again
  const Floats lazy = matmul(work.half, work.half.transpose()).to(DType::f32).to_vector();
  {
    const Masked mask(GetParam());
    for (int i = 0; i < (full() ? 2 : 1); ++i) {
      lose();
      recover(work.device);
      work.model->load_state(first);
      expect_close(work.run(), expected);
    }
    const Floats late = work.never_computed.to(DType::f32).to_vector();
    for (std::size_t i = 0; i < late.size(); ++i) ASSERT_NEAR(late[i], lazy[i], 2e-2) << i;
  }
  // And back to one that can more.
  lose();
  recover(work.device);
  work.model->load_state(first);
  EXPECT_EQ(work.run(), expected);
  std::filesystem::remove_all(folder);
}

/// One that takes away much at once, and in full runs one of each kind.
std::vector<const char*> masks() {
  std::vector<const char*> all{"-f16,-subgroups,-subgroup-matrix,binding=1M,alignment=1024"};
  if (full()) {
    all.insert(all.end(),
               {"-f16", "-subgroups", "binding=1M", "binding=256K,bindings=4", "alignment=1024",
                "buffer=2M", "workgroup-memory=4096,invocations=128,workgroups=256"});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, FaultOtherAdapter, testing::ValuesIn(masks()),
                         [](const auto& mask) { return std::to_string(mask.index); });

TEST(FaultOtherDevice, WhatDoesNotFitIsAnErrorAndTheRestComesBack) {
  gpu::set_faults({});
  const Device device;
  const Tensor large = device.full({400'000}, 2) * 3;  // 1.6 MB
  const Tensor small = device.full({4}, 2) * 3;
  keep(large);
  keep(small);
  const Masked mask("buffer=1M");
  (void)Access::data(device)->device.lose_for_test("a test took it away");
  try {
    recover(device);
    ADD_FAILURE() << "1.6 MB in a buffer of 1 MB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
    EXPECT_TRUE(std::string(error.what()).contains("1048576")) << error.what();
  }
  EXPECT_FALSE(is_lost(device));
  EXPECT_EQ(small.to_vector(), (Floats{6, 6, 6, 6}));
  try {
    (void)sum(large).item();
    ADD_FAILURE() << "it is nowhere";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device_lost) << error.what();
  }
}

TEST(FaultOtherDevice, LimitsStayAsTheyWereSet) {
  gpu::set_faults({});
  const Device device;
  int told = 0;
  set_memory_limit(device, 1 << 20, [&](const MemoryEvent& event) { told += event.full ? 1 : 0; });
  (void)Access::data(device)->device.lose_for_test("a test took it away");
  recover(device);
  EXPECT_EQ(memory_report(device).limit, 1U << 20U);
  EXPECT_THROW((device.full({1'000'000}, 2) * 3).eval(), Error);
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace weft::test
