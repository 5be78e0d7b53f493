/* Sixteen floats in two AVX registers. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  __m256 low, high;
} lanes;

/* Vectors of one accumulator array that fit into the registers. */
#define REACH 1

#define INLINE static inline __attribute__((always_inline))

INLINE lanes splat(float x) { return (lanes){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
INLINE lanes load(const void *from) {
  return (lanes){_mm256_loadu_ps(from), _mm256_loadu_ps((const float *)from + 8)};
}
INLINE lanes load_some(const void *from, int64_t count) {
  float all[16] = {0};
  memcpy(all, from, (size_t)count * sizeof(float));
  return load(all);
}
INLINE lanes load_half(const void *from) {
  const __m128i *halves = from;
  return (lanes){_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
}
INLINE lanes load_half_some(const void *from, int64_t count) {
  uint16_t all[16] = {0};
  memcpy(all, from, (size_t)count * sizeof(uint16_t));
  return load_half(all);
}
INLINE void store(float *to, lanes x) {
  _mm256_storeu_ps(to, x.low);
  _mm256_storeu_ps(to + 8, x.high);
}
INLINE void store_some(float *to, lanes x, int64_t count) {
  float all[16];
  store(all, x);
  memcpy(to, all, (size_t)count * sizeof(float));
}
INLINE void store_half(uint16_t *to, lanes x) {
  _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(x.low, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128((__m128i *)(to + 8), _mm256_cvtps_ph(x.high, _MM_FROUND_TO_NEAREST_INT));
}
INLINE void store_int8(int8_t *to, lanes x) {
  __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(x.low), _mm256_cvtps_epi32(x.high));
  words = _mm256_permute4x64_epi64(words, 0xd8);
  __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128((__m128i *)to, bytes);
}

INLINE lanes add(lanes a, lanes b) { return (lanes){a.low + b.low, a.high + b.high}; }
INLINE lanes sub(lanes a, lanes b) { return (lanes){a.low - b.low, a.high - b.high}; }
INLINE lanes mul(lanes a, lanes b) { return (lanes){a.low * b.low, a.high * b.high}; }
INLINE lanes quotient(lanes a, lanes b) { return (lanes){a.low / b.low, a.high / b.high}; }
INLINE lanes muladd(lanes a, lanes b, lanes c) {
  return (lanes){_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
/* Of a NaN and a number these give b. */
INLINE lanes larger(lanes a, lanes b) {
  return (lanes){_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
INLINE lanes smaller(lanes a, lanes b) {
  return (lanes){_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
INLINE lanes whole(lanes x) {
  return (lanes){_mm256_round_ps(x.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                 _mm256_round_ps(x.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
INLINE lanes magnitude(lanes x) {
  __m256 sign = _mm256_set1_ps(-0.0f);
  return (lanes){_mm256_andnot_ps(sign, x.low), _mm256_andnot_ps(sign, x.high)};
}

/* x where `by` is at least `least` or NaN, else 0. */
INLINE lanes zero_below(lanes x, lanes by, float least) {
  __m256 bound = _mm256_set1_ps(least);
  return (lanes){_mm256_and_ps(x.low, _mm256_cmp_ps(by.low, bound, _CMP_NLT_UQ)),
                 _mm256_and_ps(x.high, _mm256_cmp_ps(by.high, bound, _CMP_NLT_UQ))};
}
INLINE __m256 power(__m256 n) {
  __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
/* x * 2^n for a whole n of -126 ... 127. */
INLINE lanes scaled(lanes x, lanes n) {
  return (lanes){x.low * power(n.low), x.high * power(n.high)};
}
