// A program as somebody writes it who has only the installed library: it learns a line, saves it,
// and loads it again.
#include <exception>
#include <filesystem>
#include <format>
#include <iostream>
#include <vector>
#include <weft/weft.hpp>

namespace nn = weft::nn;
using weft::Tensor;

int main() try {
  const weft::Device device;
  nn::Init init(device, 1);
  nn::Sequential net;
  net.append<nn::Linear>(init, 2, 1);
  const weft::optim::AdamW optimizer(net);
  weft::optim::Step step(net, optimizer, [&](const std::vector<Tensor>& batch) {
    return weft::mse_loss(net(batch[0]), batch[1]);
  });
  const Tensor x = weft::random::Generator(device, 1).normal({64, 2});
  const Tensor y = weft::matmul(x, device.tensor({2, 1}, std::vector<float>{2, -3})) + 0.5;
  Tensor loss;
  for (int i = 0; i < 300; ++i) loss = step({x, y}, 0.05);
  const auto file = std::filesystem::temp_directory_path() / "newcomer.safetensors";
  net.save(file);
  nn::Sequential again;
  again.append<nn::Linear>(init, 2, 1);
  again.load(file);
  std::filesystem::remove(file);
  const float apart = weft::max(weft::abs(again(x) - net(x))).item();
  std::cout << std::format("loss {:.4f}, {} apart after loading\n", loss.item(), apart);
  return apart == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "newcomer: " << error.what() << '\n';
  return 1;
}
