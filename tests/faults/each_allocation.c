#define _GNU_SOURCE
#include "each_allocation.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_malloc.h"

enum { seconds_for_one = 60, lines_shown = 40, repeats = 3 };

/* Where a child that may die says how far it came. */
struct shared {
  long allocations; /* that the work makes; known after the first run */
  long next;        /* the allocation that is tried */
  long tried, errors, without, died, wrong, leaked;
  size_t first_live, last_live; /* of a warm process, before and after all of them */
  char text[1 << 14];
};

static struct shared* shared;
static long lines;

/* Work without an end ends with the second signal: the first may come because the process was stopped for a while. */
static volatile sig_atomic_t over;
static void on_alarm(int number) {
  if (over) {
    signal(number, SIG_DFL);
    raise(number);
  }
  over = 1;
  alarm(seconds_for_one);
}
static void set_timer(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  over = 0;
  alarm(seconds_for_one);
}

struct fault_options read_fault_options(int* argc, char** argv) {
  struct fault_options o = {1, 0, -1, 0, 0, 0, 0, 0};
  int from, to = 1;
  for (from = 1; from < *argc; ++from) {
    if (strcmp(argv[from], "--stride") == 0 && from + 1 < *argc)
      o.stride = atol(argv[++from]);
    else if (strcmp(argv[from], "--from") == 0 && from + 1 < *argc)
      o.from = atol(argv[++from]);
    else if (strcmp(argv[from], "--number") == 0 && from + 1 < *argc)
      o.number = atol(argv[++from]);
    else if (strcmp(argv[from], "--verbose") == 0)
      o.verbose = 1;
    else if (strcmp(argv[from], "--once") == 0)
      o.once = 1;
    else if (strcmp(argv[from], "--for-ever") == 0)
      o.for_ever = 1;
    else if (strcmp(argv[from], "--cold") == 0)
      o.cold = 1;
    else if (strcmp(argv[from], "--warm") == 0)
      o.warm = 1;
    else
      argv[to++] = argv[from];
  }
  *argc = to;
  if (o.stride < 1) o.stride = 1;
  if (!o.once && !o.for_ever) o.once = o.for_ever = 1;
  if (!o.cold && !o.warm) o.cold = o.warm = 1;
  return o;
}

/* The end of a long text: a traceback says there what is wrong. */
static void complain(const struct work* work, const char* kind, long number, const char* what) {
  const size_t length = strlen(what);
  if (length > 200) what += length - 200;
  if (lines++ < lines_shown) printf("%s, %s, allocation %ld: %s\n", work->name, kind, number, what);
}

/* One run with a fault, in this thread. */
static enum work_result run_with_fault(const struct work* work, long number, int for_ever) {
  enum work_result result;
  shared->text[0] = 0;
  start_failing(number, for_ever);
  result = work->run(work->context, shared->text, sizeof shared->text);
  stop_failing();
  if (result == work_failed && !strstr(shared->text, "memory")) return work_is_wrong;
  return result;
}

static void count_result(enum work_result result) {
  if (result == work_done) ++shared->without;
  if (result == work_failed) ++shared->errors;
  if (result == work_is_wrong) ++shared->wrong;
}

static void run_without_fault(const struct work* work) {
  char text[1024] = "";
  if (work->run(work->context, text, sizeof text) == work_done) return;
  fprintf(stderr, "%s fails without a fault: %s\n", work->name, text);
  _exit(3);
}

struct threaded {
  const struct work* work;
  long number;
  int for_ever;
  enum work_result result;
};
static void* run_threaded(void* argument) {
  struct threaded* t = argument;
  t->result = run_with_fault(t->work, t->number, t->for_ever);
  return NULL;
}

/* In a child: a new thread meets the fault. Then the work succeeds, in that process and in another thread. */
static void try_cold(const struct work* work, long number, int for_ever) {
  struct threaded t;
  pthread_t thread;
  t.work = work;
  t.number = number;
  t.for_ever = for_ever;
  if (pthread_create(&thread, NULL, run_threaded, &t) != 0) _exit(3);
  pthread_join(thread, NULL);
  count_result(t.result);
  run_without_fault(work);
}

static pid_t start(void) {
  pid_t child;
  fflush(stdout);
  child = fork();
  if (child == 0) signal(SIGALRM, SIG_DFL);
  return child;
}

/* Waits for a child. Returns what ended it, null if it came to its end. */
static const char* wait_for(pid_t child) {
  static char text[100];
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) return "cannot start a process";
  if (WIFSIGNALED(status)) {
    snprintf(text, sizeof text, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return text;
  }
  return WEXITSTATUS(status) == 0 ? NULL : "ended with an error";
}

static long count_allocations(const struct work* work, int warm) {
  const pid_t child = start();
  if (child == 0) {
    int i;
    for (i = 0; warm && i < repeats; ++i) run_without_fault(work);
    start_failing(LONG_MAX, 0);
    run_without_fault(work);
    shared->allocations = stop_failing();
    _exit(0);
  }
  return wait_for(child) ? -1 : shared->allocations;
}

