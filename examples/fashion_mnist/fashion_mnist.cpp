// Learns to tell ten kinds of clothes apart in pictures of 28 x 28 (Fashion-MNIST; Debian's package dataset-fashion-mnist).
// usage: fashion_mnist [EPOCHS [EXAMPLES [FOLDER]]]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <format>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>
#include <weft/weft.hpp>

namespace nn = weft::nn;

namespace {

/// The bytes behind the head of a packed IDX file.
std::vector<std::uint8_t> read(const std::string& file, std::size_t head) {
  std::FILE* const pipe = popen(("gzip -dc '" + file + "'").c_str(), "r");
  std::vector<std::uint8_t> bytes;
  for (int c = 0; pipe != nullptr && (c = std::getc(pipe)) != EOF;) {
    bytes.push_back(static_cast<std::uint8_t>(c));
  }
  if (pipe == nullptr || pclose(pipe) != 0 || bytes.size() < head) {
    throw std::runtime_error("cannot read " + file);
  }
  return {bytes.begin() + static_cast<std::ptrdiff_t>(head), bytes.end()};
}

/// Pictures as bytes and labels as integers, of at most `count` examples.
std::vector<weft::data::Column> examples(const std::string& path, std::size_t count) {
  std::vector<std::uint8_t> pictures = read(path + "-images-idx3-ubyte.gz", 16);
  const std::vector<std::uint8_t> bytes = read(path + "-labels-idx1-ubyte.gz", 8);
  std::vector<std::int32_t> labels(bytes.begin(), bytes.end());
  if (count < labels.size()) labels.resize(count);
  pictures.resize(labels.size() * 28 * 28);
  return {weft::data::column({1, 28, 28}, pictures), weft::data::column({}, labels)};
}

struct Net : nn::Layer {
  explicit Net(nn::Init init)
      : first(init, 1, 32, 3, {.padding = 1}),
        norm(init, 32),
        second(init, 32, 64, 3, {.padding = 1}),
        norm2(init, 64),
        hidden(init, 64 * 7 * 7, 128),
        drop(0.3F),
        out(init, 128, 10) {
    add("first", first), add("norm", norm), add("second", second), add("norm2", norm2);
    add("hidden", hidden), add("drop", drop), add("out", out);
  }
  weft::Tensor forward(const weft::Tensor& pictures) override {
    const weft::Tensor x = pictures.to(weft::DType::f32) / 255 - 0.5;
    const weft::Tensor a = weft::max_pool(weft::relu(norm(first(x))), {2, 2});
    const weft::Tensor b = weft::max_pool(weft::relu(norm2(second(a))), {2, 2});
    return out(drop(weft::relu(hidden(b.reshape({x.shape()[0], 64 * 7 * 7})))));
  }
  nn::Conv2d first;
  nn::BatchNorm norm;
  nn::Conv2d second;
  nn::BatchNorm norm2;
  nn::Linear hidden;
  nn::Dropout drop;
  nn::Linear out;
};

int run(std::uint64_t epochs, std::size_t count, const std::string& folder) {
  const weft::Device device;
  const weft::data::Loader train(device, examples(folder + "/train", count), {.batch = 128});
  const weft::data::Loader test(device, examples(folder + "/t10k", count),
                                {.batch = 200, .shuffle = false});
  Net net(nn::Init(device, 1));
  const weft::optim::AdamW optimizer(net);
  const weft::optim::Schedule rate{.lr = 2e-3, .steps = epochs * train.batches(), .warmup = 50};
  weft::optim::Step step(net, optimizer, [&](const std::vector<weft::Tensor>& batch) {
    return weft::cross_entropy(net(batch[0]), batch[1]);
  });
  const weft::Compiled guess =
      weft::compile([&](const std::vector<weft::Tensor>& batch) -> weft::Outputs {
        net.eval();
        return weft::sum(
            weft::equal(weft::argmax(net(batch[0]), {1}), batch[1]).to(weft::DType::f32));
      });
  std::cout << std::format("{} parameters, {} examples, on {}\n", net.parameter_count(),
                           train.examples(), device.name());
  double share = 0;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    weft::Tensor loss;
    for (const auto& batch : train.epoch(epoch)) loss = step(batch, rate(step.count()));
    double right = 0;
    for (const auto& batch : test.epoch(0)) right += guess.one(batch).item();
    share = right / static_cast<double>(test.batches() * 200);
    std::cout << std::format("epoch {}: loss {:.3f}, {:.2f}% of the test pictures are told right\n",
                             epoch + 1, loss.item(), 100 * share);
  }
  return share > 0.9 || count < 60000 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(argc > 1 ? std::stoull(argv[1]) : 5, argc > 2 ? std::stoull(argv[2]) : 60000,
             argc > 3 ? argv[3] : "/usr/share/datasets/fashion-mnist");
} catch (const std::exception& error) {
  std::cerr << "fashion_mnist: " << error.what() << '\n';
  return 2;
}
