// Where a workgroup of the kernels for few columns works; expanded inside of main. With IDS group.z numbers a row of x,
// whose matrix the ids name, else a batch. JOINED matrices of one x share a launch, one after the other; with GATED
// rows of two of them take turns. Defines first_row, m (rows in all), w_start (bytes), x_start, y_start
// and y_column, with BIAS also bias_start, with IDS `known`. With LONE group.z also numbers a column.
  let number = group_index(group, groups);
#if JOINED > 0 && !GATED
  let matrix = u32(number >= p.part_group_1) + u32(number >= p.part_group_2);
  let groups_before = vec3<u32>(0u, p.part_group_1, p.part_group_2);
  let first_row = (number - groups_before[matrix]) * {{TEAMS * ROWS}}u;
  let m = vec3<u32>(p.part_m_0, p.part_m_1, p.part_m_2)[matrix];
  let y_column = vec3<u32>(p.part_column_0, p.part_column_1, p.part_column_2)[matrix];
#else
  let first_row = number * {{TEAMS * ROWS}}u;
  let m = p.m;
  let y_column = p.y_column;
#endif
#if IDS
  let token = group.z / p.used;
  let slot = group.z - token * p.used;
  if (lane == 0u) { shared_id = ids_at(p.ids_off + token * p.ids_token + slot * p.ids_slot); }
  let id = workgroupUniformLoad(&shared_id);
  let expert = bitcast<u32>(id) - p.first_expert;
  let known = expert < p.experts && id >= 0i;
  // Another launch has this matrix; the first one takes care of those that do not exist.
  if (!known && (p.first_expert != 0u || (id >= 0i && bitcast<u32>(id) < p.all_experts))) { return; }
  let w_start = p.w_off * w_unit + select(0u, expert, known) * p.w_3;
  let x_start = p.x_off + token * p.x_2 + (slot % p.x_slots) * p.x_3;
  let y_start = p.y_off + token * p.y_2 + slot * p.y_3;
#elif JOINED > 0
#if !GATED
  let w_start = p.w_off * w_unit + vec3<u32>(p.part_w_0, p.part_w_1, p.part_w_2)[matrix];
  let y_start = p.y_off + vec3<u32>(p.part_y_0, p.part_y_1, p.part_y_2)[matrix];
#if BIAS
  let bias_start = p.bias_off + vec3<u32>(p.part_bias_0, p.part_bias_1, p.part_bias_2)[matrix];
#endif
#else
  let w_start = p.w_off * w_unit;
  let y_start = p.y_off;
#endif
  let x_start = p.x_off;
#else
  let batch = group.z{{LONE ? " / p.n" : ""}};
  let q3 = batch / p.batch_3;
  let q2 = q3 / p.batch_2;
  let b3 = batch - q3 * p.batch_3;
  let b2 = q3 - q2 * p.batch_2;
  let b0 = q2 / p.batch_1;
  let b1 = q2 - b0 * p.batch_1;
  let w_start = p.w_off * w_unit + b0 * p.w_0 + b1 * p.w_1 + b2 * p.w_2 + b3 * p.w_3;
  let x_start = p.x_off + b0 * p.x_0 + b1 * p.x_1 + b2 * p.x_2 + b3 * p.x_3;
  let y_start = p.y_off + b0 * p.y_0 + b1 * p.y_1 + b2 * p.y_2 + b3 * p.y_3;
#if BIAS
  let bias_start = p.bias_off + b0 * p.bias_0 + b1 * p.bias_1 + b2 * p.bias_2 + b3 * p.bias_3;
#endif
#endif
