/* The Python module: a plan over buffers, and steps that run it without the GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core.h"
#include "threads.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPS, WEIGHTS, TURNS, POOL, WORK, BUFFERS, MOST_THREADS = 64, HEADER = 3 };

typedef struct {
  PyObject_HEAD
  Plan plan;
  Py_buffer buffers[BUFFERS];
  int held; /* how many of the buffers */
  Team *team;
  int64_t *units, *segments;
  pid_t owner;
  bool running;
} Core;

typedef struct {
  const Plan *plan;
  const Step *step;
} Context;

static void work(const void *context, int64_t op, int64_t first, int64_t last, int64_t end,
                 int thread, int threads) {
  const Context *c = context;
  perform(c->plan, &c->plan->ops[op], c->step, first, last, end, thread, threads);
}

static void release(Core *core) {
  stop_team(core->team, core->owner != getpid());
  core->team = NULL;
  free(core->plan.scratch);
  free(core->units);
  free(core->segments);
  core->plan.scratch = NULL;
  core->units = core->segments = NULL;
  while (core->held) PyBuffer_Release(&core->buffers[--core->held]);
}

static bool take_sizes(Core *core, PyObject *from) {
  Py_buffer view;
  if (PyObject_GetBuffer(from, &view, PyBUF_SIMPLE)) return false;
  bool fits = view.len == sizeof core->plan.sizes;
  if (fits) memcpy(&core->plan.sizes, view.buf, sizeof core->plan.sizes);
  else PyErr_Format(PyExc_ValueError, "sizes have %zd bytes, %zu are needed", view.len, sizeof core->plan.sizes);
  PyBuffer_Release(&view);
  return fits;
}

static bool take_buffers(Core *core, PyObject *const from[BUFFERS]) {
  for (int i = 0; i < BUFFERS; i++) {
    int flags = i == POOL || i == WORK ? PyBUF_WRITABLE : PyBUF_SIMPLE;
    if (PyObject_GetBuffer(from[i], &core->buffers[i], flags)) return false;
    core->held++;
    if (i != WEIGHTS && (uintptr_t)core->buffers[i].buf % (i == POOL || i == WORK ? 64 : 8)) {
      PyErr_Format(PyExc_ValueError, "buffer %d is not aligned", i);
      return false;
    }
  }
  const Py_buffer *b = core->buffers;
  if (b[OPS].len % (Py_ssize_t)sizeof(Op) || !b[OPS].len) {
    PyErr_Format(PyExc_ValueError, "operations have %zd bytes, each needs %zu", b[OPS].len, sizeof(Op));
    return false;
  }
  core->plan.ops = b[OPS].buf;
  core->plan.count = b[OPS].len / (Py_ssize_t)sizeof(Op);
  core->plan.memory = (Memory){
      .weights = b[WEIGHTS].buf,
      .weight_bytes = (size_t)b[WEIGHTS].len,
      .turns = b[TURNS].buf,
      .pool = b[POOL].buf,
      .work = b[WORK].buf,
      .work_bytes = (size_t)b[WORK].len,
  };
  char line[LINE];
  const char *bad = wrong_plan(&core->plan, (size_t)b[TURNS].len, (size_t)b[POOL].len, line);
  if (bad) PyErr_SetString(PyExc_ValueError, bad);
  return !bad;
}

static bool start(Core *core, int threads, const int *cpus) {
  size_t count = (size_t)core->plan.count, rows = (size_t)core->plan.sizes.rows;
  core->plan.scratch_bytes = scratch_bytes(&core->plan);
  core->plan.scratch = aligned_alloc(4096, core->plan.scratch_bytes * (size_t)threads);
  core->units = calloc(count, sizeof *core->units);
  core->segments = calloc(rows + 1, sizeof *core->segments);
  if (core->plan.scratch && core->units && core->segments)
    core->team = start_team(threads, core->plan.count, cpus, work);
  if (!core->team) PyErr_NoMemory();
  return core->team != NULL;
}

