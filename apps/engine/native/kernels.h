/* Every kernel, made of the lanes and the blocks that the file which includes this has chosen. */

#include "quantise.h"
#include "product_float.h"
#include "product.h"
#include "attention.h"
#include "embed.h"
#include "gate.h"
#include "norm.h"
#include "rotate.h"

#define KERNELS \
  .embed = embed, .norm = norm, .gate = gate, .quantise = quantise, .rotate = rotate, \
  .keep = keep, .attend = attend, .merge = merge, .mixed = mixed, .product = product
