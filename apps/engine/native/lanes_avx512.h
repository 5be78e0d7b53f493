/* Sixteen floats in one AVX-512 register. */
#include <immintrin.h>
#include <stdint.h>

typedef __m512 lanes;

/* Vectors of one accumulator array that fit into the registers. */
#define REACH 4

#define INLINE static inline __attribute__((always_inline))

INLINE __mmask16 first(int64_t count) { return (__mmask16)((1u << count) - 1); }

INLINE lanes splat(float x) { return _mm512_set1_ps(x); }
INLINE lanes load(const void *from) { return _mm512_loadu_ps(from); }
INLINE lanes load_some(const void *from, int64_t count) {
  return _mm512_maskz_loadu_ps(first(count), from);
}
INLINE lanes load_half(const void *from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}
INLINE lanes load_half_some(const void *from, int64_t count) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(count), from));
}
INLINE void store(float *to, lanes x) { _mm512_storeu_ps(to, x); }
INLINE void store_some(float *to, lanes x, int64_t count) {
  _mm512_mask_storeu_ps(to, first(count), x);
}
INLINE void store_half(uint16_t *to, lanes x) {
  _mm256_storeu_si256((__m256i *)to, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
INLINE void store_int8(int8_t *to, lanes whole) {
  _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(whole)));
}

INLINE lanes add(lanes a, lanes b) { return _mm512_add_ps(a, b); }
INLINE lanes sub(lanes a, lanes b) { return _mm512_sub_ps(a, b); }
INLINE lanes mul(lanes a, lanes b) { return _mm512_mul_ps(a, b); }
INLINE lanes quotient(lanes a, lanes b) { return _mm512_div_ps(a, b); }
INLINE lanes muladd(lanes a, lanes b, lanes c) { return _mm512_fmadd_ps(a, b, c); }
/* Of a NaN and a number these give b. */
INLINE lanes larger(lanes a, lanes b) { return _mm512_max_ps(a, b); }
INLINE lanes smaller(lanes a, lanes b) { return _mm512_min_ps(a, b); }
INLINE lanes whole(lanes x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT); }
INLINE lanes magnitude(lanes x) { return _mm512_abs_ps(x); }

/* x where `by` is at least `least` or NaN, else 0. */
INLINE lanes zero_below(lanes x, lanes by, float least) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(by, splat(least), _CMP_NLT_UQ), x);
}
/* x * 2^n for a whole n of -126 ... 127. */
INLINE lanes scaled(lanes x, lanes n) {
  __m512i power = _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23);
  return mul(x, _mm512_castsi512_ps(power));
}

