/* silu(gate) * up, one row at a time; `x` is the gate's columns, then as many of up. */

static void gate(const float *x, const Activations *a, int64_t columns, int64_t row) {
  float *out = a->values + (size_t)row * a->width;
  const float *up = x + columns;
  int64_t at, rest = columns % LANES, even = columns - rest;
  for (at = 0; at <= even - (rest == 0) && at < columns; at += LANES) {
    int64_t count = at < even ? LANES : rest;
    lanes g = load_some(x + at, count), u = load_some(up + at, count);
    lanes denominator = add(splat(1), exponential(sub(splat(0), g)));
    store(out + at, mul(quotient(g, denominator), u));
  }
  quantise(a, row);
}
