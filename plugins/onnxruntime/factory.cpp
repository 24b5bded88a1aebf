#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/format.hpp"
#include "provider.hpp"
#include "transfer.hpp"
#include "weft/profile.hpp"
#include "weft/version.hpp"

// What ONNX Runtime finds in the library: a factory of providers.

namespace weft::ort {
namespace {

/// What the options of a session say.
struct Options {
  DeviceChoice choice;
  std::string profile;
};

class Factory : public OrtEpFactory {
 public:
  explicit Factory(const Api& api) : OrtEpFactory{}, api_(api) {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEpFactory* /*self*/) noexcept { return provider_name; };
    GetVendor = [](const OrtEpFactory* /*self*/) noexcept { return "Weft"; };
    GetVendorId = [](const OrtEpFactory* /*self*/) noexcept { return memory_vendor; };
    GetVersion = [](const OrtEpFactory* /*self*/) noexcept { return weft_version(); };
    GetSupportedDevices = devices;
    CreateEp = create;
    ReleaseEp = [](OrtEpFactory* /*self*/, OrtEp* ep) noexcept {
      delete static_cast<Provider*>(ep);
    };
    CreateAllocator = create_allocator;
    ReleaseAllocator = [](OrtEpFactory* /*self*/, OrtAllocator* allocator) noexcept {
      delete static_cast<Allocator*>(allocator);
    };
    CreateDataTransfer = create_transfer;
    IsStreamAware = [](const OrtEpFactory* /*self*/) noexcept { return false; };
    memory_info_ = api_.get<OrtMemoryInfo*>(
        api_.ort->CreateMemoryInfo_V2, memory_name, OrtMemoryInfoDeviceType_GPU, memory_vendor, 0,
        OrtDeviceMemoryType_DEFAULT, std::size_t{0}, OrtDeviceAllocator);
  }
  Factory(const Factory&) = delete;
  Factory& operator=(const Factory&) = delete;
  ~Factory() { api_.ort->ReleaseMemoryInfo(memory_info_); }

 private:
  static const char* weft_version() {
    static const std::string text(version());
    return text.c_str();
  }

  /// Weft finds its adapter by itself. ONNX Runtime wants to hear of hardware that it knows: a GPU,
  /// or the CPU.
  static OrtStatus* ORT_API_CALL devices(OrtEpFactory* self, const OrtHardwareDevice* const* found,
                                         std::size_t count, OrtEpDevice** out, std::size_t most,
                                         std::size_t* made) noexcept {
    const Factory& me = *static_cast<Factory*>(self);
    *made = 0;
    return me.api_.guarded([&] {
      const OrtHardwareDevice* chosen = nullptr;
      for (std::size_t i = 0; i < count; ++i) {
        const OrtHardwareDeviceType type = me.api_.ort->HardwareDevice_Type(found[i]);
        if (type == OrtHardwareDeviceType_GPU) {
          chosen = found[i];
          break;
        }
        if (type == OrtHardwareDeviceType_CPU && chosen == nullptr) chosen = found[i];
      }
      if (chosen == nullptr || most == 0) return;
      out[0] =
          me.api_.get<OrtEpDevice*>(me.api_.ep->CreateEpDevice, self, chosen, nullptr, nullptr);
      *made = 1;
      me.api_.check(me.api_.ep->EpDevice_AddAllocatorInfo(out[0], me.memory_info_));
    });
  }

  static OrtStatus* ORT_API_CALL create(OrtEpFactory* self,
                                        const OrtHardwareDevice* const* /*devices*/,
                                        const OrtKeyValuePairs* const* /*metadata*/,
                                        std::size_t /*count*/, const OrtSessionOptions* session,
                                        const OrtLogger* logger, OrtEp** out) noexcept {
    Factory& me = *static_cast<Factory*>(self);
    return me.api_.guarded([&] {
      const Options options = me.options_of(session);
      *out = std::make_unique<Provider>(me.api_, me.memory_, me.accelerator(options), logger,
                                        options.profile)
                 .release();
    });
  }

