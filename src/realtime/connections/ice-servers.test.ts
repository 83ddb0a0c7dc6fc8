import { expect, test } from "bun:test";
import { bringsIceServers, withIceServers } from "./ice-servers.ts";

const SERVERS = '[{"urls":["turn:a.example"]}]';

test.each([
  [undefined, `{"iceServers":${SERVERS}}`],
  ["{}", `{"iceServers":${SERVERS}}`],
  ["{ \n}", `{ \n"iceServers":${SERVERS}}`],
  // Parsing would change the number, and the order of the keys.
  [
    '{ "2": 12345678901234567890, "1":"}" , "a":{"b":{}}}',
    `{ "2": 12345678901234567890, "1":"}" , "a":{"b":{}},"iceServers":${SERVERS}}`,
  ],
])("they are added to %j, of which nothing changes", (metadata, expected) => {
  expect(withIceServers(metadata, SERVERS)).toBe(expected);
  expect(JSON.parse(expected).iceServers).toEqual(JSON.parse(SERVERS));
});

test.each([
  ['{"iceServers":[]}', true],
  ['{"a":1,"iceServers":null}', true],
  ['{"\\u0069ceServers":[{"urls":"stun:b"}]}', true],
  ['{"a":{"iceServers":[]}}', false],
  ['{"a":"iceServers","IceServers":[]}', false],
  ["{}", false],
])("%s brings its own: %p", (metadata, expected) => {
  expect(bringsIceServers(metadata)).toBe(expected);
});
