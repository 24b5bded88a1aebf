// Adds two vectors and multiplies two matrices on the best GPU of this machine, or without one.
#include <iostream>
#include <weft/weft.hpp>

int main() try {
  const weft::Device device;
  std::cout << "weft " << weft::version() << " on " << device.name() << '\n';

  const weft::Tensor a = device.tensor({4}, std::vector{1.0F, 2.0F, 3.0F, 4.0F});
  const weft::Tensor b = device.full({4}, 10);
  std::cout << "a + b       = " << (a + b).to_string() << '\n';

  const weft::Tensor m = device.arange(6).reshape({2, 3});
  std::cout << "m           = " << m.to_string() << '\n';
  std::cout << "m * m^T     = " << weft::matmul(m, m.transpose()).to_string() << '\n';
  std::cout << "softmax(m)  = " << weft::softmax(m).to_string() << '\n';
  std::cout << "sum(m)      = " << weft::sum(m).item() << '\n';
} catch (const weft::Error& error) {
  std::cerr << "hello: " << error.what() << '\n';
  return 1;
}
