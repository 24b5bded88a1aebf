#include "train_loop.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "commands.hpp"
#include "formats/file_writer.hpp"
#include "late_notice.hpp"
#include "nn/export.hpp"
#include "nn/sampling.hpp"
#include "nn/snapshot.hpp"
#include "progress_line.hpp"
#include "stop_signal.hpp"
#include "weft/optim.hpp"
#include "weft/recover.hpp"

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

optim::Schedule schedule_of(const TrainOptions& options) {
  using optim::Decay;
  return {.lr = options.rate,
          .steps = options.steps,
          .warmup = options.warmup,
          .decay = options.schedule == "constant" ? Decay::constant
                   : options.schedule == "linear" ? Decay::linear
                                                  : Decay::cosine,
          .floor = options.floor};
}

/// One training, from the tokens on.
class Run {
 public:
  Run(const TrainOptions& options, const Device& device, const Processes& processes,
      nn::CheckpointHead head, std::vector<std::uint32_t> tokens, bool resume)
      : options_(options),
        device_(device),
        processes_(processes),
        speaks_(processes.rank() == 0),
        progress_(std::move(head.progress)),
        tokenizer_(std::move(head.tokenizer)),
        tokens_(std::move(tokens)),
        held_out_(
            static_cast<std::size_t>(static_cast<double>(tokens_.size()) * options.validation)),
        trainer_(device, options.trainer),
        schedule_(schedule_of(options)),
        windows_(std::span(tokens_).first(tokens_.size() - held_out_),
                 options.trainer.model.context, options.trainer.seed),
        started_seconds_(progress_.seconds) {
    if (held_out_ > options.trainer.model.context) {
      validation_.emplace(std::span(tokens_).last(held_out_), options.trainer.model.context, 0);
    }
    if (resume) nn::load_checkpoint(checkpoint_path(), trainer_);
    print(formatted("{} parameters, {} training tokens, {} held out, {} tokens per step; {}",
                    grouped(trainer_.model().parameter_count()),
                    grouped(tokens_.size() - held_out_), grouped(held_out_),
                    grouped(tokens_per_step()),
                    resume ? formatted("going on after step {}", progress_.step) : "starting"));
  }

  /// The first of the processes tells and writes what happens; the others compute.
  void print(const std::string& text) {
    if (speaks_) line_.print(text);
  }

  /// The signal that ended it early, or 0.
  int run() {
    start_ = Clock::now();
    take_back_copy();
    for (;;) {
      try {
        return go();
      } catch (const Error& error) {
        go_back(error);
      }
    }
  }

 private:
  int go() {
    Clock::time_point saved = Clock::now();
    const std::uint64_t validate_every = options_.validate_every > 0
                                             ? options_.validate_every
                                             : std::max<std::uint64_t>(1, options_.steps / 10);
    const std::uint64_t sample_every = options_.sample_every > 0
                                           ? options_.sample_every
                                           : std::max<std::uint64_t>(1, options_.steps / 5);
    const auto validate_if_due = [&] {
      const bool due = progress_.step == options_.steps || progress_.step % validate_every == 0;
      if (!due || progress_.step == 0 || validated()) return false;
      validate();
      return true;
    };
    // What a signal or a loss of the device came in front of.
    if (speaks_ && validate_if_due() && progress_.step == options_.steps) save();
    while (progress_.step < options_.steps) {
      step();
      if (const int signal = stopped(); signal != 0) {
        if (speaks_) {
          save();
          print(formatted("stopped by {} after step {}; the same command goes on from there",
                          StopSignal::name(signal), progress_.step));
        }
        return signal;
      }
      if (seconds_since(back_.taken) >= options_.snapshot_every) take_back_copy();
      if (!speaks_) continue;
      const bool last = progress_.step == options_.steps;
      validate_if_due();
      if (last || progress_.step % sample_every == 0) show_sample();
      if (last || seconds_since(saved) >= options_.checkpoint_every) {
        save();
        saved = Clock::now();
      }
    }
    read_losses();
    if (speaks_) finish();
    return 0;
  }

  void take_back_copy() {
    if (processes_.count() > 1) return;  // One of several cannot go back alone.
    read_losses();
    back_ = {nn::take_snapshot(trainer_), progress_.step, progress_.training.size(),
             progress_.validation.size(), Clock::now()};
    lost_ = 0;
  }

