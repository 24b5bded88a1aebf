#include "device/profile_text.hpp"

#include <cstddef>
#include <vector>

#include "base/format.hpp"
#include "device/matrix_types.hpp"
#include "device/traits_text.hpp"

namespace weft {
namespace {

/// A literal of C++.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  return out + "\"";
}

/// The members that differ from those of a device of which nothing is known.
std::string initializer_of(const Traits& traits) {
  const auto values = values_of(traits);
  const auto plain = values_of(Traits{});
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].second == plain[i].second) continue;
    text += formatted("{}.{} = {}", text.empty() ? "" : ", ", values[i].first, values[i].second);
  }
  return "Traits{" + text + "}";
}

std::string initializer_of(const MatrixConfig& config) {
  return formatted("{{{}, {}, {}, {}, {}, {}}}", name(config.component), name(config.result),
                   config.m, config.n, config.k, config.subgroup);
}

}  // namespace

std::string row_text(const Profile& profile) {
  const Caps& caps = profile.caps;
  std::string text = caps.subgroups || caps.f16
                         ? formatted("caps_of({}, {}, {}, {}, {}, {})", initializer_of(caps.traits),
                                     caps.subgroup_min, caps.subgroup_max, caps.max_binding,
                                     caps.workgroup_bytes, caps.workgroup_invocations)
                         : formatted("plain({})", initializer_of(caps.traits));
  if (!caps.matrix_configs.empty()) {
    std::string configs;
    for (const MatrixConfig& config : caps.matrix_configs) {
      configs += (configs.empty() ? "" : ", ") + initializer_of(config);
    }
    text = formatted("with_matrices({}, {{{}}})", text, configs);
  }
  return formatted("{{{}, {}, {}, {}, {}, {},\n {}{}}},\n", quoted(profile.name),
                   quoted(profile.kind), quoted(profile.vendor), quoted(profile.architecture),
                   quoted(profile.device), quoted(profile.why), text,
                   profile.measured ? ", true" : "");
}

}  // namespace weft
