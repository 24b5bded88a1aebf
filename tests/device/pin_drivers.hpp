#pragma once

namespace weft::test {

/// Keeps Mesa's drivers in memory until the process ends. The loader unloads them with the last
/// device, and a leak checker then cannot tell the drivers' own leaks from ours.
void pin_drivers();

}  // namespace weft::test
