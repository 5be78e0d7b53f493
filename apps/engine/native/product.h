/* GROUP rows of a quantised matrix times any number of rows of activations.
 *
 * Few rows (a step of a few sequences): each block is unpacked in registers and used for all of
 * them. Many (a prompt): the blocks are unpacked once into scratch memory and used tile by tile.
 * Both add the blocks of a row in the same order, so the results are the same to the bit.
 */

/* Into the second cache: the first has too few places for lines that are on their way. */
INLINE void fetch(const uint8_t *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at, 0, 2);
}

INLINE void from_file(int format, const uint8_t *rows, size_t stride, const Activations *a,
                      int count, sums sum[TILE], const uint8_t *next) {
  size_t bytes = stride / a->blocks;
  for (size_t number = 0; number < a->blocks; number++) {
    Block block = unpack(format, rows + number * bytes, stride);
    fetch(next + number * HEIGHT * bytes, HEIGHT * bytes);
    add_block(format, &block, a, number, count, sum);
  }
}

INLINE void from_scratch(int format, const Block *unpacked, const Activations *a, int count,
                         sums sum[TILE]) {
  for (size_t number = 0; number < a->blocks; number++)
    add_block(format, &unpacked[number], a, number, count, sum);
}

/* `count` rows of activations, at most TILE, times HEIGHT rows that lie at `rows`. */
INLINE void one_tile(int format, const uint8_t *rows, size_t stride, const Block *unpacked,
                     const Activations *a, int count, float *out, int64_t width, int64_t height,
                     bool adds, const uint8_t *next) {
  sums sum[TILE];
  for (int t = 0; t < count; t++) sum[t] = no_sums();
  if (unpacked)
    from_scratch(format, unpacked, a, count, sum);
  else
    from_file(format, rows, stride, a, count, sum, next);
  for (int t = 0; t < count; t++) put(sum[t], out + t * width, height, adds);
}

/* Any number of rows of activations, as tiles of 8 (where registers hold as many), 4, 2 and 1. */
INLINE void tiles(int format, const uint8_t *rows, size_t stride, const Block *unpacked,
                  const Activations *all, int64_t count, float *out, int64_t width,
                  int64_t height, bool adds, const uint8_t *next) {
  Activations a = *all;
#define TILES_OF(N) \
  for (; count >= N; count -= N, out += N * width) { \
    one_tile(format, rows, stride, unpacked, &a, N, out, width, height, adds, next); \
    a.quants += N * a.blocks * BLOCK; \
    a.scales += N * a.blocks, a.sums += N * a.blocks, a.totals += N * a.blocks; \
  }
#if TILE == 8
  TILES_OF(8)
#endif
  TILES_OF(4)
  TILES_OF(2)
  TILES_OF(1)
#undef TILES_OF
}

INLINE void product_of_blocks(int format, const Matrix *m, const uint8_t *weights, int64_t first,
                              const Activations *a, int64_t count, float *out, int64_t width,
                              bool adds, uint8_t *scratch, const uint8_t *next) {
  size_t stride = row_bytes(format, (size_t)m->columns);
  int64_t left = m->rows - first < GROUP ? m->rows - first : GROUP;
  const uint8_t *rows = weights + m->offset + (size_t)first * stride;
  Block *unpacked = (Block *)scratch;
  if (left < GROUP) {
    /* Rows past the end are read as zeros from a copy, not from behind the matrix. */
    uint8_t *copy = scratch + a->blocks * sizeof(Block);
    memset(copy + (size_t)left * stride, 0, (size_t)(GROUP - left) * stride);
    rows = memcpy(copy, rows, (size_t)left * stride);
  }
  out += m->column + first;
  for (int64_t r = 0; r < left; r += HEIGHT, rows += HEIGHT * stride, next += HEIGHT * stride) {
    if (count <= TILE) {
      tiles(format, rows, stride, NULL, a, count, out + r, width, left - r, adds, next);
      continue;
    }
    size_t bytes = stride / a->blocks;
    for (size_t number = 0; number < a->blocks; number++) {
      unpacked[number] = unpack(format, rows + number * bytes, stride);
      fetch(next + number * HEIGHT * bytes, HEIGHT * bytes);
    }
    tiles(format, rows, stride, unpacked, a, count, out + r, width, left - r, adds, next);
  }
}

static void product(const Matrix *m, const uint8_t *weights, int64_t first, const Activations *a,
                    int64_t count, float *out, int64_t width, bool adds, uint8_t *scratch,
                    const uint8_t *next) {
  switch (m->format) {
  case Q4_0:
    product_of_blocks(Q4_0, m, weights, first, a, count, out, width, adds, scratch, next);
    break;
  case Q4_1:
    product_of_blocks(Q4_1, m, weights, first, a, count, out, width, adds, scratch, next);
    break;
  case Q8_0:
    product_of_blocks(Q8_0, m, weights, first, a, count, out, width, adds, scratch, next);
    break;
  case F16: product_of_floats(F16, m, weights, first, a, count, out, width, adds); break;
  default: product_of_floats(F32, m, weights, first, a, count, out, width, adds); break;
  }
}