  static OrtStatus* ORT_API_CALL create_allocator(OrtEpFactory* self, const OrtMemoryInfo* info,
                                                  const OrtKeyValuePairs* /*options*/,
                                                  OrtAllocator** out) noexcept {
    Factory& me = *static_cast<Factory*>(self);
    *out = nullptr;
    return me.api_.guarded([&] {
      *out = std::make_unique<Allocator>(me.memory_, info == nullptr ? me.memory_info_ : info)
                 .release();
    });
  }

  static OrtStatus* ORT_API_CALL create_transfer(OrtEpFactory* self,
                                                 OrtDataTransferImpl** out) noexcept {
    Factory& me = *static_cast<Factory*>(self);
    *out = nullptr;
    return me.api_.guarded(
        [&] { *out = std::make_unique<Transfer>(me.api_, me.memory_).release(); });
  }

  Options options_of(const OrtSessionOptions* session) const {
    const Owned<OrtKeyValuePairs> entries(
        api_.get<OrtKeyValuePairs*>(api_.ort->GetSessionOptionsConfigEntries, session),
        api_.ort->ReleaseKeyValuePairs);
    const char* const* keys = nullptr;
    const char* const* values = nullptr;
    std::size_t count = 0;
    api_.ort->GetKeyValuePairs(entries.get(), &keys, &values, &count);
    constexpr std::string_view prefix = "ep.weftexecutionprovider.";
    Options out;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view key = keys[i];
      const std::string value = values[i];
      if (!key.starts_with(prefix)) continue;
      const std::string_view name = key.substr(prefix.size());
      if (name == "adapter") {
        out.choice.adapter = value;
      } else if (name == "mode" && (value == "fast" || value == "safe")) {
        out.choice.safe = value == "safe";
      } else if (name == "mode") {
        throw Error(ErrorCode::invalid_argument,
                    formatted("The option mode is '{}'; it may be 'fast' or 'safe'.", value));
      } else if (name == "profile") {
        out.profile = value;
      } else {
        throw Error(
            ErrorCode::invalid_argument,
            formatted("There is no option '{}'; there are adapter, mode and profile.", name));
      }
    }
    return out;
  }

  /// The device that all sessions with these options share; a session that is profiled has one for
  /// itself.
  std::shared_ptr<Accelerator> accelerator(const Options& options) {
    if (!options.profile.empty())
      return std::make_shared<Accelerator>(profiled_device(options.choice));
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Accelerator>& found =
        accelerators_[{options.choice.adapter, options.choice.safe}];
    if (!found) found = std::make_shared<Accelerator>(Device(options.choice));
    return found;
  }

  Api api_;
  OrtMemoryInfo* memory_info_ = nullptr;
  std::mutex mutex_;
  std::map<std::pair<std::string, bool>, std::shared_ptr<Accelerator>> accelerators_;
  Memory memory_;  // Lets go of tensors before their devices end.
};

}  // namespace
}  // namespace weft::ort

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): ONNX Runtime looks for these names.
__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(
    const char* /*registered_name*/, const OrtApiBase* base, const OrtLogger* /*logger*/,
    OrtEpFactory** factories, std::size_t most, std::size_t* made) {
  *made = 0;
  const OrtApi* ort = base->GetApi(ORT_API_VERSION);
  if (ort == nullptr) {
    const OrtApi* first = base->GetApi(1);  // the oldest, which every version has
    if (first == nullptr) return nullptr;
    return first->CreateStatus(
        ORT_NOT_IMPLEMENTED,
        weft::formatted("Weft's provider needs ONNX Runtime 1.{} or later; this is {}.",
                        ORT_API_VERSION, base->GetVersionString())
            .c_str());
  }
  const weft::ort::Api api{.ort = ort, .ep = ort->GetEpApi()};
  return api.guarded([&] {
    if (most == 0)
      throw weft::Error(weft::ErrorCode::invalid_argument, "There is no room for a factory.");
    factories[0] = std::make_unique<weft::ort::Factory>(api).release();
    *made = 1;
  });
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<weft::ort::Factory*>(factory);
  return nullptr;
}
// NOLINTEND(readability-identifier-naming)
}
