// Language models as programs use them (src/llm): conversations that are kept, full contexts,
// embeddings. The built-in model.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "llm/session.hpp"

namespace weft::llm {
namespace {

/// A model in the context that a test wants; greedy, so that equal prompts have equal answers.
class LlmSession : public testing::Test {
 protected:
  static Session open(ModelOptions options) {
    options.model = WEFT_BUILTIN_MODEL;
    auto session = Session::open(options, {.temperature = 0});
    if (!session) throw std::runtime_error(session.error().message);
    return std::move(*session);
  }

  struct Answer {
    std::string text;
    Timing timing;
  };
  static Answer ask(Session& session, const std::string& prompt, std::size_t tokens) {
    Answer answer;
    const std::atomic<bool> stop = false;
    const auto out = [&](std::string_view piece) { answer.text += piece; };
    const auto timing = session.generate(prompt, tokens, out, stop);
    EXPECT_TRUE(timing) << timing.error().message;
    if (timing) answer.timing = *timing;
    return answer;
  }
};

const std::string start =
    "Once upon a time, in a far and cold country, there lived an old king who had three sons. ";
const std::string other =
    "Nobody in the town knew where the stranger had come from, or what he wanted. He";

TEST_F(LlmSession, KeepsSeveralConversations) {
  Session session = open({.context = 512, .conversations = 2});
  const std::string first = start + "The eldest";
  const Answer one = ask(session, first, 4);
  const Answer two = ask(session, other, 4);
  EXPECT_LE(two.timing.cached_tokens, 2U);
  // Each goes on where it was, whichever was the last one.
  const Answer more = ask(session, first + one.text + " and then", 4);
  EXPECT_GE(more.timing.cached_tokens, one.timing.prompt_tokens + one.timing.cached_tokens);
  const Answer other_more = ask(session, other + two.text + " and then", 4);
  EXPECT_GE(other_more.timing.cached_tokens, two.timing.prompt_tokens + two.timing.cached_tokens);
  // The same as without anything kept.
  Session fresh = open({.context = 512});
  EXPECT_EQ(ask(fresh, first, 4).text, one.text);
  EXPECT_EQ(ask(fresh, other, 4).text, two.text);
  EXPECT_EQ(ask(fresh, first + one.text + " and then", 4).text, more.text);
  EXPECT_EQ(ask(session, first, 4).text, one.text) << "asked again, with its answer cut";
}

TEST_F(LlmSession, SharesWhatTwoConversationsBeginWith) {
  Session session = open({.context = 512, .conversations = 2});
  const std::string first = start + "The eldest of them was a soldier, and he had been in the wars";
  const std::string second =
      start + "The youngest was a quiet boy who liked to walk in the woods and to speak with birds";
  const Answer one = ask(session, first, 8);
  const Answer two = ask(session, second, 8);
  EXPECT_GT(two.timing.cached_tokens, 10U);
  Session fresh = open({.context = 512});
  EXPECT_EQ(ask(fresh, second, 8).text, two.text);
  // The first one is still whole.
  const Answer more = ask(session, first + one.text, 2);
  EXPECT_GE(more.timing.cached_tokens, one.timing.prompt_tokens);
}

TEST_F(LlmSession, ForgetsOtherConversationsWhereThereIsNoRoom) {
  Session session = open({.context = 256, .conversations = 4});
  std::string long_text = start;
  while (*session.count_tokens(long_text) < 120) long_text += start;
  for (int i = 0; i < 3; ++i) {
    const std::string prompt = std::to_string(i) + ". " + long_text;
    EXPECT_EQ(ask(session, prompt, 2).timing.generated_tokens, 2U) << i;
  }
}

TEST_F(LlmSession, AFullContextEndsAnAnswerOrLosesItsMiddle) {
  std::string prompt;
  Session session = open({.context = 256});
  while (*session.count_tokens(prompt) < 225) prompt += "The captain looked at the sea. ";
  const Answer ended = ask(session, prompt, 40);
  EXPECT_TRUE(ended.timing.full);
  EXPECT_EQ(ended.timing.prompt_tokens + ended.timing.generated_tokens, session.context());

  Session shifting = open({.context = 256, .shift = true});
  const Answer whole = ask(shifting, prompt, 40);
  EXPECT_FALSE(whole.timing.full);
  EXPECT_EQ(whole.timing.generated_tokens, 40U);
  EXPECT_EQ(whole.timing.shifts, 1U);
  EXPECT_TRUE(whole.text.starts_with(ended.text)) << "the same until the context was full";
  // A conversation whose middle is gone is read again, and says what it said.
  const Answer again = ask(shifting, prompt, 4);
  EXPECT_GT(again.timing.prompt_tokens, 100U);
  EXPECT_TRUE(whole.text.starts_with(again.text)) << again.text;
}

TEST_F(LlmSession, EmbeddingsHaveLengthOneAndMeanSomething) {
  Session session = open({.context = 256});
  const auto embed = [&](const std::string& text) {
    auto vector = session.embed(text);
    EXPECT_TRUE(vector) << vector.error().message;
    return vector.value_or(std::vector<float>(384));
  };
  const auto dot = [](const std::vector<float>& a, const std::vector<float>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const auto a = embed("The captain of the ship");
  const auto b = embed("The captain of a ship");
  const auto c = embed("He paid twelve dollars for it");
  EXPECT_EQ(a.size(), 384U);
  EXPECT_NEAR(dot(a, a), 1, 1e-4);
  EXPECT_NEAR(dot(c, c), 1, 1e-4);
  EXPECT_GT(dot(a, b), dot(a, c));
  EXPECT_LT(dot(a, b), 1 - 1e-6);
  EXPECT_EQ(embed("The captain of the ship"), a);
  // What was generated before goes on as if nothing had been between.
  const Answer before = ask(session, "The captain", 4);
  embed("something else");
  EXPECT_EQ(ask(session, "The captain", 4).text, before.text);
  std::string long_text;
  while (*session.count_tokens(long_text) <= 256) long_text += start;
  EXPECT_FALSE(session.embed(long_text));
}

}  // namespace
}  // namespace weft::llm