static int core_init(PyObject *self, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"sizes", "ops", "weights", "turns", "pool", "work", "threads", "isa", "cpus", NULL};
  Core *core = (Core *)self;
  PyObject *sizes, *from[BUFFERS], *cpu_list;
  const char *isa;
  int threads, cpus[MOST_THREADS];
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOOOOOisO!", names, &sizes, &from[OPS],
                                   &from[WEIGHTS], &from[TURNS], &from[POOL], &from[WORK], &threads,
                                   &isa, &PyTuple_Type, &cpu_list))
    return -1;
  if (core->held || core->owner) {
    PyErr_SetString(PyExc_RuntimeError, "a core is initialised once");
    return -1;
  }
  core->owner = getpid();
  Py_ssize_t listed = PyTuple_Size(cpu_list);
  if (threads < 1 || threads > MOST_THREADS || (listed && listed != threads)) {
    PyErr_Format(PyExc_ValueError, "%d threads on %zd CPUs; possible are 1 to %d, and no or as many CPUs",
                 threads, listed, MOST_THREADS);
    return -1;
  }
  for (Py_ssize_t i = 0; i < listed; i++) {
    cpus[i] = (int)PyLong_AsLong(PyTuple_GetItem(cpu_list, i));
    if (PyErr_Occurred()) return -1;
  }
  core->plan.kernels = kernels(isa);
  if (!core->plan.kernels) {
    PyErr_Format(PyExc_ValueError, "this CPU cannot run the kernels '%s'", isa);
    return -1;
  }
  if (take_sizes(core, sizes) && take_buffers(core, from) &&
      start(core, threads, listed ? cpus : NULL))
    return 0;
  release(core);
  return -1;
}

/* The int32 buffer of a step: rows, wanted, pages; then token, position, table of each row, the
 * wanted rows, the pages. */
static bool read_step(const Core *core, const Py_buffer *from, Step *step, int64_t *pages) {
  const int32_t *at = from->buf;
  int64_t count = from->len / (Py_ssize_t)sizeof *at;
  if ((uintptr_t)at % sizeof *at || count < HEADER) {
    PyErr_SetString(PyExc_ValueError, "a step is at least 3 aligned int32");
    return false;
  }
  step->rows = at[0], step->wanted = at[1], *pages = at[2];
  int64_t most = core->plan.sizes.rows;
  if (step->rows < 1 || step->rows > most || step->wanted < 0 || step->wanted > most ||
      *pages < 1 || count != HEADER + 3 * step->rows + step->wanted + *pages) {
    PyErr_Format(PyExc_ValueError,
                 "a step of %d rows (at most %zd), %d wanted and %d pages does not have %zd int32", at[0],
                 (Py_ssize_t)most, at[1], at[2], (Py_ssize_t)count);
    return false;
  }
  step->token = at + HEADER;
  step->position = step->token + step->rows;
  step->table = step->position + step->rows;
  step->want = step->table + step->rows;
  step->page = step->want + step->wanted;
  char line[LINE];
  const char *bad = wrong_step(&core->plan, step, *pages, line);
  if (bad) PyErr_SetString(PyExc_ValueError, bad);
  return !bad;
}

static void run(Core *core, Step *step) {
  int64_t *segments = core->segments;
  for (int64_t row = 0; row < step->rows; row++)
    segments[row + 1] = segments[row] + step->position[row] / SEGMENT + 1;
  step->segments = segments;
  step->split = segments[step->rows] <= core->plan.sizes.mixes;
  for (int64_t op = 0; op < core->plan.count; op++)
    core->units[op] = units(&core->plan, &core->plan.ops[op], step);
  Context context = {&core->plan, step};
  run_team(core->team, &context, core->units);
}

static bool ready(const Core *core) {
  const char *bad = !core->team            ? "the core is closed"
                    : core->owner != getpid() ? "the core's threads do not exist in a forked process"
                    : core->running        ? "the core is running a step in another thread"
                                           : NULL;
  if (bad) PyErr_SetString(PyExc_RuntimeError, bad);
  return !bad;
}

