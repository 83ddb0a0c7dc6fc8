/* The one thing of a WebSocket handshake that needs computing. */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H
#include <stddef.h>

/* The answer to an upgrade with this key (24 characters); gives its length. `to` has room for 200. */
size_t handshake_answer(char *to, const char *key);
#endif
