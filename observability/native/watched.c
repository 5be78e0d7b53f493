#include "watched.h"

#include <stdint.h>
#include <stdlib.h>

static Watched *table;
static size_t used, mask; /* the table has mask + 1 places, a power of two, at most half used */

static size_t place_of(const Watched *in, size_t among, const PyObject *code) {
  size_t place = ((uintptr_t)code >> 4) * 0x9e3779b97f4a7c15u >> 20 & among;
  while (in[place].code && in[place].code != code) place = (place + 1) & among;
  return place;
}

const Watched *find_watched(const PyObject *code) {
  if (!table) return NULL;
  const Watched *found = &table[place_of(table, mask, code)];
  return found->code ? found : NULL;
}

static int grow(void) {
  size_t among = table ? 2 * mask + 1 : 255;
  Watched *larger = calloc(among + 1, sizeof *larger);
  if (!larger) return PyErr_NoMemory(), -1;
  for (size_t i = 0; table && i <= mask; i++)
    if (table[i].code) larger[place_of(larger, among, table[i].code)] = table[i];
  free(table);
  table = larger;
  mask = among;
  return 0;
}

int add_watched(PyObject *code, PyObject *name, bool suspends) {
  if ((!table || 2 * (used + 1) > mask) && grow() < 0) return -1;
  Watched *at = &table[place_of(table, mask, code)];
  if (at->code) return 0;
  Py_INCREF(code);
  Py_INCREF(name);
  *at = (Watched){code, name, suspends};
  used++;
  return 0;
}

void forget_watched(void) {
  for (size_t i = 0; table && i <= mask; i++) {
    Py_CLEAR(table[i].code);
    Py_CLEAR(table[i].name);
  }
  used = 0;
}
