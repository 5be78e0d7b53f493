/* What every program shares: one event, one buffer, and counters that miss nothing.
 *
 * PERF_BUFFER is defined for kernels before 5.8, which have no ring buffer; LINKS where a link
 * holds all places of a file, in whatever process. */
#include <uapi/linux/ptrace.h>

#define REQUEST_SIZE 64
#define NAME_SIZE 96

/* The reader looks ten times a second; it is woken when much came in between. To wake it for each
 * event would switch threads, which is an event again. */
#define WAKE_EVERY 4096

enum kind {
    FUNCTION_ENTRY = 1,
    FUNCTION_RETURN,
    OBJECT_CREATE,
    OBJECT_DESTROY,
    OBJECT_CHAIN,
    TOKEN,
    GPU_CALL,
    OFF_CPU,
    GIL_WAIT,
};

struct event {
    u64 t_ns;
    u32 pid;
    u32 tid;
    u16 kind;
    u16 call;
    u32 flags;
    u64 a;
    u64 b;
    u64 c;
    u64 d;
    char request[REQUEST_SIZE];
    char name[NAME_SIZE];
};

/* What a program of the scheduler's tracepoints is given. */
struct raw_tracepoint {
    u64 args[4];
};

enum counter { SENT, LOST, UNREAD, UNMATCHED, COUNTERS };

BPF_PERCPU_ARRAY(counters, u64, COUNTERS);

#ifdef PERF_BUFFER
BPF_PERF_OUTPUT(events);
#define READ_STRING(to, from) bpf_probe_read_str(to, sizeof(to), (void *)(from))
#define READ_WORD(to, from) bpf_probe_read(to, sizeof(*(to)), (void *)(from))
#else
BPF_RINGBUF_OUTPUT(events, BUFFER_PAGES);
#define READ_STRING(to, from) bpf_probe_read_user_str(to, sizeof(to), (void *)(from))
#define READ_WORD(to, from) bpf_probe_read_user(to, sizeof(*(to)), (void *)(from))
#endif

/* One more; how many there were on this CPU. */
static inline u64 count(int which)
{
    u64 *counter = counters.lookup(&which);
    if (!counter)
        return 0;
    u64 before = *counter;
    /* Atomic though it is this CPU's own: a program can be preempted by another one. */
    lock_xadd(counter, 1);
    return before;
}

#ifdef LINKS
/* The files, by our own numbers, whose events are wanted of a process. */
struct files {
    u64 wanted[4];
};

BPF_HASH(followed, u32, struct files, 16384);
/* Tasks that a followed process started, until the agent has found them: by task, as their own
 * process's number is not told when they begin. */
BPF_TABLE("lru_hash", u64, struct files, started, 16384);

/* Two containers may have one file under two names, each with a link: each process is told of by
 * the link of its own name alone, so that nothing counts twice. */
static inline int is_followed(void *ctx)
{
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct files *files = followed.lookup(&pid);
    if (!files) {
        u64 task = bpf_get_current_task();
        files = started.lookup(&task);
    }
    if (!files)
        return 0;
    u64 file = bpf_get_attach_cookie(ctx) >> 32;
    return files->wanted[file >> 6 & 3] >> (file & 63) & 1;
}
#else
/* Each probe is of one process that is followed. */
#define is_followed(ctx) 1
#endif

static inline void begin(struct event *e, u16 kind)
{
    u64 id = bpf_get_current_pid_tgid();
    e->t_ns = bpf_ktime_get_ns();
    e->pid = id >> 32;
    e->tid = id;
    e->kind = kind;
}

static inline void submit(void *ctx, struct event *e)
{
    u64 sent = count(SENT);
#ifdef PERF_BUFFER
    if (events.perf_submit(ctx, e, sizeof(*e)))
        count(LOST);
#else
    u64 flags = sent % WAKE_EVERY ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP;
    if (events.ringbuf_output(e, sizeof(*e), flags))
        count(LOST);
#endif
}
