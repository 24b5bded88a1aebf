// Every case of every op: on the device against its reference in double, with guard bytes round
// each tensor and in the gaps of strided ones. WEFT_SEED chooses the random shapes and contents; a
// failure prints the seed. Plans are pure: where WEFT_CAPS takes something away, only the cases run
// whose plans it changes, and of these a third (all with WEFT_FULL).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "device_fixture.hpp"
#include "graph/executor.hpp"
#include "ops/case.hpp"
#include "ops/tile_families.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t guard_bytes = 512;
constexpr auto canary = std::byte{0xa5};

std::uint64_t seed() {
  const char* text = std::getenv("WEFT_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

/// Equal in every build, so that a case has the same inputs everywhere; std::hash differs between
/// standard libraries. (Appleby's MurmurHash64A, with libstdc++'s seed.)
std::uint64_t hash_of(std::string_view text) {
  constexpr std::uint64_t multiplier = 0xc6a4a7935bd1e995;
  std::uint64_t hash = 0xc70f6907 ^ (text.size() * multiplier);
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    word *= multiplier;
    word = (word ^ (word >> 47)) * multiplier;
    hash = (hash ^ word) * multiplier;
  }
  if (at < text.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, text.size() - at);
    hash = (hash ^ word) * multiplier;
  }
  hash = (hash ^ (hash >> 47)) * multiplier;
  return hash ^ (hash >> 47);
}

graph::Executor& executor() {
  return shared([] { return graph::Executor(device(), {.verify_keys = true}); });
}

/// What the device has without WEFT_CAPS; nothing where that is not set.
const std::optional<Caps>& unmasked() {
  return shared([]() -> std::optional<Caps> {
    const char* mask = std::getenv("WEFT_CAPS");
    if (mask == nullptr || *mask == '\0') return std::nullopt;
    const auto adapters = gpu::list_adapters();
    if (!adapters) return std::nullopt;
    return adapters->at(device().info().index).caps;
  });
}

/// Whether this case is among those that run under a mask: each mask and each seed has others.
bool sampled(std::string_view name) {
  static constexpr std::uint64_t parts = 3;
  if (std::getenv("WEFT_FULL") != nullptr) return true;
  return hash_of(formatted("{} {} {}", name, std::getenv("WEFT_CAPS"), seed())) % parts == 0;
}

bool same(const ops::Dispatch& a, const ops::Dispatch& b) {
  return a.kernel.key() == b.kernel.key() && a.params == b.params && a.ranges == b.ranges &&
         a.grid == b.grid;
}

bool same(const ops::Plan& a, const ops::Plan& b) {
  return a.scratch == b.scratch &&
         std::ranges::equal(a.dispatches, b.dispatches,
                            [](const auto& x, const auto& y) { return same(x, y); });
}

/// A tensor of a case in its own buffer.
struct Placed {
  ops::View view;
  std::vector<std::byte> raw;  // the buffer's content before the op
  gpu::Buffer buffer;
};

class OpTest : public testing::Test {
 public:
  explicit OpTest(ops::Case test) : case_(std::move(test)) {}

  void TestBody() override {
    SCOPED_TRACE(formatted("replay with WEFT_SEED={}", seed()));
    if (const std::optional<Caps>& all = unmasked(); all) {
      if (same_for(*all)) GTEST_SKIP() << "The plan is the same without the mask.";
      if (!sampled(case_.name)) GTEST_SKIP() << "Left to other seeds and to WEFT_FULL=1.";
    }
    run(device().caps());
  }

