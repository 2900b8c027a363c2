/* Fault injection: malloc and its kin of the program that links this, and of every library in it, which fail when they
 * are told to. operator new and the allocator of tensors take their memory from here, too. */
#ifndef SCONCE_TESTS_FAULTS_FAILING_MALLOC_H
#define SCONCE_TESTS_FAULTS_FAILING_MALLOC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on allocations are counted from 0, and number `first` fails; with `for_ever`, all after it fail, too. */
void start_failing(long first, int for_ever);
/* None fails any more. Returns how many there were from start_failing to the first stop_failing. */
long stop_failing(void);
/* How many failed since start_failing. */
long failed_allocations(void);
/* What was allocated and not freed, of the whole process. */
size_t live_bytes(void);

#ifdef __cplusplus
}
#endif

#endif
