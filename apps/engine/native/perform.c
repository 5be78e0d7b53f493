/* The operations of a plan, cut into units that any thread may take in any order. */
#include "core.h"

/* Bytes of weights between what a thread reads and what it fetches: what memory is slower by. */
enum { FETCH = 16 << 10 };

size_t activations(uint8_t *at, size_t rows, size_t columns, Activations *out) {
  size_t width = padded(columns, LANES), blocks = columns % BLOCK ? 0 : columns / BLOCK;
  size_t values = padded(rows * width * sizeof(float), 64);
  size_t quants = padded(rows * blocks * BLOCK, 64);
  size_t scales = padded(rows * blocks * sizeof(float), 64);
  if (out)
    *out = (Activations){
        .values = (float *)at,
        .quants = (int8_t *)(at + values),
        .scales = (float *)(at + values + quants),
        .sums = (float *)(at + values + quants + scales),
        .totals = (int32_t *)(at + values + quants + 2 * scales),
        .width = width,
        .columns = columns,
        .blocks = blocks,
    };
  return values + quants + 3 * scales;
}

static Activations activations_at(const Plan *plan, int64_t offset, int64_t columns) {
  Activations a;
  activations(plan->memory.work + offset, (size_t)plan->sizes.rows, (size_t)columns, &a);
  return a;
}

static float *row_at(const Plan *plan, int64_t offset, int64_t width, int64_t row) {
  return (float *)(plan->memory.work + offset) + row * width;
}

static int64_t rows_of(const Op *op, const Step *step) {
  return op->selected ? step->wanted : step->rows;
}

static int64_t groups(const Matrix *m) { return (m->rows + GROUP - 1) / GROUP; }

int64_t units(const Plan *plan, const Op *op, const Step *step) {
  switch (op->kind) {
  case PRODUCT:
    if (!rows_of(op, step)) return 0;
    return groups(&op->part[0]) + groups(&op->part[1]) + groups(&op->part[2]);
  case ATTEND:
    return step->split ? step->segments[step->rows] * plan->sizes.kv_heads : step->rows;
  case MERGE: return step->split ? step->rows : 0;
  default: return rows_of(op, step);
  }
}

/* Where the weights of a unit lie, or of one that is past the end of its operation: then those
 * that this thread reads first in the next product. It may name anything, it is only fetched. */
static const uint8_t *weights_of(const Plan *plan, const Op *op, const Step *step, int64_t unit,
                                 int64_t end, int thread, int threads) {
  if (unit >= end) {
    do
      if (++op == plan->ops + plan->count) return plan->memory.weights;
    while (op->kind != PRODUCT);
    unit = first_unit(units(plan, op, step), thread, threads) + unit - end;
  }
  const Matrix *part = op->part;
  while (unit >= groups(part) && part < op->part + PARTS - 1) unit -= groups(part++);
  return plan->memory.weights + part->offset +
         (size_t)(unit * GROUP) * row_bytes(part->format, (size_t)part->columns);
}

static void product(const Plan *plan, const Op *op, const Step *step, int64_t unit, int64_t end,
                    int thread, int threads, uint8_t *scratch) {
  const Matrix *part = op->part;
  int64_t group = unit;
  while (group >= groups(part)) group -= groups(part++);
  Activations a = activations_at(plan, op->source, part->columns);
  float *out = op->to_logits ? step->logits : row_at(plan, op->target, 0, 0);
  size_t bytes = GROUP * row_bytes(part->format, (size_t)part->columns);
  int64_t ahead = 1 + FETCH / (int64_t)bytes;
  const uint8_t *next = weights_of(plan, op, step, unit + ahead, end, thread, threads);
  plan->kernels->product(part, plan->memory.weights, group * GROUP, &a, rows_of(op, step), out,
                         op->target_width, op->add, scratch, next);
}

/* Keys and values of one KV head on one page. */
static uint16_t *page_at(const Plan *plan, int64_t layer, int64_t page, int64_t kv_head) {
  const Sizes *s = &plan->sizes;
  size_t number = (size_t)((layer * s->pages + page) * s->kv_heads + kv_head);
  return plan->memory.pool + number * (size_t)(2 * PAGE * s->head);
}

static void rotate(const Plan *plan, const Op *op, const Step *step, int64_t row) {
  const Sizes *s = &plan->sizes;
  float *heads = row_at(plan, op->source, op->source_width, row);
  int64_t position = step->position[row];
  plan->kernels->rotate(heads, s->heads + s->kv_heads, s,
                        plan->memory.turns + position * s->rotated);
  int64_t page = step->page[step->table[row] + position / PAGE];
  for (int64_t kv = 0; kv < s->kv_heads; kv++) {
    const float *key = heads + (s->heads + kv) * s->head;
    plan->kernels->keep(key, key + s->kv_heads * s->head, s->head, position % PAGE,
                        page_at(plan, op->layer, page, kv));
  }
}

static Mix *mix_at(void *from, int64_t head, int64_t number) {
  return (Mix *)((uint8_t *)from + (size_t)number * mix_bytes(head));
}

/* The queries of one KV head in `row` over segment `number` of their sequence. */
static void segment(const Plan *plan, const Op *op, const Step *step, int64_t row, int64_t kv,
                    int64_t number, Mix *out, float *scores) {
  const Sizes *s = &plan->sizes;
  const uint16_t *pages[SEGMENT / PAGE];
  int64_t first = number * SEGMENT, count = step->position[row] + 1 - first;
  if (count > SEGMENT) count = SEGMENT;
  for (int64_t p = 0; p * PAGE < count; p++)
    pages[p] = page_at(plan, op->layer, step->page[step->table[row] + first / PAGE + p], kv);
  int64_t sharing = s->heads / s->kv_heads;
  const float *queries = row_at(plan, op->source, op->source_width, row) + kv * sharing * s->head;
  Segment one = {pages, count};
  plan->kernels->attend(queries, sharing, s->head, (float)op->constant, &one, out, scores);
}

