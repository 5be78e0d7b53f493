/* Each point is a function of its own that begins with a 5-byte nop: the kernel puts a call there
   (0.3 us) where any other first instruction would be stepped (up to 24 us). It has a stapsdt
   note as well, in the format of systemtap's <sys/sdt.h>, by which bpftrace and perf find it. */
#include "points.h"

#ifndef __x86_64__
#error "the probe points are written for x86-64 only"
#endif

__asm__(
    ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
    ".weak _.stapsdt.base\n"
    ".hidden _.stapsdt.base\n"
    "_.stapsdt.base: .space 1\n"
    ".size _.stapsdt.base, 1\n"
    ".popsection\n");

#define POINT(name, arguments)                                            \
  __attribute__((section(".probes"), visibility("hidden"), used))         \
  volatile unsigned short switchyard_##name##_semaphore;                  \
  __asm__(                                                                \
      ".pushsection .text\n"                                              \
      ".balign 16\n"                                                      \
      ".globl switchyard_" #name "\n"                                     \
      ".type switchyard_" #name ", @function\n"                           \
      "switchyard_" #name ":\n"                                           \
      "990: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"                         \
      "ret\n"                                                             \
      ".size switchyard_" #name ", .-switchyard_" #name "\n"              \
      ".popsection\n"                                                     \
      ".pushsection .note.stapsdt, \"\", \"note\"\n"                      \
      ".balign 4\n"                                                       \
      ".4byte 992f-991f, 994f-993f, 3\n"                                  \
      "991: .asciz \"stapsdt\"\n"                                         \
      "992: .balign 4\n"                                                  \
      "993: .8byte 990b, _.stapsdt.base, switchyard_" #name "_semaphore\n" \
      ".asciz \"switchyard\"\n"                                           \
      ".asciz \"" #name "\"\n"                                            \
      ".asciz \"" arguments "\"\n"                                        \
      "994: .balign 4\n"                                                  \
      ".popsection\n")

POINT(function_entry, "8@%rdi 8@%rsi 8@%rdx");
POINT(function_return, "8@%rdi 8@%rsi 8@%rdx -4@%ecx");
POINT(object_create, "8@%rdi 8@%rsi 8@%rdx 8@%rcx");
POINT(object_destroy, "8@%rdi 8@%rsi");
POINT(object_chain, "8@%rdi 8@%rsi 8@%rdx");
POINT(token, "8@%rdi 4@%esi 4@%edx 4@%ecx");
