// The blocks of BK keys that this workgroup looks at: `first` … `first + total - 1`, as numbers, or with LISTED as places in the list of
// mask_list.wgsl, whose entries are four times the number and what the mask does there. `final_block` is the last one, from 0 on.
#if LISTED
  let list_at0 = p.list_off + (((batch + p.batch_first) % p.mask_batches * p.mask_heads + (head + p.head_first) % p.mask_heads) * p.blocks + block) * p.list_row;
  let listed = list_at(list_at0);
  let share_of = (listed + p.splits - 1u) / p.splits;
  let first = list_at0 + 1u + split * share_of;
  let total = min(listed, (split + 1u) * share_of) - min(listed, split * share_of);
#else
  let seen = keys_seen(i0, i0 + i_last);
  let key_end = min(seen.y, (split + 1u) * p.split_keys);
  let first = max(seen.x, split * p.split_keys) / {{BK}}u;
  let total = max((key_end + {{BK - 1}}u) / {{BK}}u, first) - first;
#endif
  let final_block = max(total, 1u) - 1u;
