/* One row of a matrix as floats. */

INLINE void embed_nibbles(const uint8_t *packed, float scale, float minimum, float *out) {
  for (int i = 0; i < BLOCK / 2; i++) {
    out[i] = (float)(packed[i] & 15) * scale + minimum;
    out[i + BLOCK / 2] = (float)(packed[i] >> 4) * scale + minimum;
  }
}

static void embed(const Matrix *m, const uint8_t *weights, int64_t row, float *out) {
  size_t bytes = row_bytes(m->format, (size_t)m->columns);
  const uint8_t *at = weights + m->offset + (size_t)row * bytes;
  if (m->format == F32 || m->format == F16) {
    for (int64_t c = 0; c < m->columns; c += LANES) {
      int64_t count = m->columns - c < LANES ? m->columns - c : LANES;
      store_some(out + c, weights_at((int)m->format, at, c, count), count);
    }
    return;
  }
  for (; bytes; out += BLOCK) {
    float halves[LANES];
    store(halves, load_half_some(at, 2));
    size_t block = row_bytes(m->format, BLOCK);
    if (m->format == Q4_0) {
      embed_nibbles(at + 2, halves[0], -8 * halves[0], out);
    } else if (m->format == Q4_1) {
      embed_nibbles(at + 4, halves[0], halves[1], out);
    } else {
      for (int i = 0; i < BLOCK; i++) out[i] = (float)(int8_t)at[2 + i] * halves[0];
    }
    at += block, bytes -= block;
  }
}
