#include "ops/slot.hpp"

#include "base/format.hpp"

namespace weft::ops {

std::string describe(Slot slot) {
  switch (slot.kind()) {
    case Slot::Kind::none: return "no buffer";
    case Slot::Kind::caller: return formatted("buffer {}", slot.number());
    case Slot::Kind::shared: return formatted("shared scratch {}", slot.number());
    case Slot::Kind::stage: return formatted("scratch {} of a stage", slot.number());
    case Slot::Kind::scratch: return formatted("scratch {}", slot.number());
    case Slot::Kind::table: return formatted("table {}", slot.number());
    case Slot::Kind::report: return "the report of indices";
  }
  return "no buffer";
}

}  // namespace weft::ops
