/* What follows from the sixteen lanes of one instruction set: sums, largest, exponential. */

/* The sum of all lanes, as a tree: the order is the same everywhere. */
INLINE float total(lanes x) {
  float at[LANES];
  store(at, x);
  for (int half = LANES / 2; half; half /= 2)
    for (int i = 0; i < half; i++) at[i] += at[i + half];
  return at[0];
}

INLINE float largest(lanes x) {
  float at[LANES];
  store(at, x);
  for (int half = LANES / 2; half; half /= 2)
    for (int i = 0; i < half; i++) at[i] = at[i] > at[i + half] ? at[i] : at[i + half];
  return at[0];
}

/* e^x within 2 ulp for x up to 88; 0 below -87, infinite or NaN as x is NaN.
 *
 * x = n log 2 + r with |r| <= log 2 / 2, and Taylor's polynomial for e^r. */
INLINE lanes exponential(lanes x) {
  lanes bounded = smaller(splat(88.0f), larger(splat(-87.0f), x));
  lanes n = whole(mul(bounded, splat(1.44269504f)));
  lanes r = muladd(n, splat(-0.693145752f), bounded);
  r = muladd(n, splat(-1.42860677e-6f), r);
  lanes y = splat(1.0f / 720);
  y = muladd(y, r, splat(1.0f / 120));
  y = muladd(y, r, splat(1.0f / 24));
  y = muladd(y, r, splat(1.0f / 6));
  y = muladd(y, r, splat(0.5f));
  y = muladd(y, r, splat(1.0f));
  y = muladd(y, r, splat(1.0f));
  return zero_below(scaled(y, n), x, -87.0f);
}
