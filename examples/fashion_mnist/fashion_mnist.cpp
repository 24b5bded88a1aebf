// Learns to tell ten kinds of clothes apart in pictures of 28 x 28 (Fashion-MNIST; Debian's package
// dataset-fashion-mnist). usage: fashion_mnist [EPOCHS [EXAMPLES [FOLDER]]]
#include <cstdint>
#include <cstdio>
#include <format>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>
#include <weft/weft.hpp>

namespace nn = weft::nn;
using weft::Tensor;

namespace {

/// The bytes behind the head of a packed IDX file.
std::vector<std::uint8_t> read(const std::string& file, std::size_t head) {
  std::FILE* const pipe = popen(("gzip -dc '" + file + "'").c_str(), "r");
  std::vector<std::uint8_t> bytes;
  for (int c = 0; pipe && (c = std::getc(pipe)) != EOF;) bytes.push_back(c & 0xFF);
  if (!pipe || pclose(pipe) != 0 || bytes.size() < head) {
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

/// Two convolutions, each with a norm, relu and pooling, and two linear layers.
void build(nn::Sequential& net, nn::Init init) {
  const auto relu = [](const Tensor& x) { return weft::relu(x); };
  const auto pool = [](const Tensor& x) { return weft::max_pool(weft::relu(x), {2, 2}); };
  net.append<nn::Lambda>([](const Tensor& x) { return x.to(weft::DType::f32) / 255 - 0.5; });
  net.append<nn::Conv2d>(init, 1, 32, 3, nn::ConvShape{.padding = 1});
  net.append<nn::BatchNorm>(init, 32);
  net.append<nn::Lambda>(pool);
  net.append<nn::Conv2d>(init, 32, 64, 3, nn::ConvShape{.padding = 1});
  net.append<nn::BatchNorm>(init, 64);
  net.append<nn::Lambda>(pool);
  net.append<nn::Flatten>();
  net.append<nn::Linear>(init, 64 * 7 * 7, 128);
  net.append<nn::Lambda>(relu);
  net.append<nn::Dropout>(0.3F);
  net.append<nn::Linear>(init, 128, 10);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::uint64_t epochs = argc > 1 ? std::stoull(argv[1]) : 5;
  const std::size_t count = argc > 2 ? std::stoull(argv[2]) : 60000;
  const std::string folder = argc > 3 ? argv[3] : "/usr/share/datasets/fashion-mnist";
  const weft::Device device;
  const weft::data::Loader train(device, examples(folder + "/train", count), {.batch = 128});
  const weft::data::Loader test(device, examples(folder + "/t10k", count), {.batch = 100});
  nn::Sequential net;
  build(net, nn::Init(device, 1));
  const weft::optim::AdamW optimizer(net);
  const weft::optim::Schedule rate{.lr = 2e-3, .steps = epochs * train.batches(), .warmup = 50};
  weft::optim::Step step(net, optimizer, [&](const std::vector<Tensor>& batch) {
    return weft::cross_entropy(net(batch[0]), batch[1]);
  });
  const auto right = weft::compile([&](const std::vector<Tensor>& batch) -> weft::Outputs {
    net.eval();
    return weft::mean(weft::equal(weft::argmax(net(batch[0]), {1}), batch[1]));
  });
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    Tensor loss;
    for (const auto& batch : train.epoch(epoch)) loss = step(batch, rate(step.count()));
    double share = 0;
    for (const auto& batch : test.epoch(0)) share += right.one(batch).item() / test.batches();
    std::cout << std::format("epoch {}: loss {:.3f}, {:.2f}% of the test pictures told right\n",
                             epoch + 1, loss.item(), 100 * share);
  }
} catch (const std::exception& error) {
  std::cerr << "fashion_mnist: " << error.what() << '\n';
  return 1;
}
