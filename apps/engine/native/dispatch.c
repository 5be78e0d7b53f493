/* Which kernels this CPU can run. AMX is never used: it is announced where it traps. */
#include "core.h"

#include <string.h>

const char *const KERNEL_NAMES[3] = {"avx512vnni", "avx2", "portable"};

const Kernels *kernels(const char *name) {
  if (!strcmp(name, "portable")) return &PORTABLE;
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("f16c");
  bool vnni = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vnni");
  if (!strcmp(name, "avx2") && avx2) return &AVX2;
  if (!strcmp(name, "avx512vnni") && vnni) return &AVX512VNNI;
#endif
  return NULL;
}
