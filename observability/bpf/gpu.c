/* Calls of libcudart and libcuda: what was asked at entry, what came of it at return.
 *
 * A CALL line for each function follows; observability/gpu/calls.py writes them. Under LINKS one
 * program serves all functions: its cookie has their number, and above it their shape. */

#define NESTED 1

struct call_key {
    u64 thread;
    u64 call;
};

struct call {
    u64 entered_ns;
    u64 bytes;
    u64 address;
    /* Where the callee will write, read at return. */
    u64 address_at;
    u64 pitch_at;
    u64 nested;
};

struct outermost {
    u64 sp;
    u64 call;
};

BPF_TABLE("lru_hash", struct call_key, struct call, calls, 16384);
/* cudaMalloc calls cuMemAlloc_v2: only the outermost call on a thread counts. */
BPF_TABLE("lru_hash", u64, struct outermost, outermost_calls, 16384);

static inline int enter(struct pt_regs *ctx, u64 id, struct call *call)
{
    if (!is_followed(ctx))
        return 0;
    u64 thread = bpf_get_current_pid_tgid();
    struct outermost mine = {.sp = PT_REGS_SP(ctx), .call = id};
    struct outermost *outer = outermost_calls.lookup(&thread);
    /* Stacks grow down: an "outer" call that is not above us never returned (a longjmp). */
    call->nested = outer && outer->sp > mine.sp;
    if (!call->nested)
        outermost_calls.update(&thread, &mine);
    struct call_key key = {.thread = thread, .call = id};
    call->entered_ns = bpf_ktime_get_ns();
    calls.update(&key, call);
    return 0;
}

static inline int leave(struct pt_regs *ctx, u16 id)
{
    struct event e = {};
    if (!is_followed(ctx))
        return 0;
    begin(&e, GPU_CALL);
    u64 thread = bpf_get_current_pid_tgid();
    struct call_key key = {.thread = thread, .call = id};
    struct call *call = calls.lookup(&key);
    if (!call) {
        count(UNMATCHED);
        return 0;
    }
    e.call = id;
    e.a = call->bytes;
    e.b = call->address;
    e.c = (u32)PT_REGS_RC(ctx);
    e.d = e.t_ns - call->entered_ns;
    e.t_ns = call->entered_ns;
    if (call->nested)
        e.flags = NESTED;
    else
        outermost_calls.delete(&thread);
    if (!e.c && call->address_at && READ_WORD(&e.b, call->address_at) < 0)
        count(UNREAD);
    if (!e.c && call->pitch_at) {
        u64 pitch = 0;
        if (READ_WORD(&pitch, call->pitch_at) < 0)
            count(UNREAD);
        e.a *= pitch;
    }
    calls.delete(&key);
    take_current(&e, thread);
    submit(ctx, &e);
    return 0;
}

/* f(T *made, size_t bytes, …) */
#define SHAPE_alloc {.address_at = PT_REGS_PARM1(ctx), .bytes = PT_REGS_PARM2(ctx)}
/* f(T *made, size_t *pitch, size_t width, size_t height, …): bytes are pitch times height. */
#define SHAPE_pitch \
    {.address_at = PT_REGS_PARM1(ctx), .pitch_at = PT_REGS_PARM2(ctx), .bytes = PT_REGS_PARM4(ctx)}
/* f(T address, …) */
#define SHAPE_free {.address = PT_REGS_PARM1(ctx)}
/* f(T address, size_t bytes, …) */
#define SHAPE_map {.address = PT_REGS_PARM1(ctx), .bytes = PT_REGS_PARM2(ctx)}
/* f(to, from, size_t bytes, …) */
#define SHAPE_copy {.address = PT_REGS_PARM1(ctx), .bytes = PT_REGS_PARM3(ctx)}
/* f(…) */
#define SHAPE_plain {}

#ifdef LINKS
#define CALL(id, shape, name)

/* In the order of SHAPES in observability/gpu/calls.py. */
enum shape { alloc_shape, pitch_shape, free_shape, map_shape, copy_shape, plain_shape };

#define IF_SHAPE(shape)                         \
    case shape##_shape:                         \
        call = (struct call)SHAPE_##shape;      \
        break;

int enter_call(struct pt_regs *ctx)
{
    u64 cookie = bpf_get_attach_cookie(ctx);
    struct call call = {};
    switch (cookie >> 16 & 0xffff) {
        IF_SHAPE(alloc)
        IF_SHAPE(pitch)
        IF_SHAPE(free)
        IF_SHAPE(map)
        IF_SHAPE(copy)
        IF_SHAPE(plain)
    }
    return enter(ctx, (u16)cookie, &call);
}

int leave_call(struct pt_regs *ctx)
{
    return leave(ctx, bpf_get_attach_cookie(ctx));
}
#else
#define CALL(id, shape, name)                          \
    int enter_##name(struct pt_regs *ctx)              \
    {                                                  \
        struct call call = SHAPE_##shape;              \
        return enter(ctx, id, &call);                  \
    }                                                  \
    int leave_##name(struct pt_regs *ctx)              \
    {                                                  \
        return leave(ctx, id);                         \
    }
#endif
