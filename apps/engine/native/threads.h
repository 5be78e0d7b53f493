/* Threads that go through the operations of a step together. */
#ifndef SWITCHYARD_THREADS_H
#define SWITCHYARD_THREADS_H

#include <stdint.h>

typedef struct Team Team;

/* Do the units [first, last) of operation `op` of what `run_team` was given; they are of a range
 * that ends at `end`. */
typedef void Perform(const void *context, int64_t op, int64_t first, int64_t last, int64_t end,
                     int thread, int threads);

/* `threads` - 1 new threads beside the caller's, each on `cpus[i]` unless that is NULL;
 * NULL if the system has no room for them. */
Team *start_team(int threads, int64_t ops, const int *cpus, Perform *);

/* Every operation in turn: all its units are done before the next one begins. */
void run_team(Team *, const void *context, const int64_t *units);

/* `forked`: this is a child process, in which the threads do not exist. */
void stop_team(Team *, int forked);

#endif
