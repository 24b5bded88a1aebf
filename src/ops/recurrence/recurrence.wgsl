// One of the recurrences of recurrence.hpp. Every row of a state (one value, all KEYS keys) runs on its own through all
// tokens: LANES neighbouring invocations keep it in registers, PER elements of VEC keys each, and add up their parts of
// the products with it once per token: by shuffles, or without SHUFFLE through workgroup memory.
// Tile: WORKGROUP invocations, WORKGROUP / LANES rows. Workgroup memory: none, or 1 KiB.
// With STAGED the rows of a workgroup belong to one head: what they share of STAGED tokens at a time lies in workgroup memory, up to
// 20 KiB, and that of the next tokens is on its way in registers meanwhile. Otherwise a token waits for memory before the next one.
// Assumes: the keys of q, k, decay, a, b and bonus are contiguous (aligned for VEC 4); with STATE_VEC those of the states too.
#let ROWS = WORKGROUP / LANES
#let PER = (KEYS + LANES * VEC - 1) / (LANES * VEC)
#let FULL = KEYS % (LANES * VEC) == 0
#let VECTOR_DECAY = !SCALAR_DECAY
#let KEYED_DECAY = VECTOR_DECAY && KIND != "selective_scan"
#let PLAIN_DECAY = SCALAR_DECAY && KIND != "selective_scan"
#let ARRAYS = KIND == "rwkv7" ? 4 : 2
#if VEC == 4
alias E = vec4<f32>;
fn total(v: E) -> f32 { return (v.x + v.y) + (v.z + v.w); }
#let AT = "at4"
#else
alias E = f32;
fn total(v: E) -> f32 { return v; }
#let AT = "at"
#endif

// The sum over the lanes of a row.
#if SHUFFLE || LANES == 1
fn row_sum(own: vec4<f32>, invocation: u32) -> vec4<f32> {
  var v = own;
#let STEP = 1
#for level in 0..7
#if STEP < LANES
  v += subgroupShuffleXor(v, {{STEP}}u);
#let STEP = STEP * 2
#endif
#endfor
  return v;
}
#else
var<workgroup> parts: array<vec4<f32>, {{WORKGROUP}}>;
fn row_sum(own: vec4<f32>, invocation: u32) -> vec4<f32> {
  parts[invocation] = own;
  workgroupBarrier();
  let first = invocation - invocation % {{LANES}}u;
  var v = vec4<f32>(0.0);
  for (var i = 0u; i < {{LANES}}u; i++) { v += parts[first + i]; }
  workgroupBarrier();
  return v;
}
#endif

// Element i of a row of keys that starts at `start`; 0 behind its end, so that such elements of the state stay 0.
#for n in 0..6
#let NAME = n == 0 ? "q" : n == 1 ? "k" : n == 2 ? "decay" : n == 3 ? "a" : n == 4 ? "b" : "bonus"
#if NAME == "q" || NAME == "k" || (NAME == "decay" && VECTOR_DECAY) || (KIND == "rwkv7" && (NAME == "a" || NAME == "b")) || (KIND == "rwkv6" && NAME == "bonus")
fn {{NAME}}_key(start: u32, i: u32) -> E {
#if FULL
  return {{NAME}}_{{AT}}(start + i);
#else
  return select(0.0, {{NAME}}_at(start + min(i, {{KEYS - 1}}u)), i < {{KEYS}}u);
#endif
}
#endif
#endfor

#if STAGED > 0
// Vectors of keys of STAGED tokens: of q, k, a, b and the decay.
#let LINE = KEYS / 4
#let BLOCK = STAGED * LINE
#let FETCHED = BLOCK / WORKGROUP
#let FETCHED_VALUES = STAGED / LANES
var<workgroup> staged_keys: array<vec4<f32>, {{(ARRAYS + (KEYED_DECAY ? 1 : 0)) * BLOCK}}>;
var<workgroup> staged_values: array<f32, {{STAGED * ROWS}}>;
var<workgroup> decays: array<f32, {{STAGED}}>;
var<workgroup> steps: array<f32, {{STAGED}}>;
#endif