static void put_mixed(const Plan *plan, const Activations *a, int64_t row, int64_t head_number,
                      const Mix *mix) {
  int64_t head = plan->sizes.head;
  plan->kernels->mixed(mix, head, a->values + (size_t)row * a->width + head_number * head);
}

/* All of one row: segment after segment, merged as they come. */
static void attend_row(const Plan *plan, const Op *op, const Step *step, int64_t row,
                       uint8_t *scratch) {
  const Sizes *s = &plan->sizes;
  int64_t sharing = s->heads / s->kv_heads;
  Activations a = activations_at(plan, op->target, s->heads * s->head);
  Mix *all = (Mix *)scratch, *next = mix_at(scratch, s->head, sharing);
  float *scores = (float *)mix_at(scratch, s->head, 2 * sharing);
  for (int64_t kv = 0; kv < s->kv_heads; kv++) {
    int64_t count = step->segments[row + 1] - step->segments[row];
    segment(plan, op, step, row, kv, 0, all, scores);
    for (int64_t number = 1; number < count; number++) {
      segment(plan, op, step, row, kv, number, next, scores);
      for (int64_t q = 0; q < sharing; q++)
        plan->kernels->merge(mix_at(all, s->head, q), mix_at(next, s->head, q), s->head);
    }
    for (int64_t q = 0; q < sharing; q++)
      put_mixed(plan, &a, row, kv * sharing + q, mix_at(all, s->head, q));
  }
  plan->kernels->quantise(&a, row);
}

/* Mixes lie as [segment of all rows][head]. */
static Mix *kept_mix(const Plan *plan, int64_t number, int64_t head_number) {
  const Sizes *s = &plan->sizes;
  return mix_at(plan->memory.work + s->mixes_at, s->head, number * s->heads + head_number);
}

static void attend_segment(const Plan *plan, const Op *op, const Step *step, int64_t unit,
                           uint8_t *scratch) {
  int64_t number = unit / plan->sizes.kv_heads, kv = unit % plan->sizes.kv_heads, row = 0;
  while (step->segments[row + 1] <= number) row++;
  Mix *out = kept_mix(plan, number, kv * (plan->sizes.heads / plan->sizes.kv_heads));
  segment(plan, op, step, row, kv, number - step->segments[row], out, (float *)scratch);
}

static void merge_row(const Plan *plan, const Op *op, const Step *step, int64_t row) {
  const Sizes *s = &plan->sizes;
  Activations a = activations_at(plan, op->target, s->heads * s->head);
  for (int64_t number = 0; number < s->heads; number++) {
    Mix *all = kept_mix(plan, step->segments[row], number);
    for (int64_t at = step->segments[row] + 1; at < step->segments[row + 1]; at++)
      plan->kernels->merge(all, kept_mix(plan, at, number), s->head);
    put_mixed(plan, &a, row, number, all);
  }
  plan->kernels->quantise(&a, row);
}

static void norm(const Plan *plan, const Op *op, const Step *step, int64_t row) {
  int64_t from = op->selected ? step->want[row] : row;
  Activations a = activations_at(plan, op->target, op->part[0].columns);
  plan->kernels->norm(row_at(plan, op->source, op->source_width, from),
                      plan->memory.weights + op->part[0].offset, op->constant, &a,
                      op->part[0].columns, row);
}

static void gate(const Plan *plan, const Op *op, int64_t row) {
  Activations a = activations_at(plan, op->target, op->source_width / 2);
  plan->kernels->gate(row_at(plan, op->source, op->source_width, row), &a, op->source_width / 2,
                      row);
}

void perform(const Plan *plan, const Op *op, const Step *step, int64_t first, int64_t last,
             int64_t end, int thread, int threads) {
  uint8_t *scratch = plan->scratch + (size_t)thread * plan->scratch_bytes;
  for (int64_t unit = first; unit < last; unit++) switch (op->kind) {
    case EMBED:
      plan->kernels->embed(&op->part[0], plan->memory.weights, step->token[unit],
                           row_at(plan, op->target, op->target_width, unit));
      break;
    case NORM: norm(plan, op, step, unit); break;
    case PRODUCT: product(plan, op, step, unit, end, thread, threads, scratch); break;
    case ROTATE: rotate(plan, op, step, unit); break;
    case ATTEND:
      if (step->split)
        attend_segment(plan, op, step, unit, scratch);
      else
        attend_row(plan, op, step, unit, scratch);
      break;
    case MERGE: merge_row(plan, op, step, unit); break;
    case GATE: gate(plan, op, unit); break;
    }
}

size_t scratch_bytes(const Plan *plan) {
  const Sizes *s = &plan->sizes;
  size_t most = 2 * (size_t)(s->heads / s->kv_heads) * mix_bytes(s->head) +
                4 * SEGMENT * sizeof(float);
  for (const Op *op = plan->ops; op < plan->ops + plan->count; op++)
    for (int i = 0; i < PARTS && op->kind == PRODUCT; i++) {
      size_t columns = (size_t)op->part[i].columns;
      /* A block unpacked: 16 rows of 32 bytes, a scale and a minimum each; and a copy of 16 rows. */
      size_t bytes = columns / BLOCK * GROUP * (BLOCK + 8) +
                     GROUP * row_bytes(op->part[i].format, columns);
      if (bytes > most) most = bytes;
    }
  return padded(most, 4096);
}
