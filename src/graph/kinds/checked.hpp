#pragma once

#include <utility>

#include "base/error.hpp"
#include "ops/plan.hpp"
#include "ops/rows/outside.hpp"

namespace weft::graph::kinds {

/// A plan whose kernels take bad indices without a word, behind a launch that reports them where
/// that is asked for.
inline Result<ops::Plan> after_check(Result<ops::Plan> plan, const ops::rows::OutsideArgs& check,
                                     const Caps& caps) {
  if (!plan || !check.status.given()) return plan;
  return ops::rows::plan(check, caps).transform([&](ops::Plan both) {
    both.append(*std::move(plan));
    return both;
  });
}

}  // namespace weft::graph::kinds
