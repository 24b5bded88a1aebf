#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <weft/device.hpp>

namespace weft::test {

/// Runs an action when the last test is over, before those that were registered earlier.
void after_tests(std::function<void()> action);

/// What `make` returns, made by the first call and shared by all tests of the process. It goes when
/// the last test is over. A static object would go while the process ends, when NVIDIA's driver can
/// no longer close a device.
template <class Make>
auto& shared(Make make) {
  using Object = std::invoke_result_t<Make>;
  static std::unique_ptr<Object> object = [&] {
    std::unique_ptr<Object> made(new Object(make()));
    after_tests([] { object.reset(); });
    return made;
  }();
  return *object;
}

/// The device of the tests of the public API. What happens when several come and go is for
/// device_thread_test.cpp.
inline const Device& api_device() {
  return shared([] { return Device(); });
}

}  // namespace weft::test
