/* The probe points of observability.probes: functions, objects and tokens of a request.
 *
 * Beside reporting, it keeps the stack of each thread's request functions, so that the other
 * programs can say which function a GPU call or a wait belongs to. A function that never closes
 * (a generator that was dropped) is passed over when one below it moves. */

struct frame_key {
    u64 pid;
    u64 frame;
};

/* An open function: its entry event, with `b` the frame below it, `c` the address of its name,
 * which tells functions apart, and `d` its depth. */
BPF_TABLE("lru_hash", struct frame_key, struct event, frames, 65536);
/* The innermost frame of each thread. */
BPF_TABLE("lru_hash", u64, u64, current_frame, 65536);

enum how { RETURN, YIELD, RESUME, UNWIND };

/* Plain functions have no number of their own: they get one from their thread and depth, with a
 * bit that no address and no counter has. */
#define PLAIN (1ULL << 63)
/* How many functions without an end may lie above the one that ends. */
#define LEFT_OPEN 12

static inline u64 thread_of(struct event *e)
{
    return ((u64)e->pid << 32) | e->tid;
}

#ifdef WAITS
/* A wait is told when its thread goes on, before the thread's function changes. */
static inline void tell_wait(void *ctx, u64 thread, u64 now);
#else
#define tell_wait(ctx, thread, now)
#endif

static inline void push(struct event *e, u64 name)
{
    struct frame_key key = {.pid = e->pid, .frame = e->a};
    struct frame_key below = {.pid = e->pid};
    u64 thread = thread_of(e);
    u64 *top = current_frame.lookup(&thread);
    if (top && *top != e->a)
        below.frame = *top;
    struct event *caller = below.frame ? frames.lookup(&below) : 0;
    e->d = caller ? caller->d + 1 : 1;
    if (!key.frame)
        key.frame = PLAIN | (u64)e->tid << 24 | (e->d & 0xffffff);
    e->b = below.frame;
    e->c = name;
    frames.update(&key, e);
    current_frame.update(&thread, &key.frame);
}

static inline void pop(struct event *e, u64 name)
{
    u64 thread = thread_of(e);
    u64 *top = current_frame.lookup(&thread);
    if (!top)
        return;
    struct frame_key key = {.pid = e->pid, .frame = *top};
    #pragma unroll
    for (int i = 0; i < LEFT_OPEN; i++) {
        struct event *open = frames.lookup(&key);
        if (!open) {
            current_frame.delete(&thread);
            return;
        }
        u64 below = open->b;
        if (e->a ? key.frame == e->a : key.frame & PLAIN && open->c == name) {
            frames.delete(&key);
            if (below)
                current_frame.update(&thread, &below);
            else
                current_frame.delete(&thread);
            return;
        }
        key.frame = below;
    }
}

/* The request and the function that this thread is in; 0 where it is in none. */
static inline int take_current(struct event *e, u64 thread)
{
    u64 *frame = current_frame.lookup(&thread);
    if (!frame)
        return 0;
    struct frame_key key = {.pid = thread >> 32, .frame = *frame};
    struct event *entry = frames.lookup(&key);
    if (!entry)
        return 0;
    __builtin_memcpy(e->request, entry->request, sizeof(e->request));
    __builtin_memcpy(e->name, entry->name, sizeof(e->name));
    return 1;
}

static inline void read_strings(struct event *e, unsigned long request, unsigned long name)
{
    if (request && READ_STRING(e->request, request) < 0)
        count(UNREAD);
    if (name && READ_STRING(e->name, name) < 0)
        count(UNREAD);
}

int function_entry(struct pt_regs *ctx)
{
    struct event e = {};
    if (!is_followed(ctx))
        return 0;
    begin(&e, FUNCTION_ENTRY);
    read_strings(&e, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx));
    e.a = PT_REGS_PARM3(ctx);
    tell_wait(ctx, thread_of(&e), e.t_ns);
    push(&e, PT_REGS_PARM2(ctx));
    submit(ctx, &e);
    return 0;
}

int function_return(struct pt_regs *ctx)
{
    struct event e = {};
    if (!is_followed(ctx))
        return 0;
    begin(&e, FUNCTION_RETURN);
    read_strings(&e, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx));
    e.a = PT_REGS_PARM3(ctx);
    u32 how = PT_REGS_PARM4(ctx);
    tell_wait(ctx, thread_of(&e), e.t_ns);
    if (how == RESUME)
        push(&e, PT_REGS_PARM2(ctx));
    else
        pop(&e, PT_REGS_PARM2(ctx));
    e.c = how;
    submit(ctx, &e);
    return 0;
}

int object_create(struct pt_regs *ctx)
{
    struct event e = {};
    if (!is_followed(ctx))
        return 0;
    begin(&e, OBJECT_CREATE);
    read_strings(&e, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx));
    e.a = PT_REGS_PARM3(ctx);
    e.b = PT_REGS_PARM4(ctx);
    submit(ctx, &e);
    return 0;
}

int object_destroy(struct pt_regs *ctx)
{
    struct event e = {};
    if (!is_followed(ctx))
        return 0;
    begin(&e, OBJECT_DESTROY);
    read_strings(&e, 0, PT_REGS_PARM1(ctx));
    e.a = PT_REGS_PARM2(ctx);
    submit(ctx, &e);
    return 0;
}

/* The type lies where other events have their request. */
int object_chain(struct pt_regs *ctx)
{
    struct event e = {};
    if (!is_followed(ctx))
        return 0;
    begin(&e, OBJECT_CHAIN);
    read_strings(&e, PT_REGS_PARM1(ctx), PT_REGS_PARM3(ctx));
    e.a = PT_REGS_PARM2(ctx);
    submit(ctx, &e);
    return 0;
}

int token(struct pt_regs *ctx)
{
    struct event e = {};
    if (!is_followed(ctx))
        return 0;
    begin(&e, TOKEN);
    read_strings(&e, PT_REGS_PARM1(ctx), 0);
    e.a = (u32)PT_REGS_PARM2(ctx);
    e.b = (u32)PT_REGS_PARM3(ctx);
    e.c = (u32)PT_REGS_PARM4(ctx);
    submit(ctx, &e);
    return 0;
}
