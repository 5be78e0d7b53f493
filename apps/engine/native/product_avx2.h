/* Products of quantised matrices, AVX2: as product_avx512.h, but eight rows at a time.
 *
 * `vpmaddubsw` gives sums of two products as int16. Eight such sums of 4-bit weights stay below
 * 32,768 (8 * 2 * 15 * 127), so they are added before they are widened; of 8-bit weights one alone
 * does, if the sign is moved to the activations (2 * 128 * 127).
 */

typedef struct {
  __m256i quants[8]; /* uint8, or int8 of Q8_0, [8 rows][4 columns] */
  __m256 scale, minimum;
} Block;
typedef __m256 sums;

enum { HEIGHT = 8 /* rows of a Block */ };
#define TILE 4 /* rows of activations for one unpacking */

INLINE __m256i pair(const uint8_t *at, size_t stride) {
  return _mm256_loadu2_m128i((const __m128i *)(at + 4 * stride), (const __m128i *)at);
}

/* 16 bytes of each of 8 rows as four registers of [8 rows][4 bytes]. */
INLINE void turn(const uint8_t *at, size_t stride, __m256i out[4]) {
  __m256i a = pair(at, stride), b = pair(at + stride, stride);
  __m256i c = pair(at + 2 * stride, stride), d = pair(at + 3 * stride, stride);
  __m256i ab = _mm256_unpacklo_epi32(a, b), cd = _mm256_unpacklo_epi32(c, d);
  out[0] = _mm256_unpacklo_epi64(ab, cd);
  out[1] = _mm256_unpackhi_epi64(ab, cd);
  ab = _mm256_unpackhi_epi32(a, b), cd = _mm256_unpackhi_epi32(c, d);
  out[2] = _mm256_unpacklo_epi64(ab, cd);
  out[3] = _mm256_unpackhi_epi64(ab, cd);
}

INLINE int word(const uint8_t *at) {
  int x;
  memcpy(&x, at, sizeof x);
  return x;
}

INLINE Block unpack(int format, const uint8_t *at, size_t stride) {
  Block block;
  /* Scale, and minimum where there is one; else two bytes of quants, which stay unused.
   * Not by a gather, which is slow where a CPU's microcode guards it. */
  __m256i halves = _mm256_set_epi32(
      word(at + 7 * stride), word(at + 6 * stride), word(at + 5 * stride), word(at + 4 * stride),
      word(at + 3 * stride), word(at + 2 * stride), word(at + stride), word(at));
  __m128i apart = _mm_set_epi8(15, 14, 11, 10, 7, 6, 3, 2, 13, 12, 9, 8, 5, 4, 1, 0);
  halves = _mm256_shuffle_epi8(halves, _mm256_broadcastsi128_si256(apart));
  halves = _mm256_permute4x64_epi64(halves, 0xd8);
  block.scale = _mm256_cvtph_ps(_mm256_castsi256_si128(halves));
  block.minimum = _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1));
  if (format == Q8_0) {
    turn(at + 2, stride, block.quants);
    turn(at + 18, stride, block.quants + 4);
  } else {
    turn(at + (format == Q4_1 ? 4 : 2), stride, block.quants);
    __m256i low = _mm256_set1_epi8(15);
    for (int i = 0; i < 4; i++) {
      block.quants[4 + i] = _mm256_and_si256(_mm256_srli_epi16(block.quants[i], 4), low);
      block.quants[i] = _mm256_and_si256(block.quants[i], low);
    }
  }
  return block;
}

/* The exact sums [8 rows] of a block's products with 32 activations. */
INLINE __m256i dot(int format, const Block *block, const int8_t *x) {
  __m256i ones = _mm256_set1_epi16(1), sum = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    __m256i four = _mm256_set1_epi32(word((const uint8_t *)x + 4 * i)), quants = block->quants[i];
    if (format == Q8_0) {
      __m256i two = _mm256_maddubs_epi16(_mm256_abs_epi8(quants), _mm256_sign_epi8(four, quants));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(two, ones));
    } else {
      sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(quants, four));
    }
  }
  return format == Q8_0 ? sum : _mm256_madd_epi16(sum, ones);
}

/* Add one block's part to the sums of `count` rows of activations. */
INLINE void add_block(int format, const Block *block, const Activations *a, size_t number,
                      int count, sums sum[TILE]) {
#pragma GCC unroll 4
  for (int t = 0; t < count; t++) {
    size_t at = (size_t)t * a->blocks + number;
    __m256i exact = dot(format, block, a->quants + at * BLOCK);
    if (format == Q4_0) exact = _mm256_sub_epi32(exact, _mm256_set1_epi32(8 * a->totals[at]));
    __m256 scale = _mm256_mul_ps(block->scale, _mm256_set1_ps(a->scales[at]));
    sum[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), scale, sum[t]);
    if (format == Q4_1)
      sum[t] = _mm256_fmadd_ps(block->minimum, _mm256_set1_ps(a->sums[at]), sum[t]);
  }
}

INLINE sums no_sums(void) { return _mm256_setzero_ps(); }

/* The first `rows` of the sums to `out`, or added to what is there. */
INLINE void put(sums sum, float *out, int64_t rows, bool adds) {
  float all[HEIGHT];
  _mm256_storeu_ps(all, sum);
  for (int64_t r = 0; r < rows && r < HEIGHT; r++) out[r] = adds ? out[r] + all[r] : all[r];
}
