/* The probe points: empty functions that a tracer attaches to. */
#pragma once
#include <stdint.h>

/* How control leaves a frame, or comes back to it. */
enum { RETURNED, YIELDED, RESUMED, UNWOUND };

void switchyard_function_entry(const char *request, const char *name, uint64_t frame);
void switchyard_function_return(const char *request, const char *name, uint64_t frame, int how);
void switchyard_object_create(const char *request, const char *type, uint64_t id, uint64_t bytes);
void switchyard_object_destroy(const char *type, uint64_t id);
void switchyard_object_chain(const char *type, uint64_t id, const char *holders);
void switchyard_token(const char *request, uint32_t token, uint32_t event, uint32_t outcome);

/* How many tracers are attached to each; the kernel counts them here. */
extern volatile unsigned short switchyard_function_entry_semaphore,
    switchyard_function_return_semaphore, switchyard_object_create_semaphore,
    switchyard_object_destroy_semaphore, switchyard_object_chain_semaphore,
    switchyard_token_semaphore;
