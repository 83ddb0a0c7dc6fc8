/* One connection of the loader: connects, plays its script, then searches everything received for marks and checks their order. */
#ifndef CONN_H
#define CONN_H
#include "plan.h"
#include "stream.h"

enum state { CONN_NEW, CONN_CONNECTING, CONN_UPGRADING, CONN_SCRIPT, CONN_READY };

struct conn {
  int fd, index;
  enum state state;
  const struct conn_plan *plan;
  int step, is_lost;
  struct stream stream;
  /* The last message of its publisher; if it is a publisher itself, its last ack. Numbers begin with 1. */
  uint32_t heard, acked;
  /* Not yet accepted by the kernel. */
  uint8_t *out;
  size_t out_length, out_room;
};

struct loader;
/* Called for every message as it arrives, and when a connection has played its script. */
typedef void on_message(int publisher, uint32_t number);
typedef void on_ack(int publisher);
typedef void on_ready(struct conn *conn);
typedef void on_lost(struct conn *conn, const char *why);

struct conn_events {
  on_message *message;
  on_ack *ack;
  on_ready *ready;
  /* Without it, a connection that is lost or refused ends the process. It must cut the connection. */
  on_lost *lost;
};

/* Once, before the first connection. */
void conns_begin(int epoll, const struct conn_events *events);

void conn_open(struct conn *conn);
/* Ends it without a goodbye, as a broken link does; it can be opened again. */
void conn_cut(struct conn *conn);
/* Handles its epoll events. */
void conn_happened(struct conn *conn, uint32_t happened);
/* Bytes without framing. */
void conn_write(struct conn *conn, const uint8_t *bytes, size_t length);

/* A masked frame with the key 0, so that its text can be changed in place; returns the length of its header. */
size_t frame_build(uint8_t *to, int opcode, const char *text, size_t length);
#define FRAME_HEAD_MOST 14

/* "@@" or "%%", four digits, ":", eight digits. */
#define MARK_LENGTH 15
void mark_write(char *at, unsigned publisher, uint32_t number);
#endif
