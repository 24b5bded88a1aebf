#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>
#include <weft/onnx.hpp>

#include "../onnx/bytes.hpp"
#include "gpu/fault.hpp"
#include "graph/node.hpp"
#include "scenarios.hpp"

// Each kind of call of the library while a call of WebGPU fails in the middle of it, or the device
// is lost there: an error with a sentence or the right result, and afterwards the same call is
// right.

namespace weft::test {
namespace {

using Floats = std::vector<float>;

struct Call {
  const char* name;
  std::function<Floats(const Device&, const std::filesystem::path&)> run;
};

Floats ramp(std::size_t count) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 0.25F * static_cast<float>(i % 13) - 1;
  return values;
}

Tensor matrix(const Device& device, std::uint64_t rows, std::uint64_t columns) {
  return device.tensor({rows, columns}, ramp(rows * columns));
}

Floats joined(std::initializer_list<Tensor> tensors) {
  Floats all;
  for (const Tensor& tensor : tensors) {
    const Floats values = tensor.to(DType::f32).to_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Floats of_kernel(const Device& device, const std::filesystem::path& /*folder*/) {
  const Kernel kernel = device.kernel(
      {.wgsl = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
               "@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { "
               "x[i] = x[i] * 3.0; }",
       .label = "threefold",
       .writes = {true}});
  const Tensor x = device.tensor({4}, ramp(4));
  kernel.run({x}, {1, 1, 1});
  return x.to_vector();
}

Floats of_files(const Device& device, const std::filesystem::path& folder) {
  Floats all;
  for (const char* name : {"x.safetensors", "x.gguf"}) {
    save(folder / name, {.tensors = {{"x", matrix(device, 3, 5) * 2}}, .texts = {}});
    const NamedTensors file = load(device, folder / name);
    const Floats values = (file.tensors.at("x") + 1).to_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Floats of_variables(const Device& device, const std::filesystem::path& /*folder*/) {
  const Tensor w = variable(matrix(device, 2, 3));
  const std::vector<Tensor> slopes = grad(sum(tanh(w) * w), {w});
  apply({{w, w - slopes[0] * 0.5}});
  return w.to_vector();
}

Floats of_modules(const Device& device, const std::filesystem::path& folder) {
  nn::Init init(device, 1);
  nn::Sequential net;
  net.append<nn::Linear>(init, 2, 3);
  const optim::AdamW optimizer(net);
  optim::Step step(net, optimizer, [&](const std::vector<Tensor>& batch) {
    return mse_loss(net(batch[0]), batch[1]);
  });
  Floats all{step({matrix(device, 4, 2), matrix(device, 4, 3)}, 0.05).item()};
  net.save(folder / "net.safetensors");
  net.load(folder / "net.safetensors");
  all.push_back(sum(net(matrix(device, 4, 2))).item());
  return all;
}

Floats of_memory(const Device& device, const std::filesystem::path& /*folder*/) {
  const Floats values = ramp(3000);
  Upload upload = weft::upload(device, DType::f32, {3000}, std::as_bytes(std::span(values)));
  const Tensor x = upload.get();
  (void)defragment(device);
  (void)memory_report(device);
  device.synchronize();
  return (x * 2).to_vector();
}

Floats of_models(const Device& device, const std::filesystem::path& /*folder*/) {
  const std::string bytes = onnx_bytes::small_model();
  return onnx::load(device, onnx_bytes::bytes(bytes))
      .run({{"x", matrix(device, 2, 2)}})
      .at("y")
      .to_vector();
}

Floats of_sparse(const Device& device, const std::filesystem::path& /*folder*/) {
  const Tensor x = matrix(device, 5, 3);
  const Tensor mask = device.tensor({4, 5}, Floats{0, 1, 0, 0, 2, 0, 0, 0, 3, 0,  //
                                                   0, 0, 0, 0, 0, 4, 0, 5, 0, 0});
  const Csr sparse = csr_from_dense(mask);
  return joined({csr_matmul(sparse.values, sparse.starts, sparse.indices, x),
                 csr_softmax(sparse.values, sparse.starts),
                 csr_transpose(sparse.values, sparse.starts, sparse.indices, 5).values});
}

Floats of_quantized(const Device& device, const std::filesystem::path& /*folder*/) {
  const Tensor x = matrix(device, 4, 32);
  const Quantized rows = quantize_dynamic(matrix(device, 8, 32), {.per_row = true});
  const QuantizationRange range = quantization_range(x, {.method = "percentile"});
  const QuantizationScale scale = quantization_scale(range.low, range.high);
  return joined({linear_int8(x, rows.values, rows.scale.reshape({8})),
                 fake_quantize(x, scale.scale), pack_int4(quantize(x, scale.scale))});
}

Floats of_recurrent(const Device& device, const std::filesystem::path& /*folder*/) {
  const Tensor w = variable(matrix(device, 16, 3).reshape({1, 16, 3}));
  const Tensor x = matrix(device, 6, 3).reshape({3, 2, 3});
  const Recurrent all = lstm(x, w, matrix(device, 16, 4).reshape({1, 16, 4}));
  return joined({all.y, all.cell, grad(sum(all.y * all.y), {w})[0]});
}

const std::vector<Call>& calls() {
  static const std::vector<Call> all{
      {"elementwise",
       [](const Device& d, const auto&) { return (exp(matrix(d, 3, 4)) + 1).to_vector(); }},
      {"item", [](const Device& d, const auto&) { return Floats{sum(matrix(d, 9, 9)).item()}; }},
      {"eval",
       [](const Device& d, const auto&) {
         const Tensor x = matrix(d, 5, 5) * 2;
         x.eval();
         return x.to_vector();
       }},
      {"views",
       [](const Device& d, const auto&) {
         const Tensor x = matrix(d, 6, 5);
         return joined({x.transpose(), flip(x), concat({x, x * 2}, 1), pad(x, {1, 0}, {0, 2})});
       }},
      {"index",
       [](const Device& d, const auto&) {
         const Tensor index = d.tensor({3}, std::vector<std::int32_t>{2, 0, 1});
         const Tensor x = matrix(d, 3, 4);
         return joined({take(x, index, 0), embedding(x, index)});
       }},
      {"sorts",
       [](const Device& d, const auto&) {
         const Tensor x = matrix(d, 3, 40);
         return joined({sort(x).values, top_k(x, 3).values, argsort(x), cumsum(x, 1)});
       }},
      {"products",
       [](const Device& d, const auto&) {
         return joined({matmul(matrix(d, 70, 33), matrix(d, 33, 5)),
                        einsum("ij,kj->ik", {matrix(d, 4, 6), matrix(d, 3, 6)})});
       }},
      {"images",
       [](const Device& d, const auto&) {
         const Tensor x = matrix(d, 8, 8).reshape({1, 1, 8, 8});
         const Tensor w = matrix(d, 3, 3).reshape({1, 1, 3, 3});
         return joined({conv(x, w), max_pool(x, {2, 2})});
       }},
      {"transforms", [](const Device& d, const auto&) { return joined({fft(matrix(d, 16, 2))}); }},
      {"solving",
       [](const Device& d, const auto&) {
         const Tensor a = matmul(matrix(d, 4, 4), matrix(d, 4, 4).transpose()) + eye(d, 4) * 9;
         return joined({solve(a, matrix(d, 4, 2))});
       }},
      {"random", [](const Device& d,
                    const auto&) { return random::Generator(d, 7).normal({50}).to_vector(); }},
      {"attention",
       [](const Device& d, const auto&) {
         const Tensor x = matrix(d, 12, 16).reshape({1, 2, 6, 16});
         return joined({attention(x, x, x), softmax(x), layer_norm(x, d.full({16}, 1))});
       }},
      {"neighbours",
       [](const Device& d, const auto&) {
         const Neighbours near = knn(matrix(d, 3, 4), matrix(d, 50, 4), 2);
         const Tensor ids = d.tensor({5}, std::vector<std::int32_t>{1, 0, 1, 2, 1});
         return joined({near.distances, near.indices, segment_max(matrix(d, 5, 2), ids, 3),
                        unique_consecutive(d.full({7}, 2)).inverse, median(matrix(d, 3, 9))});
       }},
      {"sampling",
       [](const Device& d, const auto&) {
         random::Generator generator(d, 7);
         return joined({sample_tokens(matrix(d, 2, 40), generator.next_key(), {.top_k = 5}),
                        stft(matrix(d, 1, 64), 16)});
       }},
      {"sparse", of_sparse},
      {"quantized", of_quantized},
      {"recurrent", of_recurrent},
      {"kernels", of_kernel},
      {"files", of_files},
      {"variables", of_variables},
      {"modules", of_modules},
      {"memory", of_memory},
      {"models", of_models},
  };
  return all;
}

class FaultEveryCall : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    gpu::set_faults({});
    std::filesystem::create_directories(folder);
  }
  void TearDown() override {
    gpu::set_faults({});
    std::filesystem::remove_all(folder);
  }
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("weft-every-call-" + std::to_string(::getpid()));
};

TEST_P(FaultEveryCall, StandsFailuresAndLosses) {
  const Call& call = calls()[GetParam()];
  const Device device;
  (void)call.run(device, folder);  // Compiles.
  gpu::set_faults({});
  const Floats expected = call.run(device, folder);
  const std::uint64_t number = gpu::counted_calls();
  ASSERT_GT(number, 0U);
  const std::uint64_t step = full() ? 1 : std::max<std::uint64_t>(1, number / 4);
  int tried = 0;
  int errors = 0;
  const auto attempt = [&](bool lose) {
    try {
      EXPECT_EQ(call.run(device, folder), expected) << "what hides a failure must be right";
      return true;
    } catch (const Error& error) {
      ++errors;
      EXPECT_GT(std::string_view(error.what()).size(), 20U) << "a sentence";
      if (lose) {
        EXPECT_EQ(error.code(), ErrorCode::device_lost) << error.what();
      }
      return false;
    }
  };
  enum class Kind : std::uint8_t { fails, lost, recovered };
  for (const Kind kind : {Kind::fails, Kind::lost, Kind::recovered}) {
    if (kind == Kind::recovered) recover_automatically(device);
    const bool lose = kind != Kind::fails;
    for (std::uint64_t n = 1; n <= number; n += lose ? 2 * step : step, ++tried) {
      SCOPED_TRACE(testing::Message()
                   << call.name << (lose ? ", lost in front of " : ", call ") << n << " of "
                   << number << (kind == Kind::recovered ? ", recovered automatically" : ""));
      gpu::set_faults({.number = n, .lose = lose});
      (void)attempt(lose);
      gpu::set_faults({});
      if (kind == Kind::recovered) {
        // A loss that nobody has seen yet may show once more: where variables had changed.
        if (!attempt(true)) {
          EXPECT_TRUE(attempt(true));
        }
        EXPECT_FALSE(is_lost(device)) << "the call that finds it lost recovers it";
        continue;
      }
      if (is_lost(device)) recover(device);
      ASSERT_EQ(call.run(device, folder), expected) << "the next attempt";
    }
  }
  std::printf("  %s: %d runs, %d errors\n", call.name, tried, errors);
  EXPECT_GT(errors, 0);
}

TEST_P(FaultEveryCall, StandsAHostWithoutMemory) {
  const Call& call = calls()[GetParam()];
  const Device device;
  (void)call.run(device, folder);  // Compiles.
  const Floats expected = call.run(device, folder);
  const auto files = [this] {
    return std::distance(std::filesystem::directory_iterator(folder),
                         std::filesystem::directory_iterator());
  };
  const auto before = files();
  count_allocations(0);
  (void)call.run(device, folder);
  const std::uint64_t number = counted_allocations();
  ASSERT_GT(number, 0U);
  const std::uint64_t step = std::max<std::uint64_t>(1, number / (full() ? 400 : 20));
  int tried = 0;
  int errors = 0;
  std::uint64_t bytes = 0;
  for (std::uint64_t n = 1; n <= number; n += step, ++tried) {
    SCOPED_TRACE(testing::Message() << call.name << ", allocation " << n << " of " << number);
    Floats got = expected;
    try {
      count_allocations(n);
      got = call.run(device, folder);
      (void)counted_allocations();
    } catch (const std::exception&) {  // Of the library, or std::bad_alloc.
      (void)counted_allocations();
      ++errors;
    }
    EXPECT_EQ(got, expected) << "what hides a failure must be right";
    ASSERT_EQ(call.run(device, folder), expected) << "the next attempt";
    EXPECT_EQ(files(), before) << "files are left behind";
    const std::uint64_t now = memory_report(device).in_use;
    if (tried > 1) {
      EXPECT_EQ(now, bytes) << "bytes on the device";
    }
    bytes = now;
  }
  std::printf("  %s: %d runs without memory, %d errors\n", call.name, tried, errors);
  EXPECT_GT(errors, 0);
}

INSTANTIATE_TEST_SUITE_P(All, FaultEveryCall, testing::Range<std::size_t>(0, calls().size()),
                         [](const auto& number) {
                           return std::string(calls()[number.param].name);
                         });

}  // namespace
}  // namespace weft::test
