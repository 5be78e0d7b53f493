/* What the parts of the native core share: the operations of a plan, a step, and one table of
 * kernels an instruction set.
 *
 * A plan is made once; a step brings rows (one token at one position each) and runs every
 * operation over them. Operations name memory only by an offset into one of the buffers of
 * `Memory`, so that check.c can prove every access before anything runs.
 */
#ifndef SWITCHYARD_CORE_H
#define SWITCHYARD_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PAGE = 16,     /* positions of a KV page */
  BLOCK = 32,    /* weights that share a scale */
  GROUP = 16,    /* rows of a matrix that a kernel computes at once */
  LANES = 16,    /* floats of the widest vector; rows of work space are padded to it */
  SEGMENT = 128, /* positions whose softmax is computed at once, the same for any batch */
  PARTS = 3,     /* matrices of one product operation */
  MAX_HEAD = 256,
  MAX_SHARING = 64, /* query heads of one KV head */
};

/* Type codes of a GGUF file. */
enum { F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q8_0 = 8 };

enum { EMBED, NORM, PRODUCT, ROTATE, ATTEND, MERGE, GATE, KINDS };

/* A matrix [rows, columns] in the weights; its product goes to `column` of the target's rows. */
typedef struct {
  int64_t format, rows, columns, offset, column;
} Matrix;

/* Offsets are bytes, widths are floats; the fields that a kind does not name are 0.
 *
 * EMBED   target = rows of part[0] by token
 * NORM    activations at target = rms-norm of source, times the vector part[0]
 * PRODUCT target (or the logits) = or += every part times the activations at source
 * ROTATE  turn queries and keys at source, put keys and values into the pages of `layer`
 * ATTEND  activations at target = attention of the queries at source over their sequences;
 *         in a step of few segments, only the segments' mixes, each by a thread of its own
 * MERGE   the same activations from those mixes
 * GATE    activations at target = silu(first half of source's rows) * second half
 */
typedef struct {
  int64_t kind;
  int64_t selected; /* only over the rows whose logits are wanted */
  int64_t source, source_width;
  int64_t target, target_width; /* of activations: their columns */
  int64_t layer;
  int64_t add;       /* PRODUCT: add to the target */
  int64_t to_logits; /* PRODUCT: the target is the step's result */
  double constant;   /* NORM: epsilon; ATTEND: factor of the scores */
  Matrix part[PARTS];
} Op;

/* Sizes that all operations share. */
typedef struct {
  int64_t rows;      /* most rows of a step */
  int64_t pages;     /* pages of the pool, each with every layer */
  int64_t positions; /* rows of the table of turns */
  int64_t layers, heads, kv_heads, head, rotated;
  int64_t vocabulary;
  int64_t mixes, mixes_at; /* segments (of every head) that the work space has room for, and where */
} Sizes;

typedef struct {
  const uint8_t *weights;
  size_t weight_bytes;
  const float *turns; /* [positions][rotated]: cosine, sine of each pair */
  uint16_t *pool;     /* [layers][pages][kv_heads]: keys [head][PAGE], values [PAGE][head]; f16 */
  uint8_t *work;
  size_t work_bytes;
} Memory;

/* Rows [0, rows) of one step; row i belongs to the sequence whose pages begin at table[i]. */
typedef struct {
  int64_t rows, wanted;
  const int32_t *token, *position, *table, *want, *page;
  const int64_t *segments; /* [rows + 1]: how many segments the rows before have */
  bool split;              /* whether ATTEND leaves the segments to MERGE */
  float *logits;           /* [wanted][vocabulary] */
} Step;

/* Rows as a product reads them: floats, and per BLOCK int8 with a scale. */
typedef struct {
  float *values;   /* [rows][width], width padded to LANES */
  int8_t *quants;  /* [rows][columns] */
  float *scales;   /* [rows][blocks] */
  float *sums;     /* [rows][blocks]: scale * total */
  int32_t *totals; /* [rows][blocks]: sum of the int8 */
  size_t width, columns, blocks;
} Activations;

