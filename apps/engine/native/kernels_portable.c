/* The kernels for any CPU. */
#include "core.h"

#include <math.h>
#include <string.h>

#include "lanes_portable.h"
#include "lanes.h"
#include "product_portable.h"
#include "kernels.h"

const Kernels PORTABLE = {.name = "portable", KERNELS};
