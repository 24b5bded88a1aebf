// Times a model in ONNX Runtime: onnx_peer LIBONNXRUNTIME PROVIDER MODEL SECONDS. The provider is
// one that the library has inside ("WebGPU", say) or "CPU". A line of JSON: ms of a run with
// waiting, and of one of 20 that follow each other. tools/onnx_bars compiles and calls it.
#define ORT_API_MANUAL_INIT
#include <dlfcn.h>
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void run(const std::string& version, const std::string& provider, const char* model,
         double seconds) {
  const Ort::Env env(ORT_LOGGING_LEVEL_ERROR, "peer");
  Ort::SessionOptions options;
  if (provider != "CPU") options.AppendExecutionProvider(provider);
  Ort::Session session(env, model, options);
  const Ort::AllocatorWithDefaultOptions allocator;
  std::vector<std::string> names;
  std::vector<Ort::Value> inputs;
  for (std::size_t i = 0; i < session.GetInputCount(); ++i) {
    names.emplace_back(session.GetInputNameAllocated(i, allocator).get());
    const auto info = session.GetInputTypeInfo(i);
    const auto tensor = info.GetTensorTypeAndShapeInfo();
    const std::vector<std::int64_t> shape = tensor.GetShape();
    inputs.push_back(
        Ort::Value::CreateTensor(allocator, shape.data(), shape.size(), tensor.GetElementType()));
    const bool whole = tensor.GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    const std::size_t count = inputs.back().GetTensorTypeAndShapeInfo().GetElementCount();
    if (whole)
      std::fill_n(inputs.back().GetTensorMutableData<std::int64_t>(), count, 7);
    else  // 0.5 in f16
      std::fill_n(static_cast<std::uint16_t*>(inputs.back().GetTensorMutableRawData()), count,
                  std::uint16_t{0x3800});
  }
  for (std::size_t i = 0; i < session.GetOutputCount(); ++i)
    names.emplace_back(session.GetOutputNameAllocated(i, allocator).get());
  std::vector<const char*> letters;
  for (const std::string& name : names) letters.push_back(name.c_str());
  const auto once = [&] {  // Results come to the host, which waits for them.
    (void)session.Run(Ort::RunOptions(), letters.data(), inputs.data(), inputs.size(),
                      letters.data() + inputs.size(), session.GetOutputCount());
  };
  for (int i = 0; i < 3; ++i) once();
  const auto median = [&](int count) {
    std::vector<double> times;
    for (const auto start = std::chrono::steady_clock::now();
         times.size() < 3 || milliseconds_since(start) < seconds * 500;) {
      const auto before = std::chrono::steady_clock::now();
      for (int i = 0; i < count; ++i) once();
      times.push_back(milliseconds_since(before) / count);
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
  };
  const double single = median(1);
  std::cout << R"({"provider": ")" << provider << R"(", "version": ")" << version << R"(", "ms": )"
            << single << R"(, "row_ms": )" << median(20) << "}\n";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) {
    std::cerr << "usage: onnx_peer LIBONNXRUNTIME PROVIDER MODEL SECONDS\n";
    return 2;
  }
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto base =
      reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));  // NOLINT: C
  const OrtApi* const api = base == nullptr ? nullptr : base()->GetApi(ORT_API_VERSION);
  if (api == nullptr)
    throw std::runtime_error(std::string(argv[1]) + " is no ONNX Runtime, or too old");
  Ort::InitApi(api);
  run(base()->GetVersionString(), argv[2], argv[3], std::atof(argv[4]));
} catch (const std::exception& error) {
  std::cerr << "onnx_peer: " << error.what() << '\n';
  return 1;
}
