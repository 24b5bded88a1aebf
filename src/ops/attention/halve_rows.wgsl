// Goes through the rows of this part of operand NAME, 8 elements at a time: with PUT they are written as halves, otherwise `top` is raised to
// the largest of them.
    let row8 = p.{{NAME}}_row8;
    let rows = (p.{{NAME}}_rows + p.parts - 1u) / p.parts;
    let first = job % p.parts * rows;
    let count = (min(first + rows, p.{{NAME}}_rows) - min(first, p.{{NAME}}_rows)) * row8;
    for (var c = lane; c < count; c += {{WORKGROUP}}u) {
      let row = first + c / row8;
      let head = owner % p.key_heads * p.{{NAME}}_heads + row / p.{{NAME}}_len % p.{{NAME}}_heads;
      let batch = owner / p.key_heads * p.{{NAME}}_batches + row / p.{{NAME}}_len / p.{{NAME}}_heads;
      let place = row % p.{{NAME}}_len;
      let v = {{NAME}}_at8(p.{{NAME}}_off + batch * p.{{NAME}}_b + head * p.{{NAME}}_h + place * p.{{NAME}}_t + c % row8 * 8u);
#if PUT
      let out = ((batch * p.key_heads * p.{{NAME}}_heads + head) * p.{{NAME}}_len + place) * row8 + c % row8;
      let a = v[0] * scale;
      let b = v[1] * scale;
      halves_put_words4((p.halves_off + p.{{NAME}}_out) / 2u + out * 4u,
                        vec4<u32>(pack2x16float(a.xy), pack2x16float(a.zw), pack2x16float(b.xy), pack2x16float(b.zw)));
#else
      top = max(top, max(largest(v[0]), largest(v[1])));
#endif
    }
