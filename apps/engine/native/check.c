/* Proves of a plan and of a step that no operation leaves its memory.
 *
 * The kernels check nothing, so every number that Python hands over passes here.
 */
#include "core.h"

#include <stdio.h>

static const char *const KIND_NAMES[KINDS] = {"embed",  "norm",  "product", "rotate",
                                              "attend", "merge", "gate"};
enum { MOST_ROWS = 1 << 12, MOST_COLUMNS = 1 << 24, MOST_HEADS = 1 << 12 };

#define REFUSE(...) return snprintf(line, LINE, __VA_ARGS__), line
#define L(x) ((long long)(x))

static bool from_to(int64_t x, int64_t least, int64_t most) { return least <= x && x <= most; }

static bool fits(int64_t offset, size_t bytes, size_t size) {
  return offset >= 0 && (size_t)offset <= size && bytes <= size - (size_t)offset;
}

static bool known_format(int64_t format) {
  return format == F32 || format == F16 || format == Q4_0 || format == Q4_1 || format == Q8_0;
}

static const char *wrong_sizes(const Sizes *s, char line[LINE]) {
  bool good = from_to(s->rows, 1, MOST_ROWS) && from_to(s->pages, 1, 1 << 24) &&
              from_to(s->positions, 1, 1 << 28) && from_to(s->layers, 1, 1 << 12) &&
              from_to(s->heads, 1, MOST_HEADS) && from_to(s->kv_heads, 1, s->heads) &&
              s->heads % s->kv_heads == 0 && s->heads / s->kv_heads <= MAX_SHARING &&
              from_to(s->head, 1, MAX_HEAD) && from_to(s->rotated, 0, s->head) &&
              s->rotated % 2 == 0 && from_to(s->vocabulary, 1, INT32_MAX) &&
              from_to(s->mixes, 0, 1 << 24);
  if (!good)
    REFUSE("sizes: rows %lld, pages %lld, positions %lld, layers %lld, heads %lld, KV heads %lld,"
           " head %lld, rotated %lld, vocabulary %lld, mixes %lld: one is impossible",
           L(s->rows), L(s->pages), L(s->positions), L(s->layers), L(s->heads), L(s->kv_heads),
           L(s->head), L(s->rotated), L(s->vocabulary), L(s->mixes));
  return NULL;
}

/* The matrices of an operation: their formats, sizes and place in the weights. */
static const char *wrong_parts(const Plan *plan, const Op *op, int least, char line[LINE]) {
  for (int i = 0; i < PARTS; i++) {
    const Matrix *m = &op->part[i];
    if (i >= least && m->rows == 0) continue;
    if (!known_format(m->format) || !from_to(m->rows, 1, INT32_MAX) ||
        !from_to(m->columns, 1, MOST_COLUMNS) ||
        (m->format != F32 && m->format != F16 && m->columns % BLOCK))
      REFUSE("matrix %d has format %lld and shape [%lld, %lld], which none has", i, L(m->format),
             L(m->rows), L(m->columns));
    size_t bytes = row_bytes(m->format, (size_t)m->columns) * (size_t)m->rows;
    if (!fits(m->offset, bytes, plan->memory.weight_bytes))
      REFUSE("matrix %d needs %lld bytes at %lld, the weights have %lld", i, L(bytes),
             L(m->offset), L(plan->memory.weight_bytes));
    if (m->columns != op->part[0].columns)
      REFUSE("matrix %d has %lld columns, matrix 0 has %lld", i, L(m->columns),
             L(op->part[0].columns));
  }
  return NULL;
}

static const char *wrong_place(const Plan *plan, const char *name, int64_t offset, size_t bytes,
                               char line[LINE]) {
  if (offset % 64 || !fits(offset, bytes, plan->memory.work_bytes))
    REFUSE("%s needs %lld bytes at %lld (a multiple of 64), the work space has %lld", name,
           L(bytes), L(offset), L(plan->memory.work_bytes));
  return NULL;
}

static const char *wrong_rows(const Plan *plan, const char *name, int64_t offset, int64_t width,
                              int64_t least, char line[LINE]) {
  if (!from_to(width, least, 1 << 26))
    REFUSE("%s has rows of %lld values, %lld are needed", name, L(width), L(least));
  size_t bytes = (size_t)plan->sizes.rows * (size_t)width * sizeof(float);
  return wrong_place(plan, name, offset, bytes, line);
}

static const char *wrong_activations(const Plan *plan, const char *name, int64_t offset,
                                     int64_t columns, char line[LINE]) {
  size_t bytes = activations(NULL, (size_t)plan->sizes.rows, (size_t)columns, NULL);
  return wrong_place(plan, name, offset, bytes, line);
}

static const char *wrong_product(const Plan *plan, const Op *op, char line[LINE]) {
  const char *bad = wrong_parts(plan, op, 1, line);
  if (!bad) bad = wrong_activations(plan, "source", op->source, op->part[0].columns, line);
  if (bad) return bad;
  int64_t end = 0;
  for (int i = 0; i < PARTS; i++) {
    const Matrix *m = &op->part[i];
    if (!from_to(m->column, 0, 1 << 26)) REFUSE("matrix %d goes to column %lld", i, L(m->column));
    if (m->column + m->rows > end) end = m->column + m->rows;
  }
  if (!op->to_logits)
    return wrong_rows(plan, "target", op->target, op->target_width, end, line);
  if (!op->selected) REFUSE("logits have a row for each wanted one, the product for every row");
  if (op->target_width != plan->sizes.vocabulary || end > plan->sizes.vocabulary)
    REFUSE("logits have %lld values, the product gives %lld in rows of %lld",
           L(plan->sizes.vocabulary), L(end), L(op->target_width));
  return NULL;
}

