#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::ops {

/// Which buffer a view lies in: equal slots mean the same buffer. The default is "no buffer", for
/// tensors that were not given; a number is one of the buffers of whoever calls an op.
class Slot {
 public:
  enum class Kind : std::uint8_t {
    none,
    caller,   ///< One of the caller's buffers.
    shared,   ///< Scratch of whoever puts the plans of several ops together; ops leave it as it is.
    stage,    ///< Scratch between the stages of an op (stages.hpp), until they are one plan.
    scratch,  ///< Plan::scratch of the same number.
    table,    ///< Constants that are the same for every call (tables.hpp).
    report,   ///< Where kernels write down indices that are out of range (report.hpp).
  };

  constexpr Slot() = default;
  constexpr explicit Slot(std::size_t number) : Slot(Kind::caller, number) {}
  static constexpr Slot shared(std::size_t number) { return {Kind::shared, number}; }
  static constexpr Slot stage(std::size_t number) { return {Kind::stage, number}; }
  static constexpr Slot scratch(std::size_t number) { return {Kind::scratch, number}; }
  static constexpr Slot table(std::size_t number) { return {Kind::table, number}; }

  static constexpr Slot report() { return {Kind::report, 0}; }

  [[nodiscard]] constexpr Kind kind() const { return kind_; }
  [[nodiscard]] constexpr std::size_t number() const { return number_; }
  [[nodiscard]] constexpr bool given() const { return kind_ != Kind::none; }
  auto operator<=>(const Slot&) const = default;

 private:
  constexpr Slot(Kind kind, std::size_t number)
      : kind_(kind), number_(static_cast<std::uint32_t>(number)) {}

  Kind kind_ = Kind::none;
  std::uint32_t number_ = 0;
};

/// "buffer 3", "scratch 0", "no buffer": for messages.
std::string describe(Slot slot);

}  // namespace weft::ops
