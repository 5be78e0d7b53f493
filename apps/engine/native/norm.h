/* x / sqrt(mean(x^2) + epsilon) * weight, one row at a time. */

static void norm(const float *x, const uint8_t *weight, double epsilon, const Activations *a,
                 int64_t columns, int64_t row) {
  float *out = a->values + (size_t)row * a->width;
  lanes squares = splat(0);
  int64_t at, rest = columns % LANES, even = columns - rest;
  for (at = 0; at < even; at += LANES) squares = muladd(load(x + at), load(x + at), squares);
  if (rest) {
    lanes some = load_some(x + even, rest);
    squares = muladd(some, some, squares);
  }
  lanes factor = splat((float)(1 / sqrt(total(squares) / (double)columns + epsilon)));
  for (at = 0; at < even; at += LANES)
    store(out + at, mul(mul(load(x + at), factor), load(weight + at * 4)));
  if (rest)
    store(out + even, mul(mul(load_some(x + even, rest), factor), load_some(weight + even * 4, rest)));
  quantise(a, row);
}
