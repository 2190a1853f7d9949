// Preloaded into a server: its wall clock is ahead by $CLOCK_AHEAD seconds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  static long ahead;
  if (!real) {
    const char *text = getenv("CLOCK_AHEAD");
    ahead = text ? atol(text) : 0;
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  }
  int code = real(clock, time);
  if (code == 0 && clock == CLOCK_REALTIME) time->tv_sec += ahead;
  return code;
}
