/* Products of quantised matrices for any CPU: as product_avx512.h, in plain C. */

typedef struct {
  int8_t quants[16][BLOCK];
  float scale[16], minimum[16];
} Block;
typedef struct {
  float row[16];
} sums;

enum { HEIGHT = 16 /* rows of a Block */ };
#define TILE 4 /* rows of activations for one unpacking */

INLINE Block unpack(int format, const uint8_t *at, size_t stride) {
  Block block;
  for (int r = 0; r < HEIGHT; r++, at += stride) {
    uint16_t halves[2];
    memcpy(halves, at, sizeof halves);
    block.scale[r] = from_half(halves[0]);
    block.minimum[r] = format == Q4_1 ? from_half(halves[1]) : 0;
    if (format == Q8_0) {
      memcpy(block.quants[r], at + 2, BLOCK);
      continue;
    }
    const uint8_t *packed = at + (format == Q4_1 ? 4 : 2);
    int zero = format == Q4_0 ? 8 : 0;
    for (int i = 0; i < BLOCK / 2; i++) {
      block.quants[r][i] = (int8_t)((packed[i] & 15) - zero);
      block.quants[r][i + BLOCK / 2] = (int8_t)((packed[i] >> 4) - zero);
    }
  }
  return block;
}

/* Add one block's part to the sums of `count` rows of activations. */
INLINE void add_block(int format, const Block *block, const Activations *a, size_t number,
                      int count, sums sum[TILE]) {
  for (int t = 0; t < count; t++) {
    size_t at = (size_t)t * a->blocks + number;
    const int8_t *x = a->quants + at * BLOCK;
    for (int r = 0; r < HEIGHT; r++) {
      int32_t exact = 0;
      for (int i = 0; i < BLOCK; i++) exact += block->quants[r][i] * x[i];
      sum[t].row[r] += (float)exact * (block->scale[r] * a->scales[at]);
      if (format == Q4_1) sum[t].row[r] += block->minimum[r] * a->sums[at];
    }
  }
}

INLINE sums no_sums(void) { return (sums){{0}}; }

/* The first `rows` of the sums to `out`, or added to what is there. */
INLINE void put(sums sum, float *out, int64_t rows, bool adds) {
  for (int64_t r = 0; r < rows && r < HEIGHT; r++)
    out[r] = adds ? out[r] + sum.row[r] : sum.row[r];
}
