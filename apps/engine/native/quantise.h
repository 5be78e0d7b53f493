/* Activations as int8: per BLOCK one scale, so that the largest value becomes 127. */

/* One block of `values`; its place among all blocks of all rows is `block`. */
INLINE void quantise_block(const float *values, const Activations *a, size_t block) {
  lanes low = load(values), high = load(values + LANES);
  float most = largest(larger(magnitude(low), magnitude(high)));
  float scale = most / 127, inverse = most > 0 ? 127 / most : 0;
  int8_t *quants = a->quants + block * BLOCK;
  low = whole(mul(low, splat(inverse)));
  high = whole(mul(high, splat(inverse)));
  float sum = total(add(low, high));
  if (sum >= -127 * BLOCK && sum <= 127 * BLOCK) {
    store_int8(quants, low);
    store_int8(quants + LANES, high);
  } else {
    /* Not a number: neither may any product of it be one. */
    memset(quants, 0, BLOCK);
    scale = NAN;
    sum = 0;
  }
  a->scales[block] = scale;
  a->sums[block] = scale * sum;
  a->totals[block] = (int32_t)sum;
}

static void quantise(const Activations *a, int64_t row) {
  for (size_t block = 0; block < a->blocks; block++)
    quantise_block(a->values + (size_t)row * a->width + block * BLOCK, a,
                   (size_t)row * a->blocks + block);
}
