/* BCC includes this before everything, and refuses a kernel without BPF. */
#define CONFIG_BPF_SYSCALL 1
