/* Attention of queries over one SEGMENT of positions, and the merge of segments.
 *
 * Online softmax (Milakov and Gimelshein, 2018; Dao et al., FlashAttention, 2022): a segment
 * gives its largest score, the sum of its exponentials and the values mixed by them; segments
 * merge in the order of their positions, so that no result depends on who computed which.
 */

/* Loops over the queries that share a KV head, and over the REACH vectors of each. */
#define EACH_QUERY _Pragma("GCC unroll 4") for (int q = 0; q < sharing; q++)
#define EACH_PAGE _Pragma("GCC unroll 4") for (int p = 0; p < pages; p++)
#define EACH_VECTOR _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++)

/* Scores of `sharing` queries over `pages` pages; the keys of a page are [head][PAGE]. */
INLINE void scores_of(const float *queries, int sharing, int64_t head, float factor,
                      const uint16_t *const *page, int pages, float *scores) {
  lanes sum[4][REACH];
  EACH_QUERY
    EACH_PAGE sum[q][p] = splat(0);
  for (int64_t at = 0; at < head; at++)
    EACH_PAGE {
      lanes keys = load_half(page[p] + at * PAGE);
      EACH_QUERY
        sum[q][p] = muladd(splat(queries[q * head + at]), keys, sum[q][p]);
    }
  EACH_QUERY
    EACH_PAGE
      store(scores + q * SEGMENT + p * PAGE, mul(sum[q][p], splat(factor)));
}

/* Scores to weights, in place; those from `count` on are 0. */
INLINE void soften(float *scores, int64_t count, Mix *out) {
  for (int64_t at = count; at % LANES; at++) scores[at] = -INFINITY;
  lanes most = load(scores), sum = splat(0);
  for (int64_t at = LANES; at < count; at += LANES) most = larger(most, load(scores + at));
  out->most = largest(most);
  for (int64_t at = 0; at < count; at += LANES) {
    lanes weight = exponential(sub(load(scores + at), splat(out->most)));
    store(scores + at, weight);
    sum = add(sum, weight);
  }
  out->sum = total(sum);
}

/* `vectors` times LANES columns of the values of `count` positions, mixed by the weights. */
INLINE void mix(const float *weights, int sharing, int64_t head, const Segment *segment,
                int64_t column, int vectors, int64_t last, Mix *out) {
  lanes sum[4][REACH];
  EACH_QUERY
    EACH_VECTOR sum[q][v] = splat(0);
  for (int64_t at = 0; at < segment->count; at++) {
    const uint16_t *values = segment->pages[at / PAGE] + head * PAGE + at % PAGE * head + column;
    EACH_VECTOR {
      lanes value = v == vectors - 1 && last < LANES ? load_half_some(values + v * LANES, last)
                                                     : load_half(values + v * LANES);
      EACH_QUERY
        sum[q][v] = muladd(splat(weights[q * SEGMENT + at]), value, sum[q][v]);
    }
  }
  EACH_QUERY {
    Mix *one = (Mix *)((char *)out + (size_t)q * mix_bytes(head));
    EACH_VECTOR store(one->mixed + column + v * LANES, sum[q][v]);
  }
}

INLINE void attend_some(const float *queries, int sharing, int64_t head, float factor,
                        const Segment *segment, Mix *out, float *scores) {
  int64_t pages = (segment->count + PAGE - 1) / PAGE, at = 0;
  for (; at + REACH <= pages; at += REACH)
    scores_of(queries, sharing, head, factor, segment->pages + at, REACH, scores + at * PAGE);
  for (; at < pages; at++)
    scores_of(queries, sharing, head, factor, segment->pages + at, 1, scores + at * PAGE);
  EACH_QUERY
    soften(scores + q * SEGMENT, segment->count,
           (Mix *)((char *)out + (size_t)q * mix_bytes(head)));
  int64_t column = 0;
  for (; column + REACH * LANES <= head; column += REACH * LANES)
    mix(scores, sharing, head, segment, column, REACH, LANES, out);
  for (; column < head; column += LANES) {
    int64_t left = head - column;
    mix(scores, sharing, head, segment, column, 1, left < LANES ? left : LANES, out);
  }
}

/* Queries [sharing][head] over one segment; `scores` has room for 4 * SEGMENT. */
static void attend(const float *queries, int64_t sharing, int64_t head, float factor,
                   const Segment *segment, Mix *out, float *scores) {
  for (int64_t q = 0; q < sharing;) {
    const float *some = queries + q * head;
    Mix *mixes = (Mix *)((char *)out + (size_t)q * mix_bytes(head));
    switch (sharing - q) {
    case 1: attend_some(some, 1, head, factor, segment, mixes, scores), q += 1; break;
    case 2: attend_some(some, 2, head, factor, segment, mixes, scores), q += 2; break;
    case 3: attend_some(some, 3, head, factor, segment, mixes, scores), q += 3; break;
    default: attend_some(some, 4, head, factor, segment, mixes, scores), q += 4; break;
    }
  }
}

/* Add the positions of `next` to those of `into`, which come before them. */
static void merge(Mix *into, const Mix *next, int64_t head) {
  float most = into->most > next->most ? into->most : next->most;
  lanes old = exponential(splat(into->most - most)), new = exponential(splat(next->most - most));
  float both[2][LANES];
  store(both[0], old);
  store(both[1], new);
  into->most = most;
  into->sum = into->sum * both[0][0] + next->sum * both[1][0];
  for (int64_t at = 0; at < head; at += LANES)
    store(into->mixed + at, muladd(load(next->mixed + at), new, mul(load(into->mixed + at), old)));
}

/* The mixed values themselves, [head]. */
static void mixed(const Mix *from, int64_t head, float *out) {
  lanes sum = splat(from->sum);
  for (int64_t at = 0; at < head; at += LANES)
    store_some(out + at, quotient(load(from->mixed + at), sum),
               head - at < LANES ? head - at : LANES);
}