  /// Runs the case with the kernels that are chosen for these capabilities.
  void run(const Caps& caps) {
    ops::Random random(seed() ^ hash_of(case_.name));
    std::vector<ops::HostTensor> host;
    std::vector<Placed> placed;
    std::vector<ops::View> views;
    std::vector<gpu::Buffer> slots;
    for (const ops::TensorSpec& spec : case_.tensors) {
      if (spec.same_as >= 0) {
        const auto other = static_cast<std::size_t>(spec.same_as);
        host.push_back(host[other]);
        placed.push_back(placed[other]);
      } else {
        host.push_back(ops::make_host(spec, random));
        place(spec, host.back(), ops::Slot(slots.size()), placed);
        if (HasFatalFailure()) return;
      }
      views.push_back(placed.back().view);
      slots.push_back(placed.back().buffer);
    }

    const auto plan = case_.plan(views, caps);
    ASSERT_TRUE(plan) << plan.error().message;
    case_.epsilons = ops::allowed_epsilons(case_, *plan);
    gpu::Stream stream = device().stream();
    const Status ran = executor().run(stream, *plan, slots);
    ASSERT_TRUE(ran) << ran.error().message;
    const Status waited = stream.wait();
    ASSERT_TRUE(waited) << waited.error().message;

    const std::vector<ops::HostTensor> before = host;
    case_.reference(host);
    for (std::size_t i = 0; i < placed.size(); ++i) check(i, host, before, placed[i]);
  }

  /// Whether the plan for these capabilities is that for the device's own.
  [[nodiscard]] bool same_for(const Caps& caps) const {
    const auto here = plan_for(device().caps());
    const auto there = plan_for(caps);
    return here && there && same(*here, *there);
  }

  /// Whether the plan for these capabilities takes subgroup matrices, which a device without units
  /// for them writes out: compiling a large tile of them takes many seconds there.
  [[nodiscard]] bool writes_matrices_out(const Caps& caps) const {
    const auto plan = plan_for(caps);
    return plan && !caps.traits.matrix_units &&
           std::ranges::any_of(plan->dispatches, [](const ops::Dispatch& dispatch) {
             return dispatch.kernel.features.subgroup_matrix;
           });
  }

 private:
  [[nodiscard]] Result<ops::Plan> plan_for(const Caps& caps) const {
    std::vector<ops::View> views;
    for (const ops::TensorSpec& spec : case_.tensors) {
      views.push_back(spec.same_as >= 0 ? views[static_cast<std::size_t>(spec.same_as)]
                                        : spec.view(ops::Slot(views.size()), guard_bytes));
    }
    return case_.plan(views, caps);
  }

  void place(const ops::TensorSpec& spec, const ops::HostTensor& host, ops::Slot slot,
             std::vector<Placed>& placed) {
    Placed mine{spec.view(slot, guard_bytes), {}, {}};
    const std::uint64_t end = std::max(mine.view.bytes().end, guard_bytes);
    mine.raw.assign((end + guard_bytes + 15) / 16 * 16, canary);
    ops::store_host(mine.view, host, mine.raw);
    auto buffer = device().allocate(mine.raw.size());
    ASSERT_TRUE(buffer) << buffer.error().message;
    mine.buffer = *buffer;
    const Status written = device().write(gpu::whole(mine.buffer), mine.raw);
    ASSERT_TRUE(written) << written.error().message;
    placed.push_back(std::move(mine));
  }

