#include "stream.h"
#include "plan.h"
#include <string.h>

enum { CLOSE = 8, PING = 9, PONG = 10 };

static void head_complete(struct stream *stream) {
  uint8_t *head = stream->head;
  if (head[1] & 0x80) fail("the server masks its frames");
  stream->opcode = head[0] & 15;
  stream->left = head[1] & 127;
  if (stream->left == 126) stream->left = (uint64_t)head[2] << 8 | head[3];
  else if (stream->left == 127) {
    stream->left = 0;
    for (int i = 2; i < 10; i++) stream->left = stream->left << 8 | head[i];
  }
  stream->control_length = 0;
}

static void frame_complete(struct stream *stream, const struct stream_events *events, void *of) {
  stream->head_length = 0;
  if (stream->opcode == PING) events->ping(of, stream->control, stream->control_length);
  else if (stream->opcode == CLOSE)
    events->closed(of, stream->control_length < 2 ? 1005 : stream->control[0] << 8 | stream->control[1]);
}

void stream_feed(struct stream *stream, const uint8_t *at, size_t length, const struct stream_events *events, void *of) {
  const uint8_t *end = at + length;
  while (at < end) {
    if (stream->head_length == 0) stream->head_need = 2;
    if (stream->head_length < stream->head_need) {
      stream->head[stream->head_length++] = *at++;
      if (stream->head_length == 2) {
        uint8_t size = stream->head[1] & 127;
        stream->head_need = size == 126 ? 4 : size == 127 ? 10 : 2;
      }
      if (stream->head_length < stream->head_need) continue;
      head_complete(stream);
      if (stream->left == 0) frame_complete(stream, events, of);
      continue;
    }
    size_t here = (size_t)(end - at) < stream->left ? (size_t)(end - at) : stream->left;
    if (stream->opcode >= CLOSE) {
      if (stream->control_length + here > sizeof stream->control) fail("a control frame of the server is too long");
      memcpy(stream->control + stream->control_length, at, here);
      stream->control_length += here;
    } else {
      events->content(of, (const char *)at, here);
    }
    at += here;
    stream->left -= here;
    if (stream->left == 0) frame_complete(stream, events, of);
  }
}
