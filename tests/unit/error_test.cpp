#include "base/error.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace weft {
namespace {

constexpr ErrorCode all_codes[] = {ErrorCode::invalid_argument,
                                   ErrorCode::unsupported,
                                   ErrorCode::out_of_memory,
                                   ErrorCode::not_found,
                                   ErrorCode::shader,
                                   ErrorCode::device_lost,
                                   ErrorCode::io,
                                   ErrorCode::internal};

Result<int> half_of(int value) {
  if (value % 2 != 0) {
    return fail(ErrorCode::invalid_argument, "{} is odd, but only {} numbers can be halved.", value,
                "even");
  }
  return value / 2;
}

Result<int> quarter_of(int value) {
  auto half = half_of(value);
  if (!half) return wrap(std::move(half.error()), "halving once");
  auto quarter = half_of(*half);
  if (!quarter) return wrap(std::move(quarter.error()), "halving twice");
  return *quarter;
}

Status check_even(int value) {
  if (auto half = half_of(value); !half) return std::unexpected(half.error());
  return {};
}

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (const ErrorCode code : all_codes) names.insert(name(code));
  EXPECT_EQ(names.size(), std::size(all_codes));
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(name(ErrorCode::out_of_memory), "out_of_memory");
  EXPECT_EQ(name(ErrorCode::invalid_argument), "invalid_argument");
  EXPECT_EQ(name(static_cast<ErrorCode>(1000)), "unknown");
}

TEST(Error, FailFormatsTheMessage) {
  const auto result = half_of(7);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(result.error().message, "7 is odd, but only even numbers can be halved.");
  ASSERT_TRUE(half_of(8));
  EXPECT_EQ(*half_of(8), 4);
}

TEST(Error, FailKeepsBracesOfItsArguments) {
  const std::unexpected<Failure> failure = fail(ErrorCode::shader, "got {}", "{x} {{y}}");
  EXPECT_EQ(failure.error().message, "got {x} {{y}}");
}

TEST(Error, WrapSaysWhatWasBeingDone) {
  const auto result = quarter_of(6);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(result.error().message,
            "While halving twice: 3 is odd, but only even numbers can be halved.");
  EXPECT_EQ(*quarter_of(8), 2);
}

TEST(Error, WrapKeepsTheCodeAndNests) {
  Failure failure{ErrorCode::io, "The file is short."};
  failure = wrap(std::move(failure), "reading").error();
  failure = wrap(std::move(failure), "loading {x}").error();
  EXPECT_EQ(failure.code, ErrorCode::io);
  EXPECT_EQ(failure.message, "While loading {x}: While reading: The file is short.");
}

TEST(Error, StatusCarriesSuccessOrFailure) {
  EXPECT_TRUE(check_even(2));
  const Status status = check_even(3);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
}

TEST(Error, ResultHoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result);
  const std::unique_ptr<int> taken = std::move(*result);
  EXPECT_EQ(*taken, 5);
}

TEST(Error, DefaultFailureIsInternal) { EXPECT_EQ(Failure{}.code, ErrorCode::internal); }

}  // namespace
}  // namespace weft
