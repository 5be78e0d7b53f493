/* BCC brings its own copy of <linux/bpf.h>. */
