#include "tuner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "bench_run.hpp"
#include "choices.hpp"
#include "ops/tile_families.hpp"

namespace weft::cli {
namespace {

/// A benchmark may lose so much, which is less than timings differ by themselves.
constexpr double least_share = 0.98;
/// What a change must gain to be kept.
constexpr double least_gain = 1.01;
constexpr double seconds_each = 0.01;
/// Of a benchmark with what was known and with what is kept, in the end.
constexpr int turns_again = 3;
/// Shares of the time: the last part is for timing once more what is kept.
constexpr double tries_share = 0.7;
constexpr double tiles_share = 0.55;

Family tiles(const ops::TileFamily& of) {
  Family family{std::string(of.name), {}};
  for (std::uint32_t i = 1; i <= of.count; ++i) {
    family.changes.push_back({formatted("{}, tile {}", family.name, i),
                              [member = of.trait, i](Traits& t) { t.*member = i; }});
  }
  return family;
}

Family multiples(std::string name, const std::function<void(Traits&, double)>& multiply) {
  Family family{std::move(name), {}};
  for (const auto& [label, factor] : std::array<std::pair<std::string_view, double>, 4>{
           {{"half", 0.5}, {"twice", 2}, {"a quarter of", 0.25}, {"four times", 4}}}) {
    family.changes.push_back({formatted("{} {}", label, family.name),
                              [multiply, factor](Traits& t) { multiply(t, factor); }});
  }
  return family;
}

}  // namespace

std::vector<Family> families() {
  std::vector<Family> all;
  for (const ops::TileFamily& family : ops::tile_families()) all.push_back(tiles(family));
  all.push_back(multiples("the processors", [](Traits& t, double factor) {
    t.processors = std::max(1U, static_cast<std::uint32_t>(t.processors * factor));
  }));
  all.push_back(multiples("the bytes of a launch", [](Traits& t, double factor) {
    t.launch_bytes = static_cast<std::uint64_t>(static_cast<double>(t.launch_bytes) * factor);
  }));
  all.push_back(multiples("the rate of matrix units",
                          [](Traits& t, double factor) { t.matrix_rate *= factor; }));
  const std::vector<std::pair<std::string, bool Traits::*>> facts{
      {"other barriers", &Traits::slow_barriers},
      {"other compiling", &Traits::slow_compile},
      {"other stores", &Traits::slow_scatter},
      {"other workgroup memory", &Traits::near_memory},
      {"other matrix units", &Traits::matrix_units},
      {"other overlapping", &Traits::overlaps}};
  for (const auto& [name, member] : facts) {
    all.push_back({name, {{name, [member](Traits& t) { t.*member = !(t.*member); }}}});
  }
  all.push_back(
      {"other items", {{"other items", [](Traits& t) { t.items = t.items > 1 ? 1 : 4; }}}});
  return all;
}

Tuner::Tuner(gpu::Device device, const Traits& known, const TuneOptions& options)
    : executor_(std::move(device)), options_(options), known_(known), best_(known) {
  for (const ops::Op& op : ops::all_ops()) {
    for (ops::Case& test : op.cases(1)) {
      const bool fits = !executor_.device().info().is_software() || !too_large_for_software(test);
      if (test.bench && fits && !test.name.contains("sweep"))
        benches_.push_back({&op, std::move(test)});
    }
  }
}

double Tuner::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

Caps Tuner::with(const Traits& traits) const {
  Caps caps = executor_.device().caps();
  caps.traits = traits;
  return caps;
}

bool Tuner::differ(const Bench& bench, const Traits& a, const Traits& b) const {
  const std::string before = choice_with(bench, a);
  const std::string after = choice_with(bench, b);
  return !before.empty() && !after.empty() && before != after;
}

/// The benchmarks that choose otherwise with other traits.
std::vector<const Tuner::Bench*> Tuner::affected(const Traits& before, const Traits& after) const {
  std::vector<const Bench*> found;
  for (const Bench& bench : benches_) {
    if (differ(bench, before, after)) found.push_back(&bench);
  }
  return found;
}

std::optional<double> Tuner::measured(const Bench& bench, const Traits& traits, int repetitions) {
  const auto made = measure(executor_, *bench.op, bench.test,
                            {.seconds = seconds_each,
                             .repetitions = repetitions,
                             .fastest = true,
                             .processor_time = options_.processor_time},
                            with(traits));
  return made ? std::optional(made->seconds) : std::nullopt;
}

/// How long a benchmark takes with these traits; the same choices are timed once. Nothing where it
/// cannot run.
std::optional<double> Tuner::time_of(const Bench& bench, const Traits& traits) {
  const std::string key = choice_with(bench, traits);
  if (key.empty()) return std::nullopt;
  const auto known = times_.find(key);
  if (known != times_.end()) return known->second;
  const auto seconds = measured(bench, traits, 3);
  times_.emplace(key, seconds);
  return seconds;
}

/// How many times as fast a change makes what it touches; 0 where something gets slower.
double Tuner::gain_of(const Traits& traits, const std::string& name, double share) {
  const std::vector<const Bench*> all = affected(best_, traits);
  const std::size_t wanted = std::min(all.size(), options_.cases);
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < wanted; ++i) {
    const Bench& bench = *all[i * all.size() / wanted];  // from all over the list
    line_.show(share, formatted("{}: {} ({} of {})", name, bench.title(), i + 1, wanted));
    if (late()) return 0;
    const auto before = time_of(bench, best_);
    const auto after = time_of(bench, traits);
    if (!before || !after) continue;
    if (*before / *after < least_share) return 0;
    sum += std::log(*before / *after);
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / static_cast<double>(count));
}

