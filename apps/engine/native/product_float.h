/* Products of F32 and F16 matrices with rows of floats: lane i sums the columns i, i + 16, ... */

INLINE lanes weights_at(int format, const uint8_t *row, int64_t at, int64_t count) {
  if (format == F32)
    return count < LANES ? load_some(row + at * 4, count) : load(row + at * 4);
  return count < LANES ? load_half_some(row + at * 2, count) : load_half(row + at * 2);
}

/* Four rows of weights times `count` rows of activations; a row past the end repeats the last. */
INLINE void four_rows(int format, const uint8_t *const row[4], int64_t columns,
                      const float *x, size_t width, int count, float out[4][4]) {
  lanes sum[4][4];
  for (int r = 0; r < 4; r++)
    for (int t = 0; t < count; t++) sum[r][t] = splat(0);
  for (int64_t at = 0; at < columns; at += LANES)
    for (int r = 0; r < 4; r++) {
      lanes weights = weights_at(format, row[r], at, columns - at);
      for (int t = 0; t < count; t++)
        sum[r][t] = muladd(weights, load(x + (size_t)t * width + at), sum[r][t]);
    }
  for (int r = 0; r < 4; r++)
    for (int t = 0; t < count; t++) out[r][t] = total(sum[r][t]);
}

INLINE void product_of_floats(int format, const Matrix *m, const uint8_t *weights, int64_t first,
                              const Activations *a, int64_t count, float *out, int64_t out_width,
                              bool adds) {
  size_t bytes = row_bytes(format, (size_t)m->columns);
  int64_t end = first + GROUP < m->rows ? first + GROUP : m->rows;
  for (int64_t r = first; r < end; r += 4) {
    const uint8_t *row[4];
    for (int i = 0; i < 4; i++)
      row[i] = weights + m->offset + (size_t)(r + i < end ? r + i : end - 1) * bytes;
    for (int64_t t = 0; t < count; t += 4) {
      const float *x = a->values + (size_t)t * a->width;
      float sums[4][4];
      int64_t some = count - t < 4 ? count - t : 4;
      switch (some) {
      case 1: four_rows(format, row, m->columns, x, a->width, 1, sums); break;
      case 2: four_rows(format, row, m->columns, x, a->width, 2, sums); break;
      case 3: four_rows(format, row, m->columns, x, a->width, 3, sums); break;
      default: four_rows(format, row, m->columns, x, a->width, 4, sums); break;
      }
      for (int64_t j = 0; j < some; j++)
        for (int64_t i = 0; i < 4 && r + i < end; i++) {
          float *to = out + (t + j) * out_width + m->column + r + i;
          *to = adds ? *to + sums[i][j] : sums[i][j];
        }
    }
  }
}
