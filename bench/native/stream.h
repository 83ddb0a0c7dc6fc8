/* The received bytes of one connection: WebSocket frames are parsed as they arrive, in pieces of any size. */
#ifndef STREAM_H
#define STREAM_H
#include <stddef.h>
#include <stdint.h>

/* The longest searched text that may span two pieces. */
#define STREAM_CARRY 96

struct stream {
  uint8_t head[10], head_length, head_need, opcode, control_length;
  uint64_t left;
  uint8_t control[125];
  uint8_t carry_length;
  char carry[STREAM_CARRY];
};

struct stream_events {
  /* A piece of the content of data frames; frames follow each other without a separator. */
  void (*content)(void *of, const char *text, size_t length);
  void (*ping)(void *of, const uint8_t *content, size_t length);
  void (*closed)(void *of, int code);
};

void stream_feed(struct stream *stream, const uint8_t *bytes, size_t length, const struct stream_events *events, void *of);
#endif
