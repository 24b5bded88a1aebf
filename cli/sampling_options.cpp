#include "sampling_options.hpp"

#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "files.hpp"
#include "number_range.hpp"

namespace weft::cli {
namespace {

constexpr int most = std::numeric_limits<std::int32_t>::max();
constexpr double large = 1e6;
constexpr double small = 1e-6;

/// "TOKEN+BIAS" or "TOKEN-BIAS" → both numbers.
std::pair<std::int32_t, float> parse_bias(std::string_view text) {
  std::int32_t token = 0;
  float bias = 0;
  const char* end = text.data() + text.size();
  const auto [after, first] = std::from_chars(text.data(), end, token);
  const char* number = after != end && *after == '+' ? after + 1 : after;
  const auto [rest, second] = std::from_chars(number, end, bias);
  const bool sign = after != end && (*after == '+' || *after == '-');
  if (first != std::errc() || second != std::errc() || rest != end || !sign || std::isnan(bias)) {
    throw CLI::ValidationError("--logit-bias",
                               std::string(text) + " is not TOKEN+BIAS or TOKEN-BIAS");
  }
  return {token, bias};
}

std::string read_file(const std::string& path) {
  try {
    return read_whole(path);
  } catch (const CommandError& error) {
    throw CLI::ValidationError("--grammar-file", error.what());
  }
}

void add_ranks(CLI::App& command, llm::SamplingOptions& sampling) {
  command.add_option("--top-k", sampling.top_k, "Choose among the k most likely; 0: all")
      ->check(CLI::Range(0, most))
      ->capture_default_str();
  command.add_option("--top-p", sampling.top_p, "Choose among the most likely that sum up to p")
      ->check(number_range(0, 1))
      ->capture_default_str();
  command
      .add_option("--min-p", sampling.min_p, "Leave out what is less likely than p times the best")
      ->check(number_range(0, 1))
      ->capture_default_str();
  command
      .add_option("--top-n-sigma,--top-nsigma", sampling.top_n_sigma,
                  "Leave out logits more than n deviations below the best; negative: off")
      ->check(number_range(-1, large))
      ->capture_default_str();
  command.add_option("--typical,--typical-p", sampling.typical, "Locally typical sampling; 1: off")
      ->check(number_range(0, 1))
      ->capture_default_str();
  command
      .add_option("--xtc-probability", sampling.xtc_probability,
                  "How often the most likely of several good tokens are left out; 0: never")
      ->check(number_range(0, 1))
      ->capture_default_str();
  command
      .add_option("--xtc-threshold", sampling.xtc_threshold,
                  "How likely a token is that counts as good for it")
      ->check(number_range(0, 1))
      ->capture_default_str();
}

void add_penalties(CLI::App& command, llm::SamplingOptions& sampling) {
  command
      .add_option("--repeat-penalty", sampling.repeat_penalty,
                  "Penalty for repeated tokens; 1: none")
      ->check(number_range(small, large))
      ->capture_default_str();
  command
      .add_option("--frequency-penalty", sampling.frequency_penalty, "Penalty for each repetition")
      ->check(number_range(-large, large))
      ->capture_default_str();
  command
      .add_option("--presence-penalty", sampling.presence_penalty, "Penalty for tokens seen at all")
      ->check(number_range(-large, large))
      ->capture_default_str();
  command
      .add_option("--repeat-last,--repeat-last-n", sampling.repeat_last,
                  "Tokens that the penalties look back; -1: the whole context")
      ->check(CLI::Range(-1, most))
      ->capture_default_str();
  command
      .add_option("--dry-multiplier", sampling.dry_multiplier,
                  "Penalty for sequences that came before; 0: none")
      ->check(number_range(0, large))
      ->capture_default_str();
  command.add_option("--dry-base", sampling.dry_base, "How it grows with their length")
      ->check(number_range(1, large))
      ->capture_default_str();
  command
      .add_option("--dry-allowed-length", sampling.dry_allowed_length,
                  "The longest sequence without it")
      ->check(CLI::Range(0, most))
      ->capture_default_str();
  command
      .add_option("--dry-last,--dry-penalty-last-n", sampling.dry_last,
                  "Tokens that it looks back; negative: all")
      ->check(CLI::Range(-1, most))
      ->capture_default_str();
  command.add_option("--dry-breaker,--dry-sequence-breaker", sampling.dry_breakers,
                     "Texts that end a sequence, instead of newline, colon, quote and star");
}

}  // namespace

void add_sampling_options(CLI::App& command, llm::SamplingOptions& sampling) {
  command.add_option("-s,--seed", sampling.seed, "Seed of the choice; 0: another one each time")
      ->capture_default_str();
  command.add_option("--temp,--temperature", sampling.temperature, "0 takes the most likely token")
      ->check(number_range(0, large))
      ->capture_default_str();
  command
      .add_option("--dynatemp-range", sampling.temperature_range,
                  "The temperature varies by that much with the entropy; 0: it does not")
      ->check(number_range(0, large))
      ->capture_default_str();
  command
      .add_option("--dynatemp-exp", sampling.temperature_exponent, "Exponent of the entropy in it")
      ->check(number_range(0, large))
      ->capture_default_str();
  add_ranks(command, sampling);
  add_penalties(command, sampling);
  command
      .add_option("--mirostat", sampling.mirostat,
                  "1 or 2: Mirostat of that version in place of the choices by rank; 0: off")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
  command.add_option("--mirostat-lr", sampling.mirostat_rate, "Its learning rate")
      ->check(number_range(0, large))
      ->capture_default_str();
  command.add_option("--mirostat-ent", sampling.mirostat_entropy, "The entropy that it aims for")
      ->check(number_range(0, large))
      ->capture_default_str();
  CLI::Option* grammar = command.add_option("--grammar", sampling.grammar,
                                            "Generate a text of this grammar (GBNF, rule root)");
  command
      .add_option_function<std::string>(
          "--grammar-file",
          [&sampling](const std::string& path) { sampling.grammar = read_file(path); },
          "A file with the grammar")
      ->excludes(grammar);
  command.add_option_function<std::vector<std::string>>(
      "--logit-bias",
      [&sampling](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) sampling.logit_bias.push_back(parse_bias(text));
      },
      "TOKEN+BIAS or TOKEN-BIAS: add to the logit of a token (by number); may be repeated");
  command.add_flag("--sample-on-device", sampling.on_device,
                   "Let the device choose tokens, by --temp, --top-k, --top-p and --min-p");
  command.add_flag("--ignore-eos", sampling.ignore_end, "Go on at the model's end of text");
}

}  // namespace weft::cli
