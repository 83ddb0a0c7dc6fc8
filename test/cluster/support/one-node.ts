/**
 * Tests of the protocol that hold on one node only, and why: what a cluster promises less of than a node does. A name is that of
 * a test, or the beginning of several. Whatever fails on several nodes and is not named here is a fault.
 */
const WHY: Readonly<Record<string, readonly string[]>> = {
  "a limit of connects by address is each node's own": ["the rate of connects from one address >"],
  "a change of a key, a block or a cap acts on the other nodes within a second, not at once": [
    "a token > is let in under a previous secret in its grace",
    "a blocked peer >",
    "a block >",
    "an edit that gives >",
    "an edit that takes",
    "the concurrent cap > lowered drops nobody",
    "the message cap >",
    "a key that is revoked >",
  ],
  "figures of usage add up over nodes within a beat, and messages within a flush": [
    "GET /v1/usage >",
    "the concurrent cap >",
    "the counters >",
    "a peer with one connection that reads and one that does not >",
  ],
  "other nodes know a newcomer once it has its roster, and an end on one node is told before a return on another that has none yet":
    [
      "before a peer's words come, what waits to be told about it >",
      "a peer that comes back before its old connection is gone never flaps >",
      "GET /v1/channels/:channel/peers > is so at once",
    ],
  "what was acked on one node is still on its way when its receiver, on another, asks for something else": [
    "a repeated subscribe changes whether sender metadata comes",
  ],
  "each node has ticks of its own": ["in one tick >"],
  "whether a send has reached somebody is known when the other nodes have said so": [
    "order > acks come in the order of the requests",
  ],
  "who was welcomed on one node is found from another when NATS has passed that on, a moment later": [
    "send > to oneself reaches one's other connections",
    "peer ids of send >",
  ],
};

export function needsOneNode(test: string): boolean {
  return Object.values(WHY).some((names) => names.some((name) => test.startsWith(name)));
}
