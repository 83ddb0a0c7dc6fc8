/* The computed part of a WebSocket handshake. */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H
#include <stddef.h>

/* The response to an upgrade with this key (24 characters); returns its length. `to` holds 200 bytes. */
size_t handshake_answer(char *to, const char *key);
#endif