  void check(std::size_t index, const std::vector<ops::HostTensor>& host,
             const std::vector<ops::HostTensor>& before, const Placed& placed) {
    const ops::TensorSpec& spec = case_.tensors[index];
    bool aliased = false;  // an input that an output shares is checked as that output
    for (const ops::TensorSpec& other : case_.tensors) {
      aliased = aliased || other.same_as == static_cast<int>(index);
    }
    if (aliased) return;
    std::vector<std::byte> raw(placed.raw.size());
    const Status read = device().read(gpu::whole(placed.buffer), raw);
    ASSERT_TRUE(read) << read.error().message;

    if (spec.output) {
      const std::vector<double> got = ops::load_values(placed.view, raw);
      const std::vector<double>& want = host[index].values;
      ASSERT_EQ(got.size(), want.size());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]));
        const bool close =
            std::abs(got[i] - want[i]) <= ops::allowed_error(case_, spec.dtype, want[i]);
        if (same || close) continue;
        if (++wrong <= 5) {
          ADD_FAILURE() << formatted(
              "tensor {} ({}), element {}: got {:.9g}, expected {:.9g}, allowed error {:.3g}, "
              "before {:.9g}",
              index, ops::describe(placed.view), i, got[i], want[i],
              ops::allowed_error(case_, spec.dtype, want[i]), before[index].values[i]);
        }
      }
      if (wrong > 0) ADD_FAILURE() << wrong << " of " << got.size() << " elements are wrong";
    }
    // Everything that is not the output's elements must be as before: inputs, guards and gaps.
    std::vector<std::byte> expected = placed.raw;
    if (spec.output) ops::copy_elements(placed.view, raw, expected);
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == expected[i]) continue;
      ADD_FAILURE() << formatted(
          "tensor {} ({}): byte {} outside its elements was overwritten ({:#04x} → {:#04x})", index,
          ops::describe(placed.view), i, std::to_integer<int>(expected[i]),
          std::to_integer<int>(raw[i]));
      break;
    }
  }

  ops::Case case_;
};

/// A tile that a device may be tuned to: cases whose plans it changes, in an order that the seed
/// gives. One of them runs, and all with WEFT_FULL; so do the tiles, of which each seed has some.
class TileTest : public testing::Test {
 public:
  TileTest(ops::TileFamily family, std::uint32_t number)
      : family_(std::move(family)), number_(number) {}

  void TestBody() override {
    const bool all = std::getenv("WEFT_FULL") != nullptr;
    if (!all && unmasked()) GTEST_SKIP() << "The device's own capabilities are enough.";
    constexpr std::uint64_t parts = 6;
    const std::uint64_t place = hash_of(formatted("{} {} {}", family_.name, number_, seed()));
    if (!all && place % parts != 0) {
      GTEST_SKIP() << "Left to other seeds and to WEFT_FULL=1.";
    }
    SCOPED_TRACE(family_.tiles[number_ - 1]);
    Caps tuned = device().caps();
    tuned.traits.*family_.trait = number_;
    std::size_t ran = 0;
    for (const ops::Case& test : cases_in_order()) {
      OpTest run(test);
      if (!test.test || run.same_for(tuned)) continue;
      if (!all && run.writes_matrices_out(tuned)) continue;
      SCOPED_TRACE(formatted("{}/{}, replay with WEFT_SEED={}", family_.op, test.name, seed()));
      run.run(tuned);
      ++ran;
      if (!all) break;
    }
    if (ran == 0) GTEST_SKIP() << "This device has the same plans for all cases.";
  }

 private:
  [[nodiscard]] std::vector<ops::Case> cases_in_order() const {
    const auto op = std::ranges::find(ops::all_ops(), family_.op, &ops::Op::name);
    std::vector<ops::Case> cases = op->cases(seed());
    const auto place = [&](const ops::Case& test) {
      return hash_of(formatted("{} {} {} {}", test.name, family_.name, number_, seed()));
    };
    std::ranges::sort(cases, {}, place);
    return cases;
  }

  ops::TileFamily family_;
  std::uint32_t number_;
};

/// Registers one test per case, and one per tile, before main() runs the tests.
const bool registered = [] {
  for (const ops::TileFamily& family : ops::tile_families()) {
    for (std::uint32_t number = 1; number <= family.count; ++number) {
      std::string name = formatted("{}_{}", family.name, number);
      std::ranges::replace(name, ' ', '_');
      testing::RegisterTest(
          "Tiles", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
          [family, number]() -> testing::Test* { return new TileTest(family, number); });
    }
  }
  for (const ops::Op& op : ops::all_ops()) {
    const std::string suite = formatted("Op_{}", op.name);
    for (const ops::Case& test : op.cases(seed())) {
      if (!test.test) continue;
      testing::RegisterTest(suite.c_str(), test.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [test]() -> testing::Test* { return new OpTest(test); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace weft::test
