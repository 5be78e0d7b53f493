/* Time that a request's function did not run: off the CPU, or waiting for the GIL. */

/* A shorter wait for the GIL is what its two probes take themselves. */
#define SHORTEST_GIL_WAIT_NS 20000

/* Why a thread left the CPU. */
enum why { BLOCKED, RUNNABLE, UNTOLD };

struct wait {
    u64 since_ns;
    u64 thread;
    u64 why;
};

BPF_TABLE("lru_hash", u64, struct wait, off_cpu, 16384);
BPF_TABLE("lru_hash", u64, u64, gil_waits, 16384);

static inline void begin_wait(u64 key, u64 now, u64 why)
{
    u64 thread = bpf_get_current_pid_tgid();
    struct wait wait = {.since_ns = now, .thread = thread, .why = why};
    if (current_frame.lookup(&thread))
        off_cpu.update(&key, &wait);
}

static inline void end_wait(void *ctx, u64 key, u64 now)
{
    struct wait *was = off_cpu.lookup(&key);
    if (!was)
        return;
    struct event e = {};
    e.t_ns = was->since_ns;
    e.pid = was->thread >> 32;
    e.tid = was->thread;
    e.kind = OFF_CPU;
    e.a = now - was->since_ns;
    e.b = was->why;
    off_cpu.delete(&key);
    if (now > e.t_ns && take_current(&e, thread_of(&e)))
        submit(ctx, &e);
}

#ifdef PERF_SWITCHES
/* When a thread last left each CPU, which is when the one that runs there now came. */
BPF_PERCPU_ARRAY(last_switch, u64, 1);

static inline void tell_wait(void *ctx, u64 thread, u64 now)
{
    int only = 0;
    u64 *came_ns = last_switch.lookup(&only);
    struct wait *was = off_cpu.lookup(&thread);
    if (!came_ns || !was)
        return;
    /* That an idle CPU goes on is not always told: the thread came at some time before now. */
    end_wait(ctx, thread, *came_ns > was->since_ns ? *came_ns : now);
}

/* The event says that a thread leaves its CPU, but neither why nor who comes. */
int cpu_switched(struct bpf_perf_event_data *ctx)
{
    u64 thread = bpf_get_current_pid_tgid();
    u64 now = bpf_ktime_get_ns();
    int only = 0;
    tell_wait(ctx, thread, now);
    begin_wait(thread, now, UNTOLD);
    last_switch.update(&only, &now);
    return 0;
}
#else
/* That an idle CPU goes on is not always told: the thread came at some time before now. */
static inline void tell_wait(void *ctx, u64 thread, u64 now)
{
    end_wait(ctx, bpf_get_current_task(), now);
}

/* (preempted, who leaves, who comes, since Linux 5.18 the state of who leaves) */
int task_switched(struct raw_tracepoint *ctx)
{
    u64 now = bpf_ktime_get_ns();
    u64 why = (u8)ctx->args[0] ? RUNNABLE : BLOCKED;
#ifdef SWITCH_STATE
    /* State 0: it was ready, another one ran. */
    if (!(u32)ctx->args[3])
        why = RUNNABLE;
#endif
    end_wait(ctx, ctx->args[2], now);
    end_wait(ctx, bpf_get_current_task(), now);
    begin_wait(bpf_get_current_task(), now, why);
    return 0;
}
#endif

int gil_asked(struct pt_regs *ctx)
{
    u64 thread = bpf_get_current_pid_tgid();
    u64 now = bpf_ktime_get_ns();
    if (current_frame.lookup(&thread))
        gil_waits.update(&thread, &now);
    return 0;
}

int gil_taken(struct pt_regs *ctx)
{
    u64 thread = bpf_get_current_pid_tgid();
    u64 *since = gil_waits.lookup(&thread);
    struct event e = {};
    if (!since)
        return 0;
    begin(&e, GIL_WAIT);
    e.a = e.t_ns - *since;
    e.t_ns = *since;
    gil_waits.delete(&thread);
    if (e.a >= SHORTEST_GIL_WAIT_NS && take_current(&e, thread))
        submit(ctx, &e);
    return 0;
}
