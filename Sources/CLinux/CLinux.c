#define _GNU_SOURCE
#include "CLinux.h"

int callgate_accept4(int fd, struct sockaddr *address, socklen_t *length) {
  return accept4(fd, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
