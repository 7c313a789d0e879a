// Preloaded into Chromium, so that it hears nothing of networks. Beside an engine it would: with loopback alone it takes itself to be
// offline, and each network that the engine makes for containers is a change, at which it breaks off requests that are under way.
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
