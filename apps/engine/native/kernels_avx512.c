/* The kernels for AVX-512 with VNNI. */
#if defined(__x86_64__)
#include "core.h"

#include <math.h>
#include <string.h>
#include <immintrin.h>

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c,prefer-vector-width=512")

#include "lanes_avx512.h"
#include "lanes.h"
#include "product_avx512.h"
#include "kernels.h"

const Kernels AVX512VNNI = {.name = "avx512vnni", KERNELS};
#endif
