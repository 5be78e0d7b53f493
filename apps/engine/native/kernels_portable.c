/* The kernels for any CPU. */
#include "core.h"

#include <math.h>
#include <string.h>

#include "lanes_portable.h"
#include "lanes.h"

#include "quantise.h"
#include "product_float.h"
#include "product_portable.h"
#include "product.h"
#include "attention.h"
#include "embed.h"
#include "gate.h"
#include "norm.h"
#include "rotate.h"

const Kernels PORTABLE = {
    .name = "portable",
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
