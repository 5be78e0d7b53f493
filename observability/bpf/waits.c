/* Time that a request's function did not run: off the CPU, or waiting for the GIL. */

/* A shorter wait for the GIL is what its two probes take themselves. */
#define SHORTEST_GIL_WAIT_NS 20000

struct wait {
    u64 since_ns;
    u64 thread;
    u64 state;
};

BPF_TABLE("lru_hash", u32, struct wait, off_cpu, 16384);
BPF_TABLE("lru_hash", u64, u64, gil_waits, 16384);

TRACEPOINT_PROBE(sched, sched_switch)
{
    u64 thread = bpf_get_current_pid_tgid();
    u64 now = bpf_ktime_get_ns();
    u32 next = args->next_pid;
    struct wait *was = off_cpu.lookup(&next);
    if (was) {
        struct event e = {};
        e.t_ns = was->since_ns;
        e.pid = was->thread >> 32;
        e.tid = was->thread;
        e.kind = OFF_CPU;
        e.a = now - was->since_ns;
        e.b = was->state;
        off_cpu.delete(&next);
        if (take_current(&e, ((u64)e.pid << 32) | e.tid))
            submit(args, &e);
    }
    if (current_frame.lookup(&thread)) {
        u32 tid = thread;
        struct wait wait = {.since_ns = now, .thread = thread, .state = args->prev_state};
        off_cpu.update(&tid, &wait);
    }
    return 0;
}

/* A thread's number may be given to another thread at once: forget the old one in the kernel. */
TRACEPOINT_PROBE(sched, sched_process_exit)
{
    u64 thread = bpf_get_current_pid_tgid();
    u32 tid = thread;
    current_frame.delete(&thread);
    gil_waits.delete(&thread);
    off_cpu.delete(&tid);
    return 0;
}

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