/* The softmax over some positions for one query. */
typedef struct {
  float most, sum; /* largest score, sum of e^(score - most) */
  float mixed[]; /* [head padded to LANES] */
} Mix;

typedef struct {
  const uint16_t *const *pages; /* keys, then values, of this KV head */
  int64_t count;                /* positions, 1 ... SEGMENT */
} Segment;

typedef struct {
  const char *name;
  void (*embed)(const Matrix *, const uint8_t *weights, int64_t row, float *out);
  void (*norm)(const float *x, const uint8_t *weight, double epsilon, const Activations *,
               int64_t columns, int64_t row);
  void (*gate)(const float *x, const Activations *, int64_t columns, int64_t row);
  void (*quantise)(const Activations *, int64_t row);
  void (*rotate)(float *heads, int64_t count, const Sizes *, const float *turns);
  void (*keep)(const float *keys, const float *values, int64_t head, int64_t slot,
               uint16_t *page);
  void (*attend)(const float *queries, int64_t sharing, int64_t head, float factor,
                 const Segment *, Mix *out, float *scores);
  void (*merge)(Mix *into, const Mix *next, int64_t head);
  void (*mixed)(const Mix *, int64_t head, float *out);
  /* Rows [first, first + GROUP) of a matrix times activation rows [0, count). Meanwhile as many
   * bytes are fetched from `next`, which is where a later call will read. */
  void (*product)(const Matrix *, const uint8_t *weights, int64_t first, const Activations *,
                  int64_t count, float *out, int64_t out_width, bool add, uint8_t *scratch,
                  const uint8_t *next);
} Kernels;

extern const Kernels PORTABLE, AVX2, AVX512VNNI;

/* The kernels called `name`, or NULL if there are none or this CPU cannot run them. */
const Kernels *kernels(const char *name);
extern const char *const KERNEL_NAMES[3];

static inline size_t padded(size_t count, size_t to) { return (count + to - 1) / to * to; }

static inline size_t row_bytes(int64_t format, size_t columns) {
  switch (format) {
  case F32: return columns * 4;
  case F16: return columns * 2;
  case Q4_0: return columns / BLOCK * 18;
  case Q4_1: return columns / BLOCK * 20;
  case Q8_0: return columns / BLOCK * 34;
  default: return 0;
  }
}

/* What a plan runs with; made once. */
typedef struct {
  Sizes sizes;
  const Op *ops;
  int64_t count;
  Memory memory;
  const Kernels *kernels;
  uint8_t *scratch; /* of all threads */
  size_t scratch_bytes; /* of one */
} Plan;

/* One line that says what is wrong with a plan or a step, or NULL; `line` has room for it. */
enum { LINE = 200 };
const char *wrong_plan(const Plan *, size_t turn_bytes, size_t pool_bytes, char line[LINE]);
const char *wrong_step(const Plan *, const Step *, int64_t pages, char line[LINE]);

/* Pieces of work of one operation in a step, and the work itself. */
int64_t units(const Plan *, const Op *, const Step *);
/* The units [first, last) of a range that ends at `end`, for one of `threads`. */
void perform(const Plan *, const Op *, const Step *, int64_t first, int64_t last, int64_t end,
             int thread, int threads);
/* Where the units of a thread begin, if nobody is late. */
static inline int64_t first_unit(int64_t units, int thread, int threads) {
  return (units * thread + threads - 1) / threads;
}
size_t scratch_bytes(const Plan *);

/* Bytes of the activations of `rows` rows; `at` is cut up into `out` unless it is NULL. */
size_t activations(uint8_t *at, size_t rows, size_t columns, Activations *out);

static inline size_t mix_bytes(int64_t head) {
  return padded(sizeof(Mix) + padded((size_t)head, LANES) * sizeof(float), 64);
}

#endif
