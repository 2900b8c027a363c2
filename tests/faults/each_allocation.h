/* Fault injection over a piece of work: it runs once for every allocation that it makes, and that one fails, alone or
 * with all that follow. */
#ifndef SCONCE_TESTS_FAULTS_EACH_ALLOCATION_H
#define SCONCE_TESTS_FAULTS_EACH_ALLOCATION_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum work_result {
  work_done,    /* all results are right, no step failed */
  work_failed,  /* a step failed with an error, was done again when there was memory, and all results are right */
  work_is_wrong /* anything else */
};

struct work {
  const char* name;
  /* Does everything, and calls stop_failing() after the first step that fails. Writes what a step that failed said, or
   * what is wrong, into `text`. May take memory only where a program would. */
  enum work_result (*run)(void* context, char* text, size_t room);
  void* context;
};

/* Options of the command line: --stride N tries every N-th allocation, --from N begins there, --once and --for-ever,
 * --cold and --warm choose one of the kinds of faults, of the states of the process. --number N tries one allocation,
 * in this process, where a debugger sees it. --verbose prints those that the work did without. Removes them from argv. */
struct fault_options {
  long stride, from, number;
  int verbose;
  int once, for_ever, cold, warm;
};
struct fault_options read_fault_options(int* argc, char** argv);

/* Prints a line for each kind of fault, and one for each allocation whose failure ended the process, gave something
 * wrong or left memory behind. Returns how many there were.
 *
 *   cold  a process, and a thread in it, that have done nothing before; afterwards the work succeeds there
 *   warm  a process that has done the work before: what is allocated afterwards is what was allocated before */
long fail_each_allocation(const struct work* work, const struct fault_options* options);

#ifdef __cplusplus
}
#endif

#endif
