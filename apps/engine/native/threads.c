/* Each thread has a range of an operation's units, the same in every step, so that it knows which
 * memory it will read next. It claims half of what is left at a time; when its own range is empty
 * it claims from the others', so that a thread that another process keeps from running delays the
 * rest by one piece at most. A thread that comes late, even after the step, finds everything
 * claimed and touches nothing.
 *
 * Each counter holds the number of its step in the upper half: a counter of an earlier step counts
 * as 0, so none is ever reset, and a late thread cannot take the units of a step that it does not
 * know.
 */
#define _GNU_SOURCE
#include "threads.h"

#include "core.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_NS = 50000 };

typedef struct {
  _Alignas(64) _Atomic uint64_t units;
  _Atomic uint64_t done;
} Counter;

typedef struct {
  _Alignas(64) _Atomic uint64_t claimed;
} Range;

typedef struct {
  Team *team;
  int number, cpu;
  pthread_t id;
} Worker;

struct Team {
  Counter *counters; /* [ops] */
  Range *ranges;     /* [ops][wanted threads] */
  Worker *workers;
  Perform *perform;
  const void *context;
  int64_t ops;
  int threads, started;
  _Alignas(64) _Atomic uint32_t step;
  _Atomic bool stopping;
  _Alignas(64) _Atomic uint32_t event, sleepers;
};

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pause_cpu(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static void wake(Team *team) {
  if (atomic_load(&team->sleepers) == 0) return;
  atomic_fetch_add(&team->event, 1);
  syscall(SYS_futex, &team->event, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

typedef bool Ready(Team *, uint32_t step, int64_t op);

/* Spin for a while, then sleep, until `ready`. */
static void await(Team *team, Ready *ready, uint32_t step, int64_t op) {
  int64_t begun = now_ns();
  for (unsigned turns = 1; !ready(team, step, op); turns++) {
    pause_cpu();
    if (turns % 16 || now_ns() - begun < SPIN_NS) continue;
    uint32_t event = atomic_load(&team->event);
    atomic_fetch_add(&team->sleepers, 1);
    if (!ready(team, step, op))
      syscall(SYS_futex, &team->event, FUTEX_WAIT_PRIVATE, event, NULL, NULL, 0);
    atomic_fetch_sub(&team->sleepers, 1);
  }
}

static uint64_t word(uint32_t step, uint32_t count) { return (uint64_t)step << 32 | count; }

static bool newer(uint32_t step, uint32_t than) { return (int32_t)(step - than) > 0; }

/* All units of an operation are done, or the step itself is over. */
static bool finished(Team *team, uint32_t step, int64_t op) {
  Counter *c = &team->counters[op];
  uint64_t units = atomic_load(&c->units);
  return units == word(step, 0) || atomic_load(&c->done) == units ||
         newer((uint32_t)(units >> 32), step);
}

static bool begun(Team *team, uint32_t step, int64_t op) {
  (void)op;
  return atomic_load(&team->step) != step || atomic_load(&team->stopping);
}

/* Half of what is left of the range of thread `owner`, which ends at `end`. */
static bool claim(Team *team, uint32_t step, int64_t op, int owner, uint32_t units,
                  uint32_t *first, uint32_t *last, uint32_t *end) {
  Range *range = &team->ranges[op * team->threads + owner];
  uint32_t begin = (uint32_t)first_unit(units, owner, team->threads);
  uint64_t seen = atomic_load(&range->claimed);
  *end = (uint32_t)first_unit(units, owner + 1, team->threads);
  do {
    if (newer((uint32_t)(seen >> 32), step)) return false;
    *first = (uint32_t)(seen >> 32) == step ? (uint32_t)seen : begin;
    if (*first >= *end) return false;
    *last = *first + (*end - *first + 1) / 2;
  } while (!atomic_compare_exchange_weak(&range->claimed, &seen, word(step, *last)));
  return true;
}

static void finish(Team *team, uint32_t step, int64_t op, uint32_t count) {
  Counter *c = &team->counters[op];
  uint64_t seen = atomic_load(&c->done), next;
  do {
    uint32_t before = (uint32_t)(seen >> 32) == step ? (uint32_t)seen : 0;
    next = word(step, before + count);
  } while (!atomic_compare_exchange_weak(&c->done, &seen, next));
  if (next == atomic_load(&c->units)) wake(team);
}

static void go_through(Team *team, uint32_t step, int thread) {
  for (int64_t op = 0; op < team->ops; op++) {
    uint64_t units = atomic_load(&team->counters[op].units);
    if ((uint32_t)(units >> 32) != step) return;
    for (int i = 0; i < team->threads; i++) {
      uint32_t first, last, end;
      int owner = (thread + i) % team->threads;
      while (claim(team, step, op, owner, (uint32_t)units, &first, &last, &end)) {
        team->perform(team->context, op, first, last, end, thread, team->threads);
        finish(team, step, op, last - first);
      }
    }
    await(team, finished, step, op);
  }
}

static void *live(void *argument) {
  Worker *worker = argument;
  Team *team = worker->team;
  pthread_setname_np(pthread_self(), "engine");
  uint32_t step = 0;
  for (;;) {
    await(team, begun, step, 0);
    if (atomic_load(&team->stopping)) return NULL;
    step = atomic_load(&team->step);
    go_through(team, step, worker->number);
  }
}

static bool start(Worker *worker) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes)) return false;
  if (worker->cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(worker->cpu, &set);
    pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
  }
  bool started = pthread_create(&worker->id, &attributes, live, worker) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

Team *start_team(int threads, int64_t ops, const int *cpus, Perform *perform) {
  Team *team = aligned_alloc(64, sizeof *team);
  if (!team) return NULL;
  size_t count = (size_t)ops, ranges = count * (size_t)threads;
  *team = (Team){.perform = perform, .ops = ops, .threads = threads, .started = 1};
  team->counters = aligned_alloc(64, count * sizeof *team->counters);
  team->ranges = aligned_alloc(64, ranges * sizeof *team->ranges);
  team->workers = calloc((size_t)threads, sizeof *team->workers);
  bool started = team->counters && team->ranges && team->workers;
  if (started) {
    memset(team->counters, 0, count * sizeof *team->counters);
    memset(team->ranges, 0, ranges * sizeof *team->ranges);
  }
  /* A signal is for Python's own threads. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 1; i < threads && started; i++) {
    team->workers[i] = (Worker){.team = team, .number = i, .cpu = cpus ? cpus[i] : -1};
    started = start(&team->workers[i]);
    if (started) team->started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (started) return team;
  stop_team(team, 0);
  return NULL;
}

void run_team(Team *team, const void *context, const int64_t *units) {
  uint32_t step = atomic_load(&team->step) + 1;
  team->context = context;
  for (int64_t op = 0; op < team->ops; op++)
    atomic_store_explicit(&team->counters[op].units, word(step, (uint32_t)units[op]),
                          memory_order_relaxed);
  atomic_store(&team->step, step);
  wake(team);
  go_through(team, step, 0);
}

void stop_team(Team *team, int forked) {
  if (!team) return;
  atomic_store(&team->stopping, true);
  if (!forked) {
    wake(team);
    for (int i = 1; i < team->started; i++) pthread_join(team->workers[i].id, NULL);
  }
  free(team->counters);
  free(team->ranges);
  free(team->workers);
  free(team);
}
