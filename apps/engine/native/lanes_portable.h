/* Sixteen floats in an array, for any CPU. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  float at[16];
} lanes;

/* Vectors of one accumulator array that fit into the registers. */
#define REACH 1

#define INLINE static inline
#define EACH for (int i = 0; i < 16; i++)

INLINE float from_half(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, rest = half & 1023;
  if (exponent == 0) {
    float small = (float)rest * 0x1p-24f;
    return sign ? -small : small;
  }
  uint32_t bits = sign | (exponent == 31 ? 255u : exponent + 112) << 23 | rest << 13;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* To the nearest, ties to even; too large becomes infinite. */
INLINE uint16_t to_half(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return sign | 0x7e00;
  if (bits >= 0x477ff000) return sign | 0x7c00;
  if (bits < 0x38800000) return sign | (uint16_t)lrintf(fabsf(x) * 0x1p24f);
  return sign | (uint16_t)((bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13);
}

INLINE lanes splat(float x) {
  lanes r;
  EACH r.at[i] = x;
  return r;
}
INLINE lanes load(const void *from) {
  lanes r;
  memcpy(r.at, from, sizeof r.at);
  return r;
}
INLINE lanes load_some(const void *from, int64_t count) {
  lanes r = {{0}};
  memcpy(r.at, from, (size_t)count * sizeof(float));
  return r;
}
INLINE lanes load_half_some(const void *from, int64_t count) {
  uint16_t halves[16] = {0};
  lanes r;
  memcpy(halves, from, (size_t)count * sizeof(uint16_t));
  EACH r.at[i] = from_half(halves[i]);
  return r;
}
INLINE lanes load_half(const void *from) { return load_half_some(from, 16); }
INLINE void store(float *to, lanes x) { memcpy(to, x.at, sizeof x.at); }
INLINE void store_some(float *to, lanes x, int64_t count) {
  memcpy(to, x.at, (size_t)count * sizeof(float));
}
INLINE void store_half(uint16_t *to, lanes x) { EACH to[i] = to_half(x.at[i]); }
INLINE void store_int8(int8_t *to, lanes x) { EACH to[i] = (int8_t)x.at[i]; }

INLINE lanes add(lanes a, lanes b) {
  EACH a.at[i] += b.at[i];
  return a;
}
INLINE lanes sub(lanes a, lanes b) {
  EACH a.at[i] -= b.at[i];
  return a;
}
INLINE lanes mul(lanes a, lanes b) {
  EACH a.at[i] *= b.at[i];
  return a;
}
INLINE lanes quotient(lanes a, lanes b) {
  EACH a.at[i] /= b.at[i];
  return a;
}
/* Rounds twice: a baseline CPU has no instruction that does not. */
INLINE lanes muladd(lanes a, lanes b, lanes c) { return add(mul(a, b), c); }
/* Of a NaN and a number these give b. */
INLINE lanes larger(lanes a, lanes b) {
  EACH a.at[i] = a.at[i] > b.at[i] ? a.at[i] : b.at[i];
  return a;
}
INLINE lanes smaller(lanes a, lanes b) {
  EACH a.at[i] = a.at[i] < b.at[i] ? a.at[i] : b.at[i];
  return a;
}
/* Adding and taking away 1.5 * 2^23 rounds to the nearest whole number, up to 2^22. */
INLINE lanes whole(lanes x) {
  EACH x.at[i] = (x.at[i] + 12582912.0f) - 12582912.0f;
  return x;
}
INLINE lanes magnitude(lanes x) {
  EACH x.at[i] = fabsf(x.at[i]);
  return x;
}

/* x where `by` is at least `least` or NaN, else 0. */
INLINE lanes zero_below(lanes x, lanes by, float least) {
  EACH x.at[i] = by.at[i] < least ? 0.0f : x.at[i];
  return x;
}
/* x * 2^n for a whole n of -126 ... 127. */
INLINE lanes scaled(lanes x, lanes n) {
  EACH {
    uint32_t bits = n.at[i] == n.at[i] ? (uint32_t)((int32_t)n.at[i] + 127) << 23 : 0;
    float power;
    memcpy(&power, &bits, sizeof power);
    x.at[i] *= power;
  }
  return x;
}
#undef EACH
