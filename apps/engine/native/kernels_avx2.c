/* The kernels for AVX2 with FMA and F16C. */
#if defined(__x86_64__)
#include "core.h"

#include <math.h>
#include <string.h>
#include <immintrin.h>

#pragma GCC target("avx2,fma,f16c")

#include "lanes_avx2.h"
#include "lanes.h"
#include "product_avx2.h"
#include "kernels.h"

const Kernels AVX2 = {.name = "avx2", KERNELS};
#endif
