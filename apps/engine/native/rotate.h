/* Rotary positions, and keys and values into their page. */

/* Turn the first `rotated` values of each head, neighbours as pairs, by `turns` (cosine, sine). */
static void rotate(float *heads, int64_t count, const Sizes *sizes, const float *turns) {
  for (int64_t number = 0; number < count; number++) {
    float *head = heads + number * sizes->head;
    for (int64_t at = 0; at < sizes->rotated; at += 2) {
      float a = head[at], b = head[at + 1], cosine = turns[at], sine = turns[at + 1];
      head[at] = a * cosine - b * sine;
      head[at + 1] = a * sine + b * cosine;
    }
  }
}

/* f16 ends at 65,504: larger values are kept as that, a NaN stays one. */
INLINE void store_bounded(uint16_t *to, lanes x) {
  store_half(to, larger(splat(-65504.0f), smaller(splat(65504.0f), x)));
}

/* Put one position's key and value of one KV head at `slot` of its page. */
static void keep(const float *keys, const float *values, int64_t head, int64_t slot,
                 uint16_t *page) {
  uint16_t halves[LANES];
  for (int64_t at = 0; at < head; at += LANES) {
    int64_t count = head - at < LANES ? head - at : LANES;
    store_bounded(halves, load_some(keys + at, count));
    for (int64_t i = 0; i < count; i++) page[(at + i) * PAGE + slot] = halves[i];
    store_bounded(halves, load_some(values + at, count));
    memcpy(page + head * PAGE + slot * head + at, halves,
           (size_t)count * sizeof *halves);
  }
}
