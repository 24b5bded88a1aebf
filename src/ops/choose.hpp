#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/format.hpp"

namespace weft::ops {

/// Choices among kernels that this thread has made: a plan chooses once for each of its parts and
/// passes that on, and a test counts.
inline thread_local std::uint64_t choices_made = 0;

/// The kernel of a list, in order of preference, that makes a problem: the one that is forced by
/// its name, or the first that is worth it and can. A kernel has a `name`; `can` says why it cannot
/// make the problem at all, and `worth` whether it is a good choice for it. `what` begins the
/// sentence about a name that there is not.
template <class List, class... Problem>
Result<typename List::value_type> choose_kernel(const List& kernels, std::string_view what,
                                                std::string_view forced,
                                                const Problem&... problem) {
  ++choices_made;
  std::optional<Failure> last;
  for (const auto* kernel : kernels) {
    if (forced.empty() ? !kernel->worth(problem...) : kernel->name != forced) continue;
    Status ok = kernel->can(problem...);
    if (ok) return kernel;
    last = std::move(ok.error());
  }
  if (last) return std::unexpected(std::move(*last));
  std::string names;
  for (const auto* kernel : kernels) {
    names += formatted("{}`{}`", names.empty() ? "" : ", ", kernel->name);
  }
  return fail(ErrorCode::not_found, "{} has no kernel `{}`; there are {}.", what, forced, names);
}

}  // namespace weft::ops
