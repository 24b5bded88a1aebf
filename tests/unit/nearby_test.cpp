#include "base/nearby.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace weft {
namespace {

TEST(Nearby, FindsWhatWasMeant) {
  constexpr std::array<std::string_view, 5> names{"gelu", "relu", "softplus", "sum", "silu"};
  EXPECT_EQ(nearby("gelo", names), "did you mean `gelu` or `relu`?");
  EXPECT_EQ(nearby("geluu", names), "did you mean `gelu` or `relu`?");
  EXPECT_EQ(nearby("plus", names), "did you mean `softplus`?");
  EXPECT_EQ(nearby("xyzzy", names), "there are `gelu`, `relu`, `softplus`, `sum` and `silu`.");
}

TEST(Nearby, SaysNothingWhereNothingHelps) {
  const std::vector<std::string_view> many(20, "something");
  EXPECT_EQ(nearby("xyzzy", many), "");
  EXPECT_EQ(nearby("", many), "");
  EXPECT_EQ(nearby(std::string(1000, 's'), many), "");
}

}  // namespace
}  // namespace weft