void Tuner::try_family(const Family& family, double share, double next_share) {
  const Change* best = nullptr;
  double most = least_gain;
  for (std::size_t i = 0; i < family.changes.size() && !late(); ++i) {
    const Change& change = family.changes[i];
    Traits traits = best_;
    change.make(traits);
    if (traits == best_) continue;
    const double part = static_cast<double>(i) / static_cast<double>(family.changes.size());
    const double gain = gain_of(traits, change.name, share + part * (next_share - share));
    if (gain < most) continue;
    best = &change;
    most = gain;
  }
  if (best == nullptr) return;
  line_.print(formatted("{}: {:.1f}% faster, kept", best->name, (most - 1) * 100));
  kept_.push_back(*best);
  best->make(best_);
}

Tuned Tuner::run() {
  const std::vector<Family> all = families();
  const auto with_tiles = static_cast<std::size_t>(std::ranges::count_if(
      all, [](const Family& family) { return family.changes.front().name.contains(", tile "); }));
  for (std::size_t i = 0; i < all.size(); ++i) {
    // What one family leaves of its time is for the next ones.
    const auto share = [&](std::size_t n) {
      return n <= with_tiles
                 ? tiles_share * static_cast<double>(n) / static_cast<double>(with_tiles)
                 : tiles_share + (tries_share - tiles_share) * static_cast<double>(n - with_tiles) /
                                     static_cast<double>(all.size() - with_tiles);
    };
    deadline_ = options_.seconds * share(i + 1);
    try_family(all[i], share(i), share(i + 1));
  }
  deadline_ = options_.seconds;
  Tuned tuned = verified();
  line_.show(1, formatted("{} timings", times_.size()), true);
  return tuned;
}

Traits Tuner::all_kept() const {
  Traits traits = known_;
  for (const Change& change : kept_) change.make(traits);
  return traits;
}

/// The benchmarks to time once more: all that choose otherwise, of each change some from all over
/// the list first, turn by turn.
std::vector<const Tuner::Bench*> Tuner::to_verify() const {
  std::vector<std::vector<const Bench*>> lists;
  const auto add = [&](const Traits& traits) {
    const std::vector<const Bench*> all = affected(known_, traits);
    const std::size_t wanted = std::min(all.size(), options_.cases);
    std::vector<const Bench*>& list = lists.emplace_back();
    for (std::size_t i = 0; i < wanted; ++i) list.push_back(all[i * all.size() / wanted]);
    return all;
  };
  for (const Change& change : kept_) {
    Traits alone = known_;
    change.make(alone);
    add(alone);
  }
  const std::vector<const Bench*> rest = add(all_kept());
  std::vector<const Bench*> out;
  const auto take = [&out](const Bench* bench) {
    if (!std::ranges::contains(out, bench)) out.push_back(bench);
  };
  for (std::size_t i = 0; i < options_.cases; ++i) {
    for (const auto& list : lists) {
      if (i < list.size()) take(list[i]);
    }
  }
  std::ranges::for_each(rest, take);
  return out;
}

/// A benchmark and what it chooses with these traits; empty where it cannot run.
std::string Tuner::choice_with(const Bench& bench, const Traits& traits) const {
  const auto plan = bench.test.plan(views_of(bench.test), with(traits));
  return plan ? formatted("{} {}", bench.title(), choice_of(*plan)) : std::string();
}

