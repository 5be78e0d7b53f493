/* The kernels for AVX-512 with VNNI. */
#include "core.h"

#include <math.h>
#include <string.h>
#include <immintrin.h>

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c,prefer-vector-width=512")

#include "lanes_avx512.h"
#include "lanes.h"

#include "quantise.h"
#include "product_float.h"
#include "product_avx512.h"
#include "product.h"
#include "attention.h"
#include "embed.h"
#include "gate.h"
#include "norm.h"
#include "rotate.h"

const Kernels AVX512VNNI = {
    .name = "avx512vnni",
    .embed = embed,
    .norm = norm,
    .gate = gate,
    .quantise = quantise,
    .rotate = rotate,
    .keep = keep,
    .attend = attend,
    .merge = merge,
    .mixed = mixed,
    .product = product,
};