static PyObject *core_run(PyObject *self, PyObject *arguments) {
  Core *core = (Core *)self;
  PyObject *step_from, *logits_to, *result = NULL;
  Py_buffer in, out;
  Step step = {0};
  int64_t pages;
  if (!PyArg_ParseTuple(arguments, "OO", &step_from, &logits_to) || !ready(core)) return NULL;
  if (PyObject_GetBuffer(step_from, &in, PyBUF_SIMPLE)) return NULL;
  if (PyObject_GetBuffer(logits_to, &out, PyBUF_WRITABLE)) {
    PyBuffer_Release(&in);
    return NULL;
  }
  if (read_step(core, &in, &step, &pages)) {
    size_t needed = (size_t)step.wanted * (size_t)core->plan.sizes.vocabulary * sizeof(float);
    step.logits = out.buf;
    if ((size_t)out.len < needed || (uintptr_t)out.buf % sizeof(float)) {
      PyErr_Format(PyExc_ValueError, "logits have %zd bytes, %zu aligned ones are needed", out.len, needed);
    } else {
      core->running = true;
      Py_BEGIN_ALLOW_THREADS
      run(core, &step);
      Py_END_ALLOW_THREADS
      core->running = false;
      result = Py_NewRef(Py_None);
    }
  }
  PyBuffer_Release(&in);
  PyBuffer_Release(&out);
  return result;
}

static PyObject *core_close(PyObject *self, PyObject *unused) {
  (void)unused;
  Core *core = (Core *)self;
  if (core->running) {
    PyErr_SetString(PyExc_RuntimeError, "the core is running a step in another thread");
    return NULL;
  }
  release(core);
  return Py_NewRef(Py_None);
}

static void core_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  release((Core *)self);
  freefunc free_self = (freefunc)PyType_GetSlot(type, Py_tp_free);
  free_self(self);
  Py_DECREF(type);
}

static PyObject *available(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  PyObject *names = PyList_New(0);
  for (int i = 0; names && i < 3; i++) {
    if (!kernels(KERNEL_NAMES[i])) continue;
    PyObject *name = PyUnicode_FromString(KERNEL_NAMES[i]);
    if (!name || PyList_Append(names, name)) Py_CLEAR(names);
    Py_XDECREF(name);
  }
  return names;
}

static PyObject *activation_bytes(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t rows, columns;
  if (!PyArg_ParseTuple(arguments, "nn", &rows, &columns)) return NULL;
  if (rows < 1 || columns < 1 || rows > 1 << 20 || columns > 1 << 26) {
    PyErr_Format(PyExc_ValueError, "activations of shape [%zd, %zd]", rows, columns);
    return NULL;
  }
  return PyLong_FromSize_t(activations(NULL, (size_t)rows, (size_t)columns, NULL));
}

static PyObject *bytes_of_mix(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t head;
  if (!PyArg_ParseTuple(arguments, "n", &head)) return NULL;
  if (head < 1 || head > MAX_HEAD) {
    PyErr_Format(PyExc_ValueError, "a head of %zd values; possible are 1 to %d", head, MAX_HEAD);
    return NULL;
  }
  return PyLong_FromSize_t(mix_bytes(head));
}

static PyMethodDef core_methods[] = {
    {"run", core_run, METH_VARARGS, "run(step, logits): compute one step; see slices.py"},
    {"close", core_close, METH_NOARGS, "End the threads and let the buffers go."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot core_slots[] = {
    {Py_tp_init, core_init},
    {Py_tp_dealloc, core_dealloc},
    {Py_tp_methods, core_methods},
    {Py_tp_doc, "A checked plan over buffers, and its threads."},
    {0, NULL},
};

static PyType_Spec core_spec = {
    .name = "_core.Core",
    .basicsize = sizeof(Core),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = core_slots,
};

static PyMethodDef functions[] = {
    {"available", available, METH_NOARGS, "Names of the kernels that this CPU can run, best first."},
    {"activation_bytes", activation_bytes, METH_VARARGS, "Work space of activations [rows, columns]."},
    {"mix_bytes", bytes_of_mix, METH_VARARGS, "Work space of one query's mix of a segment."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_core", "The engine's kernels.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void) {
  PyObject *self = PyModule_Create(&module), *type = PyType_FromSpec(&core_spec);
  if (!self || !type || PyModule_AddObjectRef(self, "Core", type) ||
      PyModule_AddStringConstant(self, "SOURCES", SOURCES) ||
      PyModule_AddIntConstant(self, "OP_BYTES", sizeof(Op)) ||
      PyModule_AddIntConstant(self, "SIZES_BYTES", sizeof(Sizes)) ||
      PyModule_AddIntConstant(self, "SEGMENT", SEGMENT) ||
      PyModule_AddIntConstant(self, "LANES", LANES) || PyModule_AddIntConstant(self, "PAGE", PAGE))
    Py_CLEAR(self);
  Py_XDECREF(type);
  return self;
}
