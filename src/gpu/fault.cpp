#include "gpu/fault.hpp"

#ifdef WEFT_FAULTS

#include <array>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>

namespace weft::gpu {
namespace {

constexpr std::array<std::string_view, 7> call_names{"buffer", "pipeline", "map", "submit",
                                                     "scope",  "device",   "work"};

/// The one plan of the process: a test program wants the calls of all its devices.
struct Faults {
  std::mutex mutex;
  std::string kind = "any";
  std::uint64_t number = 0;
  std::uint64_t count = 0;
  std::uint64_t one_of = 0;  ///< At random.
  bool lose = false;
  std::mt19937_64 random{1};

  Faults() {
    const char* value = std::getenv("WEFT_FAULT");
    std::string_view text = value == nullptr ? "" : value;
    lose = text.starts_with("lose:");
    if (lose) text.remove_prefix(5);
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view digits = text.substr(colon + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    kind = text.substr(0, colon);
    if (kind == "random") {
      one_of = number;
      number = 0;
      kind = "any";
    }
  }
};

Faults& faults() {
  static Faults all;
  return all;
}

}  // namespace

void set_faults(const FaultPlan& plan) {
  Faults& all = faults();
  const std::scoped_lock lock(all.mutex);
  all.kind = plan.kind;
  all.number = plan.number;
  all.lose = plan.lose;
  all.count = 0;
  all.one_of = plan.one_of;
}

std::uint64_t counted_calls() {
  Faults& all = faults();
  const std::scoped_lock lock(all.mutex);
  return all.count;
}

bool fails_now(Call call, const wgpu::Device& device) {
  Faults& all = faults();
  bool lose = false;
  {
    const std::scoped_lock lock(all.mutex);
    if (all.kind != "any" && all.kind != call_names[static_cast<std::size_t>(call)]) return false;
    ++all.count;
    const bool now =
        all.one_of > 0 ? all.random() % all.one_of == 0 : all.number > 0 && all.count == all.number;
    if (!now || !all.lose) return now;
    lose = device != nullptr;
  }
  if (lose) device.ForceLoss(wgpu::DeviceLostReason::Unknown, "a test took it away");
  return false;
}

}  // namespace weft::gpu

#endif
