/* The registers as a uprobe finds them. */
#ifndef SWITCHYARD_UAPI_LINUX_PTRACE_H
#define SWITCHYARD_UAPI_LINUX_PTRACE_H

#if defined(bpf_target_x86)
struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
    unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#elif defined(bpf_target_arm64)
struct user_pt_regs {
    unsigned long long regs[31], sp, pc, pstate;
};
struct pt_regs {
    struct user_pt_regs user_regs;
};
#else
#error "uprobes are read on x86-64 and on arm64 only"
#endif

#endif
