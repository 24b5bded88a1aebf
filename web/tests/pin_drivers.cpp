#include "pin_drivers.hpp"

// A page loads no drivers.
void weft::test::pin_drivers() {}
