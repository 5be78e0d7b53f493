/* A stand-in for the GPU's driver: calls succeed on host memory. Size 13 fails with code 2. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;
enum { SUCCESS = 0, INVALID = 1, OUT_OF_MEMORY = 2, UNLUCKY = 13 };

static int give(address *made, size_t bytes)
{
    if (bytes == UNLUCKY)
        return OUT_OF_MEMORY;
    *made = (address)malloc(bytes);
    return *made ? SUCCESS : OUT_OF_MEMORY;
}

static int take(address given)
{
    free((void *)given);
    return SUCCESS;
}

int cuMemAlloc_v2(address *made, size_t bytes) { return give(made, bytes); }
int cuMemAllocManaged(address *made, size_t bytes, unsigned flags) { (void)flags; return give(made, bytes); }
int cuMemAllocAsync(address *made, size_t bytes, void *stream) { (void)stream; return give(made, bytes); }
int cuMemFree_v2(address given) { return given == UNLUCKY ? INVALID : take(given); }
int cuMemFreeAsync(address given, void *stream) { (void)stream; return take(given); }

int cuMemAllocPitch_v2(address *made, size_t *pitch, size_t width, size_t height, unsigned element)
{
    (void)element;
    *pitch = (width + 511) / 512 * 512;
    return give(made, *pitch * height);
}

int cuMemCreate(address *handle, size_t bytes, const void *properties, unsigned long long flags)
{
    (void)properties, (void)flags;
    return give(handle, bytes);
}

int cuMemRelease(address handle) { return take(handle); }

int cuMemMap(address at, size_t bytes, size_t offset, address handle, unsigned long long flags)
{
    (void)at, (void)bytes, (void)offset, (void)handle, (void)flags;
    return SUCCESS;
}

int cuMemUnmap(address at, size_t bytes)
{
    (void)at, (void)bytes;
    return SUCCESS;
}

int cuMemcpyHtoD_v2(address to, const void *from, size_t bytes)
{
    memcpy((void *)to, from, bytes);
    return SUCCESS;
}

int cuLaunchKernel(void *f) { (void)f; return SUCCESS; }
int cuCtxSynchronize(void) { return SUCCESS; }
