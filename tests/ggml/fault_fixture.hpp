#pragma once

// llama.cpp over a plug-in whose calls of WebGPU, and whose allocations, can be made to fail.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <llama.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "backends.hpp"
#include "base/format.hpp"
#include "random_model.hpp"
#include "run_model.hpp"

namespace weft::test {

/// The door of the plug-in with faults (host/fault_door.cpp).
struct Faults {
  void (*set)(const char* kind, std::uint64_t number, bool lose) = nullptr;
  std::uint64_t (*counted)() = nullptr;
  /// The same with allocations of the host.
  void (*count_allocations)(std::uint64_t number) = nullptr;
  std::uint64_t (*counted_allocations)() = nullptr;

  static Faults find() {
    void* library = dlopen(WEFT_FAULT_PLUGIN, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return {};
    Faults found;
    const auto look_up = [library](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    look_up(found.set, "weft_test_set_faults");
    look_up(found.counted, "weft_test_counted_calls");
    look_up(found.count_allocations, "weft_test_count_allocations");
    look_up(found.counted_allocations, "weft_test_counted_allocations");
    return found;
  }
};

inline bool has_error_line(const std::string& log) {
  return log.contains("failed: ") || log.contains(" lost") || log.contains("no memory left");
}

/// Whether the plug-in said what went wrong.
inline bool says_why(const std::string& log) {
  return has_error_line(log) || log.contains("WEFT0: ");
}

/// What the process holds.
struct Held {
  std::uint64_t bytes = 0;  ///< On the device.
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  bool operator==(const Held&) const = default;

  static Held now() {
    const auto entries = [](const char* folder) {
      return static_cast<std::size_t>(std::ranges::distance(
          std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
    };
    return {device_stats(weft_device(0)).bytes, entries("/proc/self/fd"),
            entries("/proc/self/task")};
  }
  [[nodiscard]] std::string text() const {
    return formatted("{} bytes on the device, {} descriptors, {} threads", bytes, descriptors,
                     threads);
  }
};

/// A model with its context, and a short text by it.
class Decoder {
 public:
  explicit Decoder(const std::filesystem::path& path, std::size_t device = 0)
      : model_(nullptr, llama_model_free), context_(nullptr, llama_free) {
    std::vector<ggml_backend_dev_t> devices{weft_device(device), nullptr};
    llama_model_params model = llama_model_default_params();
    model.devices = devices.data();
    model.n_gpu_layers = 999;
    model.load_mode = LLAMA_LOAD_MODE_MMAP;
    model_.reset(llama_model_load_from_file(path.c_str(), model));
    if (!model_) return;
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 256;
    params.n_threads = params.n_threads_batch = 1;
    context_.reset(llama_init_from_model(model_.get(), params));
  }
  [[nodiscard]] bool ready() const { return context_ != nullptr; }

  /// How an attempt ended.
  struct Attempt {
    int status = 0;       ///< Of the first decode that failed.
    bool logged = false;  ///< An error came where nothing can be returned.
    std::string said;     ///< The log of what came before the text.
    std::vector<llama_token> tokens;
    [[nodiscard]] bool good() const { return status == 0 && !logged; }
  };

  /// The text from its start, in an empty context.
  Attempt write() {
    Attempt out;
    forget_log();
    llama_memory_clear(llama_get_memory(context_.get()), true);
    std::vector<llama_token> next{10, 70, 130, 200, 33};
    const auto vocabulary =
        static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model_.get())));
    for (int i = 0; i < 4; ++i) {
      out.status = llama_decode(
          context_.get(), llama_batch_get_one(next.data(), static_cast<std::int32_t>(next.size())));
      if (out.status != 0) return out;
      const float* logits = llama_get_logits_ith(context_.get(), -1);
      out.logged = has_error_line(captured_log());
      if (out.logged) return out;
      next = {best({logits, logits + vocabulary})};
      out.tokens.push_back(next.front());
    }
    return out;
  }

 private:
  std::unique_ptr<llama_model, decltype(&llama_model_free)> model_;
  std::unique_ptr<llama_context, decltype(&llama_free)> context_;
};

/// What is to fail: calls of WebGPU of one kind, or allocations of the plug-in.
struct Failing {
  std::string kind;   ///< "allocation", or a kind of calls.
  bool lose = false;  ///< The device is lost in front of the call.
};

class GgmlFault : public testing::Test {
 protected:
  using Attempt = Decoder::Attempt;

