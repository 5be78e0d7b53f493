/* The kernels for AVX2 with FMA and F16C. */
#include "core.h"

#include <math.h>
#include <string.h>
#include <immintrin.h>

#pragma GCC target("avx2,fma,f16c")

#include "lanes_avx2.h"
#include "lanes.h"

#include "quantise.h"
#include "product_float.h"
#include "product_avx2.h"
#include "product.h"
#include "attention.h"
#include "embed.h"
#include "gate.h"
#include "norm.h"
#include "rotate.h"

const Kernels AVX2 = {
    .name = "avx2",
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
