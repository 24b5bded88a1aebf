#include "base/members.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/fields.hpp"

namespace weft {
namespace {

struct Inner {
  std::array<std::int32_t, 2> size{};
};

struct Params {
  std::uint32_t a_row = 3;
  float scale = 0.5F;
  Inner inner;
};

struct Variant {
  std::string_view mode = "scan";
  bool in_place = true;
  std::uint32_t x_2 = 7;
};

using Size = std::size_t (*)();

struct SizeReader {
  template <class M>
  static std::size_t read() {
    return sizeof(M);
  }
};

TEST(Members, HaveTheNamesAndPlacesOfTheirDefinition) {
  std::vector<std::string> names;
  std::vector<std::size_t> places;
  for (const auto& [name, offset, size] : members_of<Params, Size, SizeReader>) {
    names.emplace_back(name);
    places.insert(places.end(), {offset, size()});
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a_row", "scale", "inner"}));
  EXPECT_EQ(places, (std::vector<std::size_t>{0, 4, offsetof(Params, scale), 4,
                                              offsetof(Params, inner), sizeof(Inner)}));
}

TEST(Members, OfAVariantAreConstantsInCapitals) {
  const wgsl::Constants constants = ops::constants_of(Variant{});
  const wgsl::Constants expected{
      {"MODE", std::string("scan")}, {"IN_PLACE", std::int64_t{1}}, {"X_2", std::int64_t{7}}};
  EXPECT_EQ(constants, expected);
}

TEST(Members, OfAParamsAndOfStructsInItAreWords) {
  const Params params{.inner = {{-1, 2}}};
  const ops::ParamBlock block = ops::block_of(params);
  const std::vector<ops::ParamField> expected{{"a_row", ops::ParamType::u32},
                                              {"scale", ops::ParamType::f32},
                                              {"size_0", ops::ParamType::i32},
                                              {"size_1", ops::ParamType::i32}};
  EXPECT_EQ(block.fields, expected);
  EXPECT_EQ(block.words, (std::vector<std::uint32_t>{3, 0x3f000000U, 0xffffffffU, 2}));
}

}  // namespace
}  // namespace weft
