#pragma once

#include <cstdint>
#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::recurrence {

/// How the state S[value, key] of a head follows from one token to the next, and what the token
/// reads from it.
enum class Kind : std::uint8_t {
  gated_linear_attention,  ///< S = S * decay + v k; y = scale * S q.
  rwkv6,                   ///< y = (S + v k * bonus) q, then S = S * decay + v k: RWKV 6.
  rwkv7,                   ///< S = S * decay + v k + (S a) b; y = S q: RWKV 7.
  gated_delta_rule,  ///< S = S * exp(decay); S += beta (v - S k) k; y = scale * S q: gated delta
                     ///< net.
  selective_scan,    ///< S = S * exp(d decay) + d v k with d = softplus(step); y = S q: selective
                     ///< state spaces (Mamba 1 and 2).
};

/// "gated_linear_attention", "rwkv6", …
constexpr std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::gated_linear_attention: return "gated_linear_attention";
    case Kind::rwkv6: return "rwkv6";
    case Kind::rwkv7: return "rwkv7";
    case Kind::gated_delta_rule: return "gated_delta_rule";
    case Kind::selective_scan: return "selective_scan";
  }
  return "?";
}

/// A recurrence over the tokens of each sequence. All tensors are f32. q and k may have fewer heads
/// (and sequences) than v, which then share them.
struct Args {
  Kind kind = Kind::gated_linear_attention;
  View q;      ///< [sequences, tokens, heads, keys]: what reads the state (r of RWKV, C of Mamba).
  View k;      ///< [sequences, tokens, heads, keys]: where a token writes (B of Mamba).
  View v;      ///< [sequences, tokens, heads, values]: what it writes (x of Mamba).
  View decay;  ///< [sequences, tokens, heads, keys or 1]; selective_scan: [heads, keys or 1] (A of
               ///< Mamba).
  View a{};    ///< rwkv7: as k.
  View b{};    ///< rwkv7: as k.
  View bonus{};  ///< wkv6: [heads, keys].
  View step{};   ///< delta: beta, ssm: dt; [sequences, tokens, heads].
  View state;    ///< [sequences, heads, values, keys] before the first token.
  View ids{};    ///< Optional, [sequences] of i32: which of the states a sequence starts from.
  View y;        ///< [sequences, tokens, heads, values].
  /// [snapshots, sequences, heads, values, keys]: the state after the last token, after the one
  /// before it, …; snapshots of tokens that do not exist are left alone.
  View new_state;
  float scale = 1;           ///< gla and delta.
  bool interleaved = false;  ///< Neighbouring heads share q and k; otherwise the heads of q and k
                             ///< repeat as a whole.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::recurrence
