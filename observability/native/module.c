/* The Python module `_native`: fires the probe points, and counts for several processes. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "points.h"
#include "watched.h"

static PyObject *request_getter; /* REQUEST_ID.get */

/* The request's id, valid while *kept is; "" where there is none. */
static const char *request_of(PyObject **kept) {
  *kept = request_getter ? PyObject_CallNoArgs(request_getter) : NULL;
  if (*kept && PyBytes_Check(*kept)) return PyBytes_AsString(*kept);
  PyErr_Clear();
  return "";
}

static void entered(PyObject *name, uint64_t frame) {
  PyObject *kept;
  switchyard_function_entry(request_of(&kept), PyBytes_AsString(name), frame);
  Py_XDECREF(kept);
}

static void left(PyObject *name, uint64_t frame, int how) {
  PyObject *kept;
  switchyard_function_return(request_of(&kept), PyBytes_AsString(name), frame, how);
  Py_XDECREF(kept);
}

/* Only a frame that leaves and comes back needs a name: the others nest on their thread. */
static uint64_t frame_of(const Watched *watched) {
  return watched->suspends ? (uint64_t)(uintptr_t)PyEval_GetFrame() : 0;
}

/* Callbacks of sys.monitoring: (code, ...). */
static PyObject *on_start(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  const Watched *watched = count ? find_watched(args[0]) : NULL;
  if (watched && switchyard_function_entry_semaphore) entered(watched->name, frame_of(watched));
  Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *const *args, Py_ssize_t count, int how) {
  const Watched *watched = count ? find_watched(args[0]) : NULL;
  if (watched && switchyard_function_return_semaphore) left(watched->name, frame_of(watched), how);
  Py_RETURN_NONE;
}

static PyObject *on_return(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  return on_leave(args, count, RETURNED);
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  return on_leave(args, count, YIELDED);
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  return on_leave(args, count, RESUMED);
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  return on_leave(args, count, UNWOUND);
}

static PyObject *watch(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *code, *name;
  int suspends;
  if (!PyArg_ParseTuple(args, "OSp:watch", &code, &name, &suspends)) return NULL;
  if (add_watched(code, name, suspends) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *forget(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  forget_watched();
  Py_RETURN_NONE;
}

/* A function's name and its frame's number; whether they are that. No tuple is made for them:
   a traced call comes here twice. */
static bool named(PyObject *const *args, Py_ssize_t count, Py_ssize_t wanted, uint64_t *frame) {
  if (count != wanted || !PyBytes_Check(args[0]) || !PyLong_Check(args[1])) {
    PyErr_Format(PyExc_TypeError, "give %zd arguments: a name in bytes, a frame%s", wanted,
                 wanted > 2 ? ", how it is left" : "");
    return false;
  }
  *frame = PyLong_AsUnsignedLongLong(args[1]);
  return !(*frame == (uint64_t)-1 && PyErr_Occurred());
}

/* For wrappers: (name, frame) and (name, frame, how). */
static PyObject *entry(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  uint64_t frame;
  if (!named(args, count, 2, &frame)) return NULL;
  if (switchyard_function_entry_semaphore) entered(args[0], frame);
  Py_RETURN_NONE;
}

static PyObject *leave(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  uint64_t frame;
  if (!named(args, count, 3, &frame)) return NULL;
  long how = PyLong_AsLong(args[2]);
  if (how == -1 && PyErr_Occurred()) return NULL;
  if (switchyard_function_return_semaphore) left(args[0], frame, (int)how);
  Py_RETURN_NONE;
}

static PyObject *created(PyObject *self, PyObject *args) {
  (void)self;
  const char *type;
  unsigned long long id, bytes;
  if (!PyArg_ParseTuple(args, "yKK:created", &type, &id, &bytes)) return NULL;
  if (switchyard_object_create_semaphore) {
    PyObject *kept;
    switchyard_object_create(request_of(&kept), type, id, bytes);
    Py_XDECREF(kept);
  }
  Py_RETURN_NONE;
}

static PyObject *destroyed(PyObject *self, PyObject *args) {
  (void)self;
  const char *type;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "yK:destroyed", &type, &id)) return NULL;
  if (switchyard_object_destroy_semaphore) switchyard_object_destroy(type, id);
  Py_RETURN_NONE;
}

static PyObject *chain(PyObject *self, PyObject *args) {
  (void)self;
  const char *type, *holders;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "yKy:chain", &type, &id, &holders)) return NULL;
  if (switchyard_object_chain_semaphore) switchyard_object_chain(type, id, holders);
  Py_RETURN_NONE;
}

static PyObject *token(PyObject *self, PyObject *args) {
  (void)self;
  const char *request;
  unsigned int number, event, outcome;
  if (!PyArg_ParseTuple(args, "yIII:token", &request, &number, &event, &outcome)) return NULL;
  if (switchyard_token_semaphore) switchyard_token(request, number, event, outcome);
  Py_RETURN_NONE;
}

static PyObject *attached(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  int functions = switchyard_function_entry_semaphore || switchyard_function_return_semaphore;
  int objects = switchyard_object_create_semaphore || switchyard_object_destroy_semaphore;
  return PyLong_FromLong(functions | objects << 1 | (switchyard_object_chain_semaphore != 0) << 2 |
                         (switchyard_token_semaphore != 0) << 3);
}

static PyObject *requests_from(PyObject *self, PyObject *getter) {
  (void)self;
  PyObject *before = request_getter;
  Py_INCREF(getter);
  request_getter = getter;
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

/* Add 1 to the 8 aligned bytes at `offset`, for all who have them mapped; gives what was there. */
static PyObject *take_number(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer view;
  Py_ssize_t offset;
  if (!PyArg_ParseTuple(args, "w*n:take_number", &view, &offset)) return NULL;
  PyObject *taken = NULL;
  if (offset < 0 || offset > view.len - 8 || ((uintptr_t)view.buf + (size_t)offset) % 8)
    PyErr_SetString(PyExc_ValueError, "there are no 8 aligned bytes at this offset");
  else
    taken = PyLong_FromUnsignedLongLong(
        __atomic_fetch_add((uint64_t *)((char *)view.buf + offset), 1, __ATOMIC_SEQ_CST));
  PyBuffer_Release(&view);
  return taken;
}

#define FAST(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
static PyMethodDef methods[] = {
    FAST(on_start),
    FAST(on_return),
    FAST(on_yield),
    FAST(on_resume),
    FAST(on_unwind),
    {"watch", watch, METH_VARARGS, "watch(code, name: bytes, suspends: bool)"},
    {"forget", forget, METH_NOARGS, "Watch nothing."},
    FAST(entry),
    FAST(leave),
    {"created", created, METH_VARARGS, "created(type: bytes, id: int, size: int)"},
    {"destroyed", destroyed, METH_VARARGS, "destroyed(type: bytes, id: int)"},
    {"chain", chain, METH_VARARGS, "chain(type: bytes, id: int, holders: bytes)"},
    {"token", token, METH_VARARGS, "token(request: bytes, token: int, event: int, outcome: int)"},
    {"attached", attached, METH_NOARGS,
     "Bits of what is traced: 1 functions, 2 objects, 4 chains, 8 tokens."},
    {"requests_from", requests_from, METH_O, "requests_from(getter of the current request's id)"},
    {"take_number", take_number, METH_VARARGS, "take_number(buffer, offset) -> int, across processes"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", "Probe points and a shared counter.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
  PyObject *made = PyModule_Create(&module);
  if (made && PyModule_AddStringConstant(made, "SOURCES", SOURCES) < 0) Py_CLEAR(made);
  return made;
}
