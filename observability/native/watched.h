/* The code objects whose events are wanted, by address: hashing one as Python does reads all of it. */
#pragma once
#include <Python.h>
#include <stdbool.h>

typedef struct {
  PyObject *code; /* owned, so that the address stays its own */
  PyObject *name; /* owned bytes; what the tracer reads */
  bool suspends;  /* a generator or coroutine: it leaves and comes back */
} Watched;

const Watched *find_watched(const PyObject *code);
int add_watched(PyObject *code, PyObject *name, bool suspends);
void forget_watched(void);
