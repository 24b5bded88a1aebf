// Loads the keys of a pass from key FIRST on, and their masks; stands inside main() of stream.wgsl.
#for f in 0..FLIGHT
    {
      let key = min({{FIRST}} + {{f * SUBGROUP / 4}}u + lane / 4u, last);
#for c in 0..CHUNKS
      k{{f}}_{{c}} = k_words4((k_at0 + key * p.k_t + min({{c * 32}}u + part * 8u, p.size - 8u)) / 2u);
#endfor
#if MASK
#for s in 0..SETS
      mask{{s}}_{{f}} = mask_at(mask{{s}} + key * p.mask_j);
#endfor
#endif
    }
#endfor
