// Runs an ONNX model on Weft inside of ONNX Runtime, with ones for its inputs: run ONNXRUNTIME
// PROVIDER MODEL. ONNXRUNTIME is any libonnxruntime.so of 1.23 or later, which is opened here;
// programs usually link it.
#define ORT_API_MANUAL_INIT
#include <dlfcn.h>
#include <onnxruntime_cxx_api.h>

#include <cstdint>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

void open_runtime(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto base =
      reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));  // NOLINT: C
  if (base == nullptr) throw std::runtime_error(std::string(path) + " is not ONNX Runtime");
  const OrtApi* const api = base()->GetApi(ORT_API_VERSION);
  if (api == nullptr) throw std::runtime_error(std::string(path) + " is too old");
  Ort::InitApi(api);
  std::cout << "ONNX Runtime " << base()->GetVersionString() << '\n';
}

void run(const char* provider, const char* model) {
  Ort::Env env(ORT_LOGGING_LEVEL_ERROR, "run");
  env.RegisterExecutionProviderLibrary("weft", provider);
  {
    std::vector<Ort::ConstEpDevice> devices;
    for (const Ort::ConstEpDevice& device : env.GetEpDevices()) {
      if (std::string(device.EpName()) == "WeftExecutionProvider") devices.push_back(device);
    }
    Ort::SessionOptions options;
    options.AddConfigEntry("session.disable_cpu_ep_fallback", "1");  // Weft or nothing.
    options.AppendExecutionProvider_V2(env, devices,
                                       std::unordered_map<std::string, std::string>());
    Ort::Session session(env, model, options);

    const Ort::AllocatorWithDefaultOptions allocator;
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    std::vector<std::string> names;
    std::vector<std::vector<float>> ones;
    std::vector<Ort::Value> inputs;
    for (std::size_t i = 0; i < session.GetInputCount(); ++i) {
      names.emplace_back(session.GetInputNameAllocated(i, allocator).get());
      std::vector<std::int64_t> shape =
          session.GetInputTypeInfo(i).GetTensorTypeAndShapeInfo().GetShape();
      for (std::int64_t& extent : shape) extent = extent < 0 ? 1 : extent;
      ones.emplace_back(
          std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>()), 1.0F);
      inputs.push_back(Ort::Value::CreateTensor<float>(
          memory, ones.back().data(), ones.back().size(), shape.data(), shape.size()));
    }
    for (std::size_t i = 0; i < session.GetOutputCount(); ++i)
      names.emplace_back(session.GetOutputNameAllocated(i, allocator).get());
    std::vector<const char*> letters;
    for (const std::string& name : names) letters.push_back(name.c_str());
    for (int again = 0; again < 2; ++again) {  // The second run is replayed.
      const std::vector<Ort::Value> results =
          session.Run(Ort::RunOptions(), letters.data(), inputs.data(), inputs.size(),
                      letters.data() + inputs.size(), session.GetOutputCount());
      for (std::size_t i = 0; again == 1 && i < results.size(); ++i) {
        const auto count = results[i].GetTensorTypeAndShapeInfo().GetElementCount();
        const float* const values = results[i].GetTensorData<float>();
        std::cout << names[inputs.size() + i] << ": " << count << " elements, sum "
                  << std::accumulate(values, values + count, 0.0) << '\n';
      }
    }
  }
  env.UnregisterExecutionProviderLibrary("weft");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: run ONNXRUNTIME PROVIDER MODEL\n";
    return 2;
  }
  open_runtime(argv[1]);
  run(argv[2], argv[3]);
} catch (const std::exception& error) {
  std::cerr << "run: " << error.what() << '\n';
  return 1;
}
