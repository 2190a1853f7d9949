// Preloaded into a server: its wall clock is ahead by $CLOCK_AHEAD seconds, or by as many as the file at that path says in eight
// digits, which a test may overwrite meanwhile.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  static const char *ahead;
  if (!real) {
    const char *text = getenv("CLOCK_AHEAD");
    if (text && text[0] == '/') {
      text = mmap(NULL, 9, PROT_READ, MAP_SHARED, open(text, O_RDONLY | O_CLOEXEC), 0);
      if (text == MAP_FAILED) abort();
    }
    ahead = text ? text : "0";
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  }
  int code = real(clock, time);
  if (code == 0 && clock == CLOCK_REALTIME) {
    char digits[9] = "";
    // All eight at once.
    memcpy(digits, ahead, strnlen(ahead, 8));
    time->tv_sec += atol(digits);
  }
  return code;
}
