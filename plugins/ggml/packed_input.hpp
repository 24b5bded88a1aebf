#pragma once

#include <array>

#include "node.hpp"

namespace weft::plugin {

/// Says where a tensor lies.
using PlaceFn = std::function<Result<Place>(const ggml_tensor&)>;

/// Appends the launches of a node. Nodes run one after the other, so they share their scratch
/// buffers, all but the first ones, which are those of PackedInput.
void append_shared(ops::Plan& graph, ops::Plan node);

/// The right sides of products that lie rounded to 8 bits, the last two: products that follow with
/// the same one do not pack it again. They lie in the first scratch buffers of a graph, which no
/// node uses for anything else. There are two, so that a launch can read one and write the next.
class PackedInput {
 public:
  /// The packed form of x; not given() where there is none.
  [[nodiscard]] ops::View find(const ops::View& x) const;
  /// Where a launch that makes x, and that reads `busy`, may write its packed form; made() is to be
  /// called if it does.
  [[nodiscard]] ops::View room(const ops::View& x, const ops::View& busy = {}) const;
  /// From here on x lies packed in what room() gave.
  void made(const ops::View& x, const ops::View& packed);
  /// Lets `node` use what is packed, and adds to `graph` what packs it where that is something new:
  /// made() is to be called with what it gives then.
  Result<std::optional<ops::View>> prepare(Node& node, ops::Plan& graph, const Caps& caps) const;
  /// To be called for every tensor that is computed: what lies on it is forgotten.
  void written(const ggml_tensor& tensor, const PlaceFn& place);

  struct Entry {
    ops::View x;
    ops::View packed;  ///< Not given() where nothing is packed.
  };
  [[nodiscard]] const std::array<Entry, 2>& entries() const { return entries_; }
  [[nodiscard]] std::size_t next() const { return next_; }

 private:
  std::array<Entry, 2> entries_;  ///< By the number of their scratch buffer.
  std::size_t next_ = 0;          ///< The one that was made longest ago.
};

}  // namespace weft::plugin
