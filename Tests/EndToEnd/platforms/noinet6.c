// A kernel without IPv6, for LD_PRELOAD: it makes no such socket.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

int socket(int family, int type, int protocol) {
  static int (*make)(int, int, int);
  if (!make) make = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
  if (family == AF_INET6) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  return make(family, type, protocol);
}
