// The formatting of the browser build against the standard library's.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <format>
#include <limits>
#include <random>
#include <string>

#include "base/small_format.hpp"

namespace weft {
namespace {

template <class... Args>
void same(std::format_string<Args...> text, Args&&... args) {
  EXPECT_EQ(small_format(text.get(), std::make_format_args(args...)),
            std::vformat(text.get(), std::make_format_args(args...)))
      << text.get();
}

TEST(SmallFormat, TextsAndWholeNumbers) {
  const std::string text = "naïve";
  same("no value");
  same("{{}} {} {}", 1, text);
  same("{1} {0} {1}", 7, "x");
  same("[{:>8}] [{:<8}] [{:^8}] [{:*^9}] [{}]", text, text, text, text, text);
  same("[{:>11}] [{:8}] [{:08x}] [{:#x}] [{:#010x}] [{:X}]", 42, 42, 255, 255, -255, 48879U);
  same("{} {} {} {}", true, false, 'c', 12U);
  same("{:>6} {:.3} {}", "ab", "abcdef", static_cast<const char*>("p"));
  same("{} {} {}", std::numeric_limits<std::int64_t>::min(),
       std::numeric_limits<std::uint64_t>::max(), std::int8_t{-5});
  const void* pointer = &text;
  same("{}", pointer);
  same("[{:<{}}] [{:>{}.{}f}] [{:{}}] {}", text, 8, 2.5, 7, 2, 5, 3, "widths that are values");
}

TEST(SmallFormat, FractionsWithAPrecision) {
  for (const double value :
       {0.0, -0.0, 1.0, 0.5, 2.5, 123.456, -1e-9, 1e20, 3.14159265358979, 1e300}) {
    same("{:.1f} {:.2f} {:.0f} {:>11.2f} {:>5.1f} {:.6g} {:.4g} {:.3} {:g} {:.2e} {:f}", value,
         value, value, value, value, value, value, value, value, value, value);
  }
}

TEST(SmallFormat, FractionsInFull) {
  std::mt19937_64 random(1);
  for (const double value : {0.0,
                             -0.0,
                             1.0,
                             100.0,
                             1e5,
                             1e15,
                             1e16,
                             1e17,
                             1e20,
                             123456.0,
                             0.1,
                             1e-3,
                             1e-4,
                             1e-5,
                             0.0001234,
                             1.5e300,
                             5e-324,
                             1e22,
                             1e23,
                             9007199254740993.0,
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::infinity(),
                             std::nan("")}) {
    same("{} {}", value, -value);
    same("{}", static_cast<float>(value));
  }
  for (int i = 0; i < 2000; ++i) {
    const auto value = std::bit_cast<double>(random());
    same("{}", value);
    same("{}", std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    same("{}", static_cast<double>(static_cast<std::int64_t>(random()) >> (random() % 60)) / 64);
  }
}

}  // namespace
}  // namespace weft
