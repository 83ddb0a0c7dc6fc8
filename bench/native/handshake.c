#include "handshake.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define KEY_LENGTH 24
static const char GUID[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

static uint32_t rotated(uint32_t word, int by) { return word << by | word >> (32 - by); }

/* SHA-1 (FIPS 180-4) of at most 119 bytes: two blocks. */
static void sha1(const uint8_t *text, size_t length, uint8_t *digest) {
  uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  uint8_t padded[128] = {0};
  size_t blocks = length < 56 ? 1 : 2;
  memcpy(padded, text, length);
  padded[length] = 0x80;
  padded[blocks * 64 - 2] = length * 8 >> 8;
  padded[blocks * 64 - 1] = length * 8;
  for (size_t block = 0; block < blocks; block++) {
    uint32_t words[80];
    for (int i = 0; i < 16; i++) {
      const uint8_t *at = padded + block * 64 + i * 4;
      words[i] = (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
    }
    for (int i = 16; i < 80; i++) words[i] = rotated(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 80; i++) {
      uint32_t mixed = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                       : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                       : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                : (b ^ c ^ d) + 0xca62c1d6;
      uint32_t next = rotated(a, 5) + mixed + e + words[i];
      e = d, d = c, c = rotated(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
  }
  for (int i = 0; i < 20; i++) digest[i] = state[i / 4] >> (24 - 8 * (i % 4));
}

static void base64(const uint8_t *bytes, size_t length, char *to) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < length; i += 3) {
    uint32_t three = bytes[i] << 16 | (i + 1 < length ? bytes[i + 1] << 8 : 0) | (i + 2 < length ? bytes[i + 2] : 0);
    for (int k = 0; k < 4; k++) *to++ = i + k > length ? '=' : letters[three >> (18 - 6 * k) & 63];
  }
  *to = 0;
}

size_t handshake_answer(char *to, const char *key) {
  uint8_t joined[KEY_LENGTH + sizeof GUID], digest[20];
  char accept[32];
  memcpy(joined, key, KEY_LENGTH);
  memcpy(joined + KEY_LENGTH, GUID, sizeof GUID - 1);
  sha1(joined, KEY_LENGTH + sizeof GUID - 1, digest);
  base64(digest, sizeof digest, accept);
  return sprintf(to,
                 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Accept: %s\r\n\r\n",
                 accept);
}
