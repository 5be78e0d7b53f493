/* What a profiler does: NVTX loads it by NVTX_INJECTION64_PATH; it prints each range to stdout.
 * Numbers and layouts are those of NVIDIA's header nvtx3/nvtxDetail/nvtxTypes.h. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CALLBACKS = 1, CORE2 = 5, PUSH = 4, POP = 5, REGISTER = 10, CREATE = 12 };

typedef void (*Function)(void);
typedef struct {
  size_t size;
  int (*module)(uint32_t module, Function ***table, unsigned *count);
} Callbacks;
typedef struct {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const void *message;
} Event;

static void *create(const char *name) { return strdup(name); }

static void *registered(void *domain, const char *text) {
  (void)domain;
  return strdup(text);
}

static int push(void *domain, const Event *event) {
  printf("push %s %s\n", (const char *)domain, (const char *)event->message);
  fflush(stdout);
  return 0;
}

static int pop(void *domain) {
  printf("pop %s\n", (const char *)domain);
  fflush(stdout);
  return 0;
}

int InitializeInjectionNvtx2(const void *(*table_of)(uint32_t)) {
  const Callbacks *callbacks = table_of(CALLBACKS);
  Function **table;
  unsigned count;
  if (!callbacks->module(CORE2, &table, &count)) return 0;
  *table[PUSH] = (Function)push;
  *table[POP] = (Function)pop;
  *table[REGISTER] = (Function)registered;
  *table[CREATE] = (Function)create;
  return 1;
}
