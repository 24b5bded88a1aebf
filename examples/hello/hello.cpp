// The smallest program that uses an installed Weft.
#include <iostream>
#include <weft/weft.hpp>

int main() { std::cout << "weft " << weft::version() << '\n'; }