  void SetUp() override {
    load_backends();
    faults = Faults::find();
    ASSERT_TRUE(faults.set != nullptr && faults.counted_allocations != nullptr);
    model = std::filesystem::path(testing::TempDir()) / formatted("weft-fault-{}.gguf", getpid());
    ASSERT_TRUE(write_random_model(model, {.architecture = "llama", .type = "q8_0"}));
  }
  void TearDown() override {
    (void)faults.counted_allocations();
    faults.set("any", 0, false);
    std::filesystem::remove(model);
  }

  static bool full() { return std::getenv("WEFT_FULL") != nullptr; }

  void arm(const Failing& what, std::uint64_t number) const {
    if (what.kind == "allocation") {
      faults.count_allocations(number);
    } else {
      faults.set(what.kind.c_str(), number, what.lose);
    }
  }
  /// Ends that, and gives the calls that there were.
  std::uint64_t disarm(const Failing& what) const {
    if (what.kind == "allocation") return faults.counted_allocations();
    const std::uint64_t calls = faults.counted();
    faults.set("any", 0, false);
    return calls;
  }

  /// A model that is loaded, a text by it, and all of that given back.
  [[nodiscard]] Attempt load_and_write() const {
    forget_log();
    Decoder other(model);
    const std::string said = captured_log();
    Attempt out = other.ready() ? other.write() : Attempt{.status = 1};
    out.said = said;
    return out;
  }

  /// Lets a decoder say what it still has to: what came where nothing can be returned is the answer
  /// of the next graph, and each context says once that the device was lost.
  static void settle(Decoder& decoder) {
    for (int left = 2; left > 0 && !decoder.write().good();) --left;
  }

  /// Each of these calls, or a sample of `most` (with WEFT_FULL of `most_in_full`), fails once
  /// while something is tried: an error with a sentence or a right text, nothing left behind, and
  /// what `decoder` writes next is right. `prepare` comes in front of each. Returns how many calls
  /// an undisturbed attempt makes.
  std::uint64_t sweep(
      const std::string& name, const Failing& what, Decoder& decoder, std::uint64_t most,
      const std::function<Attempt()>& attempt, const std::function<void()>& prepare = [] {},
      std::uint64_t most_in_full = std::numeric_limits<std::uint64_t>::max()) const {
    settle(decoder);
    const std::vector<llama_token> expected = decoder.write().tokens;
    EXPECT_EQ(expected.size(), 4U) << captured_log();
    prepare();
    arm(what, 0);
    EXPECT_EQ(attempt().tokens, expected) << captured_log();
    const std::uint64_t calls = disarm(what);
    const std::uint64_t step = std::max<std::uint64_t>(1, calls / (full() ? most_in_full : most));
    std::uint64_t errors = 0;
    std::uint64_t tried = 0;
    Held before;
    // In a sample it is not always the first one.
    for (std::uint64_t n = 1 + (step - 1) / 2; n <= calls; n += step, ++tried) {
      SCOPED_TRACE(formatted("{}: {}{} number {} of {}", name, what.lose ? "lost in front of " : "",
                             what.kind, n, calls));
      prepare();
      arm(what, n);
      const Attempt first = attempt();
      (void)disarm(what);
      if (first.good()) {
        EXPECT_EQ(first.tokens, expected)
            << "a text that hides a failure must be right: " << first.said << captured_log();
      } else {
        ++errors;
        const std::string log = first.said + captured_log();
        EXPECT_TRUE(says_why(log)) << "no sentence: " << log;
      }
      settle(decoder);
      for (int again = 0; again < 2; ++again) {
        const Attempt next = decoder.write();
        EXPECT_TRUE(next.good()) << "status " << next.status << ": " << captured_log();
        EXPECT_EQ(next.tokens, expected);
      }
      if (HasFailure()) return calls;
      const Held now = Held::now();
      if (tried > 1) {
        EXPECT_EQ(now, before) << now.text() << " instead of " << before.text();
      }
      before = now;
    }
    std::printf("  %s, %s%s: %llu in all, %llu runs with a failing one, %llu errors\n",
                name.c_str(), what.lose ? "lost in front of " : "", what.kind.c_str(),
                static_cast<unsigned long long>(calls), static_cast<unsigned long long>(tried),
                static_cast<unsigned long long>(errors));
    return calls;
  }

  Faults faults;
  std::filesystem::path model;
};

}  // namespace weft::test
