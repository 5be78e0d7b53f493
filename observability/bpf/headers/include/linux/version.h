/* The oldest kernel that our programs run on; kernels since 5.0 do not compare it. */
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE KERNEL_VERSION(5, 4, 0)
