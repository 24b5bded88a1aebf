// Reads and decodes this invocation's weights of a tile that begins with piece FIRST; stands inside main() of few.wgsl. Behind the end
// the last piece comes again, with zeros for x: without branches, loads wait for nothing.
#for i in 0..W_LOADS
    w{{i}} = halves_at(w_row{{i}}, min({{FIRST}} + own_piece, end - 1u));
#endfor
