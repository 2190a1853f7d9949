#pragma once
// The few Linux calls that Swift cannot import by itself.
#include <sys/socket.h>

/// accept4(2): a new connection, already non-blocking and close-on-exec.
int callgate_accept4(int fd, struct sockaddr *address, socklen_t *length);
