// Which numbers have their highest bit turned, so that all are of the kind that matrix units multiply (COMPONENT: i8 or u8).
#let BYTES_UNSIGNED = COMPONENT == "u8"
#let FLIP_A = UNSIGNED_A != BYTES_UNSIGNED
#let FLIP_B = UNSIGNED_B != BYTES_UNSIGNED
// What turning it adds.
#let TURNED = BYTES_UNSIGNED ? "128" : "-128"
#let SUM = BYTES_UNSIGNED ? "u32" : "i32"
