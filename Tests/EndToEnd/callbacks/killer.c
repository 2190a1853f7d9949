// Preloaded into a server under test: ends it with SIGKILL right before or right after the N-th call of one function, counted
// from the moment the file KILLER_FILE is there. It holds one line: FUNCTION before|after N. With a fourth word, `stop`, it only
// stops there (SIGSTOP), until a SIGCONT comes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

static char function[32], moment[8], what[8];
static int count;
static atomic_int is_armed, calls;

// Reads the order once it is there.
static int armed(void) {
  if (atomic_load(&is_armed)) return 1;
  const char *path = getenv("KILLER_FILE");
  if (path == NULL || access(path, R_OK) != 0) return 0;
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  int found = fscanf(file, "%31s %7s %d %7s", function, moment, &count, what);
  fclose(file);
  if (found >= 3) atomic_store(&is_armed, 1);
  return found >= 3;
}

// The number of this call among those that count; 0 where it does not.
static int number(const char *name) {
  return armed() && strcmp(function, name) == 0 ? atomic_fetch_add(&calls, 1) + 1 : 0;
}

static void end(int call, const char *now) {
  if (call != 0 && call == count && strcmp(moment, now) == 0) {
    int stops = strcmp(what, "stop") == 0;
    // To this very thread, so that it goes no step further; the stop is one of the whole process.
    raise(stops ? SIGSTOP : SIGKILL);
    while (!stops) pause();
  }
}

#define REPLACE(type, name, kind, parameters, arguments)                        \
  type name parameters {                                                        \
    static type(*original) parameters;                                          \
    if (original == NULL) original = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    int call = number(kind);                                                    \
    end(call, "before");                                                        \
    type result = original arguments;                                           \
    end(call, "after");                                                         \
    return result;                                                              \
  }

REPLACE(int, connect, "connect", (int fd, const struct sockaddr *to, socklen_t length), (fd, to, length))
REPLACE(ssize_t, send, "send", (int fd, const void *from, size_t length, int flags), (fd, from, length, flags))
REPLACE(ssize_t, recv, "recv", (int fd, void *to, size_t length, int flags), (fd, to, length, flags))
REPLACE(int, fdatasync, "sync", (int fd), (fd))
REPLACE(int, fsync, "sync", (int fd), (fd))
REPLACE(ssize_t, pwrite, "pwrite", (int fd, const void *from, size_t length, off_t at), (fd, from, length, at))
REPLACE(ssize_t, pwrite64, "pwrite", (int fd, const void *from, size_t length, off64_t at), (fd, from, length, at))
