#include <utility>
#include <vector>

#include "device_fixture.hpp"
#include "pin_drivers.hpp"

// What is done before the first test and after the last one.

namespace weft::test {
namespace {

class Ends : public testing::Environment {
 public:
  void SetUp() override {
    device();  // Loads the drivers.
    pin_drivers();
  }

  void TearDown() override {
    for (; !actions_.empty(); actions_.pop_back()) actions_.back()();
  }

  void add(std::function<void()> action) { actions_.push_back(std::move(action)); }

 private:
  std::vector<std::function<void()>> actions_;
};

Ends* const ends = new Ends;
[[maybe_unused]] const testing::Environment* const owned_by_googletest =
    testing::AddGlobalTestEnvironment(ends);

}  // namespace

void after_tests(std::function<void()> action) { ends->add(std::move(action)); }

}  // namespace weft::test
