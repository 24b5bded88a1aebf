#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "commands.hpp"
#include "files.hpp"
#include "late_notice.hpp"
#include "llm/session.hpp"
#include "sampling_options.hpp"
#include "standard_files.hpp"

namespace weft::cli {
namespace {

// A signal handler reaches nothing but globals.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);
constexpr int interrupted_status = 130;

void on_interrupt(int /*signal*/) {
  if (interrupted.exchange(true)) std::_Exit(interrupted_status);  // The second one does not wait.
}

struct RunOptions {
  llm::ModelOptions model;
  llm::SamplingOptions sampling;
  std::string prompt;
  std::string prompt_file;
  std::string system;
  std::int64_t tokens = 512;
  bool raw = false;
};

/// What the built-in model continues where no prompt is given.
constexpr const char* builtin_opening = "The captain";

constexpr std::int64_t most_tokens = std::int64_t{1} << 31;  ///< Of a context.
constexpr int most_threads = 512;                            ///< What ggml takes.

/// One growing line on a terminal, nothing elsewhere. Loading goes on until it is interrupted.
bool show_progress(float part) {
  if (isatty(STDERR_FILENO) == 0) return !interrupted;
  constexpr int width = 40;
  const int done = static_cast<int>(part * width);
  std::fprintf(stderr, "\rloading [%s%s] %3d%%",
               std::string(static_cast<std::size_t>(done), '=').c_str(),
               std::string(static_cast<std::size_t>(width - done), ' ').c_str(),
               static_cast<int>(part * 100));
  if (part >= 1 || interrupted) std::fputs("\r\x1b[K", stderr);
  return !interrupted;
}

/// Without restarting what it interrupts, so that waiting for a line of input ends too.
void handle_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

/// Ends the command as interrupted programs do.
[[noreturn]] void exit_interrupted() { throw CLI::RuntimeError(interrupted_status); }

void print_timing(const llm::Timing& timing) {
  if (timing.recoveries > 0) {
    std::fputs("weft: the device was lost; another one took its place, and read the text again\n",
               stderr);
  }
  const auto rate = [](std::size_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  };
  std::fputs(
      formatted("weft: prompt {} tokens, {:.1f} tokens/s; generated {} tokens, {:.1f} tokens/s\n",
                timing.prompt_tokens, rate(timing.prompt_tokens, timing.prompt_seconds),
                timing.generated_tokens, rate(timing.generated_tokens, timing.generation_seconds))
          .c_str(),
      stderr);
}

/// Generates one answer, streams it behind `opening` and returns it.
std::string answer(llm::Session& session, const std::string& text, std::int64_t tokens,
                   std::string_view opening = {}) {
  std::string reply;
  std::optional<LateNotice> notice(LateNotice::compiling);  // until there is something to read
  const auto out = [&](std::string_view piece) {
    if (notice) {
      notice.reset();
      write_output(opening);
    }
    reply += piece;
    write_output(piece);
  };
  const std::size_t most =
      tokens < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(tokens);
  const llm::Timing timing = value_or_exit(session.generate(text, most, out, interrupted));
  if (notice) out({});  // nothing came
  write_output("\n");
  print_timing(timing);
  return reply;
}

/// A conversation: every line of the input is a message.
void converse(llm::Session& session, const RunOptions& options, bool chat) {
  std::vector<llm::Message> conversation;
  if (!options.system.empty()) conversation.push_back({"system", options.system});
  const bool terminal = isatty(STDIN_FILENO) != 0;
  std::string line;
  for (;;) {
    interrupted = false;  // It ended the last answer only.
    if (terminal) std::fputs("> ", stderr);
    if (!std::getline(std::cin, line)) break;
    if (line.empty()) continue;
    if (!chat) {
      answer(session, line, options.tokens);
      continue;
    }
    conversation.push_back({"user", line});
    conversation.push_back(
        {"assistant", answer(session, session.format(conversation), options.tokens)});
  }
}

void run_model(RunOptions options) {
  if (!options.prompt_file.empty()) {
    options.prompt = read_whole(options.prompt_file);
  }
  const bool builtin = options.model.model.empty();
  if (builtin) {
    options.model.model = value_or_exit(llm::find_builtin_model());
    // It continues texts, so that there is something to see without a prompt.
    if (options.prompt.empty()) options.prompt = builtin_opening;
  }
  options.model.progress = show_progress;
  handle_interrupts();
  auto opened = [&] {
    std::optional<LateNotice> notice;
    if (isatty(STDERR_FILENO) == 0) notice.emplace("loading the model");  // else there is a bar
    return llm::Session::open(options.model, options.sampling);
  }();
  if (!opened && interrupted) exit_interrupted();
  llm::Session session = value_or_exit(std::move(opened));
  std::fputs(formatted("weft: {}\n", session.describe()).c_str(), stderr);
  if (!options.model.chat_template.empty() && !session.has_chat_template()) {
    throw CommandError(
        formatted("llama.cpp knows no chat template named {}.", options.model.chat_template));
  }
  const bool chat = !options.raw && session.has_chat_template();
  if (options.prompt.empty()) {
    converse(session, options, chat);
    return;
  }
  if (chat) {
    std::vector<llm::Message> conversation;
    if (!options.system.empty()) conversation.push_back({"system", options.system});
    conversation.push_back({"user", options.prompt});
    answer(session, session.format(conversation), options.tokens);
  } else {
    answer(session, options.prompt, options.tokens, builtin ? options.prompt : "");
  }
  if (interrupted) exit_interrupted();
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Generate text with a GGUF model, through llama.cpp");
  llm::ModelOptions& model = options->model;
  command->add_option("-m,--model", model.model, "The GGUF file; without it, the built-in model");
  command->add_option(
      "-p,--prompt", options->prompt,
      "What to answer or continue; without it, lines of the input (the built-in model starts "
      "by itself)");
  command->add_option("-f,--file", options->prompt_file, "A file with the prompt")
      ->excludes("--prompt");
  command->add_option("--system,--system-prompt", options->system,
                      "The system message of a conversation");
  command->add_option("--chat-template", model.chat_template,
                      "A template that llama.cpp knows by name (chatml, llama3, …) in place of the "
                      "model's own");
  command
      ->add_option("-n,--tokens,--predict", options->tokens,
                   "Most tokens to generate; -1: until the model ends or the context is full")
      ->check(CLI::Range(std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  command
      ->add_option("-c,--context,--ctx-size", model.context,
                   "Tokens of the context; 0: what the model was trained for")
      ->check(CLI::Range(std::int64_t{0}, most_tokens))
      ->capture_default_str();
  command->add_option("--device", model.device,
                      "An adapter (part of its name or its index), several with commas between, or "
                      "cpu");
  command->add_option("--rpc", model.servers,
                      "Servers of ggml's RPC backend, HOST:PORT with commas between, whose devices "
                      "get layers too");
  command
      ->add_option("--gpu-layers,--n-gpu-layers", model.gpu_layers,
                   "Layers on the device; the rest is left to the CPU; -1: all")
      ->check(CLI::Range(-1, 1 << 20));
  command
      ->add_option("-t,--threads", model.threads,
                   "Threads for what runs on the CPU; 0: one for each core")
      ->check(CLI::Range(0, most_threads));
  command->add_option("--flash-attention", model.flash_attention, "on, off or auto")
      ->check(CLI::IsMember({"on", "off", "auto"}))
      ->capture_default_str();
  command->add_option("--cache-type", model.cache_type, "Type of keys and values: f16, q8_0, …")
      ->capture_default_str();
  command->add_flag("--raw", options->raw,
                    "Continue the prompt as it is, without the model's chat template");
  command->add_flag("-v,--verbose", model.verbose, "Show llama.cpp's own messages");
  add_sampling_options(*command, options->sampling);
  command->callback([options] { run_model(*options); });
}

}  // namespace weft::cli