fn softplus(x: f32) -> f32 { return max(x, 0.0) + log(1.0 + exp(-abs(x))); }

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) invocation: u32) {
  let first = group_index(group, groups) * {{ROWS}}u;
  if (first >= p.rows) { return; }
  let wanted = first + invocation / {{LANES}}u;
  let lane = invocation % {{LANES}}u;
  let live = wanted < p.rows;
  let row = min(wanted, p.rows - 1u);
  let value = row % p.values;
  let head = (row / p.values) % p.heads;
  let sequence = row / (p.values * p.heads);
  let q_start = p.q_off + (sequence / p.q_share) * p.q_s + ((head / p.q_div) % p.q_heads) * p.q_h;
  let k_start = p.k_off + (sequence / p.k_share) * p.k_s + ((head / p.k_div) % p.k_heads) * p.k_h;
  let v_start = p.v_off + sequence * p.v_s + head * p.v_h + value * p.v_i;
  let y_start = p.y_off + sequence * p.y_s + head * p.y_h + value * p.y_i;
  let decay_start = p.decay_off + sequence * p.decay_s + head * p.decay_h;
#if KIND == "rwkv7"
  let a_start = p.a_off + sequence * p.a_s + head * p.a_h;
  let b_start = p.b_off + sequence * p.b_s + head * p.b_h;
#endif
#if HAS_STEP
  let step_start = p.step_off + sequence * p.step_s + head * p.step_h;
#endif
#if HAS_IDS
  let from_sequence = min(u32(max(ids_at(p.ids_off + sequence), 0i)), p.state_sequences - 1u);
#else
  let from_sequence = sequence;
#endif
  let state_start = p.state_off + from_sequence * p.state_s + head * p.state_h + value * p.state_v;
  let new_start = p.new_state_off + sequence * p.new_s + head * p.new_h + value * p.new_v;

#for e in 0..PER
  let i{{e}} = ({{e * LANES}}u + lane) * {{VEC}}u;
#if STATE_VEC
  var s{{e}} = state_{{AT}}(state_start + i{{e}});
#elif VEC == 4
  var s{{e}} = E(state_at(state_start + i{{e}} * p.state_i), state_at(state_start + (i{{e}} + 1u) * p.state_i),
                 state_at(state_start + (i{{e}} + 2u) * p.state_i), state_at(state_start + (i{{e}} + 3u) * p.state_i));
#else
  var s{{e}} = {{FULL ? "" : "select(0.0, "}}state_at(state_start + {{FULL ? "i" + e : "min(i" + e + ", " + (KEYS - 1) + "u)"}} * p.state_i){{FULL ? "" : ", i" + e + " < " + KEYS + "u)"}};
#endif
#if KIND == "rwkv6"
  let bonus{{e}} = bonus_key(p.bonus_off + head * p.bonus_h, i{{e}});
#endif
#if KIND == "selective_scan"
#if VECTOR_DECAY
  let rate{{e}} = decay_key(decay_start, i{{e}});
#endif
#endif
#endfor
#if KIND == "selective_scan" && SCALAR_DECAY
  let rate = decay_at(decay_start);
#endif

#if STAGED > 0
  let own_row = invocation / {{LANES}}u;
  let v_first = v_start - own_row * p.v_i;
  // Tokens behind the last one are read as that one and not used.
  for (var t0 = 0u; t0 < p.tokens + {{STAGED}}u; t0 += {{STAGED}}u) {
#for f in 0..FETCHED
    let slot{{f}} = {{f * WORKGROUP}}u + invocation;
    let token{{f}} = min(t0 + slot{{f}} / {{LINE}}u, p.tokens - 1u);
    let key{{f}} = slot{{f}} % {{LINE}}u * 4u;
#for n in 0..5
#let NAME = n == 0 ? "q" : n == 1 ? "k" : n == 2 ? "a" : n == 3 ? "b" : "decay"
#if n < ARRAYS || (n == 4 && KEYED_DECAY)
    let {{NAME}}_next{{f}} = {{NAME}}_at4({{NAME}}_start + token{{f}} * p.{{NAME}}_t + key{{f}});
#endif
#endfor
#endfor
#for f in 0..FETCHED_VALUES
    let place{{f}} = {{f * WORKGROUP}}u + invocation;
    let v_next{{f}} = v_at(v_first + min(t0 + place{{f}} / {{ROWS}}u, p.tokens - 1u) * p.v_t + place{{f}} % {{ROWS}}u * p.v_i);
#endfor
    let own_token = min(t0 + invocation % {{STAGED}}u, p.tokens - 1u);
#if PLAIN_DECAY
    let decay_next = decay_at(decay_start + own_token * p.decay_t);
#endif
#if HAS_STEP
    let step_next = step_at(step_start + own_token * p.step_t);
#endif
    // The tokens before these, whose vectors are there.
    let first_token = max(t0, {{STAGED}}u) - {{STAGED}}u;
    let last_token = min(t0, p.tokens);
    for (var t = first_token; t < last_token; t++) {
      let u = t - first_token;
      let v = staged_values[u * {{ROWS}}u + own_row];
#for e in 0..PER
#for n in 0..5
#let NAME = n == 0 ? "q" : n == 1 ? "k" : n == 2 ? "a" : n == 3 ? "b" : "w"
#if n < ARRAYS || (n == 4 && KEYED_DECAY)
      let {{NAME}}{{e}} = staged_keys[{{(n == 4 ? ARRAYS : n) * BLOCK + e * LANES}}u + u * {{LINE}}u + lane];
#endif
#endfor
#endfor
#if PLAIN_DECAY
      let w = decays[u];
#endif
#if HAS_STEP
      let step = steps[u];
#endif
#include "recurrence/token.wgsl"
    }
    workgroupBarrier();
#for f in 0..FETCHED
#for n in 0..5
#let NAME = n == 0 ? "q" : n == 1 ? "k" : n == 2 ? "a" : n == 3 ? "b" : "decay"
#if n < ARRAYS || (n == 4 && KEYED_DECAY)
    staged_keys[{{(n == 4 ? ARRAYS : n) * BLOCK}}u + slot{{f}}] = {{NAME == "decay" && KIND == "gated_delta_rule" ? "exp(decay_next" + f + ")" : NAME + "_next" + f}};
#endif
#endfor
#endfor
#for f in 0..FETCHED_VALUES
    staged_values[place{{f}}] = v_next{{f}};
#endfor
    if (invocation < {{STAGED}}u) {
#if PLAIN_DECAY
      decays[invocation] = {{KIND == "gated_delta_rule" ? "exp(decay_next)" : "decay_next"}};
#endif
#if HAS_STEP
      steps[invocation] = {{KIND == "selective_scan" ? "softplus(step_next)" : "step_next"}};
#endif
    }
    workgroupBarrier();
  }
#else
  for (var t = 0u; t < p.tokens; t++) {
    let v = v_at(v_start + t * p.v_t);
#for e in 0..PER
    let q{{e}} = q_key(q_start + t * p.q_t, i{{e}});
    let k{{e}} = k_key(k_start + t * p.k_t, i{{e}});
#if KIND == "rwkv7"
    let a{{e}} = a_key(a_start + t * p.a_t, i{{e}});
    let b{{e}} = b_key(b_start + t * p.b_t, i{{e}});
#endif
#if KEYED_DECAY
    let w{{e}} = {{KIND == "gated_delta_rule" ? "exp(" : ""}}decay_key(decay_start + t * p.decay_t, i{{e}}){{KIND == "gated_delta_rule" ? ")" : ""}};
#endif
#endfor
#if PLAIN_DECAY
    let w = {{KIND == "gated_delta_rule" ? "exp(" : ""}}decay_at(decay_start + t * p.decay_t){{KIND == "gated_delta_rule" ? ")" : ""}};
#endif
#if HAS_STEP
    let step = {{KIND == "selective_scan" ? "softplus(step_at(step_start + t * p.step_t))" : "step_at(step_start + t * p.step_t)"}};
#endif
#include "recurrence/token.wgsl"
  }
#endif
  if (!live) { return; }
#for e in 0..PER
#if STATE_VEC
  new_state_put4(new_start + i{{e}}, s{{e}});
#elif VEC == 4
  for (var c = 0u; c < 4u; c++) { new_state_put(new_start + (i{{e}} + c) * p.new_i, s{{e}}[c]); }
#else
  {{FULL ? "" : "if (i" + e + " < " + KEYS + "u) "}}{ new_state_put(new_start + i{{e}} * p.new_i, s{{e}}); }
#endif
#endfor
}
