// Preloaded into Chromium. When the engine makes a network for containers, Chromium would take that for a change of its own network, and
// break off every request that is under way. So it is not told of networks at all, and takes itself to be online.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

int socket(int domain, int type, int protocol) {
  static int (*original)(int, int, int);
  if (domain == AF_NETLINK) {
    errno = EACCES;
    return -1;
  }
  if (!original) original = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
  return original(domain, type, protocol);
}