static const char *wrong_attention(const Plan *plan, const Op *op, char line[LINE]) {
  const Sizes *s = &plan->sizes;
  if (!from_to(op->layer, 0, s->layers - 1))
    REFUSE("layer %lld, the pool has %lld", L(op->layer), L(s->layers));
  int64_t width = (s->heads + 2 * s->kv_heads) * s->head;
  const char *bad = NULL;
  if (op->kind != MERGE)
    bad = wrong_rows(plan, "source", op->source, op->source_width, width, line);
  if (!bad && op->kind != ROTATE)
    bad = wrong_activations(plan, "target", op->target, s->heads * s->head, line);
  return bad;
}

static const char *wrong_op(const Plan *plan, const Op *op, char line[LINE]) {
  const char *bad = NULL;
  int64_t columns = op->part[0].columns;
  switch (op->kind) {
  case EMBED:
    bad = wrong_parts(plan, op, 1, line);
    if (!bad && op->part[0].rows < plan->sizes.vocabulary)
      REFUSE("%lld rows for %lld tokens", L(op->part[0].rows), L(plan->sizes.vocabulary));
    return bad ? bad : wrong_rows(plan, "target", op->target, op->target_width, columns, line);
  case NORM:
    bad = wrong_parts(plan, op, 1, line);
    if (!bad && op->part[0].format != F32) REFUSE("the norm's weights are not F32");
    if (!bad) bad = wrong_rows(plan, "source", op->source, op->source_width, columns, line);
    return bad ? bad : wrong_activations(plan, "target", op->target, columns, line);
  case PRODUCT: return wrong_product(plan, op, line);
  case ROTATE:
  case ATTEND:
  case MERGE: return wrong_attention(plan, op, line);
  default:
    bad = wrong_rows(plan, "source", op->source, op->source_width, 2, line);
    if (!bad && op->source_width % 2) REFUSE("source has %lld columns", L(op->source_width));
    return bad ? bad
               : wrong_activations(plan, "target", op->target, op->source_width / 2, line);
  }
}

const char *wrong_plan(const Plan *plan, size_t turn_bytes, size_t pool_bytes, char line[LINE]) {
  const Sizes *s = &plan->sizes;
  const char *bad = wrong_sizes(s, line);
  if (bad) return bad;
  if (turn_bytes < (size_t)(s->positions * s->rotated) * sizeof(float))
    REFUSE("the table of turns has %lld bytes, too few for %lld positions of %lld values",
           L(turn_bytes), L(s->positions), L(s->rotated));
  size_t page = (size_t)(s->layers * s->kv_heads * s->head) * 2 * PAGE * sizeof(uint16_t);
  if (pool_bytes / page < (size_t)s->pages)
    REFUSE("the pool has %lld bytes, too few for %lld pages of %lld", L(pool_bytes), L(s->pages),
           L(page));
  bad = wrong_place(plan, "the mixes", s->mixes_at,
                    (size_t)(s->mixes * s->heads) * mix_bytes(s->head), line);
  for (int64_t i = 0; i < plan->count && !bad; i++) {
    char inner[LINE];
    const Op *op = &plan->ops[i];
    if (!from_to(op->kind, 0, KINDS - 1)) REFUSE("operation %lld has no kind", L(i));
    if (wrong_op(plan, op, inner))
      REFUSE("operation %lld (%s): %.150s", L(i), KIND_NAMES[op->kind], inner);
  }
  return bad;
}

const char *wrong_step(const Plan *plan, const Step *step, int64_t pages, char line[LINE]) {
  const Sizes *s = &plan->sizes;
  for (int64_t i = 0; i < step->rows; i++) {
    if (!from_to(step->token[i], 0, s->vocabulary - 1))
      REFUSE("row %lld: token %d, the vocabulary has %lld", L(i), step->token[i],
             L(s->vocabulary));
    if (!from_to(step->position[i], 0, s->positions - 1))
      REFUSE("row %lld: position %d, possible are 0 to %lld", L(i), step->position[i],
             L(s->positions) - 1);
    if (!from_to(step->table[i], 0, pages - 1 - step->position[i] / PAGE))
      REFUSE("row %lld: position %d needs page %d from entry %d, the table has %lld", L(i),
             step->position[i], step->position[i] / PAGE, step->table[i], L(pages));
  }
  for (int64_t i = 0; i < step->wanted; i++)
    if (!from_to(step->want[i], 0, step->rows - 1))
      REFUSE("logits of row %d are wanted, the step has %lld", step->want[i], L(step->rows));
  for (int64_t i = 0; i < pages; i++)
    if (!from_to(step->page[i], 0, s->pages - 1))
      REFUSE("page %d, the pool has %lld", step->page[i], L(s->pages));
  return NULL;
}
