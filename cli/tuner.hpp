#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench_run.hpp"
#include "graph/executor.hpp"
#include "ops/case.hpp"
#include "progress_line.hpp"
#include "stop_signal.hpp"

namespace weft::cli {

struct TuneOptions {
  double seconds = 150;    ///< When to begin nothing new.
  std::size_t cases = 12;  ///< Benchmarks for each change at most.
  /// Times count what the processors of this machine did, and not the clock: for software adapters
  /// beside other work.
  bool processor_time = false;
};

/// A change of traits that may suit a device better.
struct Change {
  std::string name;
  std::function<void(Traits&)> make;
};

/// Changes of which one at most is kept: the tiles of a family of kernels, or another value of one
/// trait.
struct Family {
  std::string name;
  std::vector<Change> changes;
};

/// What tuning tries, in order: the tiles of every family that has a list of them, then facts and
/// numbers.
std::vector<Family> families();

/// What was found, beside what was known before.
struct Tuned {
  Traits traits;
  std::size_t benchmarks =
      0;              ///< That choose otherwise now, of those that were timed again at the end.
  double before = 0;  ///< Seconds of all of these together,
  double after = 0;
  double slowest = 1;  ///< and the least that one of them is as fast as before.
  int signal = 0;      ///< What ended it before it was done, or 0: then it counts for nothing.
};

/// A benchmark that chooses other kernels with other traits, and its seconds with both.
struct Compared {
  std::string title;
  double before = 0;
  double after = 0;
};
struct Comparison {
  std::size_t benchmarks = 0;  ///< All that there are,
  std::size_t changed = 0;     ///< and those that choose otherwise.
  std::vector<Compared> rows;  ///< Of these, as many as there was time for.
  int signal = 0;              ///< What ended it before, or 0.
};

/// Times benchmarks with changed traits. A change is kept if the benchmarks whose plans it changes
/// are faster together and none of them is slower; at the end all that is kept is timed once more
/// beside what was known, and what made something slower, or was not timed again, is dropped. So is
/// everything where the gain is less than what timings of the same differ by.
class Tuner {
 public:
  /// `known` is what the device is compared with.
  Tuner(gpu::Device device, const Traits& known, const TuneOptions& options);
  Tuned run();
  /// Times all benchmarks that choose otherwise with these traits, with both, turn by turn.
  Comparison compare(const Traits& traits);

 private:
  using Clock = std::chrono::steady_clock;
  struct Bench {
    const ops::Op* op = nullptr;
    ops::Case test;
    [[nodiscard]] std::string title() const { return title_of(*op, test); }
  };

  [[nodiscard]] double elapsed() const;
  [[nodiscard]] bool late() const { return stop_.number() != 0 || elapsed() > deadline_; }
  [[nodiscard]] Caps with(const Traits& traits) const;
  [[nodiscard]] std::string choice_with(const Bench& bench, const Traits& traits) const;
  [[nodiscard]] bool differ(const Bench& bench, const Traits& a, const Traits& b) const;
  [[nodiscard]] std::vector<const Bench*> affected(const Traits& before, const Traits& after) const;
  std::optional<double> measured(const Bench& bench, const Traits& traits, int repetitions);
  std::optional<double> time_of(const Bench& bench, const Traits& traits);
  double gain_of(const Traits& traits, const std::string& name, double share);
  void try_family(const Family& family, double share, double next_share);
  [[nodiscard]] Traits all_kept() const;
  [[nodiscard]] std::vector<const Bench*> to_verify() const;
  /// Seconds with what was known and with other traits, the least of some turns, and how far these
  /// lie apart.
  struct Times {
    double before = 0;
    double after = 0;
    double noise = 0;
  };
  /// The same choices are timed once. Nothing where it cannot run, or where it is too late.
  using Pair = std::optional<Times>;
  Pair in_turns(const Bench& bench, const Traits& traits, int turns);
  void drop_untimed(std::span<const Bench* const> timed);
  void drop_for(const Bench& slower);
  Tuned verified();

  graph::Executor executor_;
  TuneOptions options_;
  Traits known_;  ///< What was known in the beginning,
  Traits best_;   ///< and with what is kept so far.
  std::vector<Bench> benches_;
  std::vector<Change> kept_;
  std::map<std::string, std::optional<double>> times_;
  std::map<std::string, Pair> pairs_;  ///< What in_turns() gave, for the same choices.
  StopSignal stop_;
  ProgressLine line_;
  Clock::time_point start_ = Clock::now();
  double deadline_ = 0;
};

}  // namespace weft::cli
