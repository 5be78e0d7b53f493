"""The BPF programs, one .c file each, and how they get into the kernel."""
