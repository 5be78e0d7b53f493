/* Threads and processes that begin and end. */

#ifdef LINKS
/* (parent, child): a child has its parent's files, from its first event on. */
int task_started(struct raw_tracepoint *ctx)
{
    u64 parent = bpf_get_current_task();
    u64 child = ctx->args[1];
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct files *files = followed.lookup(&pid);
    if (!files)
        files = started.lookup(&parent);
    if (files)
        started.update(&child, files);
    return 0;
}
#endif

/* The functions of a process end with its program. */
int task_replaced(struct raw_tracepoint *ctx)
{
    u64 thread = bpf_get_current_pid_tgid();
    current_frame.delete(&thread);
    return 0;
}

/* (task, since Linux 6.16 whether it is its process's last). A number may be given to another
 * thread or process at once: forget the old one in the kernel. */
int task_ended(struct raw_tracepoint *ctx)
{
    u64 thread = bpf_get_current_pid_tgid();
    u64 task = bpf_get_current_task();
    current_frame.delete(&thread);
#ifdef WAITS
    gil_waits.delete(&thread);
    off_cpu.delete(&task);
#endif
#ifdef LINKS
    started.delete(&task);
#ifdef GROUP_DEAD
    u32 pid = thread >> 32;
    if ((u8)ctx->args[1])
        followed.delete(&pid);
#endif
#endif
    return 0;
}
