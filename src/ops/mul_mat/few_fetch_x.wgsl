// Reads this invocation's part of x for the tile that begins with piece FIRST, zeros behind the end; stands inside main() of few.wgsl.
#for i in 0..X_LOADS
    {
      let number = {{FIRST}} + n{{i}} % {{BK / 8}}u / 2u;
      let piece = min(number, end - 1u);
      let block = piece / w_pieces;
      let k = block * w_block + w_first(piece - block * w_pieces);
      x{{i}} = select(vec4<u32>(), x_words4((x_at{{i}} + k) / 2u), number < end);
    }
#endfor
