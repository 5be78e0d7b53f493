/* Products of quantised matrices, AVX-512 VNNI.
 *
 * Sixteen rows at a time, one lane a row. A block's sixteen rows are turned so that each register
 * holds four columns of every row; `vpdpbusd` multiplies them with four activations, the same for
 * all rows. A block's sum of int32 is exact; floats are added block by block in the columns'
 * order, whether one row of activations comes or hundreds.
 */

typedef struct {
  __m512i quants[8]; /* uint8 [16 rows][4 columns] */
  __m512 scale, minimum;
} Block;
typedef __m512 sums;

enum { HEIGHT = 16 /* rows of a Block */ };
#define TILE 8 /* rows of activations for one unpacking */

/* What the unpacked numbers are above the true ones. */
INLINE int zero_of(int format) { return format == Q4_0 ? 8 : format == Q8_0 ? 128 : 0; }

/* 16 bytes each of the rows 0, 4, 8 and 12 from `at`. */
INLINE __m512i every_fourth(const uint8_t *at, size_t stride) {
  __m512i rows = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)at));
  rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const __m128i *)(at + 4 * stride)), 1);
  rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const __m128i *)(at + 8 * stride)), 2);
  return _mm512_inserti32x4(rows, _mm_loadu_si128((const __m128i *)(at + 12 * stride)), 3);
}

/* 16 bytes of each of 16 rows as four registers of [16 rows][4 bytes]. */
INLINE void turn(const uint8_t *at, size_t stride, __m512i out[4]) {
  __m512i a = every_fourth(at, stride), b = every_fourth(at + stride, stride);
  __m512i c = every_fourth(at + 2 * stride, stride), d = every_fourth(at + 3 * stride, stride);
  __m512i ab = _mm512_unpacklo_epi32(a, b), cd = _mm512_unpacklo_epi32(c, d);
  out[0] = _mm512_unpacklo_epi64(ab, cd);
  out[1] = _mm512_unpackhi_epi64(ab, cd);
  ab = _mm512_unpackhi_epi32(a, b), cd = _mm512_unpackhi_epi32(c, d);
  out[2] = _mm512_unpacklo_epi64(ab, cd);
  out[3] = _mm512_unpackhi_epi64(ab, cd);
}

INLINE Block unpack(int format, const uint8_t *at, size_t stride) {
  Block block;
  __m512i rows = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  rows = _mm512_mullo_epi32(rows, _mm512_set1_epi32((int)stride));
  /* Scale, and minimum where there is one; else two bytes of quants, which stay unused. */
  __m512i halves = _mm512_i32gather_epi32(rows, at, 1);
  block.scale = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(halves));
  block.minimum = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(halves, 16)));
  const uint8_t *quants = at + (format == Q4_1 ? 4 : 2);
  turn(quants, stride, block.quants);
  if (format == Q8_0) {
    turn(quants + 16, stride, block.quants + 4);
    for (int i = 0; i < 8; i++)
      block.quants[i] = _mm512_xor_si512(block.quants[i], _mm512_set1_epi8(-128));
  } else {
    __m512i low = _mm512_set1_epi8(15);
    for (int i = 0; i < 4; i++) {
      block.quants[4 + i] = _mm512_and_si512(_mm512_srli_epi16(block.quants[i], 4), low);
      block.quants[i] = _mm512_and_si512(block.quants[i], low);
    }
  }
  return block;
}

/* Add one block's part to the sums of `count` rows of activations. */
INLINE void add_block(int format, const Block *block, const Activations *a, size_t number,
                      int count, sums sum[TILE]) {
#pragma GCC unroll 8
  for (int t = 0; t < count; t++) {
    size_t at = (size_t)t * a->blocks + number;
    const int32_t *x = (const int32_t *)(a->quants + at * BLOCK);
    __m512i even = _mm512_setzero_si512(), odd = even;
    if (zero_of(format)) even = _mm512_set1_epi32(-zero_of(format) * a->totals[at]);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i += 2) {
      even = _mm512_dpbusd_epi32(even, block->quants[i], _mm512_set1_epi32(x[i]));
      odd = _mm512_dpbusd_epi32(odd, block->quants[i + 1], _mm512_set1_epi32(x[i + 1]));
    }
    __m512 whole = _mm512_cvtepi32_ps(_mm512_add_epi32(even, odd));
    sum[t] = _mm512_fmadd_ps(whole, _mm512_mul_ps(block->scale, _mm512_set1_ps(a->scales[at])), sum[t]);
    if (format == Q4_1)
      sum[t] = _mm512_fmadd_ps(block->minimum, _mm512_set1_ps(a->sums[at]), sum[t]);
  }
}

INLINE sums no_sums(void) { return _mm512_setzero_ps(); }

/* The first `rows` of the sums to `out`, or added to what is there. */
INLINE void put(sums sum, float *out, int64_t rows, bool adds) {
  __mmask16 some = rows < HEIGHT ? (__mmask16)((1u << rows) - 1) : 0xffff;
  if (adds) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(some, out), sum);
  _mm512_mask_storeu_ps(out, some, sum);
}
