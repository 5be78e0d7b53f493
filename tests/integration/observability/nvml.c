/* A stand-in for libnvidia-ml: GPU 0 is well, GPU 1 is lost, GPU 2 (a slice of one) does not tell
 * how busy it is. One process on GPU 0 is this one, another never was. */
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, LOST = 15, GHOST = 2147480000 };
typedef struct { int index; } *device;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory;
typedef struct { unsigned gpu, memory; } utilisation;
typedef struct { unsigned pid; unsigned long long used; unsigned instance, compute; } process;

static struct { int index; } devices[] = {{0}, {1}, {2}};

#define GPU_CALL(...) \
    do { \
        if (d->index == 1) \
            return LOST; \
        __VA_ARGS__; \
        return SUCCESS; \
    } while (0)

int nvmlInitWithFlags(unsigned flags) { (void)flags; return SUCCESS; }
int nvmlInit_v2(void) { return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { return code == LOST ? "GPU is lost" : "Not Supported"; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 3; return SUCCESS; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *made)
{
    *made = (device)&devices[index];
    return index == 1 ? LOST : SUCCESS;
}

int nvmlDeviceGetName(device d, char *to, unsigned size) { GPU_CALL(strncpy(to, "Stand-in", size)); }
int nvmlDeviceGetUUID(device d, char *to, unsigned size) { GPU_CALL(strncpy(to, "GPU-0000", size)); }

int nvmlDeviceGetPcieThroughput(device d, int counter, unsigned *kb)
{
    GPU_CALL(*kb = counter == 0 ? 500000 : 12500000);
}

int nvmlDeviceGetPowerUsage(device d, unsigned *mw) { GPU_CALL(*mw = 690000); }
int nvmlDeviceGetEnforcedPowerLimit(device d, unsigned *mw) { GPU_CALL(*mw = 700000); }

int nvmlDeviceGetMemoryInfo_v2(device d, memory *to)
{
    GPU_CALL(to->total = 1000, to->reserved = 10, to->free = 5, to->used = 985);
}

int nvmlDeviceGetUtilizationRates(device d, utilisation *to)
{
    if (d->index == 2)
        return NOT_SUPPORTED;
    GPU_CALL(to->gpu = 10, to->memory = 30);
}

int nvmlDeviceGetClockInfo(device d, int type, unsigned *mhz) { (void)type; GPU_CALL(*mhz = 1200); }
int nvmlDeviceGetMaxClockInfo(device d, int type, unsigned *mhz) { (void)type; GPU_CALL(*mhz = 1980); }

int nvmlDeviceGetCurrentClocksThrottleReasons(device d, unsigned long long *bits)
{
    GPU_CALL(*bits = 0x1 | 0x4 | 0x20);
}

int nvmlDeviceGetTotalEccErrors(device d, int kind, int counter, unsigned long long *count)
{
    (void)counter;
    GPU_CALL(*count = kind == 0 ? 7 : 0);
}

int nvmlDeviceGetComputeRunningProcesses_v3(device d, unsigned *count, process *to)
{
    if (d->index == 2)
        return NOT_SUPPORTED;
    if (*count < 2) {
        *count = 2;
        return 7;
    }
    to[0] = (process){.pid = getpid(), .used = 100};
    to[1] = (process){.pid = GHOST, .used = 300};
    *count = 2;
    return SUCCESS;
}
