#include <dawn/native/DawnNative.h>

#include <array>
#include <utility>

#include "gpu/adapter.hpp"

namespace weft::gpu {
namespace {

#if defined(__APPLE__)
constexpr wgpu::BackendType native_backend = wgpu::BackendType::Metal;
#elif defined(_WIN32)
constexpr wgpu::BackendType native_backend = wgpu::BackendType::D3D12;
#else
constexpr wgpu::BackendType native_backend = wgpu::BackendType::Vulkan;
#endif

}  // namespace

Result<Discovery> discover() {
  const auto instance_on = toggle_names(ToggleStage::instance, Mode::fast, true);
  wgpu::DawnTogglesDescriptor instance_toggles;
  instance_toggles.enabledToggleCount = instance_on.size();
  instance_toggles.enabledToggles = instance_on.data();
  constexpr std::array instance_features{wgpu::InstanceFeatureName::TimedWaitAny};
  wgpu::InstanceDescriptor descriptor;
  descriptor.nextInChain = &instance_toggles;
  descriptor.requiredFeatureCount = instance_features.size();
  descriptor.requiredFeatures = instance_features.data();
  const dawn::native::Instance native(&descriptor);

  const auto adapter_on = toggle_names(ToggleStage::adapter, Mode::fast, true);
  wgpu::DawnTogglesDescriptor adapter_toggles;
  adapter_toggles.enabledToggleCount = adapter_on.size();
  adapter_toggles.enabledToggles = adapter_on.data();
  wgpu::RequestAdapterOptions options;
  options.nextInChain = &adapter_toggles;
  options.featureLevel = wgpu::FeatureLevel::Core;
  options.backendType = native_backend;

  Discovery discovery;
  discovery.instance = wgpu::Instance(native.Get());
  for (const dawn::native::Adapter& found : native.EnumerateAdapters(&options)) {
    wgpu::Adapter adapter(found.Get());
    const auto index = static_cast<std::uint32_t>(discovery.candidates.size());
    AdapterInfo info = describe(adapter, index);
    discovery.candidates.push_back({std::move(adapter), std::move(info)});
  }
  return discovery;
}

}  // namespace weft::gpu