  /// After a loss of the device: opens it again and goes back to the last snapshot. Rethrows the
  /// error that is under way if it is another one, or comes again and again.
  void go_back(const Error& error) {
    constexpr int most_losses = 5;
    if (error.code() != ErrorCode::device_lost || ++lost_ > most_losses) throw;
    if (processes_.count() > 1) {
      throw CommandError(
          formatted("Process {} of {} lost its device, and all of them end: {} The "
                    "same command goes on from the last checkpoint.",
                    processes_.rank() + 1, processes_.count(), error.what()));
    }
    const std::string reason = error.what();
    constexpr int most_tries = 5;
    for (int i = 1;; ++i) {
      try {
        pending_.clear();
        recover(device_);
        trainer_ = nn::trainer_from(back_.state, device_, options_.trainer);
        break;
      } catch (const Error&) {
        if (i == most_tries) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(100 * i));
      }
    }
    progress_.step = back_.step;
    progress_.training.resize(back_.losses);
    progress_.validation.resize(back_.validations);
    print(formatted("{} Going on after step {}.", reason, progress_.step));
  }

  [[nodiscard]] std::filesystem::path checkpoint_path() const {
    return options_.output / "checkpoint.gguf";
  }
  [[nodiscard]] std::uint64_t tokens_per_step() const {
    const nn::TrainerConfig& config = options_.trainer;
    return config.replicas * config.batch * config.accumulate * config.model.context;
  }

  /// The signal that any of the processes got, which all of them stop at, after the same step.
  int stopped() {
    if (processes_.count() == 1) return stop_.number();
    std::array<float, StopSignal::numbers.size()> got{};
    for (std::size_t i = 0; i < got.size(); ++i) {
      got[i] = stop_.number() == StopSignal::numbers[i] ? 1.0F : 0.0F;
    }
    processes_.sum(got);
    const auto first = std::ranges::find_if(got, [](float count) { return count > 0; });
    return first == got.end() ? 0
                              : StopSignal::numbers[static_cast<std::size_t>(first - got.begin())];
  }

  void step() {
    std::optional<LateNotice> notice;
    if (speaks_ && !pace_.begun()) notice.emplace(LateNotice::compiling);
    const nn::TrainerConfig& config = options_.trainer;
    std::vector<nn::Batch> batches;
    for (std::uint64_t i = 0; i < config.accumulate; ++i) {
      const std::uint64_t whole = progress_.step * config.accumulate + i;
      const std::uint64_t first = (whole * config.replicas + config.rank) * config.batch;
      batches.push_back(windows_.batch(first, config.batch));
    }
    pending_.push_back(trainer_.step(batches, schedule_(progress_.step), progress_.step));
    ++progress_.step;
    // Reading a loss waits for the device, so several steps are queued before that; the first is
    // awaited, because it compiles.
    constexpr std::size_t most_pending = 16;
    if (pending_.size() >= most_pending || seconds_since(read_) > 0.2) read_losses();
    show();
  }

  void read_losses() {
    std::uint64_t step = progress_.step - pending_.size();
    for (const Tensor& loss : pending_) progress_.training.push_back({++step, loss.item()});
    pending_.clear();
    read_ = Clock::now();
    if (!pace_.begun()) {
      pace_.begin(step, read_);
    }
    progress_.seconds = started_seconds_ + seconds_since(start_);
    if (!progress_.training.empty() && !std::isfinite(progress_.training.back().loss)) {
      throw CommandError(
          formatted("The loss is not finite at step {}; a smaller --lr may help.", progress_.step));
    }
  }

  void show(bool last = false) {
    if (progress_.training.empty() || !speaks_) return;
    const std::uint64_t reached = progress_.training.back().step;
    const auto done = static_cast<double>(reached);
    const std::optional<double> each = pace_.seconds_per_step(reached, Clock::now());
    const double rate = each ? static_cast<double>(tokens_per_step()) / *each : 0;
    const double left = each ? *each * (static_cast<double>(options_.steps) - done) : 0;
    const std::size_t recent = std::min<std::size_t>(progress_.training.size(), 20);
    double mean = 0;
    for (const nn::Point& point : std::span(progress_.training).last(recent)) mean += point.loss;
    const std::string held =
        progress_.validation.empty()
            ? ""
            : formatted("  validation {:.4f}", progress_.validation.back().loss);
    line_.show(done / static_cast<double>(options_.steps),
               formatted("{}/{}  loss {:.4f}{}  {} tokens/s  {} left", done, options_.steps,
                         mean / static_cast<double>(recent), held,
                         each ? grouped(static_cast<std::uint64_t>(rate)) : "…",
                         each ? clock_text(left) : "…"),
               last);
  }

  [[nodiscard]] bool validated() const {
    return !progress_.validation.empty() && progress_.validation.back().step == progress_.step;
  }

  void validate() {
    read_losses();
    if (!validation_) return;
    // As many windows as one process alone would take, so that the result does not depend on the
    // number of processes.
    const std::uint64_t batch = options_.trainer.batch;
    const std::uint64_t whole = batch * options_.trainer.replicas;
    constexpr std::uint64_t most_batches = 16;
    const std::uint64_t count =
        std::clamp<std::uint64_t>(validation_->per_epoch() / whole, 1, most_batches) * whole /
        batch;
    double sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      nn::Batch windows;
      for (std::uint64_t k = 0; k < batch; ++k)
        validation_->append_in_order(i * batch + k, windows);
      sum += trainer_.loss(windows);
    }
    progress_.validation.push_back(
        {progress_.step, static_cast<float>(sum / static_cast<double>(count))});
    show(true);
  }

  void show_sample() {
    read_losses();
    nn::Random random(options_.trainer.seed, "sample", progress_.step);
    std::vector<std::uint32_t> tokens{Tokenizer::end_of_text};
    std::ranges::copy(tokenizer_.encode(options_.prompt), std::back_inserter(tokens));
    for (std::uint64_t i = 0; i < options_.sample_length; ++i) {
      const std::uint32_t next = nn::sample(trainer_.next_logits(tokens), 0.8, 40, random);
      if (next == Tokenizer::end_of_text) break;
      tokens.push_back(next);
    }
    std::string text = tokenizer_.decode(tokens);
    std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    print(formatted("step {}: {}", progress_.step, text));
  }

  void save() {
    read_losses();
    nn::save_checkpoint(checkpoint_path(), progress_, tokenizer_, trainer_);
    write_curve();
  }

  void write_curve() {
    FileWriter file(options_.output / "loss.svg");
    file.write(nn::draw_curve(
        formatted("{}: {} parameters, {} tokens per step", options_.name,
                  grouped(trainer_.model().parameter_count()), grouped(tokens_per_step())),
        progress_.training, progress_.validation));
    value_or_exit(file.commit());
    FileWriter table(options_.output / "loss.csv");
    table.write("kind,step,loss\n");
    const auto write_points = [&](std::string_view kind, const std::vector<nn::Point>& points) {
      for (const nn::Point& point : points) {
        table.write(formatted("{},{},{}\n", kind, point.step, point.loss));
      }
    };
    write_points("training", progress_.training);
    write_points("validation", progress_.validation);
    value_or_exit(table.commit());
  }

  void finish() {
    const std::filesystem::path path = options_.output / "model.gguf";
    nn::export_gguf(path, trainer_.config().model, trainer_.values(), tokenizer_,
                    options_.export_type, options_.name, {{"weft.settings", progress_.settings}});
    print(formatted("{} ({:.1f} MB, {}), trained in {}{}; loss curve: {}", path.string(),
                    static_cast<double>(std::filesystem::file_size(path)) / 1e6,
                    options_.export_type, clock_text(progress_.seconds),
                    progress_.validation.empty()
                        ? ""
                        : formatted(", validation loss {:.4f}", progress_.validation.back().loss),
                    (options_.output / "loss.svg").string()));
  }

  /// Where a training goes on from when its device is lost.
  struct Back {
    nn::Snapshot state;
    std::uint64_t step = 0;
    std::size_t losses = 0;
    std::size_t validations = 0;
    Clock::time_point taken;
  };

  TrainOptions options_;
  Device device_;
  const Processes& processes_;
  StopSignal stop_;
  bool speaks_;
  nn::Progress progress_;
  Tokenizer tokenizer_;
  std::vector<std::uint32_t> tokens_;
  std::size_t held_out_;
  nn::Trainer trainer_;
  optim::Schedule schedule_;
  nn::Windows windows_;
  std::optional<nn::Windows> validation_;
  double started_seconds_;
  Clock::time_point start_;
  Pace pace_;  ///< From when the first losses were read.
  Clock::time_point read_;
  std::vector<Tensor> pending_;  ///< Losses that were not read yet.
  ProgressLine line_;
  Back back_;
  int lost_ = 0;  ///< How often the device was lost since then.
};

}  // namespace

int train_loop(const TrainOptions& options, const Device& device, const Processes& processes,
               nn::CheckpointHead head, std::vector<std::uint32_t> tokens, bool resume) {
  return Run(options, device, processes, std::move(head), std::move(tokens), resume).run();
}

}  // namespace weft::cli