static void fail_cold(const struct work* work, const char* kind, const struct fault_options* o, int for_ever) {
  for (shared->next = o->from; shared->next < shared->allocations; shared->next += o->stride) {
    const long wrong = shared->wrong, without = shared->without;
    const char* end;
    const pid_t child = start();
    if (child == 0) {
      set_timer();
      try_cold(work, shared->next, for_ever);
      _exit(0);
    }
    ++shared->tried;
    end = wait_for(child);
    if (end) {
      ++shared->died;
      complain(work, kind, shared->next, end);
    } else if (shared->wrong > wrong) {
      complain(work, kind, shared->next, shared->text);
    } else if (shared->without > without && o->verbose) {
      complain(work, kind, shared->next, "is not needed");
    }
  }
}

/* In a child, until it dies. What grows by one fault is tried again: a cache grows once, a leak every time. */
static void fail_warm_from_here(const struct work* work, const char* kind, const struct fault_options* o,
                                int for_ever) {
  int i;
  for (i = 0; i < repeats; ++i) run_without_fault(work);
  shared->first_live = live_bytes();
  for (; shared->next < shared->allocations; shared->next += o->stride) {
    size_t before = live_bytes();
    enum work_result result;
    set_timer();
    ++shared->tried;
    result = run_with_fault(work, shared->next, for_ever);
    count_result(result);
    if (result == work_is_wrong) complain(work, kind, shared->next, shared->text);
    if (result == work_done && o->verbose) complain(work, kind, shared->next, "is not needed");
    for (i = 0; live_bytes() > before && i < repeats; ++i) {
      before = live_bytes();
      run_with_fault(work, shared->next, for_ever);
    }
    if (i == repeats && live_bytes() > before) {
      char what[100];
      snprintf(what, sizeof what, "leaves %lu bytes behind", (unsigned long)(live_bytes() - before));
      ++shared->leaked;
      complain(work, kind, shared->next, what);
    }
  }
  shared->last_live = live_bytes();
}

static void fail_warm(const struct work* work, const char* kind, const struct fault_options* o, int for_ever) {
  for (shared->next = o->from; shared->next < shared->allocations; shared->next += o->stride) {
    const char* end;
    const pid_t child = start();
    if (child == 0) {
      fail_warm_from_here(work, kind, o, for_ever);
      fflush(stdout);
      _exit(0);
    }
    end = wait_for(child);
    if (!end) break;
    ++shared->died;
    complain(work, kind, shared->next, end);
  }
}

static long fail_here(const struct work* work, const struct fault_options* o) {
  size_t before;
  int i;
  if (o->warm && !o->cold)
    for (i = 0; i < repeats; ++i) run_without_fault(work);
  before = live_bytes();
  count_result(run_with_fault(work, o->number, o->for_ever && !o->once));
  printf("%s, allocation %ld: %ld bytes more than before; %s\n", work->name, o->number,
         (long)live_bytes() - (long)before, shared->text);
  return shared->wrong;
}

static long fail_in(const struct work* work, const struct fault_options* o, int warm, int for_ever) {
  char kind[60];
  long bad;
  snprintf(kind, sizeof kind, "%s process, %s", warm ? "warm" : "cold",
           for_ever ? "all from n on fail" : "the n-th fails");
  memset(shared, 0, sizeof *shared);
  if (count_allocations(work, warm) <= 0) {
    printf("%s: does not work without faults\n", work->name);
    return 1;
  }
  if (warm)
    fail_warm(work, kind, o, for_ever);
  else
    fail_cold(work, kind, o, for_ever);
  bad = shared->died + shared->wrong + shared->leaked;
  printf(
      "%s, %s: %ld allocations, %ld tried: %ld errors, %ld did without, %ld ended the process, %ld wrong, %ld leaked",
      work->name, kind, shared->allocations, shared->tried, shared->errors, shared->without, shared->died,
      shared->wrong, shared->leaked);
  if (warm && shared->died == 0) printf("; live memory %+ld bytes", (long)shared->last_live - (long)shared->first_live);
  printf("\n");
  fflush(stdout);
  return bad;
}

long fail_each_allocation(const struct work* work, const struct fault_options* o) {
  long bad = 0;
  int warm, for_ever;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    perror("mmap");
    return 1;
  }
  if (o->number >= 0) return fail_here(work, o);
  for (warm = 0; warm < 2; ++warm) {
    if (!(warm ? o->warm : o->cold)) continue;
    for (for_ever = 0; for_ever < 2; ++for_ever) {
      if (for_ever ? o->for_ever : o->once) bad += fail_in(work, o, warm, for_ever);
    }
  }
  munmap(shared, sizeof *shared);
  return bad;
}
