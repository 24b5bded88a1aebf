#include "choices.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/format.hpp"
#include "base/hash.hpp"
#include "device/profiles.hpp"
#include "ops/case.hpp"

namespace weft::cli {
namespace {

/// "gemm/matrix.wgsl" → "matrix".
std::string kernel_name(std::string_view source) {
  source = source.substr(source.rfind('/') + 1);
  return std::string(source.substr(0, source.find('.')));
}

}  // namespace

std::vector<ops::View> views_of(const ops::Case& test) {
  std::vector<ops::View> views;
  for (std::size_t i = 0; i < test.tensors.size(); ++i) {
    const ops::TensorSpec& spec = test.tensors[i];
    views.push_back(spec.same_as >= 0 ? views[static_cast<std::size_t>(spec.same_as)]
                                      : spec.view(ops::Slot(i), 256));
  }
  return views;
}

std::string choice_of(const ops::Plan& plan) {
  std::string text;
  for (const ops::Dispatch& dispatch : plan.dispatches) {
    text += dispatch.kernel.source;
    for (const auto& [name, value] : dispatch.kernel.constants) {
      text += std::visit([&](const auto& v) { return formatted(" {}={}", name, v); }, value);
    }
    const std::uint64_t params = hash_bytes(std::as_bytes(std::span(dispatch.params)));
    text += formatted(" {}x{}x{} {:08x};", dispatch.grid.x, dispatch.grid.y, dispatch.grid.z,
                      params >> 32);
  }
  for (const std::uint64_t bytes : plan.scratch) text += formatted(" +{}", bytes);
  return text;
}

std::string choices_page(bool each_case) {
  std::string page;
  for (const ops::Op& op : ops::all_ops()) {
    const std::vector<ops::Case> cases = op.cases(1);
    page += formatted("{}, {} cases\n", op.name, cases.size());
    for (const Profile& profile : profiles()) {
      std::map<std::string, int> kernels;
      std::uint64_t hash = 0;
      for (const ops::Case& test : cases) {
        const auto plan = test.plan(views_of(test), profile.caps);
        const std::string text = plan ? choice_of(*plan) : "refused";
        hash = hash_bytes(std::as_bytes(std::span(text)), hash);
        if (each_case) page += formatted("  {} {}: {}\n", profile.name, test.name, text);
        if (!plan) {
          ++kernels["refused"];
          continue;
        }
        for (const ops::Dispatch& dispatch : plan->dispatches)
          ++kernels[kernel_name(dispatch.kernel.source)];
      }
      page += formatted("  {:<13} {:08x} ", profile.name, hash >> 32);
      for (const auto& [kernel, count] : kernels) page += formatted(" {} {}", kernel, count);
      page += '\n';
    }
  }
  return page;
}

}  // namespace weft::cli
