#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <sched.h>

int callgate_accept4(int fd, struct sockaddr *address, socklen_t *length) {
  return accept4(fd, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int callgate_stream_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int callgate_processor_count(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  return count < 1 ? 1 : count;
}

int callgate_get_descriptor_limit(unsigned long *soft, unsigned long *hard) {
  struct rlimit limit;
  int result = getrlimit(RLIMIT_NOFILE, &limit);
  if (result == 0) {
    *soft = limit.rlim_cur;
    *hard = limit.rlim_max;
  }
  return result;
}

int callgate_set_descriptor_limit(unsigned long soft, unsigned long hard) {
  struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
  return setrlimit(RLIMIT_NOFILE, &limit);
}

int callgate_ignore_sigpipe(void) { return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -1 : 0; }

int callgate_set_mmap_threshold(int bytes) { return mallopt(M_MMAP_THRESHOLD, bytes) == 1 ? 0 : -1; }

int callgate_trim_memory(void) { return malloc_trim(0); }

int callgate_forgo_fast_bins(void) { return mallopt(M_MXFAST, 0) == 1 ? 0 : -1; }

void callgate_open_standard_descriptors(int writable) {
  for (int fd = 0; fd <= 2; fd++) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
      // open(2) returns the lowest free number, which is this one: those below are open by now.
      (void)open("/dev/null", fd == 0 || !writable ? O_RDONLY : O_WRONLY);
    }
  }
}

int callgate_protect_memory(void) {
  const struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) return -1;
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int callgate_lock_byte(int fd, long long offset) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1, .l_pid = 0};
  return fcntl(fd, F_OFD_SETLK, &lock);
}

int callgate_is_byte_locked(int fd, long long offset) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1, .l_pid = 0};
  if (fcntl(fd, F_OFD_GETLK, &lock) != 0) return -1;
  return lock.l_type == F_UNLCK ? 0 : 1;
}

char **callgate_environment(void) { return environ; }