Tuner::Pair Tuner::in_turns(const Bench& bench, const Traits& traits, int turns) {
  const std::string key = choice_with(bench, traits);
  if (const auto known = pairs_.find(key); known != pairs_.end()) return known->second;
  if (key.empty() || late()) return std::nullopt;
  Times least;
  double slowest = 0;  // of the turns that are alike
  for (int turn = 0; turn < turns && (turn == 0 || !late()); ++turn) {
    const auto before = measured(bench, known_, 3);
    const auto after = measured(bench, traits, 3);
    if (!before || !after) return pairs_[key] = std::nullopt;
    least.before = turn == 0 ? *before : std::min(least.before, *before);
    least.after = turn == 0 ? *after : std::min(least.after, *after);
    slowest = std::max(slowest, *before);
  }
  least.noise = slowest - least.before;
  return pairs_[key] = least;
}

Comparison Tuner::compare(const Traits& traits) {
  constexpr int turns = 4;
  deadline_ = options_.seconds;
  const std::vector<const Bench*> all = affected(known_, traits);
  Comparison out{.benchmarks = benches_.size(), .changed = all.size()};
  for (std::size_t i = 0; i < all.size(); ++i) {
    line_.show(static_cast<double>(i) / static_cast<double>(all.size()),
               formatted("{} ({} of {})", all[i]->title(), i + 1, all.size()));
    const Pair pair = in_turns(*all[i], traits, turns);
    if (pair) out.rows.push_back({all[i]->title(), pair->before, pair->after});
  }
  out.signal = stop_.number();
  return out;
}

/// Drops what none of these benchmarks tells about: there was no time to look at it once more.
void Tuner::drop_untimed(std::span<const Bench* const> timed) {
  std::erase_if(kept_, [&](const Change& change) {
    Traits alone = known_;
    change.make(alone);
    const bool seen = std::ranges::any_of(
        timed, [&](const Bench* bench) { return differ(*bench, known_, alone); });
    if (!seen) line_.print(formatted("{}: not timed once more, dropped", change.name));
    return !seen;
  });
}

/// Drops the changes that make a benchmark slower by themselves, or else all that touch it.
void Tuner::drop_for(const Bench& slower) {
  const auto touches = [&](const Change& change) {
    Traits alone = known_;
    change.make(alone);
    return differ(slower, known_, alone);
  };
  const auto slows = [&](const Change& change) {
    Traits alone = known_;
    change.make(alone);
    const Pair pair = touches(change) ? in_turns(slower, alone, turns_again) : std::nullopt;
    return pair && pair->before / pair->after < least_share;
  };
  const bool alone = std::ranges::any_of(kept_, slows);
  const std::size_t count = kept_.size();
  std::erase_if(kept_, [&](const Change& change) {
    const bool culprit = alone ? slows(change) : touches(change);
    if (culprit) {
      line_.print(formatted("{}: made {} slower, dropped", change.name, slower.title()));
    }
    return culprit;
  });
  if (kept_.size() == count) kept_.clear();  // Only together do they change it.
}

/// Times what was known and what is kept once more, turn by turn, where they differ. What makes
/// something slower is dropped, and so is what there is no time for.
Tuned Tuner::verified() {
  for (;;) {
    Tuned out{.traits = all_kept()};
    double noise = 0;
    const std::vector<const Bench*> all = to_verify();
    const std::size_t wanted = all.size();
    const Bench* slower = nullptr;
    std::vector<const Bench*> timed;
    for (std::size_t i = 0; i < wanted && slower == nullptr; ++i) {
      const Bench& bench = *all[i];
      line_.show(
          tries_share + ((1 - tries_share) * static_cast<double>(i)) / static_cast<double>(wanted),
          formatted("once more: {} ({} of {})", bench.title(), i + 1, wanted));
      const Pair least = in_turns(bench, out.traits, turns_again);
      if (!least) continue;
      const double ratio = least->before / least->after;
      if (ratio < least_share) slower = &bench;
      timed.push_back(&bench);
      ++out.benchmarks;
      out.before += least->before;
      out.after += least->after;
      noise += least->noise;
      out.slowest = out.benchmarks == 1 ? ratio : std::min(out.slowest, ratio);
    }
    if (slower == nullptr) {
      drop_untimed(timed);
      if (!kept_.empty() && out.before - out.after <= noise) {
        line_.print(formatted("{:.1f}% faster, but timings of the same differ by {:.1f}%: dropped",
                              (out.before / out.after - 1) * 100, noise / out.before * 100));
        kept_.clear();
      }
      out.traits = all_kept();
      out.signal = stop_.number();
      return out;
    }
    drop_for(*slower);
  }
}

}  // namespace weft::cli
